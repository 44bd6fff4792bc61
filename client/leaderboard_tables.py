"""Leaderboards as tables for people. Programs read `--json`."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from client.tables import table_of_words
from client.terminal import plain
from client.wire_service import Board, ChangedWindow, Entry, HistoryResult, Window


def boards_table(boards: Sequence[Board]) -> Table:
    """Return one row a board, with its window where any has one."""
    timed = any("window" in board for board in boards)
    bounds = ("opens (UTC)", "closes (UTC)") if timed else ()
    table = _table("problem", "device", "owners", "best us", "owner", *bounds)
    for board in boards:
        best = board["best"]
        first = (microseconds(best["geomean_us"]), best["owner"]) if best else ("", "")
        where = board["problem"], board["device"], str(board["entries"])
        table.add_row(*_texts(*where, *first), *_texts(*_bounds(board) if timed else ()))
    return table


def entries_table(entries: Sequence[Entry]) -> Table:
    """Return one row an owner, the best first."""
    table = _table("rank", "time us", "owner", "sent (UTC)", "job")
    for each in entries:
        rank, score = str(each["rank"]), microseconds(each["geomean_us"])
        table.add_row(*_texts(rank, score, each["owner"], when(each["created_at"]), each["job"]))
    return table


def history_table(results: Sequence[HistoryResult]) -> Table:
    """Return one row a result, the newest first."""
    table = _table("sent (UTC)", "time us", "job", "does not count")
    for each in results:
        why = "" if each["counts"] else "sent outside of the window"
        if each["disqualified"]:
            why = f"disqualified: {each['disqualified']['reason']}"
        sent, score = when(each["created_at"]), microseconds(each["geomean_us"])
        table.add_row(*_texts(sent, score, each["job"], why))
    return table


def _table(*names: str) -> Table:
    table = table_of_words()
    for name in names:
        right = name in ("rank", "time us", "best us", "owners")
        wraps = name == "does not count"
        table.add_column(name, justify="right" if right else "left", no_wrap=not wraps)
    return table


def _texts(*cells: str) -> list[Text]:
    return [Text(plain(cell)) for cell in cells]


def _bounds(board: Board) -> tuple[str, str]:
    window = board.get("window")
    opens_at, closes_at = (window["opens_at"], window["closes_at"]) if window else (None, None)
    return to_the_second(opens_at or ""), to_the_second(closes_at or "")


def window_sentence(window: Window) -> str:
    """Say when a board takes ranked jobs."""
    bounds = (("from", window["opens_at"]), ("until", window["closes_at"]))
    said = " ".join(f"{word} {to_the_second(at)}" for word, at in bounds if at)
    return f"takes ranked jobs sent {said} UTC"


def change_sentence(window: ChangedWindow) -> str:
    """Say what a change of a window did, and what may not have been meant; empty: nothing."""
    moved = (("now count", window["included"]), ("count no more", window["excluded"]))
    said = [f"{how}: {results}" for how, results in moved if results]
    return "; ".join((*said, window["hint"]) if window["hint"] else said)


def microseconds(time_us: float) -> str:
    """Return a score in microseconds, to the nanosecond."""
    return f"{time_us:.3f}"


def to_the_second(time: str) -> str:
    """Return a time of the service as a deadline is read, which is UTC."""
    return time[:19].replace("T", " ")


def when(time: str) -> str:
    """Return a time of the service to the minute, which is UTC."""
    return time[:16].replace("T", " ")
