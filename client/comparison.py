"""What a comparison found, as text for people."""

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from client.tables import BAD, table_of_words
from client.wire_verdict import CaseResult, Compared, Decision, Ratio, Verdict

HEADS: Mapping[Decision, tuple[str, str]] = {
    "faster": ("B is faster", "bold green"),
    "slower": ("B is slower", BAD),
    "no_difference": ("no difference", "bold"),
}
"""What B is, and how that is printed."""


def comparison_table(verdict: Verdict, compared: Compared) -> Table:
    """Return one row a case that was timed, and one for all of them."""
    table = table_of_words()
    table.add_column("case", no_wrap=True)
    for name in ("A us", "B us", "B over A", "99 % interval"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for a, case in zip(verdict["cases"], compared["cases"], strict=True):
        if ratio := case["ratio"]:
            table.add_row(str(case["index"]), _median(a), _median(case["b"]), *_ratio(ratio))
    if overall := compared["overall"]:
        table.add_row("all", "", "", *_ratio(overall))
    return table


def _median(case: CaseResult) -> str:
    timing = case["timing"]
    return "-" if timing is None else f"{timing['median_us']:.2f}"


def _ratio(ratio: Ratio) -> tuple[str, str, Text]:
    interval = f"{ratio['low']:.4f}..{ratio['high']:.4f}"
    return f"{ratio['ratio']:.4f}", interval, Text(*HEADS[ratio["decision"]])
