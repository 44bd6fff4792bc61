"""For operators: workers, the queue as a whole, draining, figures."""

import logging

from fastapi import APIRouter, Response

from contract.errors import QueueUnavailable
from contract.job import WorkerInfo
from service.dependencies import Administrator, Figures, Operating, Queue, Reader
from service.metrics import MEDIA_TYPE
from service.openapi import problems
from service.problem_document import status_problem
from service.service_views import QueueView, WorkerList, queue_view
from service.views import json_response

router = APIRouter(tags=["operations"])
log = logging.getLogger(__name__)


@router.get("/v1/workers", response_model=WorkerList, responses=problems(503))
async def workers(queue: Queue, caller: Reader) -> Response:
    """List the workers that are alive."""
    return json_response(WorkerList(workers=tuple(await queue.workers())))


@router.post(
    "/v1/workers/{worker_id}/drain",
    status_code=202,
    response_model=WorkerInfo,
    responses=problems(404, 503),
)
async def drain(worker_id: str, operations: Operating, caller: Administrator) -> Response:
    """Have a worker take no further job and end; the running one has its grace time."""
    worker = await operations.drain(worker_id)
    if worker is None:
        return status_problem(404, f"there is no live worker {worker_id}")
    log.info("worker drain asked", extra={"worker": worker_id, "by": caller.owner})
    return json_response(worker, 202)


@router.get("/v1/queue", response_model=QueueView, responses=problems(503))
async def queue(operations: Operating, caller: Reader) -> Response:
    """Tell how many jobs wait, by device and mode, and for how long."""
    return json_response(queue_view(await operations.figures()))


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}, **problems(503)},
)
async def metrics(operations: Operating, figures: Figures, caller: Reader) -> Response:
    """Give figures in the text format of Prometheus; also while the queue is away."""
    try:
        figures.queue_seen(await operations.figures())
    except QueueUnavailable:
        figures.queue_seen(None)
    return Response(figures.exposition(), media_type=MEDIA_TYPE)
