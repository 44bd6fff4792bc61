"""Two workers never share a GPU: the second is told who has it. A lock dies with its holder."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from worker.gpu_lock import GpuUnusable, lock_gpu

HOLD = """
import sys, time
from pathlib import Path
from worker.gpu_lock import lock_gpu
lock_gpu("GPU-1", Path(sys.argv[1]), "worker alpha, process 77")
print("held", flush=True)
time.sleep(100)
"""


def test_a_gpu_is_held_until_its_holder_dies(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(GpuUnusable, match="GPU-1 is in use by worker alpha, process 77"):
            lock_gpu("GPU-1", tmp_path, "beta")
        lock_gpu("GPU-2", tmp_path, "beta")
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        lock_gpu("GPU-1", tmp_path, "beta")
        with pytest.raises(GpuUnusable, match=r"in use by beta$"):
            lock_gpu("GPU-1", tmp_path, "gamma")
    finally:
        holder.kill()
        holder.communicate()


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "gpu-GPU-1").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        lock_gpu("GPU-1", tmp_path, "beta")
    assert not (tmp_path / "elsewhere").exists()
