"""Submitting: JSON, a form, or a raw file."""

import logging
from contextlib import suppress
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request, Response

from contract.errors import QueueUnavailable
from contract.job import Job
from contract.keys import NAME
from service.access import ANYBODY, Caller
from service.dependencies import Parts, Submitter, parts_of
from service.job_request import JobRequest
from service.metrics import Metrics
from service.openapi import json_body, problems, upload_body
from service.request_body import SentJob, read_json, read_upload
from service.views import JobView, job_response

router = APIRouter(tags=["jobs"])
log = logging.getLogger(__name__)

Key = Annotated[
    str | None,
    Header(alias="Idempotency-Key", min_length=1, max_length=200, pattern="^[!-~]+$"),
]


async def _sender(
    caller: Submitter,
    name: Annotated[
        str | None,
        Header(
            alias="Halfbyte-Name",
            pattern=f"^{NAME.pattern}$",
            description="Whose the job is, while the service has no keys. It proves nothing.",
        ),
    ] = None,
) -> Caller:
    return caller if name is None or caller is not ANYBODY else replace(caller, owner=name)


Sender = Annotated[Caller, Depends(_sender)]
REFUSALS = problems(400, 409, 413, 415, 422, 429, 503)
LOCATION = {"headers": {"Location": {"description": "The job", "schema": {"type": "string"}}}}
RESPONSES = {202: LOCATION, **REFUSALS}


@router.post(
    "/v1/jobs",
    status_code=202,
    response_model=JobView,
    responses=RESPONSES,
    openapi_extra=json_body(JobRequest),
)
async def submit(
    request: Request,
    caller: Sender,
    key: Key = None,
) -> Response:
    """Submit sizes for a built-in kernel, or a file inside JSON."""
    parts = parts_of(request)
    return await accepted(await read_json(request, parts.settings), caller, key, parts)


@router.post(
    "/v1/submissions",
    status_code=202,
    response_model=JobView,
    responses=RESPONSES,
    openapi_extra=upload_body(),
)
async def upload(
    request: Request,
    caller: Sender,
    key: Key = None,
) -> Response:
    """Submit a file, as the part `file` of a form or as the body itself.

    Fields are those of `POST /v1/jobs`, in the form or in the query; lists are JSON text.
    """
    parts = parts_of(request)
    return await accepted(await read_upload(request, parts.settings), caller, key, parts)


def note_accepted(job: Job, sent: SentJob, metrics: Metrics) -> Job:
    """Count and log a job that was accepted, and return it."""
    metrics.job_accepted(job)
    log.info(
        "job accepted",
        extra={
            "job": job.id,
            "number": job.number,
            "owner": job.owner,
            "mode": job.mode,
            "device": job.device,
            "kernel": job.kernel,
            "sha256": job.sha256,
            "bytes": None if sent.source is None else len(sent.source),
        },
    )
    return job


async def accepted(
    sent: SentJob, caller: Caller, key: str | None, parts: Parts, *, under: str = "/v1/jobs"
) -> Response:
    """Put a job into the queue, and answer with it and with where it is."""
    admitted = await parts.admission.admit(sent, caller, key)
    job = note_accepted(admitted, sent, parts.metrics)
    figures = None
    with suppress(QueueUnavailable):  # the job is accepted all the same
        figures = await parts.operations.figures()
    return job_response(job, 202, headers={"Location": f"{under}/{job.id}"}, figures=figures)
