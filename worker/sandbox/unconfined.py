"""Level 0: a session, a scratch folder and resource limits. Keeps accidents in, not attackers."""

import os
import resource
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from worker.sandbox.confinement import Confined, Launch
from worker.sandbox.handle import Handle
from worker.sandbox.scratch import Scratch, make_scratch

FILE_BYTES: Final = 1 << 30
NOTHING: Final = "none: a separate process with an empty environment"


class UnconfinedProcess(Handle):
    """A process group of its own."""

    def __init__(self, process: subprocess.Popen[bytes], scratch: Scratch) -> None:
        """Own the process and its scratch folder."""
        super().__init__(process)
        self._scratch = scratch

    def out_of_memory(self) -> bool:
        """Return False: only the process itself sees its limit here, as a failed allocation."""
        return False

    def _end(self) -> None:
        """Kill the group and remove the scratch folder."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._scratch.remove()


@dataclass(frozen=True, slots=True)
class Unconfined:
    """No sandbox. Runs only where an operator asks for it by name; never ranked."""

    description: str = NOTHING

    @property
    def level(self) -> int:
        """0."""
        return 0

    def start(self, launch: Launch) -> Confined:
        """Start a process in its own session, limited in data, file size and core files."""
        scratch = make_scratch()
        home = str(scratch.path)
        process = subprocess.Popen(
            launch.argv,
            env={**launch.environment, "HOME": home, "TMPDIR": home},
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=launch.stdout_fd,
            stderr=launch.stderr_fd,
            pass_fds=(launch.socket_fd,),
            start_new_session=True,
        )
        for limit, value in (
            (resource.RLIMIT_DATA, launch.memory_bytes),
            (resource.RLIMIT_FSIZE, FILE_BYTES),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.prlimit(process.pid, limit, (value, value))
        return UnconfinedProcess(process, scratch)
