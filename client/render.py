"""A job as text for people. Programs read `--json`."""

import json
from collections.abc import Iterator
from typing import cast

from rich.console import RenderableType
from rich.text import Text

from client.comparison import HEADS, comparison_table
from client.job_table import kernel_name
from client.tables import BAD, STYLES, cases_table, kernels_table, profile_table, times_table
from client.terminal import plain, plain_lines, shortened
from client.wire import JobView
from client.wire_verdict import CaseResult, Compared, Log, Verdict

CASE_MESSAGES = 5
DEFAULT_PROBLEM = "nvfp4_group_gemm"
LOG_LINES = 10
"""Lines shown of the head of a log, and as many of its tail: where a traceback says why."""
LINE_CHARACTERS = 300
SENTENCE_CHARACTERS = 600
OURS, DIM = "bold magenta", "dim"


def job(view: JobView) -> Iterator[RenderableType]:
    """Yield what there is to say of a job, ended or not."""
    verdict, error = view.get("verdict"), view.get("error")
    if verdict and (compared := verdict.get("compared")):
        yield from _comparison(verdict, compared)
    elif verdict:
        yield from _verdict(verdict, view["mode"])
    if verdict:
        if said := same_again(view):
            yield Text(said)
            yield Text()
        yield from map(Text, _machine(verdict, view["mode"]))
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
        place = f"queued, number {position} in line" if position else "queued"
        return f"{place}; {plain(hint)}" if (hint := view.get("hint")) else place
    if view["state"] != "running" or not progress:
        return view["state"]
    stage, case = plain(progress["stage"]), progress.get("case")
    if case is None:
        return stage
    return f"{stage}, case {case} ({case + 1} of {progress['cases']})"


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


def _verdict(verdict: Verdict, mode: str) -> Iterator[RenderableType]:
    yield _headed(verdict["outcome"], STYLES.get(verdict["outcome"], BAD), verdict["summary"])
    if verdict["cases"]:
        yield Text()
        yield cases_table(verdict["cases"])
    if any(case.get("timing") for case in verdict["cases"]):
        yield Text()
        yield times_table(verdict["cases"])
    yield from _case_messages(verdict)
    if mode == "compile" and verdict.get("message"):
        yield Text()
        yield from _compilers_words(verdict)
    if verdict.get("kernels"):
        yield Text()
        yield kernels_table(verdict["kernels"])
        yield Text("PTX and SASS: the links of each kernel in --json", style=DIM)
    yield from _profile(verdict)
    score = verdict.get("score")
    if score:
        yield Text(f"score: {score['geomean_us']:.3f} us (geometric mean of the medians)")
    yield from _log(verdict["log"])
    yield Text()


def _comparison(verdict: Verdict, compared: Compared) -> Iterator[RenderableType]:
    overall, outcome = compared["overall"], verdict["outcome"]
    word, style = HEADS[overall["decision"]] if overall else (outcome, BAD)
    yield _headed(word, style, verdict["summary"].removeprefix("passed: "))
    if overall:
        yield Text()
        yield comparison_table(verdict, compared)
    both: tuple[tuple[str, list[CaseResult], Log], ...] = (
        ("A", verdict["cases"], verdict["log"]),
        ("B", [case["b"] for case in compared["cases"]], compared["log"]),
    )
    for name, cases, log in both:
        yield from _case_messages({**verdict, "cases": cases})
        yield from _log(log, f"{name}, ")
    yield Text()


def _profile(verdict: Verdict) -> Iterator[RenderableType]:
    """Say what a profiler saw, and which ranked times it doubts."""
    profile = verdict.get("profile")
    if profile:
        yield Text()
        if profile["kernels"]:
            yield profile_table(profile["kernels"])
        note = f": {_sentence(profile['note'])}" if profile["note"] else ""
        yield Text(f"seen by {plain(profile['tool'])}{note}", style=DIM)
    for case in verdict.get("audit") or ():
        if case["exceeds"]:
            yield Text(
                f"audit: kernels of case {case['case']} take {case['kernels_us']:.2f} us by ncu, "
                f"its time is {case['median_us']:.2f} us",
                style=BAD,
            )


def _headed(word: str, style: str, sentence: str) -> Text:
    """Put a word before a sentence, once where the sentence begins with it."""
    rest = sentence.removeprefix(word)
    between = ": " if rest == sentence else ""
    return Text.assemble((plain(word), style), between, _sentence(rest))


def _sentence(text: str) -> str:
    return plain(shortened(text.strip("\n"), SENTENCE_CHARACTERS))


def _case_messages(verdict: Verdict) -> Iterator[Text]:
    failing = [case for case in verdict["cases"] if case["outcome"] not in (None, "passed")]
    said = [Text(line) for case in failing[:CASE_MESSAGES] for line in _about(case, verdict)]
    if len(failing) > CASE_MESSAGES:
        said.append(Text(f"and {len(failing) - CASE_MESSAGES} more cases that did not pass"))
    if said:
        yield Text()
        yield from said


def _about(case: CaseResult, verdict: Verdict) -> Iterator[str]:
    """Say what is wrong with a case, as far as the verdict's summary does not say it already."""
    message = case["message"] or ""
    if message not in verdict["summary"]:
        reason = f" ({plain(case['reason'])})" if case["reason"] else ""
        yield f"case {case['index']}{reason}: {_sentence(message)}"
    comparison = case["comparison"]
    worst = comparison["worst"] if comparison else None
    if worst and f"row {worst['row']}" not in message:
        yield (
            f"    worst: group {worst['group']}, row {worst['row']}, column {worst['col']}: "
            f"got {worst['got']}, expected {worst['expected']}"
        )


def _compilers_words(verdict: Verdict) -> Iterator[Text]:
    """Say all of a compilation's message: the service keeps the first lines of each target."""
    for line in plain_lines(verdict.get("message") or ""):
        yield Text(shortened(line, LINE_CHARACTERS))


def _log(log: Log, whose: str = "") -> Iterator[Text]:
    for name, text, size in (
        ("stdout", log["stdout"], log["stdout_bytes"]),
        ("stderr", log["stderr"], log["stderr_bytes"]),
    ):
        if text:
            yield Text()
            cut = ", its middle was not kept" if log["truncated"] and size > len(text) else ""
            yield Text(f"{whose}{name}, {size} bytes{cut}:", style=DIM)
            for line in _head_and_tail(plain_lines(text.removesuffix("\n"))):
                yield Text(f"    {shortened(line, LINE_CHARACTERS)}")


def _head_and_tail(lines: list[str]) -> list[str]:
    left_out = len(lines) - 2 * LOG_LINES
    if left_out <= 0:
        return lines
    middle = f"[{left_out} lines left out; halfbyte show JOB --log has them]"
    return [*lines[:LOG_LINES], middle, *lines[-LOG_LINES:]]


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
