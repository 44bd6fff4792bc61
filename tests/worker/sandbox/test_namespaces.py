"""How a confined process starts, what it is given, and how it ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.worker.sandbox.trials import alive, begin, marker, run, wait_for
from worker.sandbox.cgroup import PERIOD_US, ControlGroup
from worker.sandbox.cgroup_root import find_control_groups
from worker.sandbox.confinement import Launch, Sandbox
from worker.sandbox.namespaces import Namespaces
from worker.sandbox.selftest import MOST_CORES, PYTHON, cores_taken, start_trial

LITTLE_BYTES = 128 << 20
HOG = "held = [bytearray(b'x' * (1 << 24)) for _ in range(1024)]"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("pass", 0),
        ("raise SystemExit(3)", 3),
        ("raise SystemExit(-1)", 255),
        ("import os; os.kill(os.getpid(), 11)", -signal.SIGSEGV),
        ("import os; os.abort()", -signal.SIGABRT),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
    ],
)
def test_the_exit_status_comes_through(sandbox: Sandbox, code: str, status: int):
    assert run(sandbox, code).status == status


def test_output_comes_through(sandbox: Sandbox):
    ended = run(sandbox, "import sys; print('out'); print('err', file=sys.stderr)")
    assert (ended.stdout, ended.stderr) == ("out\n", "err\n")


def test_the_environment_is_what_was_given_and_a_home(sandbox: Sandbox):
    code = "import json, os; print(json.dumps([dict(os.environ), os.getcwd()]))"
    environment, folder = json.loads(run(sandbox, code).stdout)
    environment.pop("LC_CTYPE", None)  # Python's own
    environment.pop("PWD", None)  # bubblewrap's
    environment.pop("LOGNAME", None)  # with Landlock
    assert environment == {"PATH": "/usr/bin:/bin", "HOME": folder, "TMPDIR": folder}


def test_whoever_asks_for_the_users_name_gets_one(sandbox: Sandbox):
    assert run(sandbox, "import getpass; print(getpass.getuser())").stdout == "runner\n"


def test_the_first_process_holds_no_environment_of_ours(namespaces: Namespaces):
    code = "print(open('/proc/1/environ').read().replace('\\0', '\\n'))"
    assert "PATH" not in run(namespaces, code).stdout


def test_the_socket_keeps_its_number_and_works(sandbox: Sandbox):
    ours, theirs = socket.socketpair()
    code = "import socket, sys; socket.socket(fileno=int(sys.argv[1])).sendall(b'hello')"
    out = os.open(os.devnull, os.O_WRONLY)
    with ours, theirs:
        confined = sandbox.start(
            Launch(
                argv=(*PYTHON, "-S", "-c", code, str(theirs.fileno())),
                environment={},
                memory_bytes=LITTLE_BYTES,
                stdout_fd=out,
                stderr_fd=out,
                socket_fd=theirs.fileno(),
            )
        )
        ours.settimeout(20)
        assert ours.recv(5) == b"hello"
    confined.destroy()
    os.close(out)


def test_runners_modules_are_there_and_the_repository_is_not(namespaces: Namespaces):
    repository = Path(__file__).parents[3]
    code = f"""
import os
print(sorted(os.listdir({str(repository)!r})))
print(sorted(os.listdir({str(repository / "worker")!r})))
"""
    top, worker = run(namespaces, code).stdout.splitlines()
    assert not {"pyproject.toml", ".git", "contract", "service", "tests"} & set(eval(top))
    assert "runner.py" in worker
    assert "settings.py" not in worker
    assert "sandbox" not in worker


@pytest.mark.slow
def test_the_runner_imports(sandbox: Sandbox):
    argv = (*PYTHON, "-c", "import worker.runner, kernels.emulation; print('imported')")
    environment = {"TRITON_INTERPRET": "1", "TRITON_DEFAULT_FP_FUSION": "1"}
    ended = start_trial(sandbox, argv, environment, 4 << 30).end(50)
    assert ended.stdout == "imported\n", ended.stderr


def test_a_memory_hog_is_found_out(sandbox: Sandbox):
    ended = run(sandbox, HOG, LITTLE_BYTES)
    assert ended.out_of_memory
    assert ended.status == -signal.SIGKILL


def test_a_hog_that_is_a_grandchild_is_found_out(sandbox: Sandbox):
    code = f"import os\nif os.fork() == 0:\n    {HOG}\nelse:\n    os.wait()\n"
    assert run(sandbox, code, LITTLE_BYTES).out_of_memory


def test_a_modest_process_is_not_out_of_memory(sandbox: Sandbox):
    ended = run(sandbox, "held = bytearray(b'x' * (1 << 24))", LITTLE_BYTES)
    assert (ended.status, ended.out_of_memory) == (0, False)


def test_files_in_memory_count_at_level_2(level_2: Sandbox):
    code = "open('/tmp/fill', 'wb').write(bytes(400 << 20))"
    assert run(level_2, code, LITTLE_BYTES).out_of_memory


def test_the_kernel_limits_the_number_of_processes(sandbox: Sandbox):
    code = """
import os, signal
count = 1
try:
    while count < 1000:
        if os.fork() == 0:
            signal.pause()
        count += 1
except OSError as error:
    print(count, error.errno)
"""
    count, number = run(sandbox, code).stdout.split()
    assert 200 < int(count) <= 256
    assert int(number) == 11


def test_a_fork_bomb_ends_with_the_sandbox(sandbox: Namespaces):
    word = marker()
    small = replace(sandbox, settings=replace(sandbox.settings, processes=32))
    code = f"""
