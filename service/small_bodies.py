"""Routes whose JSON the framework reads: before anybody is asked for a key, so it has to be small.

Whoever reads a body himself asks for the key first, and counts the bytes (service.request_body).
"""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute
from starlette.types import Message, Receive

SMALL_BYTES = 64 << 10


class SmallBodies(APIRoute):
    """A route that takes a body of `SMALL_BYTES` at most: 413 as soon as there are more."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request, with the bytes of its body counted as they come."""
        answer = super().get_route_handler()

        async def counted(request: Request) -> Response:
            return await answer(Request(request.scope, _counted(request.receive)))

        return counted


def _counted(receive: Receive) -> Receive:
    size = 0

    async def receive_at_most() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > SMALL_BYTES:
            raise HTTPException(413, f"at most {SMALL_BYTES} bytes are accepted here")
        return message

    return receive_at_most
