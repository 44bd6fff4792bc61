"""Two jobs side by side."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from contract.job import Job, JobState
from service.access import Caller, job_of
from service.dependencies import Queue, Reader
from service.pages.cautions import cautions
from service.pages.comparing import geomean_ratio, in_words, pairs_of, ratios_of
from service.pages.difference import Line
from service.pages.difference_finder import Differences
from service.pages.render import page
from service.pages.samples import histograms
from service.routes_jobs import Filters, jobs_seen

router = APIRouter(include_in_schema=False)
OTHERS = 100

Id = Annotated[str | None, Query(max_length=100)]


@router.get("/compare")
async def compare(
    request: Request, queue: Queue, caller: Reader, a: Id = None, b: Id = None
) -> Response:
    """Show two jobs, or ask which."""
    others, _ = await jobs_seen(queue, caller, Filters(state=JobState.FINISHED, limit=OTHERS))
    if not a or not b:
        return page("compare.html", caller, {**_NOTHING, "others": others})
    one, other = await _two(queue, caller, a, b)
    pairs = pairs_of(one.verdict, other.verdict) if one.verdict and other.verdict else ()
    timed = [pair for pair in pairs if pair.ratio]
    ratio = geomean_ratio(pairs)
    sides = [(("A", pair.a), ("B", pair.b)) for pair in timed]
    found = {
        "a": one,
        "b": other,
        "cautions": cautions(one, other, pairs),
        "pairs": pairs,
        "timed": len(timed),
        "apart": sum(pair.apart for pair in timed),
        "ratio": ratio,
        "verbal": ratio and in_words(ratio),
        "ratios": ratios_of(pairs),
        "samples": histograms("Samples of each case, A above and B below", sides),
        "lines": await _lines(request.app.state.differences, queue, one, other),
        "in_words": in_words,
    }
    return page("compare.html", caller, {**found, "others": others})


_NOTHING: Mapping[str, object] = {"a": None, "b": None, "cautions": (), "ratio": None}


async def _two(queue: Queue, caller: Caller, a: str, b: str) -> tuple[Job, Job]:
    return await job_of(queue, a, caller), await job_of(queue, b, caller)


async def _lines(differences: Differences, queue: Queue, a: Job, b: Job) -> Sequence[Line] | None:
    """Return the difference of two files; None where there is none to show."""
    if a.sha256 is None or b.sha256 is None or a.sha256 == b.sha256:
        return None
    sources = await queue.source(a.id), await queue.source(b.id)
    return await differences.of(sources[0] or b"", sources[1] or b"")
