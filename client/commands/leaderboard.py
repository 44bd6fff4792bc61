"""`halfbyte leaderboard`, and what `halfbyte admin` has for organisers."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from client.errors import UsageError
from client.leaderboard_api import LeaderboardClient
from client.options import LOCAL, Json, Key, Url
from client.terminal import console, plain
from client.watch import print_json
from client.wire import Board, Entry, HistoryResult

Job = Annotated[str, typer.Argument(metavar="JOB", help="The ranked job: `leaderboard` shows it.")]
Reason = Annotated[str, typer.Option(help="Why: everybody who sees the result sees it.")]


def leaderboard(
    *,
    problem: Annotated[
        str | None, typer.Argument(metavar="[PROBLEM]", help="Without one: all leaderboards.")
    ] = None,
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
    url: Url = LOCAL,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Show who stands where with a ranked kernel, the fastest first."""
    if problem is None and (device or history or as_csv):
        raise UsageError("--device, --history and --csv need a PROBLEM")
    with _client(url, key) as client:
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


def disqualify(
    job: Job, reason: Reason, url: Url = LOCAL, key: Key = None, as_json: Json = False
) -> None:
    """Take a result off the leaderboard; its owner's next best takes the place."""
    with _client(url, key) as client:
        _decided("disqualified", client.disqualify(job, reason), as_json)


def reinstate(
    job: Job, reason: Reason, url: Url = LOCAL, key: Key = None, as_json: Json = False
) -> None:
    """Let a disqualified result count again."""
    with _client(url, key) as client:
        _decided("reinstated", client.reinstate(job, reason), as_json)


def delete_result(
    job: Job, reason: Reason, url: Url = LOCAL, key: Key = None, as_json: Json = False
) -> None:
    """Forget a result, for good."""
    with _client(url, key) as client:
        _decided("deleted", client.delete_result(job, reason), as_json)


def webhook(
    address: Annotated[
        str | None, typer.Argument(metavar="[ADDRESS]", help="Post there; without one: show.")
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Post no more.")] = False,
    url: Url = LOCAL,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Have every ranked verdict posted to an address, signed with your callback secret."""
    if off and address:
        raise UsageError("--off takes no address")
    with _client(url, key) as client:
        if off:
            client.unset_webhook()
            return
        hook = client.set_webhook(address) if address else client.webhook()
    if as_json:
        print_json(hook)
    else:
        said = f"{hook['url']}, signed for {hook['name']}, since {_when(hook['since'])}"
        console().print(plain(said))


def boards_table(boards: Sequence[Board]) -> Table:
    """Return one row a board."""
    table = _table("problem", "device", "owners", "best us", "owner")
    for board in boards:
        best = board["best"]
        table.add_row(
            *_texts(board["problem"], board["device"], str(board["entries"])),
            *_texts(_us(best["geomean_us"]), best["owner"]),
        )
    return table


def entries_table(entries: Sequence[Entry]) -> Table:
    """Return one row an owner, the best first."""
    table = _table("rank", "time us", "owner", "sent", "job")
    for each in entries:
        rank, time_us = str(each["rank"]), _us(each["geomean_us"])
        table.add_row(*_texts(rank, time_us, each["owner"], _when(each["created_at"]), each["job"]))
    return table


def history_table(results: Sequence[HistoryResult]) -> Table:
    """Return one row a result, the newest first."""
    table = _table("sent", "time us", "job", "disqualified")
    for each in results:
        why = each["disqualified"]["reason"] if each["disqualified"] else ""
        table.add_row(*_texts(_when(each["created_at"]), _us(each["geomean_us"]), each["job"], why))
    return table


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        right = name in ("rank", "time us", "best us", "owners")
        table.add_column(name, justify="right" if right else "left", no_wrap=name != "disqualified")
    return table


def _texts(*cells: str) -> list[Text]:
    return [Text(plain(cell)) for cell in cells]


def _us(time_us: float) -> str:
    return f"{time_us:.3f}"


def _when(time: str) -> str:
    return time[:19].replace("T", " ")


def _print(answer: object, table: Table, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    elif table.row_count:
        console().print(table)
    else:
        console(stderr=True).print("nobody yet")


def _decided(what: str, result: HistoryResult, as_json: bool) -> None:
    if as_json:
        print_json(result)
        return
    time_us = _us(result["geomean_us"])
    console().print(plain(f"{what}: {result['owner']}, {time_us} us on {result['device']}"))


def _client(url: str, key: str | None) -> LeaderboardClient:
    try:
        return LeaderboardClient(url, key)
    except ValueError as error:
        raise UsageError(f"--url: {error}") from None
