"""From the bytes of a request to the fields of a submission: JSON, multipart form or raw file.

Bytes are counted as they arrive, so that no more is held than may be accepted. A file's own bytes
are never decoded.
"""

from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import NamedTuple

from fastapi import Request
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from contract.errors import EvaluationError, InvalidSubmission, SourceTooLarge
from contract.limits import RequestLimits
from service.job_request import CandidateRequest, ComparisonRequest, JobRequest
from service.settings import ServiceSettings
from service.strict_json import MalformedJson, loads

ESCAPED_BYTES = 3
"""Bytes that JSON or base64 may make of one byte of source."""
JSON_FIELDS = ("m", "n", "k", "l", "cases", "targets", "poison_padding")
TEXT_OR_JSON_FIELDS = ("seed", "distribution")
UTF_8 = ("utf-8", "utf8", "us-ascii")
SOURCE_FIELDS = ("file", "source", "source_base64")


class MalformedForm(EvaluationError):
    """The bytes are no multipart form."""


class UnsupportedBody(EvaluationError):
    """The content type is not accepted here."""


class SentFile(NamedTuple):
    """A file in a form."""

    name: str
    """Of the part."""
    filename: str | None
    content: bytes


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


HOW_TO_SEND_A_FILE = "a file is sent to POST /v1/submissions: curl -F file=@kernel.py"


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
    data = b"".join([chunk async for chunk in _capped(request, limit, settings.limits)])
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
        source = b"".join([chunk async for chunk in _capped(request, limit, settings.limits)])
    named = fields_of(fields, max_items(settings))
    if filename is not None:
        named.setdefault("filename", filename)
    return SentJob(JobRequest.of(named), source)


async def read_form(
    request: Request, settings: ServiceSettings, *, most_files: int = 1
) -> tuple[Sequence[SentFile], list[tuple[str, str]]]:
    """Read a multipart form with so many files at most: the files and the texts in it.

    Raises:
        UnsupportedBody, MalformedForm, SourceTooLarge: it is none, or too large.

    """
    if not is_form(request):
        raise UnsupportedBody("send multipart/form-data here")
    _refuse_charset(request)
    limit = most_files * settings.limits.source_bytes + settings.fields_bytes
    parser = MultiPartParser(
        request.headers,
        _capped(request, limit, settings.limits),
        max_files=most_files,
        max_fields=len(JobRequest.model_fields),
        max_part_size=settings.fields_bytes,
    )
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise MalformedForm(error.message) from None
    try:
        return await _files_of(form), _texts_of(form)
    finally:
        await form.close()


def _refuse_charset(request: Request) -> None:
    """Have a form be UTF-8, as every browser and curl sends it.

    The parser would take any codec of Python's: half of a surrogate pair comes out of some, and
    minutes go into one megabyte of others.
    """
    _, options = parse_options_header(request.headers["content-type"])
    charset = options.get(b"charset", UTF_8[0].encode()).decode("latin-1")
    if charset.lower() not in UTF_8:
        raise MalformedForm(f"the charset of a form is UTF-8 and may be left out, not {charset!r}")


async def _files_of(form: FormData) -> Sequence[SentFile]:
    return [
        SentFile(name, part.filename, await part.read())
        for name, part in form.multi_items()
        if isinstance(part, UploadFile)
    ]


def the_file(files: Sequence[SentFile]) -> SentFile:
    """Return the part `file` of a form.

    Raises:
        InvalidSubmission: it is not there, or called otherwise.

    """
    if not files:
        raise InvalidSubmission("file", "send the file as a part: curl -F file=@kernel.py ...")
    if files[0].name != "file":
        raise InvalidSubmission(files[0].name, "unknown field; the part with the file is `file`")
    return files[0]


def _texts_of(form: FormData) -> list[tuple[str, str]]:
    return [(name, part) for name, part in form.multi_items() if isinstance(part, str)]


async def _capped(
    request: Request, limit: int, limits: RequestLimits
) -> AsyncGenerator[bytes, None]:
    if request.headers.get("content-encoding", "identity") != "identity":
        raise UnsupportedBody("send the body as it is: no Content-Encoding is undone here")
    announced = request.headers.get("content-length", "0")
    if int(announced) > limit:  # the server has seen to it that this is a number
        raise _too_large(limit, limits)
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise _too_large(limit, limits)
        yield chunk


def _too_large(limit: int, limits: RequestLimits) -> SourceTooLarge:
    in_all = "" if limit == limits.source_bytes else f", and {limit} in all"
    return SourceTooLarge(
        "source",
        f"at most {limits.source_bytes} bytes are accepted{in_all}",
        limit=limits.source_bytes,
    )


def fields_of(texts: Iterable[tuple[str, str]], max_items: int) -> dict[str, object]:
    """Return the fields that stand in a form or in a query; lists are JSON text there.

    Raises:
        InvalidSubmission: one is given twice, or is no JSON where it has to be.

    """
    fields: dict[str, object] = {}
    for name, text in texts:
        if name in SOURCE_FIELDS:
            raise InvalidSubmission(name, "send the file as the part `file` or as the body")
        if name in fields:
            raise InvalidSubmission(name, "given twice")
        fields[name] = _value(name, text, max_items)
    return fields


def _value(name: str, text: str, max_items: int) -> object:
    if name not in JSON_FIELDS + TEXT_OR_JSON_FIELDS:
        return text
    try:
        return loads(text.encode(), max_items)
    except MalformedJson as error:
        if name in TEXT_OR_JSON_FIELDS:
            return text
        raise InvalidSubmission(name, f"must be JSON: {error}") from None
    except InvalidSubmission as error:
        separator = "" if error.field.startswith("[") or not error.field else "."
        raise InvalidSubmission(f"{name}{separator}{error.field}", error.message) from None


def is_form(request: Request) -> bool:
    """Whether the body is a multipart form."""
    return request.headers.get("content-type", "").lower().startswith("multipart/form-data")


def max_items(settings: ServiceSettings) -> int:
    """Return how many items an array of a request may have."""
    return max(settings.limits.groups, settings.limits.cases)
