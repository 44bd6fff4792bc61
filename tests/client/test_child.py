"""Children that die with their parent: a parent of their own is killed here."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from client import child
from client.environment import inherited
from client.signals import HeldSignals
from tests.client.processes import alive, number_in, until


def write_pid(path: Path, then: str = "signal.pause()") -> tuple[str, ...]:
    program = f"import os, signal; open({str(path)!r}, 'w').write(f'{{os.getpid()}}\\n'); {then}"
    return (sys.executable, "-c", program)


def test_a_child_dies_with_a_parent_that_is_killed(tmp_path):
    note = tmp_path / "pid"
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, signal; from client import child, environment;"
            "child.start(sys.argv[1:], environment.inherited()); signal.pause()",
            *write_pid(note),
        ]
    )
    pid = until(lambda: number_in(note), "the child starts")
    assert alive(pid)
    parent.kill()
    parent.wait()
    until(lambda: not alive(pid), "the child dies")


def test_a_child_whose_parent_is_gone_already_does_not_start(tmp_path):
    note = tmp_path / "pid"
    command = child.python("client.child", "1", *write_pid(note, "pass"))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "not started: its parent 1 is gone" in done.stderr
    assert not note.exists()


def test_a_child_is_the_program_itself_in_a_session_of_its_own(tmp_path):
    note = tmp_path / "pid"
    process = child.start(write_pid(note), inherited())
    assert until(lambda: number_in(note), "the child starts") == process.pid
    assert os.getsid(process.pid) == process.pid
    process.kill()
    process.wait()


def test_signals_that_are_held_back_here_reach_a_child(tmp_path):
    note = tmp_path / "pid"
    with HeldSignals():
        process = child.start(write_pid(note), inherited())
        until(lambda: number_in(note), "the child starts")
        process.terminate()
        assert process.wait(20) == -signal.SIGTERM


def test_output_is_added_to_the_log_and_a_missing_program_says_so_there(tmp_path):
    log = tmp_path / "log"
    log.write_text("before\n")
    assert child.start(["/nowhere/program"], inherited(), log).wait(20) == 1
    assert (
        log.read_text() == "before\n/nowhere/program cannot be started: No such file or directory\n"
    )


def test_a_folder_of_the_user_is_not_taken_for_ours(tmp_path, monkeypatch):
    (tmp_path / "service").mkdir()
    (tmp_path / "service" / "__init__.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    done = subprocess.run(
        child.python("service.main", "--help"), capture_output=True, text=True, check=False
    )
    assert (done.returncode, "not this one" in done.stderr) == (0, False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_held_signal_asks_to_stop_once(number):
    with HeldSignals() as signals:
        signal.raise_signal(number)
        assert signals.wait(5)
        assert not signals.wait(0)


def test_an_ended_child_ends_a_wait_and_asks_for_nothing():
    with HeldSignals() as signals:
        process = subprocess.Popen(["true"])
        assert not signals.wait(20)
        process.wait()


def test_what_we_are_to_ignore_is_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with HeldSignals() as signals:
            signal.raise_signal(signal.SIGHUP)
            assert not signals.wait(0)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_signals_are_as_before_afterwards():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with HeldSignals():
        signal.raise_signal(signal.SIGTERM)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
