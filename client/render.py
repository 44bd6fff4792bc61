"""A job as text for people. Programs read `--json`."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from client.tables import BAD, STYLES, cases_table, kernels_table
from client.terminal import plain, plain_lines
from client.wire import CaseResult, JobView, Log, Verdict

CASE_MESSAGES = 5
LOG_LINES = 20
OURS, DIM = "bold magenta", "dim"


def job(view: JobView) -> Iterator[RenderableType]:
    """Yield what there is to say of a job, ended or not."""
    verdict, error = view.get("verdict"), view.get("error")
    if verdict:
        yield from _verdict(verdict)
    elif error:
        yield _headed("failed", OURS, f"{error['reason']}: {error['message']}")
        yield Text("The fault is the service's, not the kernel's.")
    else:
        yield _headed(view["state"], "bold", status(view))
    yield Text(_job_line(view), style=DIM)


def status(view: JobView) -> str:
    """Say in a few words where a job is that has not ended."""
    position, progress = view.get("position"), view.get("progress")
    if view["state"] == "queued":
        return f"queued, number {position} in line" if position else "queued"
    if view["state"] != "running" or not progress:
        return view["state"]
    stage = plain(progress["stage"])
    if progress.get("case") is None:
        return stage
    return f"{stage}, case {(progress['case'] or 0) + 1} of {progress['cases']}"


def jobs(views: Sequence[JobView]) -> Table:
    """Return a table of jobs."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("id", "state", "mode", "kernel", "device", "created"):
        table.add_column(column, no_wrap=True)
    table.add_column("time us", justify="right", no_wrap=True)
    for view in views:
        outcome = _outcome(view)
        table.add_row(
            *map(Text, (plain(view["id"]), outcome, view["mode"], _kernel(view), view["device"])),
            Text(view["created_at"][:19].replace("T", " ")),
            Text(_microseconds(view)),
        )
    return table


def _outcome(view: JobView) -> str:
    verdict = view.get("verdict")
    return plain(verdict["outcome"]) if verdict else view["state"]


def _microseconds(view: JobView) -> str:
    verdict = view.get("verdict")
    score = verdict.get("score") if verdict else None
    return f"{score['geomean_us']:.2f}" if score else ""


def _verdict(verdict: Verdict) -> Iterator[RenderableType]:
    passed = verdict["outcome"] == "passed"
    yield _headed(verdict["outcome"], STYLES.get(verdict["outcome"], BAD), verdict["summary"])
    if verdict["cases"]:
        yield Text()
        yield cases_table(verdict["cases"])
    yield from _case_messages(verdict["cases"])
    if verdict.get("kernels"):
        yield Text()
        yield kernels_table(verdict["kernels"])
    score = verdict.get("score")
    if score:
        yield Text(f"score: {score['geomean_us']:.3f} us (geometric mean of the medians)")
    yield from _log(verdict["log"])
    if not passed and verdict.get("reproduce"):
        yield Text(f"repeat it: {plain(verdict['reproduce'] or '')}")
    yield Text()
    yield Text(_machine(verdict))


def _headed(word: str, style: str, sentence: str) -> Text:
    return Text.assemble((plain(word), style), "  ", plain(sentence))


def _case_messages(cases: Sequence[CaseResult]) -> Iterator[Text]:
    failing = [case for case in cases if case["outcome"] not in (None, "passed")]
    if failing:
        yield Text()
    for case in failing[:CASE_MESSAGES]:
        reason = f" ({plain(case['reason'])})" if case["reason"] else ""
        lines = plain_lines(case.get("message") or "no message")
        yield Text(f"case {case['index']}{reason}: {lines[0]}")
        for line in lines[1:LOG_LINES]:
            yield Text(f"    {line}")
        comparison = case.get("comparison")
        worst = comparison.get("worst") if comparison else None
        if worst:
            yield Text(
                f"    worst: group {worst['group']}, row {worst['row']}, column {worst['col']}: "
                f"got {worst['got']}, expected {worst['expected']}"
            )
    if len(failing) > CASE_MESSAGES:
        yield Text(f"and {len(failing) - CASE_MESSAGES} more cases that did not pass")


def _log(log: Log) -> Iterator[Text]:
    for name, text, size in (
        ("stdout", log["stdout"], log["stdout_bytes"]),
        ("stderr", log["stderr"], log["stderr_bytes"]),
    ):
        if not text:
            continue
        lines = plain_lines(text.removesuffix("\n"))
        yield Text()
        yield Text(f"{name} ({size} bytes{', not all kept' if log['truncated'] else ''})", DIM)
        for line in lines[:LOG_LINES]:
            yield Text(f"    {line}")
        if len(lines) > LOG_LINES:
            yield Text(f"    ... {len(lines) - LOG_LINES} more lines: halfbyte show ID --log", DIM)


def _machine(verdict: Verdict) -> str:
    found = verdict["environment"]
    device = plain(found.get("gpu") or found.get("cpu") or found.get("device") or "unknown device")
    versions = ", ".join(
        f"{name} {plain(found[name] or '')}"
        for name in ("driver", "cuda", "python", "torch", "triton", "halfbyte")
        if found.get(name)
    )
    sandbox = f"sandbox level {verdict['sandbox_level']}"
    if found.get("sandbox"):
        sandbox += f" ({plain(found['sandbox'] or '')})"
    emulated = "emulated on a CPU: correctness only, no times; " if verdict["emulated"] else ""
    return f"{emulated}{sandbox}; {device}; {versions}"


def _job_line(view: JobView) -> str:
    return f"job {plain(view['id'])}: {_kernel(view)}, mode {view['mode']}, device {view['device']}"


def _kernel(view: JobView) -> str:
    return plain(view.get("filename") or view.get("kernel") or "submission")
