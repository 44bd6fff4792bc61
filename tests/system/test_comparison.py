"""A comparison from the command to its exit code: API, queue, worker, judge, two sandboxed runners.

Only the GPU is a stand-in: see tests/worker/turns_stand_in.py.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.queue import JobQueue
from contract.settings import QueueSettings
from tests.service.conftest import serving
from tests.system.conftest import HALFBYTE

HONEST = Path("tests/candidates/honest_torch.py")
SLOWER = HONEST.read_bytes() + b"\n# takes 1.05 times as long\n"
SIZES = ("--m", "16", "--n", "32", "--k", "64")


@pytest.fixture
def gpu_worker(queue_settings: QueueSettings) -> Iterator[None]:
    where = {
        "HALFBYTE_QUEUE_REDIS_URL": queue_settings.redis_url,
        "HALFBYTE_QUEUE_PREFIX": queue_settings.prefix,
    }
    program = str(Path(__file__).with_name("turns_worker.py"))
    process = subprocess.Popen([sys.executable, program], env={**os.environ, **where})
    yield
    process.terminate()
    process.wait(60)


@pytest.mark.timeout(120)
@pytest.mark.usefixtures("gpu_worker")
async def test_a_slower_kernel_fails_a_gate(
    queue: JobQueue, queue_settings: QueueSettings, tmp_path: Path, wait_until
) -> None:
    slower = tmp_path / "slower.py"
    slower.write_bytes(SLOWER)
    await wait_until(queue.workers, "a worker", timeout_s=60)
    async with serving(queue_settings) as http:
        child = await asyncio.create_subprocess_exec(
            *(HALFBYTE, "compare", str(HONEST), str(slower), *SIZES),
            *("--url", str(http.base_url)),
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await child.communicate()
        assert said.decode().startswith("B is slower: it takes")
        assert child.returncode == 1
        (job,) = (await http.get("/v1/jobs", params={"mode": "compare"})).json()["jobs"]
        assert (job["state"], job["other"]["filename"]) == ("finished", "slower.py")
