"""Why a comparison of two jobs says less than it seems to."""

from collections.abc import Iterator, Sequence

from contract.job import Job
from service.pages.comparing import Pair

CLOCKS_APART = 0.01
"""Share by which the clocks of two jobs may differ without a word."""


def cautions(a: Job, b: Job, pairs: Sequence[Pair]) -> Sequence[str]:
    """Return why a comparison of their times says less than it seems to."""
    one, other = a.verdict, b.verdict
    if one is None or other is None:
        return ("Only jobs with a verdict can be compared case by case.",)
    said = []
    here, there = one.environment, other.environment
    if one.emulated or other.emulated:
        said.append("An emulated job has no times.")
    if (here.gpu or here.device) != (there.gpu or there.device):
        said.append(f"A ran on {here.gpu or here.device}, B on {there.gpu or there.device}.")
    elif here.host != there.host or here.gpu_uuid != there.gpu_uuid:
        said.append("They ran on different machines.")
    if (here.torch, here.triton, here.driver) != (there.torch, there.triton, there.driver):
        said.append("Versions of torch, Triton or the driver differ.")
    return [*said, *of_times(pairs)]


def of_times(pairs: Sequence[Pair]) -> Iterator[str]:
    """Yield what was odd about the device or the samples while they were timed."""
    for name, cases in (("A", [pair.a for pair in pairs]), ("B", [pair.b for pair in pairs])):
        timings = [case.timing for case in cases if case.timing]
        held = {why for each in timings if (t := each.telemetry) for why in t.throttle_reasons}
        if held:
            yield f"The clocks of {name} were held down: {', '.join(sorted(held))}."
        if any(each.unstable for each in timings):
            yield f"Times of {name} did not settle."
    clocks = [_clocks_mhz(pair) for pair in pairs]
    apart = [pair for pair in clocks if pair and abs(pair[1] / pair[0] - 1) > CLOCKS_APART]
    if apart:
        a_mhz, b_mhz = max(apart, key=lambda pair: abs(pair[1] / pair[0] - 1))
        yield f"The device ran at {a_mhz:.0f} MHz for A and at {b_mhz:.0f} MHz for B in one case."


def _clocks_mhz(pair: Pair) -> tuple[float, float] | None:
    a, b = (case.timing and case.timing.telemetry for case in (pair.a, pair.b))
    return (a.sm_clock_mhz.median, b.sm_clock_mhz.median) if a and b else None
