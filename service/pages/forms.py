"""From a form of the first page to a submission, as the API would have read it from JSON."""

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl

from fastapi import Request

from contract.errors import InvalidSubmission
from service.form_body import MalformedForm, read_form
from service.job_request import JobRequest
from service.request_body import SentJob
from service.settings import ServiceSettings

SIZES = ("m", "n", "k")
SIZES_CHARACTERS = 16_384
SMALL_BYTES = 4096
_BETWEEN = re.compile(r"[\s,;]+")
_ONCE = re.compile("[0-9a-f]{32}")


class SentForm(NamedTuple):
    """What was filled in."""

    texts: Mapping[str, str]
    """By field; empty ones are left out."""
    source: bytes | None
    filename: str | None

    @property
    def once(self) -> str | None:
        """What the page drew, so that a form sent twice is one job."""
        drawn = self.texts.get("once", "")
        return drawn if _ONCE.fullmatch(drawn) else None

    def job(self) -> SentJob:
        """Return the submission.

        Raises:
            InvalidSubmission: naming the field.

        """
        fields: dict[str, object] = {n: t for n, t in self.texts.items() if n != "once"}
        for name in SIZES:
            if name in fields:
                fields[name] = _integers(name, self.texts[name])
        if "l" in fields:
            fields["l"] = _integer("l", self.texts["l"])
        if self.source is not None:
            fields.pop("kernel", None)
            fields["filename"] = self.filename
        return SentJob(JobRequest.of(fields), self.source)


async def submission_form(request: Request, settings: ServiceSettings) -> SentForm:
    """Read the form; a file that was not chosen comes as one without name and content.

    Raises:
        MalformedForm, UnsupportedBody, SourceTooLarge: it cannot be read.

    """
    files, texts = await read_form(request, settings)
    filled = {name: text.strip() for name, text in texts if text.strip()}
    chosen = next((file for file in files if file.name == "file" and file.filename), None)
    if chosen is None:
        return SentForm(filled, None, None)
    return SentForm(filled, chosen.content, chosen.filename)


async def small_form(request: Request) -> Mapping[str, str]:
    """Read a form without files.

    Raises:
        MalformedForm: it is too long, or no text.

    """
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > SMALL_BYTES:
            raise MalformedForm(f"at most {SMALL_BYTES} bytes are accepted here")
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=10))
    except ValueError as error:
        raise MalformedForm(str(error)) from None


def _integer(name: str, text: str) -> int:
    found = _integers(name, text)
    if len(found) > 1:
        raise InvalidSubmission(name, "must be one integer")
    return found[0]


def _integers(name: str, text: str) -> list[int]:
    """Read `96, 128`; brackets around it, as in JSON, do no harm."""
    if len(text) > SIZES_CHARACTERS:
        raise InvalidSubmission(name, f"at most {SIZES_CHARACTERS} characters")
    parts = [part for part in _BETWEEN.split(text.strip("[] ")) if part]
    if not parts or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise InvalidSubmission(name, "must be integers with commas between: 96, 128")
    return [int(part) for part in parts]