import os  # {word}
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
    trial = begin(small, code)
    wait_for(lambda: len(alive(word)) >= 20, "the bomb to go off")
    trial.end(0)
    assert alive(word) == []


def test_a_daemon_ends_with_the_process_that_left_it(sandbox: Sandbox):
    word = marker()
    code = f"""
import os, signal  # {word}
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.pause()
    os._exit(0)
os.wait()
"""
    trial = begin(sandbox, code)
    wait_for(lambda: trial.confined.wait(0) == 0, "the first process to end")
    trial.end(0)
    assert alive(word) == []


def test_whoever_ignores_every_signal_ends_too(sandbox: Sandbox):
    word = marker()
    code = f"""
import signal  # {word}
for number in set(signal.valid_signals()) - {{9, 19, 32, 33}}:
    signal.signal(number, signal.SIG_IGN)
print('deaf', flush=True)
while True:
    signal.pause()
"""
    trial = begin(sandbox, code)
    wait_for(lambda: os.pread(trial.stdout.fileno(), 9, 0) == b"deaf\n", "it to be deaf")
    assert alive(word)
    assert trial.end(0).status is None
    assert alive(word) == []


def test_destroying_twice_and_from_two_threads_is_fine(sandbox: Sandbox):
    trial = begin(sandbox, "import time; time.sleep(60)")
    threads = [threading.Thread(target=trial.confined.destroy) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    trial.confined.destroy()
    assert trial.end(5).status == -signal.SIGKILL


def test_nothing_is_left_in_the_control_groups(level_2: Sandbox):
    groups = find_control_groups()

    def ours() -> list[str]:
        return [folder.name for folder in groups.memory.glob("halfbyte-[0-9]*")]

    trial = begin(level_2, "import os, signal; print(os.getuid(), flush=True); signal.pause()")
    wait_for(lambda: os.pread(trial.stdout.fileno(), 9, 0), "its uid")
    name = f"halfbyte-{os.pread(trial.stdout.fileno(), 9, 0).decode().strip()}"
    assert name in ours()
    trial.end(0)
    assert name not in ours()


def test_a_candidate_takes_no_more_cores_than_it_may(level_2: Namespaces):
    if not level_2.limits_cpu:
        pytest.skip("no cpu controller is handed down")
    assert cores_taken(level_2, {}) < MOST_CORES


@pytest.mark.parametrize("asked", [None, 3])
def test_the_quota_is_of_whole_cores_and_holds_a_launcher_with_room(level_2: Namespaces, asked):
    if not level_2.limits_cpu:
        pytest.skip("no cpu controller is handed down")
    sandbox = replace(level_2, settings=replace(level_2.settings, cores=asked))
    trial = begin(sandbox, "import os, signal; print(os.getuid(), flush=True); signal.pause()")
    wait_for(lambda: os.pread(trial.stdout.fileno(), 9, 0), "its uid")
    uid = os.pread(trial.stdout.fileno(), 9, 0).decode().strip()
    group = find_control_groups().named(f"halfbyte-{uid}")
    name = "cpu.max" if group.version == 2 else "cpu.cfs_quota_us"
    quota_us = int((group.cpu / name).read_text().split()[0])
    trial.end(0)
    assert quota_us == PERIOD_US * (asked or max(2, len(os.sched_getaffinity(0)) - 1))


def test_the_limits_of_version_2_are_written_as_the_kernel_reads_them(tmp_path: Path):
    ControlGroup(tmp_path, tmp_path, tmp_path, 2).limit(1 << 30, 256, 3)
    written = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert written["cpu.max"] == "300000 100000"
    assert written["memory.max"] == str(1 << 30)
    assert written["pids.max"] == "256"


def test_two_at_a_time_have_different_uids_of_their_own(level_2: Sandbox):
    code = "import os, signal; print(os.getuid(), flush=True); signal.pause()"
    trials = [begin(level_2, code) for _ in range(2)]
    for trial in trials:
        wait_for(lambda trial=trial: os.pread(trial.stdout.fileno(), 9, 0), "its uid")
    uids = [int(os.pread(trial.stdout.fileno(), 9, 0)) for trial in trials]
    owners = [Path(f"/proc/{trial.confined.pid}").stat().st_uid for trial in trials]
    for trial in trials:
        trial.end(0)
    assert len(set(uids)) == 2
    assert sorted(owners) == sorted(uids)
    assert min(uids) >= 60_000


def test_it_ends_with_the_judge(level_2: Sandbox):
    word = marker()
    code = f"import signal; print('up', flush=True); signal.pause()  # inside-{word}"
    judge = f"""
import os, signal
from tests.worker.sandbox.trials import begin, wait_for
from worker.sandbox.confinement import SandboxSettings
from worker.sandbox.namespaces import build_level_2
trial = begin(build_level_2(SandboxSettings()), {code!r})
wait_for(lambda: os.pread(trial.stdout.fileno(), 9, 0), "the inside")
print("started", flush=True)
signal.pause()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", judge], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        assert alive(f"inside-{word}")
        process.kill()
    wait_for(lambda: not alive(f"inside-{word}"), "the sandbox to end")


def test_a_process_that_cannot_start_is_our_fault(namespaces: Namespaces):
    broken = replace(namespaces, program=Path("/nowhere/bwrap"))
    with open(os.devnull, "wb") as out, pytest.raises(OSError, match=r"bwrap|bubblewrap"):
        broken.start(Launch(("true",), {}, LITTLE_BYTES, out.fileno(), out.fileno(), out.fileno()))
