"""`halfbyte up`, `demo`, `worker` and `calibrate`: processes of this machine."""

from typing import Annotated

import typer

from client import demo as demonstration
from client import fleet
from client import up as local
from client.child import become, python
from client.datadir import redis_url_of
from client.environment import inherited
from client.gpus import ALL
from client.options import Data, Json, Redis, redis_address


def up(
    *,
    data: Data,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    redis: Annotated[
        str | None,
        typer.Option(
            metavar="URL", callback=redis_address, help="Use this Redis; default: start one."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=0, help="How many workers to start; default: one a GPU, or one."),
    ] = None,
    gpus: Annotated[str, typer.Option(help="all, none, or 0,1: one worker on each.")] = ALL,
) -> None:
    """Serve on this machine: redis, the API and workers, until Ctrl-C."""
    local.serve(local.Wanted(data, host, port, redis, workers, gpus))


def demo() -> None:
    """Start everything, evaluate a built-in kernel and an example file, stop everything."""
    raise typer.Exit(demonstration.run())


def worker(
    data: Data,
    redis: Redis = None,
    gpus: Annotated[
        str | None, typer.Option(help="all, or 0,1: a worker on each, restarted.")
    ] = None,
) -> None:
    """Start one more worker here, or one a GPU, until Ctrl-C."""
    url = redis_url_of(data, redis)
    if gpus is not None:
        fleet.serve(gpus, url, data / "logs")
        return
    become(python("worker.main"), inherited(HALFBYTE_QUEUE_REDIS_URL=url))


def calibrate(
    runs: Annotated[int, typer.Option(min=1, help="How many runners to measure in.")] = 5,
    gpu: Annotated[str, typer.Option(help="Which: 0, or a UUID.")] = "0",
    as_json: Json = False,
) -> None:
    """Measure what this machine's GPU adds to a timed call, and say how to read it."""
    fleet.calibrate(gpu, runs, as_json)
