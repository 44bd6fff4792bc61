"""What an author reads of an exception: his own frames and those of what he imported, no others."""

import re

from tests.worker.judge_harness import JudgeHarness

MISMATCH = b"""import torch


def product(x, y):
    return torch.matmul(x, y)


def custom_kernel(data):
    try:
        product(torch.zeros(3, 4), torch.zeros(3, 4))
    except RuntimeError as error:
        raise ExceptionGroup("both", [error, ValueError("no plan")]) from error
"""
REFERENCE = b"""from reference import ref_kernel


def custom_kernel(data):
    return ref_kernel(3)
"""
AT_IMPORT = b"""import torch

torch.nn.functional.softmax(torch.zeros(3), dim=7)
"""


def frames(text: str) -> list[tuple[str, str]]:
    return re.findall(r'File "(.*?)", line \d+, in (\S+)', text)


def test_frames_are_those_of_the_file_and_causes_have_theirs(judge: JudgeHarness) -> None:
    verdict = judge.judge(MISMATCH)
    assert frames(verdict.message) == [("submission.py", "custom_kernel")]
    mine = [("submission.py", "custom_kernel"), ("submission.py", "product")]
    assert frames(verdict.log.stderr) == [*mine, mine[0], *mine]
    assert "shapes cannot be multiplied (3x4 and 3x4)" in verdict.log.stderr
    assert verdict.log.stderr.count("return torch.matmul(x, y)") == 2


def test_what_a_file_imported_has_the_name_that_it_imported(judge: JudgeHarness) -> None:
    verdict = judge.judge(REFERENCE)
    for text in (verdict.message, verdict.log.stderr):
        first, second, *rest = frames(text)
        assert (first, second) == (
            ("submission.py", "custom_kernel"),
            ("reference.py", "ref_kernel"),
        )
        assert all(not filename.startswith("/") for filename, _ in rest)
    (case, *_) = verdict.cases
    assert case.message == verdict.message


def test_an_import_is_told_without_the_machinery_of_imports(judge: JudgeHarness) -> None:
    verdict = judge.judge(AT_IMPORT)
    for text in (verdict.message, verdict.log.stderr):
        first, *others = frames(text)
        assert first == ("submission.py", "<module>")
        assert others[-1] == ("torch/nn/functional.py", "softmax")
        assert {filename.partition("/")[0] for filename, _ in others} == {"torch"}
