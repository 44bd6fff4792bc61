"""Looks that outlast a short absence of the queue: the client gives up at the first refusal."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from contract.errors import QueueUnavailable
from service.dependencies import parts_of

PATIENCE_S = 20.0
"""The client waits 30 s for an answer."""
AGAIN_S = 0.5


class Patient(APIRoute):
    """A route whose GET is answered again while the queue cannot be reached."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request: one that only looks is asked anew for `PATIENCE_S`."""
        answer = super().get_route_handler()

        async def patiently(request: Request) -> Response:
            stopping, until = parts_of(request).stopping, time.monotonic() + PATIENCE_S
            while request.method == "GET" and time.monotonic() < until and not stopping.is_set():
                with suppress(QueueUnavailable):
                    return await answer(request)
                await asyncio.sleep(AGAIN_S)
            return await answer(request)

        return patiently
