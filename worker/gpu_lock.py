"""One worker a GPU: a lock that the kernel lets go of when its holder dies, however it dies."""

import fcntl
import os
from pathlib import Path

from worker.sandbox.confinement import SandboxSettings


class GpuUnusable(Exception):
    """Another worker has the GPU, or it is none that we can serve. The message says what it is."""


def lock_gpu(uuid: str, folder: Path, holder: str) -> int:
    """Lock a GPU, and return the descriptor that holds the lock as long as it is open.

    Raises:
        GpuUnusable: somebody has it; `holder` is what the next one reads of us.
        OSError: the folder cannot be used.

    """
    folder.mkdir(mode=0o711, parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    lock_fd = os.open(folder / f"gpu-{uuid}", flags, 0o600)
    try:
        fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        who = os.pread(lock_fd, 1000, 0).decode("utf-8", "replace")
        os.close(lock_fd)
        raise GpuUnusable(f"{uuid} is in use by {who or 'another worker'}") from None
    os.ftruncate(lock_fd, 0)
    os.pwrite(lock_fd, holder.encode(), 0)
    return lock_fd


def lock_folder(settings: SandboxSettings) -> Path:
    """Return where locks of GPUs are: for root one folder a host, for others one a user."""
    user = os.geteuid()
    return settings.state if user == 0 else Path(f"/tmp/halfbyte-{user}")  # noqa: S108
