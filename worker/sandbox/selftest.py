"""Proof, before a sandbox is used, that it is shut, and that what has to work in it works."""

import json
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from worker.sandbox.confinement import Confined, Launch, Sandbox, SandboxUnavailable
from worker.sandbox.scratch import make_scratch
from worker.sandbox.seccomp import denied_calls

HERE: Final = Path(__file__).parent
PYTHON: Final = (sys.executable, "-I")

PROBE_BYTES: Final = 2 << 30
PROBE_S: Final = 120
HOG: Final = "held = [bytearray(b'x' * (16 << 20)) for _ in range(1024)]"
HOG_BYTES: Final = 256 << 20
SPINNERS: Final = """
import os, time
began_s = time.monotonic()
for _ in range(4):
    if os.fork() == 0:
        while time.monotonic() < began_s + 0.5:
            pass
        os._exit(0)
for _ in range(4):
    os.wait()
spent = os.times()
print((spent.children_user + spent.children_system) / (time.monotonic() - began_s))
"""
MOST_CORES: Final = 1.5
"""Of one: half a second holds six periods at most, and clocks of processes tick in hundredths."""
SMOKE: Final = "import worker.runner"
SMOKE_GPU: Final = (
    "import torch; (torch.eye(64, device='cuda') @ torch.eye(64).cuda()).sum().item()"
)
LEAVE: Final = "import os; os._exit(0)"
"""Without taking down what was imported, which takes a third as long as the import."""
SMOKE_BYTES: Final = 8 << 30
SMOKE_S: Final = 180


@dataclass(frozen=True, slots=True)
class Ended:
    """How a trial ended. `status` is None where it had to be killed."""

    status: int | None
    stdout: str
    stderr: str
    out_of_memory: bool

    def last_words(self) -> str:
        """Return the end of what it complained about."""
        return self.stderr.strip()[-500:]


@dataclass(frozen=True, slots=True)
class Trial:
    """A program of ours, started in a sandbox."""

    confined: Confined
    stdout: IO[bytes]
    stderr: IO[bytes]

    def end(self, limit_s: float) -> Ended:
        """Wait for it, and clean up."""
        status = self.confined.wait(limit_s)
        self.confined.destroy()
        with self.stdout as stdout, self.stderr as stderr:
            stdout.seek(0)
            stderr.seek(0)
            return Ended(
                status,
                stdout.read().decode(errors="replace"),
                stderr.read().decode(errors="replace"),
                self.confined.out_of_memory(),
            )


def start_trial(
    sandbox: Sandbox,
    argv: Sequence[str],
    environment: Mapping[str, str],
    memory_bytes: int,
    cores: int | None = None,
) -> Trial:
    """Start a program with its output in files.

    Raises:
        SandboxUnavailable: it did not start; the message holds what was printed on the way.

    """
    ours, theirs = socket.socketpair()
    with ExitStack() as stack, ours, theirs:
        stdout = stack.enter_context(tempfile.TemporaryFile())
        stderr = stack.enter_context(tempfile.TemporaryFile())
        launch = Launch(
            argv=argv,
            environment=environment,
            memory_bytes=memory_bytes,
            stdout_fd=stdout.fileno(),
            stderr_fd=stderr.fileno(),
            socket_fd=theirs.fileno(),
            cores=cores,
        )
        try:
            confined = sandbox.start(launch)
        except OSError as error:
            stderr.seek(0)
            said = stderr.read().decode(errors="replace").strip()
            raise SandboxUnavailable(f"{error}: {said[-500:]}") from error
        stack.pop_all()
        return Trial(confined, stdout, stderr)


def hostile_results(sandbox: Sandbox, environment: Mapping[str, str]) -> dict[str, str]:
    """Run every hostile action inside; return what each got, an empty text for nothing.

    Raises:
        SandboxUnavailable: the probe did not run to its end.

    """
    with bait() as words:
        argv = (*PYTHON, "-c", (HERE / "hostile.py").read_text(), json.dumps(words))
        ended = start_trial(sandbox, argv, environment, PROBE_BYTES).end(PROBE_S)
    if ended.status != 0:
        raise SandboxUnavailable(
            f"the hostile probe ended with {ended.status}: {ended.last_words()}"
        )
    results: dict[str, str] = json.loads(ended.stdout)
    return results


@contextmanager
def bait() -> Iterator[dict[str, Any]]:
    """Run a stand-in judge as our own user; yield where it holds its secret."""
    scratch = make_scratch()
    secret = secrets.token_hex()
    try:
        process = subprocess.Popen(
            [*PYTHON, "-S", HERE / "bait.py", scratch.path],
            env={"SECRET": secret},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{secret}\n".encode())
            process.stdin.flush()
            yield {**json.loads(process.stdout.readline()), "calls": denied_calls()}
    finally:
        scratch.remove()


def prove(
    sandbox: Sandbox,
    environment: Mapping[str, str],
    tolerated: Collection[str],
    *,
    gpu: bool,
    cpu: bool,
) -> None:
    """Try a sandbox out: the imports of a runner, hostile actions, and hogs of memory and cores.

    `gpu` says whether it should reach one, `cpu` whether it limits CPU time.

    Raises:
        SandboxUnavailable: something does not work, or is open and not tolerated.

    """
    code = "; ".join([SMOKE, *([SMOKE_GPU] if gpu else []), LEAVE])
    smoke = start_trial(sandbox, (*PYTHON, "-c", code), environment, SMOKE_BYTES)
    try:
        _prove_shut(sandbox, environment, tolerated)
        if cpu and (cores := cores_taken(sandbox, environment)) > MOST_CORES:
            raise SandboxUnavailable(f"CPU time is not limited: {cores:.1f} cores taken of one")
    except SandboxUnavailable:
        smoke.end(0)
        raise
    ended = smoke.end(SMOKE_S)
    if ended.status != 0:
        raise SandboxUnavailable(f"{code!r} ended with {ended.status}: {ended.last_words()}")


def _prove_shut(
    sandbox: Sandbox, environment: Mapping[str, str], tolerated: Collection[str]
) -> None:
    results = hostile_results(sandbox, environment)
    found = [f"{name} ({got})" for name, got in results.items() if got and name not in tolerated]
    if found:
        raise SandboxUnavailable(f"open to: {', '.join(found)}")
    hog = start_trial(sandbox, (*PYTHON, "-c", HOG), environment, HOG_BYTES).end(PROBE_S)
    if not hog.out_of_memory:
        raise SandboxUnavailable(f"memory is not limited: a hog ended with {hog.status}")


def cores_taken(sandbox: Sandbox, environment: Mapping[str, str]) -> float:
    """Return how many cores processes that want four take for a moment where they may use one.

    Raises:
        SandboxUnavailable: they did not run to their end.

    """
    argv = (*PYTHON, "-c", SPINNERS)
    ended = start_trial(sandbox, argv, environment, PROBE_BYTES, cores=1).end(PROBE_S)
    if ended.status != 0:
        raise SandboxUnavailable(f"the spinners ended with {ended.status}: {ended.last_words()}")
    return float(ended.stdout)
