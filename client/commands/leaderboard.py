"""`halfbyte leaderboard`: who stands where."""

import sys
from typing import Annotated

import typer
from rich.table import Table

from client.errors import UsageError
from client.leaderboard_tables import (
    boards_table,
    entries_table,
    history_table,
    window_sentence,
)
from client.option_groups import grouped
from client.options import Json, Service
from client.terminal import console, plain
from client.watch import print_json
from client.words import PROBLEMS, beginning

ProblemName = Annotated[
    str | None,
    typer.Argument(
        metavar="[PROBLEM]",
        autocompletion=beginning(*PROBLEMS),
        help="Without one: all leaderboards.",
    ),
]


@grouped
def leaderboard(
    *,
    problem: ProblemName = None,
    device: Annotated[
        str | None, typer.Option(help="H200, ...; may be left out where there is one board.")
    ] = None,
    history: Annotated[
        str | None, typer.Option(metavar="OWNER", help="Show all results of one owner instead.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 50,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print the whole board as CSV, scores in full.")
    ] = False,
    service: Service,
    as_json: Json = False,
) -> None:
    """Show who stands where with a ranked kernel, the fastest first."""
    if problem is None and (device or history or as_csv):
        raise UsageError("--device, --history and --csv need a PROBLEM")
    with service.leaderboards() as client:
        if as_csv and problem:
            sys.stdout.write(client.export(problem, device).decode())
        elif problem is None:
            boards = client.leaderboards()
            _print(boards, boards_table(boards["leaderboards"]), as_json)
        elif history is not None:
            results = client.history(problem, history, device, limit)
            _print(results, history_table(results["results"]), as_json)
        else:
            board = client.leaderboard(problem, device, limit)
            _print(board, entries_table(board["entries"]), as_json)
            if "window" in board and not as_json:
                console(stderr=True).print(plain(window_sentence(board["window"])))


def _print(answer: object, table: Table, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    elif table.row_count:
        console().print(table)
    else:
        console(stderr=True).print("nobody yet: a ranked job enters, and needs a worker with a GPU")
