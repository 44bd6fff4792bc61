"""How to have what failed once more, as a command."""

import json
from typing import cast

from client.job_table import kernel_name
from client.terminal import plain
from client.wire import JobView
from client.wire_verdict import Compared

DEFAULT_PROBLEM = "nvfp4_group_gemm"


def same_again(view: JobView) -> str | None:
    """Say how to have what failed once more; None where nothing did."""
    verdict = view.get("verdict")
    if verdict is None or verdict["outcome"] == "passed" or not verdict.get("reproduce"):
        return None
    failing = _candidate_at_fault(view, verdict.get("compared"))
    return f"the same operands again: {plain(_repeat(failing, verdict['reproduce'] or ''))}"


def _candidate_at_fault(view: JobView, compared: Compared | None) -> JobView:
    """Return a job as that of the one candidate of a comparison which failed."""
    other = view.get("other")
    if compared is None or other is None:
        return view
    alone = cast(JobView, {name: value for name, value in view.items() if name != "other"})
    if compared["at_fault"] == "b":
        alone["kernel"], alone["filename"] = other["kernel"], other["filename"]
    return alone


def _repeat(view: JobView, body: str) -> str:
    """Say how to run the same operands again: a command for one plain case, else the body."""
    try:
        wanted = json.loads(body)
        case, mode = wanted["cases"][0], str(wanted.get("mode", view["mode"]))
        sizes = {name: ",".join(str(int(size)) for size in case.pop(name)) for name in "mnk"}
        seed, batch = case.pop("seed"), int(case.pop("l", 1))
        if case:
            return f"POST /v1/jobs {body}"
    except (ValueError, LookupError, TypeError, AttributeError):
        return f"POST /v1/jobs {body}"
    what = f"run --kernel {view['kernel']}" if view.get("kernel") else f"submit {kernel_name(view)}"
    options = " ".join(f"--{name} {text}" for name, text in sizes.items())
    if batch != 1:
        options += f" --l {batch}"
    if view["problem"] != DEFAULT_PROBLEM:
        options = f"--problem {plain(view['problem'])} {options}"
    return f"halfbyte {what} --mode {plain(mode)} {options} --seed {seed}"
