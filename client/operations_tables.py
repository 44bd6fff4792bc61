"""The queue and the workers as tables for people. Programs read `--json`."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from client.tables import BAD, table_of_words
from client.terminal import plain
from client.wire_service import QueueView, Worker

STYLES = {"unhealthy": BAD, "busy": "bold green"}


def queue_table(view: QueueView) -> Table:
    """Return one row a device and mode, the one that waits longest first."""
    table = table_of_words()
    table.add_column("device", no_wrap=True)
    table.add_column("mode", no_wrap=True)
    table.add_column("waiting", justify="right", no_wrap=True)
    table.add_column("oldest", justify="right", no_wrap=True)
    for line in view["lines"]:
        table.add_row(
            Text(plain(line["device"])),
            Text(plain(line["mode"])),
            Text(str(line["waiting"])),
            Text(duration(line["oldest_s"])),
        )
    return table


def queue_summary(view: QueueView) -> str:
    """Say in a line how much there is."""
    workers = "1 worker" if view["workers"] == 1 else f"{view['workers']} workers"
    return f"{view['waiting']} waiting, {view['running']} running, {workers}"


def workers_table(workers: Sequence[Worker]) -> Table:
    """Return one row a worker."""
    table = table_of_words()
    told = any(worker.get("reason") for worker in workers)
    for name in ("id", "state", "device", "level", "job"):
        table.add_column(name, no_wrap=True)
    if told:
        table.add_column("why")
    for worker in workers:
        table.add_row(
            Text(plain(worker["id"])),
            Text(plain(worker["state"]), style=STYLES.get(worker["state"], "")),
            Text(plain(worker["gpu"] or worker["device"])),
            Text("-" if worker["sandbox_level"] is None else str(worker["sandbox_level"])),
            Text(plain(worker["job"] or "-")),
            *([Text(plain(worker.get("reason") or ""))] if told else []),
        )
    return table


def duration(seconds: float) -> str:
    """Return a duration on little room: `4 s`, `12 min`, `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
