"""What routes are handed: who asks, and the parts of the running application."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from contract.keys import Role
from contract.operations import Operations
from contract.queue import JobQueue
from service.access import Access, Caller
from service.admission import Admission
from service.metrics import Metrics
from service.settings import ServiceSettings


async def _queue(request: Request) -> JobQueue:
    queue: JobQueue = request.app.state.queue
    return queue


async def _admission(request: Request) -> Admission:
    admission: Admission = request.app.state.admission
    return admission


async def _settings(request: Request) -> ServiceSettings:
    settings: ServiceSettings = request.app.state.settings
    return settings


async def _metrics(request: Request) -> Metrics:
    metrics: Metrics = request.app.state.metrics
    return metrics


async def _stopping(request: Request) -> asyncio.Event:
    stopping: asyncio.Event = request.app.state.stopping
    return stopping


_bearer = HTTPBearer(
    auto_error=False, description="A key, `hb_...`; none is needed while the service has no keys."
)


def _caller(role: Role) -> Callable[..., Awaitable[Caller]]:
    async def with_role(
        request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
    ) -> Caller:
        access: Access = request.app.state.access
        caller = await access.caller(None if given is None else given.credentials)
        caller.require(role)
        return caller

    return with_role


async def _operations(request: Request) -> Operations:
    operations: Operations = request.app.state.operations
    return operations


Reader = Annotated[Caller, Depends(_caller(Role.READ))]
Submitter = Annotated[Caller, Depends(_caller(Role.SUBMIT))]
Administrator = Annotated[Caller, Depends(_caller(Role.ADMIN))]
Queue = Annotated[JobQueue, Depends(_queue)]
Admissions = Annotated[Admission, Depends(_admission)]
Operating = Annotated[Operations, Depends(_operations)]
Settings = Annotated[ServiceSettings, Depends(_settings)]
Figures = Annotated[Metrics, Depends(_metrics)]
Stopping = Annotated[asyncio.Event, Depends(_stopping)]
