"""From the bytes of a request to the fields of a submission: JSON, multipart form or raw file."""

from collections.abc import Sequence
from typing import NamedTuple

from fastapi import Request

from service.bounded_body import UnsupportedBody, capped
from service.form_body import fields_of, is_form, read_form, the_file
from service.job_request import CandidateRequest, ComparisonRequest, JobRequest
from service.settings import ServiceSettings
from service.strict_json import MalformedJson, loads

ESCAPED_BYTES = 3
"""Bytes that JSON or base64 may make of one byte of source."""
HOW_TO_SEND_A_FILE = "a file is sent to POST /v1/submissions: curl -F file=@kernel.py"


class SentCandidate(NamedTuple):
    """One of the candidates of a request."""

    field: str
    """What its fields begin with: nothing, or `a.` and `b.` of a comparison."""
    asked: CandidateRequest
    source: bytes | None


class SentJob(NamedTuple):
    """What a request carries."""

    request: JobRequest | ComparisonRequest
    source: bytes | None
    job_s: float | None = None
    """Seconds that the job may take, where the request wants fewer than the service allows."""
    other: bytes | None = None
    """The source of B, of a comparison."""

    @property
    def candidates(self) -> Sequence[SentCandidate]:
        """What is to run: one, or A and B."""
        asked = self.request
        if isinstance(asked, JobRequest):
            return (SentCandidate("", asked, self.source),)
        a = SentCandidate("a.", asked.a, self.source)
        return (a, SentCandidate("b.", asked.b, self.other))


async def read_json(request: Request, settings: ServiceSettings) -> SentJob:
    """Read a JSON body, of whatever content type but a form.

    Raises:
        UnsupportedBody, MalformedJson, InvalidSubmission: it is not as it has to be.

    """
    try:
        members = await read_members(request, settings)
    except MalformedJson as error:
        raise MalformedJson(f"{error}; {HOW_TO_SEND_A_FILE}") from None
    asked = JobRequest.of(members)
    return SentJob(asked, asked.sent_source())


async def read_members(
    request: Request, settings: ServiceSettings, *, most_files: int = 1
) -> object:
    """Read a JSON body, with so many files in it at most, and leave it at that.

    Raises:
        UnsupportedBody, MalformedJson, InvalidSubmission: it is not as it has to be.

    """
    if is_form(request):
        raise UnsupportedBody(f"this takes JSON; {HOW_TO_SEND_A_FILE}")
    limit = most_files * ESCAPED_BYTES * settings.limits.source_bytes + settings.fields_bytes
    data = b"".join([chunk async for chunk in capped(request, limit, settings.limits)])
    return loads(data, max_items(settings))


async def read_upload(request: Request, settings: ServiceSettings) -> SentJob:
    """Read a file: the part `file` of a form, or else the body itself; fields beside it.

    Raises:
        MalformedForm, InvalidSubmission: it is not as it has to be.

    """
    fields = list(request.query_params.multi_items())
    filename = None
    if is_form(request):
        files, in_form = await read_form(request, settings)
        file = the_file(files)
        source, filename = file.content, file.filename
        fields += in_form
    else:
        limit = settings.limits.source_bytes
        source = b"".join([chunk async for chunk in capped(request, limit, settings.limits)])
    named = fields_of(fields, max_items(settings))
    if filename is not None:
        named.setdefault("filename", filename)
    return SentJob(JobRequest.of(named), source)


def max_items(settings: ServiceSettings) -> int:
    """Return how many items an array of a request may have."""
    return max(settings.limits.groups, settings.limits.cases)
