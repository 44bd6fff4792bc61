"""Real children that die, stay, and leave others behind."""

import os
import signal
import sys
import time
from dataclasses import replace

import pytest

from client import supervisor
from client.environment import inherited
from client.signals import HeldSignals
from client.supervisor import Spec, StartFailed, Supervisor, tail
from tests.client.processes import alive, number_in, until


@pytest.fixture
def signals():
    with HeldSignals() as held:
        yield held


@pytest.fixture
def children(tmp_path, signals):
    supervised = Supervisor(tmp_path)
    yield supervised
    for child in supervised.children:
        child.kill()


def spec(program: str, grace_s: float = 30, name: str = "child") -> Spec:
    program = f"import os, signal, sys, time; {program}"
    return Spec(name, (sys.executable, "-c", program), inherited(), grace_s)


def tended(children: Supervisor) -> list[str]:
    """Tend until there is something to say."""
    return until(lambda: list(children.tend()), "something happens")


def test_a_dead_child_is_started_again_and_that_is_said(children, tmp_path):
    (one,) = children.start(spec("signal.pause()"))
    first = one.pid
    os.kill(first, signal.SIGKILL)
    log = tmp_path / "child.log"
    assert tended(children) == [
        f"child was ended by SIGKILL; starting it again in 0.5 s (log: {log})"
    ]
    assert not alive(first)
    assert 0 < children.next_due_s() <= 0.5
    assert tended(children) == ["child started again"]
    assert alive(one.pid)
    assert one.pid != first


def test_a_child_that_dies_again_and_again_is_started_ever_later(children, monkeypatch):
    monkeypatch.setattr(supervisor, "FIRST_DELAY_S", 0.01)
    monkeypatch.setattr(supervisor, "LAST_DELAY_S", 0.04)
    children.start(spec("sys.exit(7)"))
    said = [tended(children)[0] for _ in range(10)]
    assert [line.split(" (")[0] for line in said if "exit" in line] == [
        f"child ended with exit code 7; starting it again in {delay} s"
        for delay in ("0.01", "0.02", "0.04", "0.04", "0.04")
    ]


@pytest.mark.parametrize(
    ("code", "said"), [(0, "child ended as it was asked to"), (3, "child ended with exit code 3")]
)
def test_a_child_that_may_end_stays_away_if_it_ended_well(children, code, said):
    ending = replace(spec(f"sys.exit({code})"), may_end=True)
    (one,) = children.start(ending)
    assert tended(children)[0].startswith(said)
    assert (one.due is None) is (code == 0)
    if code == 0:
        assert list(children.tend()) == []


def test_a_child_that_ran_for_long_is_started_again_soon(children, monkeypatch):
    monkeypatch.setattr(supervisor, "STEADY_S", 0.0)
    children.start(spec("pass"))
    said = [tended(children)[0] for _ in range(6)]
    assert sum("again in 0.5 s" in line for line in said) == 3


def test_a_log_has_all_starts_of_one_run(children, tmp_path):
    log = tmp_path / "child.log"
    log.write_text("of an earlier run")
    children.start(spec("print('hello', flush=True); signal.pause()"))
    until(lambda: log.read_text() == "hello\n", "the child says hello")
    os.kill(children.children[0].pid, signal.SIGKILL)
    tended(children)
    tended(children)
    until(lambda: log.read_text() == "hello\nhello\n", "the child says hello again")


def test_stages_are_stopped_in_reverse_each_after_the_one_before(children, signals, tmp_path):
    notes = tmp_path / "order"
    program = (
        "signal.signal(15, lambda *_: (time.sleep({delay}),"
        f"open({str(notes)!r}, 'a').write('{{name}}\\n'), sys.exit()));"
        f"open({str(tmp_path)!r} + '/{{name}}', 'w'); signal.pause()"
    )
    for name, delay in (("redis", 0), ("api", 0.1), ("worker", 0.3)):
        children.start(spec(program.format(name=name, delay=delay), name=name))
        until((tmp_path / name).exists, f"{name} starts")
    assert list(children.stop(signals)) == []
    assert notes.read_text().split() == ["worker", "api", "redis"]
    assert children.children == []


STAYS = (
    "signal.signal(15, signal.SIG_IGN); print(flush=True); [signal.pause() for _ in iter(int, 1)]"
)


def test_a_child_that_does_not_end_when_asked_is_killed(children, signals, tmp_path):
    (one,) = children.start(spec(STAYS, grace_s=0.2))
    until((tmp_path / "child.log").read_text, "the child ignores SIGTERM")
    assert list(children.stop(signals)) == ["child did not end when asked; killing it"]
    assert not alive(one.pid)


def test_asked_twice_everything_is_killed_at_once(children, signals, tmp_path, monkeypatch):
    monkeypatch.setattr(supervisor, "AGAIN_S", 0.0)
    first, second = (
        children.start(spec(STAYS, grace_s=1000, name=name))[0] for name in ("one", "two")
    )
    for name in ("one", "two"):
        until((tmp_path / f"{name}.log").read_text, f"{name} ignores SIGTERM")
    started = time.monotonic()
    signal.raise_signal(signal.SIGINT)
    assert list(children.stop(signals)) == ["stopping at once"]
    assert time.monotonic() - started < 500
    assert not alive(first.pid)
    assert not alive(second.pid)


def test_one_request_that_comes_twice_is_one(children, signals, tmp_path):
    ends = "signal.signal(15, lambda *_: (time.sleep(0.2), sys.exit()))"
    children.start(spec(f"{ends}; print(flush=True); signal.pause()"))
    until((tmp_path / "child.log").read_text, "the child takes its time")
    signal.raise_signal(signal.SIGTERM)
    assert list(children.stop(signals)) == []


def test_what_a_child_leaves_behind_in_its_group_goes_too(children, signals, tmp_path):
    note = tmp_path / "grandchild"
    children.start(
        spec(
            f"os.fork() or (open({str(note)!r}, 'w').write(f'{{os.getpid()}}\\n'),"
            "signal.pause()); signal.pause()"
        )
    )
    pid = until(lambda: number_in(note), "the grandchild starts")
    list(children.stop(signals))
    until(lambda: not alive(pid), "the grandchild dies")


def test_a_failed_start_quotes_the_end_of_the_log(tmp_path):
    log = tmp_path / "x.log"
    log.write_text("".join(f"line {i}\n" for i in range(100)))
    failed = StartFailed("x", "ended with exit code 1", log)
    assert str(failed) == "x did not start: it ended with exit code 1"
    assert failed.__notes__ == [f"the end of {log}:", *(f"line {i}" for i in range(85, 100))]
    assert tail(tmp_path / "none") == []
