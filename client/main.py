"""The `halfbyte` command: its table of commands, and how it ends.

Exit codes: 0 the kernel passed (or the command did what it says), 1 the kernel's fault, 2 the
request was wrong or refused, 3 the service's fault or no answer, 130 interrupted.
"""

import io
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated

import typer

from client.commands import evaluate, jobs, machine, operations
from client.commands.admin import app as admin
from client.commands.compare import compare
from client.commands.leaderboard import leaderboard
from client.errors import ApiError, ClientError
from client.terminal import console, plain

app = typer.Typer(
    name="halfbyte",
    help="Evaluate NVFP4 GEMM kernels. `halfbyte demo` shows everything on this machine.",
    epilog="Exit codes: 0 passed, 1 the kernel's fault, 2 usage or refused, 3 our fault, "
    "130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[str, dict[str, Callable[..., None]]] = {
    "Evaluate a kernel": {
        "run": evaluate.run,
        "submit": evaluate.submit,
        "compare": compare,
        "profile": evaluate.profile,
        "compile": evaluate.compile_kernels,
    },
    "Jobs and results": {
        "watch": jobs.watch,
        "show": jobs.show_job,
        "open": jobs.open_job,
        "cancel": jobs.cancel,
        "retry": jobs.retry,
        "list": jobs.list_jobs,
        "leaderboard": leaderboard,
    },
    "The service": {
        "queue": operations.queue,
        "workers": operations.workers,
        "drain": operations.drain,
    },
    "This machine": {
        "up": machine.up,
        "demo": machine.demo,
        "worker": machine.worker,
        "calibrate": machine.calibrate,
    },
}
for panel, commands in COMMANDS.items():
    for name, command in commands.items():
        app.command(name, rich_help_panel=panel)(command)
app.add_typer(admin, name="admin", rich_help_panel="The service")


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
