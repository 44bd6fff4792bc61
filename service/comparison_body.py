"""From the bytes of a request to a comparison: JSON, or a form with two files."""

from collections.abc import Sequence
from typing import Final

from fastapi import Request

from contract.errors import InvalidSubmission
from service.form_body import SentFile, fields_of, is_form, read_form
from service.job_request import ComparisonRequest
from service.request_body import SentJob, max_items, read_members
from service.settings import ServiceSettings

NAMES: Final = ("a", "b")


async def read_comparison(request: Request, settings: ServiceSettings) -> SentJob:
    """Read what is to be compared.

    Raises:
        MalformedForm, MalformedJson, InvalidSubmission: it is not as it has to be.

    """
    if is_form(request):
        files, texts = await read_form(request, settings, most_files=len(NAMES))
        return _from_form(files, texts, max_items(settings))
    asked = ComparisonRequest.of(await read_members(request, settings, most_files=len(NAMES)))
    return SentJob(asked, asked.a.sent_source("a."), other=asked.b.sent_source("b."))


def _from_form(
    files: Sequence[SentFile], texts: Sequence[tuple[str, str]], most_items: int
) -> SentJob:
    """Read a form: the parts `a` and `b` are files, or texts that name a built-in kernel."""
    sources: dict[str, bytes] = {}
    given: dict[str, object] = {}
    for file in files:
        if file.name not in NAMES:
            raise InvalidSubmission(file.name, "unknown field; files are the parts `a` and `b`")
        if file.name in sources:
            raise InvalidSubmission(file.name, "given twice")
        sources[file.name] = file.content
        given[file.name] = {} if file.filename is None else {"filename": file.filename}
    for name, text in texts:
        if name in NAMES:
            if name in given:
                raise InvalidSubmission(name, "given twice")
            given[name] = {"kernel": text}
    others = [(name, text) for name, text in texts if name not in NAMES]
    asked = ComparisonRequest.of(fields_of(others, most_items) | given)
    return SentJob(asked, sources.get("a"), other=sources.get("b"))
