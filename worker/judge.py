"""A submission becomes a verdict: the order of the checks, and nothing else.

Every call is a check. Its operands come from a seed of their own and are drawn into private memory,
the outputs are poisoned, all of it is copied to a random slot of the arena, and the runner is told.
When it answers, the outputs are copied away at once, the inputs are compared with the private copy,
and every element with a reference that is computed only now. Nothing of a later call is readable
before the earlier one has been judged.
"""

import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import torch

from contract.job import Progress
from contract.submission import Limits, Submission
from contract.verdict import CaseResult
from kernels.compare import compare, describe, merge
from kernels.measurement import Comparison
from kernels.operands import GroupOperands, draw
from kernels.problem import Case, Distribution
from worker.arena import Arena, slot_bytes
from worker.blame import Failure, blame
from worker.protocol import Job, Status
from worker.runner_process import Answered, End, RunnerProcess, source_memfd
from worker.seeds import derive

OWN_CALLS: Final = 2
"""Calls of a case on its own distribution."""
POISON: Final = 0x7EAD
"""A NaN of float16 that no conversion produces: an element that was never written keeps it."""
OPERAND_NAMES: Final = ("a", "b", "sfa", "sfb", "sfa_reordered", "sfb_reordered")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found, before the log and the machine are added."""

    cases: tuple[CaseResult, ...]
    failure: Failure | None
    calls: int


@dataclass(slots=True)
class Clock:
    """The candidate's time: its import and its calls, never our own work."""

    limits: Limits
    used_s: float = 0.0
    started_s: float = field(default_factory=time.monotonic)

    def limit(self, name: str, limit_s: float) -> tuple[str, float]:
        """Return the limit that applies next: its own, or what is left of the job's."""
        left_s = max(0.0, self.limits.job_s - self.used_s)
        return (name, limit_s) if limit_s <= left_s else ("job_limit", left_s)

    def start(self) -> None:
        """Begin to count."""
        self.started_s = time.monotonic()

    def stop(self) -> None:
        """Stop counting."""
        self.used_s += time.monotonic() - self.started_s


class Judge:
    """One job on one runner. Use once."""

    def __init__(
        self, submission: Submission, seed: int, runner: RunnerProcess, cancel_fd: int
    ) -> None:
        """Take the runner; the caller closes it."""
        self._submission = submission
        self._seed = seed
        self._runner = runner
        self._cancel_fd = cancel_fd
        self._clock = Clock(submission.limits)
        self._calls = 0

    def judge(self, source: bytes, *, emulated: bool) -> Iterator[Progress | Judgement]:
        """Yield progress, and the judgement last.

        Raises:
            RunnerFailed, Interrupted: see `worker.runner_process`.

        """
        cases = self._submission.cases
        yield Progress(stage="importing", cases=len(cases))
        arena = Arena(max((slot_bytes(case.groups) for case in cases), default=0))
        try:
            refused = self._import(source, arena, emulated)
            results: list[CaseResult] = []
            alive = refused is None
            for index, case in enumerate(cases):
                if not alive:
                    results.append(blank(index, case))
                    continue
                yield Progress(stage="testing", case=index, cases=len(cases))
                results.append(self._judge_case(index, case, arena))
                alive = results[-1].outcome in ("passed", "incorrect")
        finally:
            arena.close()
        yield Judgement(tuple(results), refused or first_failure(results), self._calls)

    def _import(self, source: bytes, arena: Arena, emulated: bool) -> Failure | None:
        limit, limit_s = self._clock.limit("import_limit", self._submission.limits.import_s)
        source_fd = source_memfd(source)
        self._clock.start()
        try:
            job = Job(arena.size_bytes, len(source), emulated)
            end = self._runner.start_job(job, arena.fd, source_fd, limit_s, self._cancel_fd)
        finally:
            self._clock.stop()
            os.close(source_fd)
        if isinstance(end, Answered) and end.answer.status is Status.IMPORTED:
            return None
        return blame(end, compiling=True, limit=limit)

    def _judge_case(self, index: int, case: Case, arena: Arena) -> CaseResult:
        seed = case_seed(self._seed, index, case)
        calls: list[Distribution] = [case.distribution] * OWN_CALLS
        if case.distribution == "official":
            calls.append("full_range")
        order = random.SystemRandom().sample(range(len(calls)), len(calls))
        found: list[tuple[bool, Comparison]] = []
        for number in order:
            own = number < OWN_CALLS
            operands = draw(case, derive(seed, "call", number), calls[number])
            outcome = self._call(operands, case, arena, calls[number])
            if isinstance(outcome, Failure):
                return result_of(index, case, merged(found), outcome)
            found.append((own, outcome.comparison))
            if outcome.failure is not None:
                return result_of(index, case, merged(found), outcome.failure)
        return result_of(index, case, merged(found), None)

    def _call(
        self,
        operands: Sequence[GroupOperands],
        case: Case,
        arena: Arena,
        distribution: Distribution,
    ) -> "Failure | Compared":
        offset, slot = arena.place(case.groups)
        for private, shared in zip(operands, slot.operands, strict=True):
            for ours, theirs in zip(tensors(private), tensors(shared), strict=True):
                theirs.copy_(ours)
        for output in slot.outputs:
            output.view(torch.int16).fill_(POISON)

        end, limit = self._release(offset, len(case.groups))
        if not (isinstance(end, Answered) and end.answer.status is Status.DONE):
            return blame(end, compiling=self._calls == 0, limit=limit)
        outputs = [output.clone() for output in slot.outputs]
        self._calls += 1

        changed = modified_input(operands, slot.operands)
        comparison = compare(outputs, operands, official=distribution == "official")
        if changed is not None:
            return Compared(comparison, Failure("incorrect", "inputs_modified", changed))
        where = "" if distribution == case.distribution else f" (on {distribution} operands)"
        return Compared(comparison, wrong_values(comparison, outputs, where))

    def _release(self, offset: int, groups: int) -> tuple[End, str]:
        limits = self._submission.limits
        limit, limit_s = self._clock.limit("call_limit", limits.emulated_call_s)
        self._clock.start()
        try:
            return self._runner.call(offset, groups, limit_s, self._cancel_fd), limit
        finally:
            self._clock.stop()


