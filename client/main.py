"""The `halfbyte` command. Each command is a few lines over the other modules of the client.

Exit codes: 0 the kernel passed (or the command did what it says), 1 the kernel's fault, 2 the
request was wrong or refused, 3 the service's fault or no answer, 130 interrupted.
"""

import io
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from client import demo as demonstration
from client import fleet, operations, render
from client import up as local
from client.admin import app as admin
from client.api import HalfbyteClient
from client.cases import read_cases, typed_cases
from client.child import become, python
from client.datadir import redis_url_of
from client.environment import inherited
from client.errors import ApiError, ClientError, UsageError
from client.gpus import ALL
from client.leaderboard import leaderboard
from client.options import LOCAL, Data, Json, Key, Name, Redis, Url
from client.terminal import console, plain, plain_lines
from client.watch import follow, print_json, show
from client.wire import CaseRequest

app = typer.Typer(
    name="halfbyte",
    help="Evaluate NVFP4 GEMM kernels. `halfbyte demo` shows everything on this machine.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(admin, name="admin")
app.command()(leaderboard)

File = Annotated[Path, typer.Argument(help="A kernel file; examples/my_kernel.py is one.")]
Mode = Annotated[
    str | None,
    typer.Option(help="test, benchmark, ranked, profile or compile; the service picks one."),
]
Device = Annotated[str | None, typer.Option(help="any, cpu, sm_90, H200, ...")]
Sizes = Annotated[str | None, typer.Option(help="One a group: 96,128")]
Problem = Annotated[
    str | None,
    typer.Option(help="nvfp4_group_gemm (default), nvfp4_gemm, nvfp4_dual_gemm or nvfp4_gemv."),
]
Batch = Annotated[
    int | None, typer.Option("--l", min=1, help="The batch, for problems without groups.")
]
Seed = Annotated[
    str | None,
    typer.Option(help="Seed of the operands of a case, as `reproduce` of a verdict shows it."),
]
Cases = Annotated[
    Path | None, typer.Option("--cases", help="JSON file with a list of cases.", metavar="FILE")
]
JobId = Annotated[str, typer.Argument(metavar="JOB", help="The job's id.")]
Gpus = Annotated[str | None, typer.Option(help="all, or 0,1: a worker on each, restarted.")]


def _version(asked: bool) -> None:
    if asked:
        console().print(f"halfbyte {version('halfbyte')}")
        raise typer.Exit


@app.callback()
def _everywhere(
    asked: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def run(
    *,
    problem: Problem = None,
    m: Sizes = None,
    n: Sizes = None,
    k: Sizes = None,
    l: Batch = None,  # noqa: E741
    kernel: Annotated[str, typer.Option(help="Built-in kernel to run.")] = "auto",
    mode: Mode = None,
    device: Device = None,
    seed: Seed = None,
    cases: Cases = None,
    url: Url = LOCAL,
    key: Key = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Evaluate a built-in kernel, on the official cases where no sizes are given."""
    with _client(url, key, name) as client:
        chosen = _cases({"m": m, "n": n, "k": k}, l, seed, cases)
        job = client.submit_sizes(chosen, kernel, mode, device, problem)
        raise typer.Exit(follow(client, job, as_json))


@app.command()
def submit(
    file: File,
    *,
    problem: Problem = None,
    m: Sizes = None,
    n: Sizes = None,
    k: Sizes = None,
    l: Batch = None,  # noqa: E741
    mode: Mode = None,
    device: Device = None,
    seed: Seed = None,
    cases: Cases = None,
    url: Url = LOCAL,
    key: Key = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Evaluate a kernel file, on the official cases where no sizes are given."""
    source = _read(file)
    with _client(url, key, name) as client:
        chosen = _cases({"m": m, "n": n, "k": k}, l, seed, cases)
        job = client.submit_file(source, file.name, chosen, mode, device, problem)
        raise typer.Exit(follow(client, job, as_json))


@app.command(name="compile")
def compile_kernels(
    file: File,
    *,
    target: Annotated[
        list[str] | None, typer.Option(help="sm_90a, ...; may be repeated. Default: all.")
    ] = None,
    problem: Problem = None,
    m: Sizes = None,
    n: Sizes = None,
    k: Sizes = None,
    l: Batch = None,  # noqa: E741
    cases: Cases = None,
    url: Url = LOCAL,
    key: Key = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Compile a kernel file for GPUs that need not be here, and run nothing."""
    source = _read(file)
    with _client(url, key, name) as client:
        chosen = _cases({"m": m, "n": n, "k": k}, l, None, cases)
        job = client.compile_file(source, file.name, chosen, target or (), problem)
        raise typer.Exit(follow(client, job, as_json))


@app.command()
def watch(job: JobId, url: Url = LOCAL, key: Key = None, as_json: Json = False) -> None:
    """Follow a job to its end; the exit code says how it ended."""
    with _client(url, key) as client:
        raise typer.Exit(follow(client, client.get(job), as_json))


@app.command(name="show")
def show_job(
    job: JobId,
    log: Annotated[bool, typer.Option("--log", help="Print what it wrote, as it was.")] = False,
    source: Annotated[bool, typer.Option("--source", help="Print the submitted file.")] = False,
    url: Url = LOCAL,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Show a job as it is now. The bytes of --log and --source are escaped on a terminal only."""
    with _client(url, key) as client:
        if log or source:
            _write(client.log(job) if log else client.source(job))
        else:
            show(client.get(job), as_json)


@app.command()
def cancel(job: JobId, url: Url = LOCAL, key: Key = None, as_json: Json = False) -> None:
    """Cancel a job, queued or running."""
    with _client(url, key) as client:
        show(client.cancel(job), as_json)


@app.command(name="list")
def list_jobs(
    *,
    state: Annotated[
        str | None, typer.Option(help="queued, running, finished, failed or cancelled")
    ] = None,
    mode: Mode = None,
    owner: Annotated[str | None, typer.Option(help="Jobs of this owner.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 20,
    url: Url = LOCAL,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List jobs, the newest first."""
    with _client(url, key) as client:
        page = client.list(limit, state=state, mode=mode, owner=owner)
    if as_json:
        print_json(page)
    elif page["jobs"]:
        console().print(render.jobs(page["jobs"]))
    else:
        console(stderr=True).print("no jobs")


@app.command()
def queue(url: Url = LOCAL, key: Key = None, as_json: Json = False) -> None:
    """Show how many jobs wait, by device and mode, and for how long."""
    with _client(url, key) as client:
        view = client.queue()
    if as_json:
        print_json(view)
        return
    if view["lines"]:
        console().print(operations.queue_table(view))
    console().print(operations.queue_summary(view))


@app.command()
def workers(url: Url = LOCAL, key: Key = None, as_json: Json = False) -> None:
    """List the live workers."""
    with _client(url, key) as client:
        live = client.workers()
    if as_json:
        print_json(live)
    elif live["workers"]:
        console().print(operations.workers_table(live["workers"]))
    else:
        console(stderr=True).print("no workers")


@app.command()
def drain(
    worker: Annotated[str, typer.Argument(metavar="WORKER", help="Its id: `halfbyte workers`.")],
    url: Url = LOCAL,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Have a worker take no further job and end; its running one has its grace time."""
    with _client(url, key) as client:
        drained = client.drain(worker)
    if as_json:
        print_json(drained)
    else:
        console().print(f"{plain(drained['id'])} drains: it hears of it within a heartbeat")


@app.command()
def up(
    data: Data,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    redis: Annotated[
        str | None, typer.Option(metavar="URL", help="Use this Redis; default: start one.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=0, help="How many workers to start; default: one a GPU, or one."),
    ] = None,
    gpus: Annotated[str, typer.Option(help="all, or 0,1: one worker on each.")] = ALL,
) -> None:
    """Serve on this machine: redis, the API and workers, until Ctrl-C."""
    local.serve(local.Wanted(data, host, port, redis, workers, gpus))


@app.command()
def demo() -> None:
    """Start everything, evaluate a built-in kernel and an example file, stop everything."""
    raise typer.Exit(demonstration.run())


@app.command()
def worker(data: Data, redis: Redis = None, gpus: Gpus = None) -> None:
    """Start one more worker here, or one a GPU, until Ctrl-C."""
    url = redis_url_of(data, redis)
    if gpus is not None:
        fleet.serve(gpus, url, data / "logs")
        return
    become(python("worker.main"), inherited(HALFBYTE_QUEUE_REDIS_URL=url))


@app.command()
def calibrate(
    runs: Annotated[int, typer.Option(min=1, help="How many runners to measure in.")] = 5,
    gpu: Annotated[str, typer.Option(help="Which: 0, or a UUID.")] = "0",
    as_json: Json = False,
) -> None:
    """Measure what this machine's GPU adds to a timed call, and say how to read it."""
    fleet.calibrate(gpu, runs, as_json)


def _client(url: str, key: str | None, name: str | None = None) -> HalfbyteClient:
    try:
        return HalfbyteClient(url, key, name=name)
    except ValueError as error:
        raise UsageError(f"--url: {error}") from None


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error


def _cases(
    sizes: dict[str, str | None], batch: int | None, seed: str | None, file: Path | None
) -> list[CaseRequest]:
    typed = typed_cases(sizes, seed, batch)
    if file is None:
        return typed
    if typed:
        raise UsageError("--cases and --m, --n, --k exclude each other")
    return read_cases(file)


def _write(content: bytes) -> None:
    """Write bytes of others: as they are into a pipe or a file, escaped on a terminal."""
    if sys.stdout.isatty():
        for line in plain_lines(content.decode("utf-8", "replace")):
            sys.stdout.write(line + "\n")
    else:
        sys.stdout.buffer.write(content)


def _report(error: ClientError) -> None:
    err = console(stderr=True)
    err.print(f"halfbyte: {plain(str(error))}")
    # The sentence of a single field is the error's own.
    if isinstance(error, ApiError) and len(error.fields) > 1:
        for field, message in error.fields:
            err.print(f"  {plain(field)}: {plain(message)}")
    for note in getattr(error, "__notes__", ()):
        err.print(plain(note))


def main() -> None:
    """Run the command that the arguments name."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except ClientError as error:
        _report(error)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
