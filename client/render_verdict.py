"""A verdict as text for people."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from client.comparison import HEADS, comparison_table
from client.tables import BAD, STYLES, cases_table, kernels_table, profile_table, times_table
from client.terminal import plain, plain_lines, shortened
from client.wire_verdict import CaseResult, Compared, CompiledKernel, Log, Verdict

CASE_MESSAGES = 5
LOG_LINES = 10
"""Lines shown of the head of a log, and as many of its tail: where a traceback says why."""
LINE_CHARACTERS = 300
SENTENCE_CHARACTERS = 600
DIM = "dim"


def verdict_text(verdict: Verdict, mode: str) -> Iterator[RenderableType]:
    """Yield what there is to say of a verdict."""
    yield headed(verdict["outcome"], STYLES.get(verdict["outcome"], BAD), verdict["summary"])
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
        yield from _texts(verdict["kernels"])
    yield from _profile(verdict)
    score = verdict.get("score")
    if score:
        yield Text(f"score: {score['geomean_us']:.3f} us (geometric mean of the medians)")
    yield from _log(verdict["log"])
    yield Text()


def comparison_text(verdict: Verdict, compared: Compared) -> Iterator[RenderableType]:
    """Yield what there is to say of a comparison."""
    overall, outcome = compared["overall"], verdict["outcome"]
    word, style = HEADS[overall["decision"]] if overall else (outcome, BAD)
    yield headed(word, style, verdict["summary"].removeprefix("passed: "))
    if overall:
        yield Text()
        yield comparison_table(verdict, compared)
    both: tuple[tuple[str, list[CaseResult], Log], ...] = (
        ("A", verdict["cases"], verdict["log"]),
        ("B", [case["b"] for case in compared["cases"]], compared["log"]),
    )
    for name, cases, log in both:
        yield from _case_messages({**verdict, "cases": cases, "log": log})
        yield from _log(log, f"{name}, ")
    yield Text()


def _texts(kernels: list[CompiledKernel]) -> Iterator[Text]:
    """Say how the texts of compiled kernels are had, by the name of the first."""
    links = [link for kernel in kernels for link in kernel["links"].values()]
    if links:
        name = plain(links[0].rpartition("/")[2])
        how = f"PTX and SASS: halfbyte show JOB --artifact {name}"
        yield Text(f"{how}; names end the links in --json", style=DIM)


def _profile(verdict: Verdict) -> Iterator[RenderableType]:
    """Say what a profiler saw, and which ranked times it doubts."""
    profile = verdict.get("profile")
    if profile:
        yield Text()
        if profile["kernels"]:
            yield profile_table(profile["kernels"])
        note = f": {_sentence(profile['note'])}" if profile["note"] else ""
        yield Text(f"seen by {plain(profile['tool'])}{note}", style=DIM)
        if report := profile["links"].get("report"):
            name = plain(report.rpartition("/")[2])
            yield Text(
                f"to open in ncu-ui: halfbyte show JOB --artifact {name} > {name}", style=DIM
            )
    for case in verdict.get("audit") or ():
        if case["exceeds"]:
            yield Text(
                f"audit: kernels of case {case['case']} take {case['kernels_us']:.2f} us by ncu, "
                f"its time is {case['median_us']:.2f} us",
                style=BAD,
            )


def headed(word: str, style: str, sentence: str) -> Text:
    """Put a word before a sentence, once where the sentence begins with it."""
    rest = sentence.removeprefix(word).removeprefix(word.replace("_", " "))
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
    sentence, *frames = message.split("\n")
    if sentence not in verdict["summary"]:
        reason = f" ({plain(case['reason'])})" if case["reason"] else ""
        yield f"case {case['index']}{reason}: {_sentence(sentence)}"
    # Python and compilers write the same to stderr, which is shown below.
    if sentence not in verdict["log"]["stderr"]:
        for line in _head_and_tail(plain_lines("\n".join(frames).strip("\n"))) if frames else ():
            yield f"    {shortened(line, LINE_CHARACTERS)}"
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
