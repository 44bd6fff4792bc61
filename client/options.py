"""Options that several commands have, alone or in groups (see client.option_groups)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from client.api import Halfbyte
from client.cases import read_cases, typed_cases
from client.config import Config, load
from client.environment import default_data_dir
from client.errors import UsageError
from client.leaderboard_api import LeaderboardClient
from client.operations_api import OperationsClient
from client.wire import CaseRequest
from client.words import MODES, PROBLEMS, beginning


def job_id(text: str) -> str:
    """Return what may be the id of a job.

    Raises:
        UsageError: it is empty, or a path.

    """
    if not text.isalnum():
        raise UsageError(f"{text!r} is no id of a job; `halfbyte list` shows them")
    return text


def redis_address(url: str | None) -> str | None:
    """Return what may be the address of a Redis, or None.

    Raises:
        UsageError: it has another form.

    """
    if url is not None and not url.startswith(("redis://", "rediss://", "unix://")):
        raise UsageError("--redis takes redis://HOST:PORT, rediss://HOST:PORT or unix://PATH")
    return url


File = Annotated[Path, typer.Argument(help="A kernel file; examples/my_kernel.py is one.")]
JobId = Annotated[str, typer.Argument(metavar="JOB", callback=job_id, help="The job's id.")]
Mode = Annotated[
    str | None,
    typer.Option(
        autocompletion=beginning(*MODES),
        help="test, benchmark, ranked, profile or compile; the service picks one.",
    ),
]
Device = Annotated[str | None, typer.Option(help="any, cpu, sm_90, H200, ...")]
Problem = Annotated[
    str | None,
    typer.Option(
        autocompletion=beginning(*PROBLEMS),
        help="nvfp4_group_gemm (default), nvfp4_gemm, nvfp4_dual_gemm or nvfp4_gemv.",
    ),
]
Seed = Annotated[
    str | None,
    typer.Option(help="Seed of the operands of a case, as `reproduce` of a verdict shows it."),
]
Name = Annotated[
    str | None,
    typer.Option(envvar="HALFBYTE_NAME", help="Whose the job is, while the service has no keys."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON and nothing else.")]
Data = Annotated[
    Path,
    typer.Option(
        envvar="HALFBYTE_DATA",
        default_factory=default_data_dir,
        show_default="$XDG_STATE_HOME/halfbyte or ~/.local/state/halfbyte",
        help="Where jobs and logs are kept.",
    ),
]
Redis = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="HALFBYTE_QUEUE_REDIS_URL",
        callback=redis_address,
        help="The service's Redis; default: that of the `halfbyte up` with its data in --data.",
    ),
]
Client = TypeVar("Client", Halfbyte, LeaderboardClient, OperationsClient)


@dataclass(frozen=True)
class Service:
    """Which service, and who asks. What is not typed is of the environment, or a config file."""

    url: Annotated[
        str | None,
        typer.Option(help="Where the service is; default: HALFBYTE_URL, a config file, here."),
    ] = None
    key: Annotated[
        str | None,
        typer.Option(help="The key it knows you by; default: HALFBYTE_KEY, a config file."),
    ] = None

    def client(self, config: Config | None = None, name: str | None = None) -> Halfbyte:
        """Return a client of its jobs."""
        url, key = self._whom(config or load())
        return _checked(Halfbyte, url, key, name)

    def leaderboards(self) -> LeaderboardClient:
        """Return a client of its leaderboards."""
        url, key = self._whom(load())
        return _checked(LeaderboardClient, url, key)

    def operations(self) -> OperationsClient:
        """Return a client of its queue and workers."""
        url, key = self._whom(load())
        return _checked(OperationsClient, url, key)

    def _whom(self, config: Config) -> tuple[str, str | None]:
        url = self.url or config.url
        return url, self.key or config.key_for(url)


@dataclass(frozen=True)
class Sizes:
    """Which cases to run: one that is typed, those of a file, or the official ones."""

    m: Annotated[str | None, typer.Option(help="One a group: 96,128")] = None
    n: Annotated[str | None, typer.Option(help="One a group: 128,256")] = None
    k: Annotated[str | None, typer.Option(help="One a group: 256,512")] = None
    l: Annotated[  # noqa: E741
        int | None, typer.Option("--l", min=1, help="The batch, for problems without groups.")
    ] = None
    cases: Annotated[
        Path | None, typer.Option("--cases", help="JSON file with a list of cases.", metavar="FILE")
    ] = None

    def chosen(self, seed: str | None = None) -> list[CaseRequest]:
        """Return the cases, none where the official ones are meant.

        Raises:
            UsageError: they are no sizes, or both forms are used.

        """
        typed = typed_cases({"m": self.m, "n": self.n, "k": self.k}, seed, self.l)
        if self.cases is None:
            return typed
        if typed:
            raise UsageError("--cases and --m, --n, --k exclude each other")
        return read_cases(self.cases)


def _checked(kind: type[Client], url: str, key: str | None, name: str | None = None) -> Client:
    try:
        return kind(url, key, name=name)
    except ValueError as error:
        raise UsageError(str(error)) from None
