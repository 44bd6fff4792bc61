"""What clients see of the service itself: problems, workers, the queue, health."""

from dataclasses import dataclass, fields

from pydantic import BaseModel, ConfigDict

from contract.device import DEVICES
from contract.job import WorkerInfo
from contract.limits import Limits, RequestLimits
from contract.operations import Figures
from contract.problem import Problem, ProblemFacts
from contract.submission import Mode
from service.settings import ServiceSettings

_FROZEN = ConfigDict(frozen=True, use_attribute_docstrings=True)


class WorkerList(BaseModel):
    """The workers that are alive."""

    model_config = _FROZEN

    workers: tuple[WorkerInfo, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemView(ProblemFacts):
    """A problem, and what may be asked of it here."""

    modes: tuple[Mode, ...]
    """Modes that this version serves."""
    devices: tuple[str, ...]
    request_limits: RequestLimits
    limits: Limits
    """What a job may use."""


class ProblemList(BaseModel):
    """All problems."""

    model_config = _FROZEN

    problems: tuple[ProblemView, ...]


class LineView(BaseModel):
    """The jobs of one mode that wait for one device."""

    model_config = _FROZEN

    device: str
    mode: Mode
    waiting: int
    oldest_s: float
    """Age of the oldest, from its submission."""


class QueueView(BaseModel):
    """How the queue is."""

    model_config = _FROZEN

    waiting: int
    running: int
    workers: int
    """Live ones that are not `unhealthy`."""
    lines: tuple[LineView, ...]
    """Where jobs wait, by device and mode."""


class Health(BaseModel):
    """The process lives."""

    model_config = _FROZEN

    status: str = "ok"


class Readiness(BaseModel):
    """Jobs are accepted."""

    model_config = _FROZEN

    status: str = "ready"
    workers: int
    """Live workers that are not `unhealthy`; without any, jobs are accepted and wait."""
    queued: int


def queue_view(figures: Figures) -> QueueView:
    """Return how the queue is as clients see it, the oldest line first."""
    lines = (
        LineView(device=line.device, mode=line.mode, waiting=line.waiting, oldest_s=line.oldest_s)
        for line in sorted(figures.lines, key=lambda line: -line.oldest_s)
    )
    return QueueView(
        waiting=sum(line.waiting for line in figures.lines),
        running=figures.running,
        workers=sum(worker.fit for worker, _ in figures.workers),
        lines=tuple(lines),
    )


def problem_view(problem: Problem, settings: ServiceSettings) -> ProblemView:
    """Return a problem with what may be asked of it."""
    return ProblemView(
        **{field.name: getattr(problem, field.name) for field in fields(ProblemFacts)}
        | {"tensors": dict(problem.tensors)},
        modes=tuple(Mode),
        devices=DEVICES,
        request_limits=settings.limits,
        limits=settings.job,
    )
