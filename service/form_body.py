"""From a multipart form to files and texts, and from texts to fields.

A file's own bytes are never decoded.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fastapi import Request
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from contract.errors import EvaluationError, InvalidSubmission
from service.bounded_body import UnsupportedBody, capped
from service.job_request import JobRequest
from service.settings import ServiceSettings
from service.strict_json import MalformedJson, loads

JSON_FIELDS = ("m", "n", "k", "l", "cases", "targets", "poison_padding")
TEXT_OR_JSON_FIELDS = ("seed", "distribution")
UTF_8 = ("utf-8", "utf8", "us-ascii")
SOURCE_FIELDS = ("file", "source", "source_base64")


class MalformedForm(EvaluationError):
    """The bytes are no multipart form."""


class SentFile(NamedTuple):
    """A file in a form."""

    name: str
    """Of the part."""
    filename: str | None
    content: bytes


def is_form(request: Request) -> bool:
    """Whether the body is a multipart form."""
    return request.headers.get("content-type", "").lower().startswith("multipart/form-data")


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
        capped(request, limit, settings.limits),
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
