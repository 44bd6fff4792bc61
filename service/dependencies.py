"""What routes are handed: who asks, and the parts of the running application."""

import asyncio
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.openapi.models import HTTPBearer as HTTPBearerModel
from fastapi.security.base import SecurityBase
from fastapi.security.utils import get_authorization_scheme_param

from contract.keys import Role
from contract.looks import Looks
from contract.operations import Operations
from contract.queue import JobQueue
from service.access import Access, Caller
from service.admission import Admission
from service.metrics import Metrics
from service.settings import ServiceSettings

SESSION_COOKIE = "halfbyte_session"


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a running application; routes that are asked often take them all at once."""

    access: Access
    admission: Admission
    looks: Looks
    metrics: Metrics
    operations: Operations
    queue: JobQueue
    settings: ServiceSettings
    stopping: asyncio.Event


def parts_of(request: Request) -> Parts:
    """Return the parts of the application that a request came to."""
    parts: Parts = request.app.state.parts
    return parts


async def _queue(request: Request) -> JobQueue:
    return parts_of(request).queue


async def _admission(request: Request) -> Admission:
    return parts_of(request).admission


async def _settings(request: Request) -> ServiceSettings:
    return parts_of(request).settings


async def _metrics(request: Request) -> Metrics:
    return parts_of(request).metrics


async def _stopping(request: Request) -> asyncio.Event:
    return parts_of(request).stopping


async def _operations(request: Request) -> Operations:
    return parts_of(request).operations


async def caller_of(request: Request, role: Role) -> Caller:
    """Return who sent a request, by the bearer token.

    A browser presents the session of a person who signed in; `SameSite` keeps other sites from
    making use of that.

    Raises:
        NotAuthenticated, NotAllowed: nobody who may.

    """
    authorization = request.headers.get("Authorization")
    if authorization is None:
        token = request.cookies.get(SESSION_COOKIE)
    else:
        scheme, presented = get_authorization_scheme_param(authorization)
        token = presented if presented and scheme.lower() == "bearer" else None
    caller = await parts_of(request).access.caller(token)
    caller.require(role)
    return caller


class _CallerOf(SecurityBase):
    """`caller_of` as a dependency, described as what it asks for."""

    def __init__(self, role: Role) -> None:
        self.model = HTTPBearerModel(
            description="A key, `hb_...`; none is needed while the service has no keys."
        )
        self.scheme_name = "HTTPBearer"
        self._role = role

    async def __call__(self, request: Request) -> Caller:
        return await caller_of(request, self._role)


Reader = Annotated[Caller, Depends(_CallerOf(Role.READ))]
Submitter = Annotated[Caller, Depends(_CallerOf(Role.SUBMIT))]
Administrator = Annotated[Caller, Depends(_CallerOf(Role.ADMIN))]
Queue = Annotated[JobQueue, Depends(_queue)]
Admissions = Annotated[Admission, Depends(_admission)]
Operating = Annotated[Operations, Depends(_operations)]
Settings = Annotated[ServiceSettings, Depends(_settings)]
Figures = Annotated[Metrics, Depends(_metrics)]
Stopping = Annotated[asyncio.Event, Depends(_stopping)]
