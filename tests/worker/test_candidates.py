"""The judge is tested with what judges judge: each candidate states the verdict it deserves.

A candidate's docstring begins with its outcome (`Incorrect: what it does.`; two, where chance
decides between them, are joined by `or`). Lines of `name: value` say the rest:

    class   number of the kind of cheat or harm; docs/judging.md tells what each can still gain
    needs   gpu: what it attacks exists only there; it is skipped elsewhere
    problem what it is a submission to (default nvfp4_group_gemm)
    cases   which of `CASES` it is judged on
    mode    test (default), or benchmark for what attacks the clock
    level   sandbox level below which its attack is not stopped
    reason  the fixed word of the failure
    says    words of the summary or of a message
    logs    words that it prints, such as what an attack has brought in
"""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

from contract.submission import Mode
from contract.verdict import Passed, TimedOut
from kernels.problem import Case
from tests.worker.judge_harness import MIXED, SAME_SIZES, JudgeHarness

CANDIDATES = sorted((Path(__file__).parent.parent / "candidates").glob("*.py"))
TIMED = Case(m=(256, 192), n=(2048, 2048), k=(2048, 2048))
CASES = {
    "mixed": (MIXED,),
    "same_sizes": (SAME_SIZES,),
    "two": (MIXED, SAME_SIZES),
    "timed": (TIMED,),
    "single": (Case(m=(32,), n=(32,), k=(64,)), Case(m=(24,), n=(24,), k=(272,), l=2)),
    "vectors": (Case(m=(16,), n=(1,), k=(64,), l=3),),
}
CLASSES = range(1, 61)
FEWEST_CLASSES = 45
NOT_COVERED = {
    58: "a hole in the driver or the kernel cannot be carried along as a test",
    60: "nobody else is on the device, so there is no neighbour to listen to",
}


def expectations(path: Path) -> dict[str, str]:
    """Read the outcome, and what else the docstring promises."""
    text = ast.get_docstring(ast.parse(path.read_bytes())) or ""
    names = "class|needs|problem|cases|mode|level|reason|says|logs"
    promised = dict(re.findall(rf"^({names}): (.+)$", text, re.MULTILINE))
    return {"outcome": text.partition(":")[0], "cases": "mixed", "mode": "test", **promised}


def classes_of(path: Path) -> set[int]:
    return {int(number) for number in expectations(path).get("class", "").split(",") if number}


def text_of(verdict) -> str:
    """All words of a verdict that an author would look at."""
    messages = [case.message or "" for case in verdict.cases]
    exact = [case.comparison.bit_exact for case in verdict.cases if case.comparison]
    return "\n".join([verdict.summary, *messages, "bit-exact" if exact and all(exact) else ""])


def parameter(path: Path):
    marks = [pytest.mark.gpu] if expectations(path).get("needs") == "gpu" else []
    return pytest.param(path, id=path.stem, marks=marks)


@pytest.mark.parametrize("path", [parameter(path) for path in CANDIDATES])
def test_a_candidate_gets_the_verdict_it_deserves(judge: JudgeHarness, path: Path) -> None:
    wanted = expectations(path)
    if wanted.get("needs") == "gpu" and judge.ready.environment.gpu is None:
        pytest.skip("what it attacks exists on a GPU only")
    if judge.ready.sandbox_level < int(wanted.get("level", 0)):
        pytest.skip(f"a sandbox of level {judge.ready.sandbox_level} does not stop it")
    verdict = judge.judge(
        path.read_bytes(),
        CASES[wanted["cases"]],
        mode=Mode(wanted["mode"]),
        problem=wanted.get("problem", "nvfp4_group_gemm"),
    )
    assert type(verdict).__name__ in wanted["outcome"].split(" or "), verdict.summary
    if not isinstance(verdict, Passed):
        assert verdict.reason in wanted.get("reason", verdict.reason).split(" or ")
    if isinstance(verdict, TimedOut) and verdict.reason != "import_limit":
        assert ("mode `test` has small cases" in verdict.summary) == verdict.emulated
    assert wanted.get("says", "") in text_of(verdict)
    assert wanted.get("logs", "") in verdict.log.stdout
    assert len(verdict.model_dump_json()) < 1_000_000


@pytest.mark.parametrize("path", CANDIDATES, ids=lambda path: path.stem)
def test_a_candidate_promises_something_that_can_fail(path: Path) -> None:
    wanted = expectations(path)
    assert {"says", "logs", "reason"} & set(wanted), "an outcome alone says too little"
    assert wanted["cases"] in CASES
    assert classes_of(path) <= set(CLASSES)


def test_every_outcome_a_cpu_can_give_has_a_candidate() -> None:
    alone = [wanted for path in CANDIDATES if "needs" not in (wanted := expectations(path))]
    assert {wanted["outcome"] for wanted in alone} == {
        "Passed",
        "Incorrect",
        "Crashed",
        "CompileError",
        "TimedOut",
        "OutOfMemory",
        "Rejected",
    }


def test_nearly_every_kind_of_cheat_and_harm_has_a_candidate() -> None:
    files = defaultdict(list)
    for path in CANDIDATES:
        for number in classes_of(path):
            files[number].append(path.stem)
    assert len(files) >= FEWEST_CLASSES
    assert sorted(set(CLASSES) - set(files)) == sorted(NOT_COVERED)
