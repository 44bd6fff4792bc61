"""Jobs as a table for people. Programs read `--json`."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from client.tables import BAD, STYLES, table_of_words
from client.terminal import plain
from client.wire import JobListItem, JobView

WIDE = 100
"""Columns from which on there is room for what a job asked for, too."""


def jobs_table(items: Sequence[JobListItem], columns: int) -> Table:
    """Return one row a job; on less than `WIDE` columns without its device."""
    wide = columns >= WIDE
    table = table_of_words()
    for name in ("id", "state", "mode", *(("device",) if wide else ()), "sent (UTC)"):
        table.add_column(name, no_wrap=True)
    table.add_column("us", justify="right", no_wrap=True)
    table.add_column("kernel", overflow="ellipsis")  # the one that gives way
    for item in items:
        headline = item["headline"]
        state = headline["outcome"] if headline else item["state"]
        bad = headline and state != "passed"
        time_us = headline["geomean_us"] if headline else None
        table.add_row(
            Text(plain(item["id"])),
            Text(plain(state), style=STYLES.get(state, BAD if bad else "")),
            Text(plain(item["mode"])),
            *([Text(plain(item["device"]))] if wide else []),
            Text(plain(item["created_at"])[5:16].replace("T", " ")),
            Text("" if time_us is None else f"{time_us:.1f}"),
            Text(kernel_name(item)),
        )
    return table


def kernel_name(view: JobView) -> str:
    """Return the name of the file, or of the built-in kernel; of both, of a comparison."""
    name = plain(view.get("filename") or view.get("kernel") or "submission")
    other = view.get("other")
    if other is None:
        return name
    return f"{name} against {plain(other.get('filename') or other.get('kernel') or 'submission')}"
