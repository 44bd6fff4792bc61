"""The bytes of a body, counted as they arrive, so that no more is held than may be accepted."""

from collections.abc import AsyncGenerator

from fastapi import Request

from contract.errors import EvaluationError, SourceTooLarge
from contract.limits import RequestLimits


class UnsupportedBody(EvaluationError):
    """The content type is not accepted here."""


async def capped(
    request: Request, limit: int, limits: RequestLimits
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a body up to a limit; `limits` are what a refusal tells.

    Raises:
        UnsupportedBody, SourceTooLarge: it is encoded, or there are more.

    """
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
