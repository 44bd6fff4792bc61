"""`halfbyte run`, `submit`, `profile` and `compile`: have a kernel evaluated, and follow the job.

What is not typed is what the file says of itself (client.directives), then what is set in the
environment or in a config file (client.config), then the service's choice.
"""

from pathlib import Path
from typing import Annotated

import typer

from client.config import Config, load
from client.directives import directives
from client.errors import UsageError
from client.option_groups import grouped
from client.options import Device, File, Json, Mode, Name, Problem, Seed, Service, Sizes
from client.terminal import console, plain
from client.watch import follow
from client.wire import CaseRequest
from client.words import KERNELS, TARGETS, beginning

Kernel = Annotated[
    str, typer.Option(autocompletion=beginning(*KERNELS), help="Built-in kernel to run.")
]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        autocompletion=beginning(*TARGETS), help="sm_90a, ...; may be repeated. Default: all."
    ),
]


@grouped
def run(
    *,
    kernel: Kernel = "auto",
    problem: Problem = None,
    sizes: Sizes,
    seed: Seed = None,
    mode: Mode = None,
    device: Device = None,
    service: Service,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Evaluate a built-in kernel, on the official cases where no sizes are given."""
    config = load()
    problem, device = problem or config.value("problem"), device or config.value("device")
    cases = sizes.chosen(seed)
    with service.client(config, name) as client:
        job = client.submit_sizes(cases, kernel, mode, device, problem)
        raise typer.Exit(follow(client, job, as_json))


@grouped
def submit(
    *,
    file: File,
    problem: Problem = None,
    sizes: Sizes,
    seed: Seed = None,
    mode: Mode = None,
    device: Device = None,
    service: Service,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Evaluate a kernel file, on the official cases where no sizes are given."""
    asked = {"problem": problem, "device": device, "mode": mode}
    raise typer.Exit(_sent(file, sizes.chosen(seed), asked, service, name, as_json=as_json))


@grouped
def profile(
    *,
    file: File,
    problem: Problem = None,
    sizes: Sizes,
    seed: Seed = None,
    device: Device = None,
    service: Service,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Profile a kernel file on a GPU: what each of its kernels takes, and what holds it back."""
    asked = {"problem": problem, "device": device, "mode": "profile"}
    raise typer.Exit(_sent(file, sizes.chosen(seed), asked, service, name, as_json=as_json))


@grouped
def compile_kernels(
    *,
    file: File,
    target: Targets = None,
    problem: Problem = None,
    sizes: Sizes,
    service: Service,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Compile a kernel file for GPUs that need not be here, and run nothing."""
    config, source = load(), read(file)
    asked = asked_of(file, source, config, problem=problem, device="any", mode="compile")
    cases = sizes.chosen()
    with service.client(config, name) as client:
        job = client.compile_file(source, file.name, cases, target or (), asked["problem"])
        raise typer.Exit(follow(client, job, as_json))


def _sent(
    file: Path,
    cases: list[CaseRequest],
    typed: dict[str, str | None],
    service: Service,
    name: str | None,
    *,
    as_json: bool,
) -> int:
    """Submit a file, follow its job to the end, and return the exit code."""
    config, source = load(), read(file)
    asked = asked_of(file, source, config, **typed)
    with service.client(config, name) as client:
        job = client.submit_file(source, file.name, cases, **asked)
        return follow(client, job, as_json)


def asked_of(
    file: Path, source: bytes, config: Config, **typed: str | None
) -> dict[str, str | None]:
    """Return problem, device and mode: as typed, else as the file says, else as it is set.

    Raises:
        UsageError: the file names several GPUs, and none was typed.

    """
    said = directives(source)
    for sentence in said.unknown:
        console(stderr=True).print(plain(f"{file.name}, {sentence}"))
    asked = {
        word: value or said.values.get(word) or config.value(word) for word, value in typed.items()
    }
    if " " in (asked["device"] or ""):
        raise UsageError(f"{file} names several GPUs, {asked['device']}: choose one with --device")
    return asked


def read(file: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        UsageError: it cannot be read.

    """
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}; name a kernel file") from error
