"""`halfbyte watch`, `show`, `open`, `cancel`, `retry` and `list`: jobs that were sent before."""

import sys
import webbrowser
from typing import Annotated

import typer

from client.job_table import jobs_table
from client.option_groups import grouped
from client.options import JobId, Json, Service
from client.terminal import console, plain, plain_lines
from client.watch import follow, print_json, show
from client.words import MODES, STATES, beginning

State = Annotated[
    str | None,
    typer.Option(
        autocompletion=beginning(*STATES), help="queued, running, finished, failed or cancelled"
    ),
]


@grouped
def watch(*, job: JobId, service: Service, as_json: Json = False) -> None:
    """Follow a job to its end; the exit code says how it ended."""
    with service.client() as client:
        raise typer.Exit(follow(client, client.get(job), as_json))


@grouped
def show_job(
    *,
    job: JobId,
    log: Annotated[bool, typer.Option("--log", help="Print what it wrote, as it was.")] = False,
    source: Annotated[bool, typer.Option("--source", help="Print the submitted file.")] = False,
    artifact: Annotated[
        str | None, typer.Option(metavar="NAME", help="Print PTX, SASS or a profile: NAME of it.")
    ] = None,
    service: Service,
    as_json: Json = False,
) -> None:
    """Show a job as it is now. Bytes of --log, --source, --artifact: escaped on a terminal only."""
    with service.client() as client:
        if artifact is not None:
            _write(client.artifact(job, artifact))
        elif log or source:
            _write(client.log(job) if log else client.source(job))
        else:
            show(client.get(job), as_json)


@grouped
def open_job(*, job: JobId, service: Service) -> None:
    """Open the job's page in the browser, and print its address."""
    with service.client() as client:
        page = f"{client.url}/jobs/{client.get(job)['id']}"
    console().print(plain(page))
    if not webbrowser.open(page):
        console(stderr=True).print("no browser was found here: open the address yourself")


@grouped
def cancel(*, job: JobId, service: Service, as_json: Json = False) -> None:
    """Cancel a job, queued or running."""
    with service.client() as client:
        view = client.cancel(job)
    show(view, as_json)
    if view["state"] in ("finished", "failed"):
        console(stderr=True).print("It had ended before: there was nothing to cancel.")


@grouped
def retry(*, job: JobId, service: Service, as_json: Json = False) -> None:
    """Have a job that failed by the service's fault judged again, as of when it was sent."""
    with service.client() as client:
        raise typer.Exit(follow(client, client.retry(job), as_json))


@grouped
def list_jobs(
    *,
    state: State = None,
    mode: Annotated[
        str | None,
        typer.Option(autocompletion=beginning(*MODES, "compare"), help="Jobs of this mode."),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Jobs that asked for it: any, cpu, H200, ...")
    ] = None,
    owner: Annotated[str | None, typer.Option(help="Jobs of this owner.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 20,
    service: Service,
    as_json: Json = False,
) -> None:
    """List jobs, the newest first."""
    with service.client() as client:
        page = client.list(limit, state=state, mode=mode, device=device, owner=owner)
    if as_json:
        print_json(page)
    elif page["jobs"]:
        out = console()
        out.print(jobs_table(page["jobs"], out.width))
    else:
        console(stderr=True).print("no jobs")


def _write(content: bytes) -> None:
    """Write bytes of others: as they are into a pipe or a file, escaped on a terminal."""
    if sys.stdout.isatty():
        for line in plain_lines(content.decode("utf-8", "replace")):
            sys.stdout.write(line + "\n")
    else:
        sys.stdout.buffer.write(content)
