"""What the judge needs of any way to confine a runner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class SandboxUnavailable(Exception):
    """This machine does not allow what was asked for. The message tells an operator what to do."""


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """What an operator may decide about the sandbox."""

    minimum_level: int = 1
    """Take no job below it. 0 allows no sandbox at all, where nothing better works."""
    gpu_minors: tuple[int, ...] = ()
    """The numbers of the /dev/nvidiaN that candidates may open; none on a CPU."""
    shown: tuple[Path, ...] = ()
    """Further folders that candidates may read."""
    processes: int = 256
    """Processes and threads of one candidate."""
    cores: int | None = None
    """CPU time of one candidate; None: all cores that we may use but one, two at least."""
    scratch_bytes: int = 512 << 20
    """Size of the private /tmp, and of the largest file."""
    shared_memory_bytes: int = 64 << 20
    """Size of the private /dev/shm."""
    first_uid: int = 60_000
    """Candidates run as this uid and the ones above it, where we are root."""
    uids: int = 64
    """How many candidates may run on this host at once, warm spares included."""
    state: Path = Path("/run/halfbyte")
    """Where uids are locked, where we are root. One folder for all workers of a host."""
    cgroup: Path | None = None
    """Control group (version 2) to make ours in; None: found."""

    @property
    def candidate_uids(self) -> range:
        """Whom candidates may run as, where we are root."""
        return range(self.first_uid, self.first_uid + self.uids)


@dataclass(frozen=True, slots=True)
class Launch:
    """One process to start.

    `environment` is complete but for HOME and TMPDIR, which the sandbox sets to the private scratch
    folder that is also the working directory, and LOGNAME where the uid has no name otherwise.
    `socket_fd` is the only descriptor besides stdout and stderr that the process inherits, under
    the same number.
    """

    argv: Sequence[str]
    environment: Mapping[str, str]
    memory_bytes: int
    stdout_fd: int
    stderr_fd: int
    socket_fd: int
    cores: int | None = None
    """CPU time, where the sandbox can limit it; None: what its settings say."""


class Confined(Protocol):
    """A started process and everything it may have started."""

    @property
    def pid(self) -> int:
        """The process that is waited for."""

    def wait(self, timeout_s: float) -> int | None:
        """Return the exit status as `subprocess` does (negative: a signal), None while it lives."""

    def out_of_memory(self) -> bool:
        """Whether the memory limit was hit."""

    def destroy(self) -> None:
        """Kill all of it, wait for it, and remove scratch folder and cgroup. Never raises.

        Safe to repeat, and from any thread.
        """


class Sandbox(Protocol):
    """A way to confine, with the level and the words that stand in every verdict."""

    @property
    def level(self) -> int:
        """2, 1 or 0."""

    @property
    def description(self) -> str:
        """What it is made of, and why it is not more."""

    def start(self, launch: Launch) -> Confined:
        """Start a process. It dies with the thread that called this.

        Raises:
            OSError: it could not be started; our fault, never the candidate's.

        """
