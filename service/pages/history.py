"""The history of an owner on a leaderboard: each result, and the best so far as a staircase."""

from collections.abc import Sequence
from dataclasses import dataclass

from contract.results import HistoryResult
from service.pages.axes import Axis, Frame, Tick
from service.pages.words import exactly, micros

FRAME = Frame(width=480, height=240, left=60, right=466, top=16, bottom=196)


@dataclass(frozen=True, slots=True)
class Dot:
    """A result."""

    x: float
    y: float
    counts: bool
    text: str


@dataclass(frozen=True, slots=True)
class History:
    """What is drawn; lengths in the units of the picture."""

    title: str
    dots: Sequence[Dot]
    best: Sequence[tuple[float, float]]
    """Corners of the staircase, from left to right."""
    y_ticks: Sequence[Tick]
    first: str
    last: str
    frame: Frame = FRAME


def history_of(results: Sequence[HistoryResult]) -> History | None:
    """Return the picture of results, given the newest first; None for fewer than two."""
    if len(results) < 2:
        return None
    ordered = sorted(results, key=lambda each: each.finished_at)
    times = [each.finished_at.timestamp() for each in ordered]
    scores = [each.geomean_us for each in ordered]
    room = (max(scores) - min(scores)) * 0.08 or max(scores) * 0.05
    x = Axis(times[0], max(times[-1], times[0] + 1), FRAME.left, FRAME.right)
    y = Axis(max(0, min(scores) - room), max(scores) + room, FRAME.bottom, FRAME.top)
    return History(
        title=f"Scores of {ordered[0].owner} over time, lower is better",
        dots=[_dot(each, x, y) for each in ordered],
        best=_staircase(ordered, x, y),
        y_ticks=y.ticks(4),
        first=exactly(ordered[0].finished_at),
        last=exactly(ordered[-1].finished_at),
    )


def _dot(result: HistoryResult, x: Axis, y: Axis) -> Dot:
    counts = result.counts
    return Dot(
        x=x.at(result.finished_at.timestamp()),
        y=y.at(result.geomean_us),
        counts=counts,
        text=f"{exactly(result.finished_at)}: {micros(result.geomean_us, 5)}{_why_not(result)}",
    )


def _why_not(result: HistoryResult) -> str:
    if result.disqualified:
        return ", disqualified"
    return "" if result.counts else ", sent outside of the window"


def _staircase(ordered: Sequence[HistoryResult], x: Axis, y: Axis) -> Sequence[tuple[float, float]]:
    corners: list[tuple[float, float]] = []
    best = None
    for result in ordered:
        if result.counts and (best is None or result.geomean_us < best):
            at = x.at(result.finished_at.timestamp())
            if best is not None:
                corners.append((at, y.at(best)))
            best = result.geomean_us
            corners.append((at, y.at(best)))
    if best is not None:
        corners.append((FRAME.right, y.at(best)))
    return corners
