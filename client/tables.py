"""The tables of a verdict: its cases, its kernels."""

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from client.terminal import plain
from client.wire_verdict import CaseResult, CompiledKernel, ProfiledKernel, Timing

GROUPS_SHOWN = 2
SIZES_CHARACTERS = 13
"""Sizes that need more are abbreviated: three of them have to fit beside results in 80 columns."""
STYLES = {"passed": "bold green", "not run": "dim"}
BAD = "bold red"


def cases_table(cases: Sequence[CaseResult]) -> Table:
    """Return one row a case: its sizes, and how right it was."""
    table = table_of_words()
    batched = any(case.get("l", 1) != 1 for case in cases)
    for name in ("case", "m", "n", "k", *(("l",) if batched else ()), "outcome"):
        table.add_column(name, no_wrap=True)
    for name in ("wrong", "abs err", "rel err"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("exact", no_wrap=True)
    for case in cases:
        table.add_row(*_row(case, batched))
    return table


def times_table(cases: Sequence[CaseResult]) -> Table:
    """Return one row a case that was timed."""
    table = table_of_words()
    table.add_column("case", no_wrap=True)
    for name in ("median us", "p10..p90", "TFLOP/s", "of light", "first call"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("note")
    for case in cases:
        if timing := case.get("timing"):
            first_s = case.get("first_call_s")
            first = Text("-" if first_s is None else f"{first_s:.2f} s")
            table.add_row(Text(str(case["index"])), *_times(timing), first, _note(timing))
    return table


def table_of_words() -> Table:
    """Return a table without lines, 80 columns wide at most where nothing in it is long."""
    return Table(box=None, pad_edge=False, header_style="bold")


def _row(case: CaseResult, batched: bool) -> Iterator[Text]:
    yield Text(str(case["index"]))
    for sizes in (case["m"], case["n"], case["k"]):
        yield Text(short(sizes))
    if batched:
        yield Text(str(case.get("l", 1)))
    outcome = case["outcome"] or "not run"
    yield Text(plain(outcome), style=STYLES.get(outcome, BAD))
    comparison = case.get("comparison")
    if comparison is None:
        yield from (Text("-"),) * 4
        return
    yield Text(str(comparison["mismatched_elements"]))
    yield _figure(comparison["max_abs_error"], ".2g")
    yield _figure(comparison["max_rel_error"], ".1e")
    yield Text("yes" if comparison["bit_exact"] else "no")


def _times(timing: Timing) -> Iterator[Text]:
    yield Text(f"{timing['median_us']:.2f}")
    yield Text(f"{timing['p10_us']:.2f}..{timing['p90_us']:.2f}")
    yield Text(f"{timing['tflops']:.1f}")
    yield Text(f"{timing['fraction_of_speed_of_light']:.0%}")


def _note(timing: Timing) -> Text:
    notes = (("unstable", timing["unstable"]), ("launch-bound", timing["launch_bound"]))
    return Text(", ".join(note for note, holds in notes if holds))


def kernels_table(kernels: Sequence[CompiledKernel]) -> Table:
    """Return one row a compiled kernel."""
    table = table_of_words()
    for name in ("compiled kernel", "target"):
        table.add_column(name, no_wrap=True)
    table.add_column("tensor cores", overflow="fold")  # names of instructions are long
    for name in ("registers", "spills B", "shared B", "TMA"):
        table.add_column(name, justify="right", no_wrap=True)
    for kernel in kernels:
        instructions = ", ".join(f"{name} x{n}" for name, n in kernel["instructions"].items())
        table.add_row(
            *(Text(plain(text)) for text in (kernel["name"], kernel["target"])),
            Text(plain(instructions) or "none"),
            *(Text(str(kernel[name])) for name in ("registers", "spill_bytes", "shared_bytes")),
            Text("yes" if kernel["tma"] else "no"),
        )
    return table


def profile_table(kernels: Sequence[ProfiledKernel]) -> Table:
    """Return one row a launch of a kernel."""
    table = table_of_words()
    table.add_column("case", no_wrap=True)
    table.add_column("kernel", overflow="fold")
    for name in ("us", "registers", "shared B", "occupancy", "GB/s", "tensor cores"):
        table.add_column(name, justify="right", no_wrap=True)
    for kernel in kernels:
        table.add_row(
            Text(str(kernel["case"])),
            Text(plain(kernel["name"])),
            Text(f"{kernel['duration_us']:.2f}"),
            _figure(kernel["registers"], "d"),
            _figure(kernel["shared_bytes"], "d"),
            _figure(kernel["occupancy"], ".0%"),
            _figure(kernel["gbytes_per_s"], ".0f"),
            _figure(kernel["tensor_pipe"], ".0%"),
        )
    return table


def _figure(value: float | None, form: str) -> Text:
    return Text("-" if value is None else format(value, form))


def short(sizes: Sequence[int]) -> str:
    """Return one size a group on little room: `96,128`, `4096 x8`, `80,176,.. (32)`."""
    if len(sizes) > 1 and len(set(sizes)) == 1:
        return f"{sizes[0]} x{len(sizes)}"
    every = ",".join(map(str, sizes))
    if len(every) <= SIZES_CHARACTERS:
        return every
    return f"{','.join(map(str, sizes[:GROUPS_SHOWN]))},.. ({len(sizes)})"
