"""What the judge needs of any way to confine a runner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Launch:
    """One process to start.

    `environment` is complete but for HOME and TMPDIR, which the sandbox sets to the private scratch
    folder that is also the working directory. `socket_fd` is the only descriptor besides stdout and
    stderr that the process inherits, under the same number.
    """

    argv: Sequence[str]
    environment: Mapping[str, str]
    memory_bytes: int
    stdout_fd: int
    stderr_fd: int
    socket_fd: int


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
        """Kill all of it, wait for it, and remove scratch folder and cgroup. Never raises."""


class Sandbox(Protocol):
    """A way to confine, with the level and the words that stand in every verdict."""

    level: int
    description: str

    def start(self, launch: Launch) -> Confined:
        """Start a process.

        Raises:
            OSError: it could not be started; our fault, never the candidate's.

        """
