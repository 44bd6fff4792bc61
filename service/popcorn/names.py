"""The client's words for problems, modes and devices, and ours."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from fastapi import HTTPException

from contract.contest import Contest
from contract.device import ANY, CPU, device_named, line_of
from contract.errors import InvalidSubmission
from contract.job import WorkerInfo
from contract.problem import PROBLEMS, Problem
from contract.queue import JobQueue
from contract.submission import Mode
from service.job_request import JobRequest

MODES: Mapping[str, Mode] = MappingProxyType(
    {
        "test": Mode.TEST,
        "benchmark": Mode.BENCHMARK,
        "leaderboard": Mode.RANKED,
        "profile": Mode.PROFILE,
    }
)
ALIASES = MappingProxyType({"nvidia": ANY})
"""Names that competition files have for pools of machines."""


TARGETS_OF: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "sm_90a": ("sm_90", "H100", "H200", "GH200"),
        "sm_100a": ("sm_100", "B200", "GB200"),
        "sm_103a": ("sm_103", "B300", "GB300"),
        "sm_120a": ("sm_120",),
    }
)
"""Devices by what is compiled for them."""


def mode_named(name: str) -> Mode:
    """Return our mode.

    Raises:
        InvalidSubmission: there is none; the message lists those there are.

    """
    try:
        return MODES[name.lower()]
    except KeyError:
        known = ", ".join(MODES)
        raise InvalidSubmission("mode", f"unknown mode {name!r}; known: {known}") from None


async def shown_boards(queue: JobQueue) -> Sequence[Problem]:
    """Return the problems whose boards are shown."""
    hidden = await Contest(queue.store).hidden()
    return [problem for problem in PROBLEMS.values() if problem.name not in hidden]


async def board_named(queue: JobQueue, name: str) -> Problem:
    """Return the problem of a board, whatever the case of its name.

    Raises:
        HTTPException: 404, none of this name is shown; the message lists those that are.

    """
    boards = await shown_boards(queue)
    for problem in boards:
        if problem.name == name.lower():
            return problem
    known = ", ".join(problem.name for problem in boards) or "none"
    raise HTTPException(404, f"there is no leaderboard {name!r}; there are: {known}")


def devices_of(workers: Sequence[WorkerInfo]) -> Sequence[str]:
    """Return what to offer as a GPU: the devices of live workers, cards first; else any."""
    found = {worker.device for worker in workers if worker.serves}
    return sorted(found, key=lambda device: (device == CPU, device)) or [ANY]


async def asked_for(
    queue: JobQueue, problem: Problem, gpu: str, mode: str, filename: str | None
) -> JobRequest:
    """Return the job that the words of a request ask for.

    A profile where no live worker could take one is static: any worker compiles for the device.

    Raises:
        InvalidSubmission: there is no such mode or device.

    """
    ours, alias = mode_named(mode), ALIASES.get(gpu.lower(), gpu)
    workers, targets = await queue.workers(), None
    device = device_named(alias, (name for worker in workers for name in worker.serves))
    line = line_of(device, Mode.PROFILE)
    if ours is Mode.PROFILE and not any(line in worker.lines for worker in workers):
        targets = tuple(name for name, cards in TARGETS_OF.items() if device in cards) or None
        ours, device = Mode.COMPILE, ANY
    return JobRequest(
        problem=problem.name, mode=ours, device=device, filename=filename, targets=targets
    )
