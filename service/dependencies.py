"""What routes are handed: the parts of the running application."""

import asyncio
from typing import Annotated

from fastapi import Depends, Request

from contract.queue import JobQueue
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


Queue = Annotated[JobQueue, Depends(_queue)]
Admissions = Annotated[Admission, Depends(_admission)]
Settings = Annotated[ServiceSettings, Depends(_settings)]
Figures = Annotated[Metrics, Depends(_metrics)]
Stopping = Annotated[asyncio.Event, Depends(_stopping)]
