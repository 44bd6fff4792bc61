"""The one sentence of a verdict."""

from collections.abc import Iterator, Sequence

from contract.verdict import CaseResult
from kernels.turns import in_words
from worker.comparing import NAMES, Found
from worker.judge import Judgement


def summarise(found: Judgement) -> str:
    """Say the outcome, and for a failure the first place it was found."""
    failure = found.failure
    total = len(found.cases)
    if failure is None:
        exact = sum(1 for case in found.cases if case.comparison and case.comparison.bit_exact)
        words = f"passed: {total} {plural(total, 'case')} in {found.calls} calls, {exact} bit-exact"
        hidden = found.hidden.cases if found.hidden else 0
        return f"{words}; and {hidden} hidden {plural(hidden, 'case')}" if hidden else words
    failing = next((case for case in found.cases if case.message == failure.message), None)
    passed = sum(case.outcome == "passed" for case in found.cases)
    tally = f"{passed} of {total} {plural(total, 'case')} passed"
    ran = any(case.outcome for case in found.cases)
    unknown = f"in a hidden case ({tally})" if ran else "at import"
    where = unknown if failing is None else f"in case {failing.index} ({tally})"
    return f"{failure.outcome.replace('_', ' ')} {where}: {failure.headline}"


def summarise_comparison(found: Found) -> str:
    """Say which is faster, and where it is otherwise; or which of the two fails, and where."""
    failure = found.failure
    if failure is None:
        assert found.overall is not None
        return "; ".join((f"passed: {in_words(found.overall)}", *_otherwise(found)))
    outcome = failure.outcome.replace("_", " ")
    if found.at_fault is None:
        return f"{outcome}: {failure.headline}"
    failing = failing_in(found.cases[NAMES.index(found.at_fault)])
    where = "at import" if failing is None else f"in case {failing.index}"
    return f"{outcome} {where} of {found.at_fault.upper()}: {failure.headline}"


def _otherwise(found: Found) -> Iterator[str]:
    """Name the cases that are decided otherwise than all of them together."""
    timed = [(index, ratio) for index, ratio in enumerate(found.ratios) if ratio is not None]
    for decision in ("faster", "slower", "no_difference"):
        numbers = [str(index) for index, ratio in timed if ratio.decision == decision]
        if numbers and found.overall is not None and found.overall.decision != decision:
            what = "no difference" if decision == "no_difference" else f"B is {decision}"
            yield f"{what} in {plural(len(numbers), 'case')} {', '.join(numbers)}"


def failing_in(cases: Sequence[CaseResult]) -> CaseResult | None:
    """Return the first case that failed, None where none did."""
    return next((case for case in cases if case.outcome not in (None, "passed")), None)


def plural(count: int, noun: str) -> str:
    """Return the noun in the number that fits."""
    return noun if count == 1 else f"{noun}s"
