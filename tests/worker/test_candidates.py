"""The judge is tested with what judges judge: each candidate states the verdict it deserves."""

import ast
import re
from pathlib import Path

import pytest

from contract.verdict import Passed
from tests.worker.judge_harness import MIXED, SAME_SIZES, JudgeHarness

CANDIDATES = sorted((Path(__file__).parent.parent / "candidates").glob("*.py"))
CASES = {"mixed": (MIXED,), "same_sizes": (SAME_SIZES,), "two": (MIXED, SAME_SIZES)}


def expectations(path: Path) -> dict[str, str]:
    """Read the outcome, and what else the docstring promises."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    promised = dict(re.findall(r"^(cases|reason|says): (.+)$", text, re.MULTILINE))
    return {"outcome": text.partition(":")[0], "cases": "mixed", **promised}


def text_of(verdict) -> str:
    """All words of a verdict that an author would look at."""
    messages = [case.message or "" for case in verdict.cases]
    exact = [case.comparison.bit_exact for case in verdict.cases if case.comparison]
    return "\n".join([verdict.summary, *messages, "bit-exact" if exact and all(exact) else ""])


@pytest.mark.parametrize("path", CANDIDATES, ids=lambda path: path.stem)
def test_a_candidate_gets_the_verdict_it_deserves(judge: JudgeHarness, path: Path) -> None:
    wanted = expectations(path)
    verdict = judge.judge(path.read_bytes(), CASES[wanted["cases"]])
    assert type(verdict).__name__ == wanted["outcome"], verdict.summary
    if not isinstance(verdict, Passed):
        assert verdict.reason == wanted.get("reason", verdict.reason)
    assert wanted["says"] in text_of(verdict)
    assert len(verdict.model_dump_json()) < 1_000_000


def test_every_outcome_a_cpu_can_give_has_a_candidate() -> None:
    assert {expectations(path)["outcome"] for path in CANDIDATES} == {
        "Passed",
        "Incorrect",
        "Crashed",
        "CompileError",
        "TimedOut",
        "OutOfMemory",
        "Rejected",
    }
