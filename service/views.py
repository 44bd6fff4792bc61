"""What clients see of jobs: the contract's own types, with links."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from contract.job import Headline, Job, JobSummary, Look
from contract.operations import Figures
from contract.verdict import RAW_SAMPLES, Verdict

_FROZEN = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Links(BaseModel):
    """Where the rest of a job is."""

    model_config = _FROZEN

    self: str
    events: str
    source: str | None
    """Null for a built-in kernel."""
    log: str

    @classmethod
    def of(cls, job: Job) -> "Links":
        """Return the links of a job."""
        path = f"/v1/jobs/{job.id}"
        return cls(
            self=path,
            events=f"{path}/events",
            source=None if job.sha256 is None else f"{path}/source",
            log=f"{path}/log",
        )


class JobView(Job):
    """A job with its links."""

    links: Links
    estimated_start_s: float | None = None
    """A rough guess of the seconds until it starts, from recent jobs of its mode; null unless it
    is queued and both a worker and experience are there."""
    hint: str | None = None
    """What whoever waits for a queued job should know: that no live worker takes it, or that there
    will be no times."""


class JobListItem(Job):
    """A job in a list: the headline stands for its verdict."""

    verdict: None = Field(default=None, exclude=True)
    headline: Headline | None
    links: Links


class JobList(BaseModel):
    """A page of jobs, the newest first."""

    model_config = _FROZEN

    jobs: tuple[JobListItem, ...]
    next_cursor: str | None
    """What `cursor` has to be for the next page; null at the end."""


def json_response(view: object, status: int = 200) -> Response:
    """Return a view as strict JSON."""
    return Response(to_json(view, inf_nan_mode="null"), status, media_type="application/json")


def job_response(
    job: Job,
    status: int = 200,
    *,
    samples: bool = False,
    review: bool = False,
    headers: Mapping[str, str] | None = None,
    figures: Figures | None = None,
) -> Response:
    """Return a job, with what only some see of its verdict where the caller does.

    `figures` are those of the queue that it waits in.
    """
    body = job_json(job, samples=samples, review=review, figures=figures)
    return Response(body, status, headers, media_type="application/json")


def job_json(
    job: Job, *, samples: bool = False, review: bool = False, figures: Figures | None = None
) -> str:
    """Return a job as clients and callbacks get it."""
    links = Links.of(job)
    verdict = with_paths(job.verdict, links)
    if verdict is not None and not review:
        verdict = verdict.model_copy(update={"review": ()})
    seen = dict(job) | {"verdict": verdict} | _outlook(job, figures)
    view = JobView(**seen, links=links)
    unseen = None if samples else {"verdict": RAW_SAMPLES}
    return view.model_dump_json(exclude=unseen)


def look_json(look: Look, *, review: bool, figures: Figures | None) -> bytes:
    """Return what `job_json` does, without reading what was written as JSON."""
    seen = dict(look.job) | _outlook(look.job, figures)
    view = JobView.model_construct(**seen, links=Links.of(look.job))
    if look.verdict is None or look.review is None:
        return view.model_dump_json().encode()
    flags = look.review if review else b"[]"
    head = view.model_dump_json(exclude={"verdict"}).encode()
    return b'%s,"verdict":%s,"review":%s}}' % (head[:-1], look.verdict[:-1], flags)


def _outlook(job: Job, figures: Figures | None) -> dict[str, Any]:
    if figures is None:
        return {}
    return {"estimated_start_s": figures.estimated_start_s(job), "hint": figures.hint(job)}


def with_paths(verdict: Verdict | None, links: Links) -> Verdict | None:
    """Turn the names of artifacts, as the queue holds them, into their paths."""
    if verdict is None or not (verdict.kernels or verdict.profile):
        return verdict

    def paths(names: Mapping[str, str]) -> dict[str, dict[str, str]]:
        found = {kind: f"{links.self}/artifacts/{name}" for kind, name in names.items()}
        return {"links": found}

    profile = verdict.profile
    update = {
        "kernels": tuple(
            kernel.model_copy(update=paths(kernel.links)) for kernel in verdict.kernels
        ),
        "profile": profile and profile.model_copy(update=paths(profile.links)),
    }
    return verdict.model_copy(update=update)


def job_list(page: Sequence[JobSummary], cursor: str | None) -> JobList:
    """Return a page as clients see it."""
    items = (
        JobListItem(
            **dict(each.job.model_copy(update={"verdict": None})),
            headline=each.headline,
            links=Links.of(each.job),
        )
        for each in page
    )
    return JobList(jobs=tuple(items), next_cursor=cursor)
