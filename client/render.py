"""A job as text for people. Programs read `--json`."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from client.job_table import kernel_name
from client.render_verdict import DIM, comparison_text, headed, verdict_text
from client.reproduce import same_again
from client.terminal import plain
from client.wire import JobView
from client.wire_verdict import Verdict

OURS = "bold magenta"


def job(view: JobView) -> Iterator[RenderableType]:
    """Yield what there is to say of a job, ended or not."""
    verdict, error = view.get("verdict"), view.get("error")
    if verdict and (compared := verdict.get("compared")):
        yield from comparison_text(verdict, compared)
    elif verdict:
        yield from verdict_text(verdict, view["mode"])
    if why := view.get("why_not"):
        yield headed("not on the leaderboard", "bold", why)
    if verdict:
        if said := same_again(view):
            yield Text(said)
            yield Text()
        yield from map(Text, _machine(verdict, view["mode"]))
    elif error:
        yield headed("failed", OURS, f"{error['reason']}: {error['message']}")
        again = f"halfbyte retry {plain(view['id'])}"
        yield Text(
            f"The fault is the service's, not the kernel's; to have it judged again: {again}"
        )
    else:
        yield headed(view["state"], "bold", status(view))
    yield Text(_job_line(view), style=DIM)


def status(view: JobView) -> str:
    """Say in a few words where a job is that has not ended."""
    position, progress = view.get("position"), view.get("progress")
    if view["state"] == "queued":
        place = f"queued, number {position} in line" if position else "queued"
        return f"{place}; {plain(hint)}" if (hint := view.get("hint")) else place
    if view["state"] != "running" or not progress:
        return view["state"]
    stage, case = plain(progress["stage"]), progress.get("case")
    if case is None:
        return stage
    return f"{stage}, case {case} ({case + 1} of {progress['cases']})"


def _machine(verdict: Verdict, mode: str) -> Iterator[str]:
    """Say how far to trust it, and what it ran on."""
    found = verdict["environment"]
    if mode == "compile":
        yield "compiled only: nothing was run"
    elif verdict["emulated"]:
        yield "emulated on a CPU: correctness only, no times"
    made_of = f" ({plain(found['sandbox'] or '')})" if found.get("sandbox") else ""
    yield f"sandbox level {verdict['sandbox_level']}{made_of}"
    device = plain(found.get("gpu") or found.get("cpu") or found.get("device") or "unknown device")
    versions = ", ".join(
        f"{name} {plain(found[name] or '')}"
        for name in ("driver", "cuda", "python", "torch", "triton", "halfbyte")
        if found.get(name)
    )
    yield device
    yield versions


def _job_line(view: JobView) -> str:
    what = f"{kernel_name(view)}, mode {view['mode']}, device {view['device']}"
    return f"job {plain(view['id'])}: {what}"
