"""What a client asks for, and the limits it is held to."""

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from contract.errors import InvalidSubmission, SourceTooLarge
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


class Limits(BaseModel):
    """What a job may use. Resolved once at admission and carried with the job."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    import_s: float = 60
    """Seconds for importing the file, compilation at import included."""
    call_s: float = 30
    """Seconds for one call on a GPU."""
    emulated_call_s: float = 120
    """Seconds for one call on a worker without a GPU."""
    job_s: float = 300
    """Seconds for the whole job once a worker has it."""
    memory_bytes: int = 8 << 30
    """Memory of the process that runs the candidate."""
    log_bytes: int = 64 << 10
    """Bytes kept of each of stdout and stderr: half from the head, half from the tail."""


class RequestLimits(BaseModel):
    """What a request may ask for."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    groups: int = 1024
    """Groups of a case, and entries of a batch."""
    cases: int = 64
    extent: int = 65536
    """Largest m, n or k."""
    operand_bytes: int = 1 << 30
    """Operands, scales and outputs of one case."""
    job_operand_bytes: int = 2 << 30
    """The same of all cases of a job. Drawing and checking them takes the judge seconds a gigabyte
    and call: many large cases would end as `judge_overran`, and cost nothing."""
    source_bytes: int = 1_000_000

    def check_source(self, source: bytes) -> None:
        """Refuse a source that is too long.

        Raises:
            SourceTooLarge: over `source_bytes`.

        """
        if len(source) > self.source_bytes:
            raise SourceTooLarge(
                "source",
                f"at most {self.source_bytes} bytes are accepted, got {len(source)}",
                limit=self.source_bytes,
            )

    def check_cases(self, problem: Problem, cases: tuple[Case, ...]) -> None:
        """Refuse cases that are none of the problem, or over a limit.

        Raises:
            InvalidSubmission: naming the case, the limit and the value.

        """
        if len(cases) > self.cases:
            raise InvalidSubmission("cases", f"at most {self.cases} cases, got {len(cases)}")
        for index, case in enumerate(cases):
            self._check_case(problem, case, f"cases[{index}]")
        in_all = sum(map(problem.operand_bytes, cases))
        if in_all > self.job_operand_bytes:
            raise InvalidSubmission(
                "cases",
                f"operands, scales and outputs of all cases take {in_all} bytes, at most "
                f"{self.job_operand_bytes} are accepted: send some in a job of their own",
            )

    def _check_case(self, problem: Problem, case: Case, path: str) -> None:
        try:
            problem.check(case)
        except ValueError as error:
            name = str(error).partition(" ")[0]
            raise InvalidSubmission(f"{path}.{name}", str(error)) from None
        if len(case.m) > self.groups:
            raise InvalidSubmission(f"{path}.m", f"at most {self.groups} groups")
        if case.l > self.groups:
            raise InvalidSubmission(f"{path}.l", f"at most {self.groups}, got {case.l}")
        for name in ("m", "n", "k"):
            for group, value in enumerate(getattr(case, name)):
                if value > self.extent:
                    raise InvalidSubmission(
                        f"{path}.{name}[{group}]", f"at most {self.extent}, got {value}"
                    )
        operand_bytes = problem.operand_bytes(case)
        if operand_bytes > self.operand_bytes:
            raise InvalidSubmission(
                path,
                f"operands, scales and outputs take {operand_bytes} bytes, "
                f"at most {self.operand_bytes} are accepted",
            )


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
