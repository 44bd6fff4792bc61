"""For organisers and leaderboards elsewhere: decisions about results, the feed, its webhook."""

import logging
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from contract.ranked_feed import RankedEntry, RankedFeed, Webhook
from contract.results import HistoryResult, Results
from service.access import Caller
from service.dependencies import Administrator, Admissions, Queue, Reader
from service.openapi import problems
from service.problem_document import status_problem
from service.small_bodies import SmallBodies
from service.views import json_response

router = APIRouter(prefix="/v1", tags=["leaderboards"], route_class=SmallBodies)
log = logging.getLogger(__name__)
NO_WEBHOOK = "no webhook is registered"


class Decision(BaseModel):
    """Why an admin decides so; everybody who sees the result sees it."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    reason: str = Field(min_length=1, max_length=500)


class Address(BaseModel):
    """Where entries of the feed are to be posted."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    url: str = Field(max_length=2000)
    """An http or https address."""


class FeedPlace(BaseModel):
    """Which entries of the feed."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    after: int = Field(0, ge=0, lt=1 << 53)
    """Number of the last entry that is known; 0 for none."""
    limit: int = Field(100, ge=1, le=1000)


class FeedPage(BaseModel):
    """Some entries of the feed, the oldest first."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    entries: tuple[RankedEntry, ...]
    next_after: int
    """What `after` has to be to go on, now or when there is news."""


@router.get("/ranked", response_model=FeedPage, responses=problems(422, 503))
async def feed(queue: Queue, caller: Reader, place: Annotated[FeedPlace, Query()]) -> Response:
    """Read every ranked verdict, and every decision about a result, since a point.

    Numbers have no gap for admins. Others get of verdicts those that count, and their own.
    """
    entries = await RankedFeed(queue.store).after(place.after, place.limit)
    last = entries[-1].number if entries else place.after
    shown = tuple(entry for entry in entries if _shows(entry, caller))
    return json_response(FeedPage(entries=shown, next_after=last))


def _shows(entry: RankedEntry, caller: Caller) -> bool:
    return entry.type != "verdict" or entry.counts or caller.sees(entry.owner)


@router.get("/ranked/webhook", response_model=Webhook, responses=problems(404, 503))
async def webhook(queue: Queue, caller: Administrator) -> Response:
    """Tell where entries of the feed are posted."""
    found = await RankedFeed(queue.store).webhook()
    return status_problem(404, NO_WEBHOOK) if found is None else json_response(found)


@router.put("/ranked/webhook", response_model=Webhook, responses=problems(400, 422, 503))
async def set_webhook(
    address: Address, queue: Queue, admission: Admissions, caller: Administrator
) -> Response:
    """Have every entry from now on posted, signed with the callback secret of the caller's name."""
    await admission.check_address(address.url, "url")
    found = await RankedFeed(queue.store).set_webhook(address.url, caller.owner)
    log.info("webhook set", extra={"by": caller.owner})
    return json_response(found)


@router.delete("/ranked/webhook", status_code=204, responses=problems(404, 503))
async def unset_webhook(queue: Queue, caller: Administrator) -> Response:
    """Post entries no more, those that wait included."""
    if not await RankedFeed(queue.store).unset_webhook():
        return status_problem(404, NO_WEBHOOK)
    log.info("webhook unset", extra={"by": caller.owner})
    return Response(status_code=204)


@router.post(
    "/results/{job_id}/disqualify",
    response_model=HistoryResult,
    responses=problems(400, 404, 422, 503),
)
async def disqualify(
    job_id: str, decision: Decision, queue: Queue, caller: Administrator
) -> Response:
    """Take a result out of the count; the owner's next best stands in its place."""
    decide = Results(queue.store).disqualify
    return _decided("disqualified", await decide(job_id, decision.reason, caller.owner), caller)


@router.post(
    "/results/{job_id}/reinstate",
    response_model=HistoryResult,
    responses=problems(400, 404, 422, 503),
)
async def reinstate(
    job_id: str, decision: Decision, queue: Queue, caller: Administrator
) -> Response:
    """Let a disqualified result count again."""
    decide = Results(queue.store).reinstate
    return _decided("reinstated", await decide(job_id, decision.reason, caller.owner), caller)


@router.delete("/results/{job_id}", response_model=HistoryResult, responses=problems(404, 422, 503))
async def delete(
    job_id: str, queue: Queue, caller: Administrator, decision: Annotated[Decision, Query()]
) -> Response:
    """Forget a result, for good; the answer is what it was. The feed keeps that it was there."""
    decide = Results(queue.store).delete
    return _decided("deleted", await decide(job_id, decision.reason, caller.owner), caller)


def _decided(what: str, result: HistoryResult | None, caller: Caller) -> Response:
    if result is None:
        return status_problem(404, "there is no such result: no ranked job of this id counted")
    log.info("result %s", what, extra={"job": result.job, "by": caller.owner})
    return json_response(result)
