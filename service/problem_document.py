"""Errors as RFC 9457 problem documents: what is wrong, where, and what would be right."""

import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from math import ceil
from typing import NamedTuple, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from contract.errors import (
    EvaluationError,
    IdempotencyConflict,
    IntakeStopped,
    InvalidSubmission,
    JobNotFound,
    NotAllowed,
    NotAuthenticated,
    NothingToRetry,
    OutsideWindow,
    QueueFull,
    QueueUnavailable,
    QuotaExceeded,
    SourceTooLarge,
)
from service.bounded_body import UnsupportedBody
from service.field_errors import fields_in, plain_errors
from service.form_body import MalformedForm
from service.settings import ServiceSettings
from service.strict_json import MalformedJson

MEDIA_TYPE = "application/problem+json"
SHOWN_CHARACTERS = 500
"""What a client sent is quoted up to this length."""

log = logging.getLogger(__name__)


class FieldError(BaseModel):
    """One field that has to be changed."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    field: str
    """Its path: `cases[0].k[2]`; empty for the body as a whole."""
    message: str


class ProblemDocument(BaseModel):
    """What went wrong. Further members tell limits, lengths and places in a source."""

    model_config = ConfigDict(frozen=True, extra="allow", use_attribute_docstrings=True)

    type: str
    """A fixed name for programs."""
    title: str
    status: int
    detail: str
    errors: tuple[FieldError, ...] = ()


class _Kind(NamedTuple):
    status: int
    name: str
    title: str


_KINDS: Mapping[type[EvaluationError], _Kind] = {
    MalformedJson: _Kind(400, "malformed-json", "The body is not JSON"),
    MalformedForm: _Kind(400, "malformed-form", "The body is not a form"),
    UnsupportedBody: _Kind(415, "unsupported-body", "This content type is not accepted here"),
    SourceTooLarge: _Kind(413, "too-large", "The request is too large"),
    InvalidSubmission: _Kind(422, "invalid-request", "The request breaks a rule"),
    IdempotencyConflict: _Kind(422, "idempotency-conflict", "The key stands for another request"),
    NotAuthenticated: _Kind(401, "not-authenticated", "A key is needed"),
    NotAllowed: _Kind(403, "not-allowed", "The key does not allow this"),
    JobNotFound: _Kind(404, "no-such-job", "There is no such job"),
    OutsideWindow: _Kind(409, "outside-window", "The leaderboard takes no jobs now"),
    NothingToRetry: _Kind(409, "nothing-to-retry", "The job has not failed"),
    QuotaExceeded: _Kind(429, "quota-exceeded", "A quota is used up"),
    QueueFull: _Kind(503, "queue-full", "The queue is full"),
    IntakeStopped: _Kind(503, "intake-stopped", "No jobs are accepted now"),
    QueueUnavailable: _Kind(503, "queue-unavailable", "The queue cannot be reached"),
    EvaluationError: _Kind(500, "internal-error", "The service failed"),
}


def problem(
    kind: _Kind,
    detail: str,
    errors: Sequence[tuple[str, str]] = (),
    headers: Mapping[str, str] | None = None,
    members: Mapping[str, object] | None = None,
) -> Response:
    """Return the response that tells a problem."""
    document = {
        **(members or {}),
        "type": f"urn:halfbyte:problem:{kind.name}",
        "title": kind.title,
        "status": kind.status,
        "detail": _short(detail.removeprefix(": ")),
        "errors": [{"field": _short(f), "message": _short(m)} for f, m in errors],
    }
    # Non-ASCII is escaped, so that what a client sent can be told whatever it was.
    body = json.dumps(document, allow_nan=False).encode("ascii")
    return Response(body, kind.status, headers, MEDIA_TYPE)


def status_problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response for a status that says it all."""
    phrase = HTTPStatus(status).phrase
    return problem(_Kind(status, phrase.lower().replace(" ", "-"), phrase), detail, headers=headers)


def add_handlers(app: FastAPI, settings: ServiceSettings) -> None:
    """Have every error answered by a problem document."""

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, EvaluationError)
        return _response_to(error, settings)

    app.add_exception_handler(EvaluationError, ours)
    app.add_exception_handler(RequestValidationError, _invalid_parameters)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(ClientDisconnect, _disconnected)
    app.add_exception_handler(Exception, _unforeseen)


def _response_to(error: EvaluationError, settings: ServiceSettings) -> Response:
    kind = next(_KINDS[each] for each in type(error).__mro__ if each in _KINDS)
    detail = str(error)
    errors: Sequence[tuple[str, str]] = ()
    members: Mapping[str, object] = {}
    match error:
        case InvalidSubmission():
            errors = fields_in(error)
            members = error.extra
        case IdempotencyConflict():
            errors = [("Idempotency-Key", detail)]
        case JobNotFound():
            detail = f"there is no job {detail}, or it is past its retention"
        case QuotaExceeded():
            members = {"quota": error.quota, "limit": error.limit, "used": error.used}
        case OutsideWindow():
            members = {"windows": error.windows}
        case QueueFull():
            members = {"queue_length": error.length, "limit": error.limit}
        case QueueUnavailable():
            detail = f"the queue does not answer: {detail}"
    return problem(kind, detail, errors, _headers(error, settings), members)


def _headers(error: EvaluationError, settings: ServiceSettings) -> Mapping[str, str]:
    match error:
        case NotAuthenticated():
            return {"WWW-Authenticate": 'Bearer realm="halfbyte"'}
        case QuotaExceeded(retry_after_s=wait_s) if wait_s is not None:
            return {"Retry-After": str(max(1, ceil(wait_s)))}
        case QueueFull() | QuotaExceeded() | IntakeStopped():
            return {"Retry-After": str(settings.full_retry_after_s)}
        case QueueUnavailable():
            return {"Retry-After": str(settings.retry_after_s)}
    return {}


async def _invalid_parameters(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    details = [{**each, "loc": each["loc"][1:]} for each in error.errors()]
    errors = plain_errors(cast(list[ErrorDetails], details))
    return problem(_KINDS[InvalidSubmission], ": ".join(errors[0]), errors)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return status_problem(
        error.status_code, f"{request.method} {request.url.path}: {error.detail}", error.headers
    )


async def _disconnected(request: Request, error: Exception) -> Response:
    return status_problem(400, "the client went away before its request was complete")


async def _unforeseen(request: Request, error: Exception) -> Response:
    log.error("request failed", exc_info=error, extra={"path": request.url.path})
    return problem(_KINDS[EvaluationError], "an error of ours; it has been logged")


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "..."
