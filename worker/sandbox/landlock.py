"""Level 1 where no namespaces are allowed, as in most containers: Landlock, the filter, and a uid.

Files are walled off by Landlock, other processes by the uid, the network by the filter. Processes
and network interfaces of the host remain visible, sockets in its file system reachable where their
permissions say so, and the scratch folder is one of the host, without a limit of its whole size.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from worker.sandbox import bubblewrap, step_down
from worker.sandbox.confinement import Confined, Launch, SandboxSettings, SandboxUnavailable
from worker.sandbox.handle import Handle
from worker.sandbox.scratch import Scratch, make_scratch
from worker.sandbox.seccomp import filter_program
from worker.sandbox.slots import Slot, Slots, open_slots
from worker.sandbox.step_down import landlock_version
from worker.sandbox.visible import find_visible, is_hidden
from worker.sandbox.watchdog import Watchdog

DEVICES: Final = ("null", "zero", "full", "random", "urandom")
EVICTION: Final = (
    "import os, sys; uid = int(sys.argv[1]); os.setgroups([]); os.setresgid(uid, uid, uid); "
    "os.setresuid(uid, uid, uid); os.kill(-1, 9)"
)
"""Signals to -1 reach every process of a uid at once; none can fork away from them."""
OPEN: Final = frozenset(
    ("see_processes", "see_interfaces", "connect_to_path_socket", "fill_scratch")
)
SCOPED_FROM: Final = 6
"""The version of Landlock that knows abstract sockets."""
EVICT_S: Final = 10
POLL_S: Final = 0.001


class LandlockedProcess(Handle):
    """A process and all others of its uid."""

    def __init__(
        self, process: subprocess.Popen[bytes], guard: Watchdog, slot: Slot, scratch: Scratch
    ) -> None:
        """Own all four."""
        super().__init__(process)
        self._guard = guard
        self._slot = slot
        self._scratch = scratch

    def out_of_memory(self) -> bool:
        """Whether the memory limit was hit."""
        return self._guard.out_of_memory()

    def _end(self) -> None:
        """Kill every process of the uid, and remove the scratch folder."""
        self._guard.remove()
        self._process.kill()  # it may not have changed to its uid yet
        gone = self.wait(EVICT_S) is not None and evict(self._slot.uid)
        bury(self._slot.uid)
        self._scratch.remove()
        if gone:  # a uid whose processes live stays taken
            self._slot.release()


@dataclass(frozen=True, slots=True)
class Landlocked:
    """Landlock, with a uid of its own for each candidate."""

    description: str
    settings: SandboxSettings
    slots: Slots
    listed: tuple[Path, ...]
    readable: tuple[Path, ...]
    changeable: tuple[Path, ...]
    open_to: frozenset[str]

    @property
    def level(self) -> int:
        """1."""
        return 1

    @property
    def limits_cpu(self) -> bool:
        """False: that takes a control group."""
        return False

    def start(self, launch: Launch) -> Confined:
        """Start a process. It dies with the thread that called this; its children may not.

        Raises:
            OSError: it could not be started.

        """
        with ExitStack() as undo:
            slot = self.slots.take()
            undo.callback(slot.release)
            scratch = make_scratch()
            undo.callback(scratch.remove)
            evict(slot.uid)  # what a dead worker left
            os.chown(scratch.path, slot.uid, slot.uid)
            process = subprocess.Popen(
                self._command(launch, slot.uid, scratch.path),
                env={},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=launch.stdout_fd,
                stderr=launch.stderr_fd,
                pass_fds=(launch.socket_fd,),
                start_new_session=True,
            )
            undo.pop_all()
        guard = Watchdog(
            partial(processes_of, slot.uid), launch.memory_bytes, partial(evict, slot.uid)
        )
        return LandlockedProcess(process, guard, slot, scratch)

    def _command(self, launch: Launch, uid: int, scratch: Path) -> list[str]:
        # torch.compile asks for the name of a uid that has none
        home = {"HOME": str(scratch), "TMPDIR": str(scratch), "LOGNAME": "runner"}
        limits = bubblewrap.limits(self.settings)
        environment = {**launch.environment, **home}
        plan = (
            *(f"limit={limit}:{bound}" for limit, bound in limits.items()),
            f"uid={uid}",
            *(f"listed={path}" for path in self.listed),
            *(f"readable={path}" for path in self.readable),
            *(f"changeable={path}" for path in self.changeable),
            f"own={scratch}",
            f"filter={filter_program().hex()}",
            *(f"set={name}={value}" for name, value in environment.items()),
        )
        return [sys.executable, "-I", "-S", step_down.__file__, *plan, "--", *launch.argv]


def build_landlock(settings: SandboxSettings) -> Landlocked:
    """Put level 1 together without namespaces, without trying it.

    Raises:
        SandboxUnavailable: a part of it is not to be had.

    """
    slots = open_slots(settings.state, settings.candidate_uids)
    try:
        version = landlock_version()
    except OSError as error:
        raise SandboxUnavailable(f"no Landlock in this kernel: {error.strerror}") from error
    visible = find_visible(settings.gpu_minors, settings.shown)
    closed = [str(folder) for folder in visible.folders if is_hidden(folder)]
    if closed:
        raise SandboxUnavailable(
            f"only root may enter a folder above {', '.join(closed)}: chmod o+x that folder, or "
            "install elsewhere"
        )
    devices = [Path("/dev") / name for name in DEVICES]
    # CUDA writes the names of its threads into /proc, and gives up where it may not.
    proc = [Path("/proc")] if visible.devices else []
    open_to = OPEN if version >= SCOPED_FROM else OPEN | {"connect_to_abstract_socket"}
    return Landlocked(
        description=f"Landlock {version}, a uid each, seccomp, memory watched; open to "
        + ", ".join(sorted(open_to)),
        settings=settings,
        slots=slots,
        listed=visible.packages,
        readable=(*visible.folders, Path("/proc")),
        changeable=(*devices, *visible.devices, *proc),
        open_to=open_to,
    )


def processes_of(uid: int, zombies: bool = False) -> Iterator[int]:
    """Yield the processes of a uid, either those that live or those that wait to be buried."""
    return (pid for pid, owner, zombie in processes() if (owner, zombie) == (uid, zombies))


def processes() -> Iterator[tuple[int, int, bool]]:
    """Yield every process with its uid, and whether it waits to be buried."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                lines = dict(
                    line.split(":", 1) for line in (folder / "status").read_text().splitlines()
                )
                yield int(folder.name), int(lines["Uid"].split()[0]), "Z" in lines["State"]


def bury(uid: int) -> None:
    """Reap the zombies that fell to us, if we adopt orphans: they count as processes of the uid."""
    for pid in processes_of(uid, zombies=True):
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def evict(uid: int) -> bool:
    """Kill all processes of a candidate's uid; return whether they are gone. Never raises."""
    deadline_s = time.monotonic() + EVICT_S
    while any(processes_of(uid)):
        if time.monotonic() > deadline_s:
            return False
        with suppress(OSError):
            subprocess.run(
                [sys.executable, "-I", "-S", "-c", EVICTION, str(uid)], env={}, check=False
            )
        time.sleep(POLL_S)
    return True