@dataclass(frozen=True, slots=True)
class Compared:
    """One call that answered."""

    comparison: Comparison
    failure: Failure | None


def case_seed(seed: int, index: int, case: Case) -> int:
    """Return the seed all calls of a case derive from: its own, or the job's."""
    return derive(seed, "case", index) if case.seed is None else case.seed


def tensors(group: GroupOperands) -> tuple[torch.Tensor, ...]:
    """Return the operand tensors in the order of `OPERAND_NAMES`."""
    return (group.a, group.b, group.sfa, group.sfb, group.sfa_blocked, group.sfb_blocked)


def modified_input(private: Sequence[GroupOperands], shared: Sequence[GroupOperands]) -> str | None:
    """Name the first operand that is no longer what was handed out."""
    for group, (ours, theirs) in enumerate(zip(private, shared, strict=True)):
        for name, before, after in zip(OPERAND_NAMES, tensors(ours), tensors(theirs), strict=True):
            if not torch.equal(before, after):
                return f"group {group}: {name} was changed; operands are read-only"
    return None


def wrong_values(
    comparison: Comparison, outputs: Sequence[torch.Tensor], where: str
) -> Failure | None:
    """Return the failure where values are outside the bound; `where` ends its sentence."""
    if comparison.within_bound:
        return None
    message = describe(comparison)
    worst = comparison.worst
    if worst is not None:
        element = outputs[worst.group][worst.row, worst.col]
        if element.view(torch.int16).item() == POISON:
            message += "; this element was never written"
    return Failure("incorrect", "values", message + where)


def merged(found: Sequence[tuple[bool, Comparison]]) -> Comparison | None:
    """Join the calls of a case; `bit_exact` speaks of its own distribution."""
    if not found:
        return None
    exact = all(comparison.bit_exact for own, comparison in found if own)
    return merge([comparison for _, comparison in found], bit_exact=exact)


def first_failure(results: Sequence[CaseResult]) -> Failure | None:
    """Return the failure of the first case that did not pass."""
    for result in results:
        if result.outcome is not None and result.outcome != "passed":
            return Failure(result.outcome, result.reason or "", result.message or "")
    return None


def result_of(
    index: int, case: Case, comparison: Comparison | None, failure: Failure | None
) -> CaseResult:
    """Write down what was found for a case."""
    return blank(index, case).model_copy(
        update={
            "outcome": "passed" if failure is None else failure.outcome,
            "reason": None if failure is None else failure.reason,
            "message": None if failure is None else failure.message,
            "comparison": comparison,
        }
    )


def blank(index: int, case: Case) -> CaseResult:
    """Return the entry of a case that never ran."""
    return CaseResult(index=index, m=case.m, n=case.n, k=case.k, distribution=case.distribution)
