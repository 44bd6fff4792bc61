"""The one sentence of a verdict."""

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


def plural(count: int, noun: str) -> str:
    """Return the noun in the number that fits."""
    return noun if count == 1 else f"{noun}s"
