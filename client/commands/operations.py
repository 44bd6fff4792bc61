"""`halfbyte queue`, `workers` and `drain`: how the service is."""

from typing import Annotated

import typer

from client.operations_tables import queue_summary, queue_table, workers_table
from client.option_groups import grouped
from client.options import Json, Service
from client.terminal import console, plain
from client.watch import print_json


@grouped
def queue(*, service: Service, as_json: Json = False) -> None:
    """Show how many jobs wait, by device and mode, and for how long."""
    with service.operations() as client:
        view = client.queue()
    if as_json:
        print_json(view)
        return
    if view["lines"]:
        console().print(queue_table(view))
    console().print(queue_summary(view))


@grouped
def workers(*, service: Service, as_json: Json = False) -> None:
    """List the live workers."""
    with service.operations() as client:
        live = client.workers()
    if as_json:
        print_json(live)
    elif live["workers"]:
        console().print(workers_table(live["workers"]))
    else:
        console(stderr=True).print("no workers")


@grouped
def drain(
    *,
    worker: Annotated[str, typer.Argument(metavar="WORKER", help="Its id: `halfbyte workers`.")],
    service: Service,
    as_json: Json = False,
) -> None:
    """Have a worker take no further job and end; its running one has its grace time."""
    with service.operations() as client:
        drained = client.drain(worker)
    if as_json:
        print_json(drained)
    else:
        console().print(f"{plain(drained['id'])} drains: it hears of it within a heartbeat")
