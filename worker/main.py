"""The worker's process: `python -m worker.main`."""

import asyncio
import os
import platform
import secrets
import signal
import socket
from typing import Final

from contract.job import WorkerInfo
from contract.logs import log_to_stderr
from contract.queue import JobQueue
from contract.settings import QueueSettings
from worker.judge_client import JudgeClient
from worker.loop import Worker
from worker.process_tree import adopt_orphans
from worker.sandbox.sweep import sweep
from worker.settings import WorkerSettings

JUDGE_ENVIRONMENT: Final = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    # Threads that spin for work take it from the runner.
    "OMP_WAIT_POLICY": "PASSIVE",
}


async def serve(settings: WorkerSettings, queue_settings: QueueSettings) -> None:
    """Join the queue, and work until a signal says stop."""
    adopt_orphans()
    sweep(settings.sandbox)
    judge = JudgeClient(settings, judge_environment(settings))
    queue = JobQueue.connect(queue_settings)
    name = settings.name or f"{socket.gethostname()}-{os.getpid()}"
    info = WorkerInfo(
        id=f"{name}-{secrets.token_hex(3)}",
        pid=os.getpid(),
        host=socket.gethostname(),
        gpu=settings.gpu or None,
        python=".".join(platform.python_version_tuple()[:2]),
    )
    worker = Worker(queue, judge, info, settings, queue_settings)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, worker.stop)
    try:
        await worker.run()
    finally:
        await queue.close()
        sweep(settings.sandbox)


def judge_environment(settings: WorkerSettings) -> dict[str, str]:
    """Return all that the judge is given: no credentials, and the GPU that is ours."""
    environment = dict(JUDGE_ENVIRONMENT)
    if settings.gpu:
        environment["CUDA_VISIBLE_DEVICES"] = settings.gpu
    if settings.library_path:
        environment["LD_LIBRARY_PATH"] = settings.library_path
    return environment


def main() -> None:
    """Read the settings once and serve."""
    log_to_stderr()
    asyncio.run(serve(WorkerSettings(), QueueSettings()))


if __name__ == "__main__":
    main()
