"""The application: routes, errors, the queue's connection, its reaper and its courier."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi_offline import FastAPIOffline

from contract.contest import Contest
from contract.errors import QueueUnavailable
from contract.keys import KeyStore
from contract.looks import Looks
from contract.operations import Operations
from contract.queue import JobQueue
from contract.sessions import Sessions
from contract.settings import QueueSettings
from service.access import Access
from service.admission import Admission
from service.callback_address import CallbackAddresses
from service.callbacks import Courier
from service.compat.routes import router as compat
from service.dependencies import Parts
from service.metrics import Metrics
from service.middleware import HeadAsGet, Observe, OneSlash, SameSite
from service.openapi import VERSION, description_of
from service.pages.errors import ProblemPages
from service.pages.mount import add_pages
from service.popcorn.routes import popcorn
from service.problem_document import add_handlers
from service.routes_about import router as about
from service.routes_comparisons import router as comparisons
from service.routes_job_files import router as job_files
from service.routes_jobs import router as jobs
from service.routes_leaderboards import router as leaderboards
from service.routes_operations import router as operations
from service.routes_ranked import router as ranked
from service.routes_submit import router as submitting
from service.routes_windows import router as windows
from service.settings import ServiceSettings

log = logging.getLogger(__name__)


def create_app(
    settings: ServiceSettings, queue_settings: QueueSettings, *, public: bool = False
) -> FastAPI:
    """Return the service; it connects when it starts. `public`: strangers may reach it.

    Who sets `app.state.stopping` lets clients that wait for a job have their answers at once.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        queue = JobQueue.connect(queue_settings)
        addresses = CallbackAddresses(settings.callback_private)
        app.state.parts = Parts(
            access=Access(
                KeyStore(queue.store),
                Sessions(queue.store),
                public=public,
                starter_key=settings.starter_key,
            ),
            admission=Admission(queue, settings, addresses),
            looks=Looks(queue.store),
            metrics=metrics,
            operations=Operations(queue.store),
            queue=queue,
            settings=settings,
            stopping=app.state.stopping,
        )
        tasks = (
            asyncio.create_task(_reap(queue, queue_settings.beat_s, app.state.stopping)),
            asyncio.create_task(Courier(queue, settings, addresses).run(app.state.stopping)),
        )
        yield
        # A flag and no cancel: redis-py may swallow a cancel that meets it while it writes.
        app.state.stopping.set()
        await asyncio.gather(*tasks)
        addresses.close()
        await queue.close()

    metrics = Metrics()
    app = FastAPIOffline(  # /docs loads nothing from elsewhere
        title="halfbyte",
        summary="Evaluates kernels for NVFP4 grouped GEMM",
        version=VERSION,
        lifespan=lifespan,
        redirect_slashes=False,
        redoc_url=None,
    )
    app.state.stopping = asyncio.Event()
    add_handlers(app, settings)
    # The first is found the soonest.
    for router in (
        jobs,
        job_files,
        submitting,
        comparisons,
        operations,
        leaderboards,
        ranked,
        windows,
        compat,
        about,
    ):
        app.include_router(router)
    add_pages(app)
    app.include_router(popcorn(at_root=settings.popcorn_at_root))
    app.openapi = description_of(app)  # type: ignore[method-assign]
    app.add_middleware(OneSlash)
    loopback_only = not (public or settings.trusted_network)
    app.add_middleware(SameSite, loopback_only=loopback_only, hosts=settings.hosts)
    app.add_middleware(ProblemPages)
    app.add_middleware(Observe, metrics=metrics)
    app.add_middleware(HeadAsGet)
    return app


async def _reap(queue: JobQueue, beat_s: float, stopping: asyncio.Event) -> None:
    """Give up on jobs that nobody will finish, every beat, whatever became of Redis.

    So are results moved that whoever changed a window left where they were.
    """
    contest = Contest(queue.store)
    while not stopping.is_set():
        try:
            for job_id in await queue.reap():
                log.info("job reaped", extra={"job": job_id})
            for board, moved in (await contest.go_on()).items():
                log.info("window gone on with", extra={"board": board, **moved._asdict()})
        except QueueUnavailable as error:
            log.warning("reaper waits for the queue", extra={"reason": str(error)})
        except Exception:
            log.exception("reaper failed")  # the next round may succeed; jobs hang without one
        try:
            async with asyncio.timeout(beat_s):
                await stopping.wait()
        except TimeoutError:
            continue
