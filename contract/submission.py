"""What a client asks for."""

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from contract.errors import InvalidSubmission
from contract.limits import Limits
from kernels.problem import Case, Problem
from kernels.problems import PROBLEMS


class Mode(StrEnum):
    """How far a job goes."""

    TEST = "test"
    """Correctness."""
    BENCHMARK = "benchmark"
    """Correctness and times; on a worker without a GPU correctness only."""
    RANKED = "ranked"
    PROFILE = "profile"
    COMPILE = "compile"
    """Compilation for `targets`; nothing is run, and no GPU needed."""
    COMPARE = "compare"
    """Correctness of two candidates, then their times, called in turns on one worker."""


TARGETS = ("sm_90a", "sm_100a", "sm_103a", "sm_120a")
"""What mode `compile` compiles for: H100 and H200, B200, B300, and RTX PRO 6000 or 5090."""


class Candidate(BaseModel):
    """The second of two that are compared; the first is the submission's own."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    kernel: str | None = None
    """Name of a built-in kernel; null where a source was sent."""
    source: Annotated[bytes | None, Field(exclude=True)] = None
    """The file as sent. Stored beside the rest, never inside its JSON."""
    filename: str | None = None
    sha256: str | None = None
    """Digest of the source, null for a built-in kernel."""


class Submission(BaseModel):
    """One request, resolved: every default is filled in and every limit checked."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    problem: str
    mode: Mode
    cases: tuple[Case, ...]
    kernel: str | None = None
    """Name of a built-in kernel; null where a source was sent."""
    source: Annotated[bytes | None, Field(exclude=True)] = None
    """The file as sent. Stored beside the rest, never inside its JSON."""
    filename: str | None = None
    device: str = "any"
    targets: tuple[str, ...] = ()
    """What mode `compile` compiles for; empty in every other mode."""
    other: Candidate | None = None
    """B of mode `compare`, in which the rest speaks of A; null in every other mode."""
    callback_url: str | None = None
    limits: Limits = Limits()

    @property
    def sha256(self) -> str | None:
        """Digest of the source, null for a built-in kernel."""
        return None if self.source is None else hashlib.sha256(self.source).hexdigest()


def official_cases(problem: Problem, mode: Mode) -> tuple[Case, ...]:
    """Return the cases that run where a request names none."""
    match mode:
        case Mode.TEST:
            return problem.tests
        case Mode.BENCHMARK | Mode.PROFILE | Mode.COMPARE:
            return problem.benchmarks
        case Mode.RANKED:
            return problem.tests + problem.benchmarks
        case Mode.COMPILE:
            return problem.tests[:1]


def targets_named(asked: Sequence[str] | None) -> tuple[str, ...]:
    """Return what to compile for, each once: all targets where none are asked for.

    Raises:
        InvalidSubmission: one is unknown, or the list is empty; the message lists those there are.

    """
    known = f"known: {', '.join(TARGETS)}"
    if asked is None:
        return TARGETS
    if not asked:
        raise InvalidSubmission("targets", f"at least one target, or leave it out; {known}")
    for index, name in enumerate(asked):
        if name not in TARGETS:
            raise InvalidSubmission(f"targets[{index}]", f"unknown target {name!r}; {known}")
    return tuple(dict.fromkeys(asked))


def problem_named(name: str) -> Problem:
    """Return a problem.

    Raises:
        InvalidSubmission: there is none of this name; the message lists those there are.

    """
    try:
        return PROBLEMS[name]
    except KeyError:
        known = ", ".join(PROBLEMS)
        raise InvalidSubmission("problem", f"unknown problem {name!r}; known: {known}") from None
