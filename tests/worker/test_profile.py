"""Profiles through judge and sandbox, with stand-ins for the GPU and for Nsight Compute."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.submission import Mode
from contract.verdict import Incorrect, Passed, Verdict
from tests.worker import gpu_stand_in, ncu_stand_in
from tests.worker.gpu_stand_in import PROBLEM
from tests.worker.judge_harness import LIMITS, JudgeHarness, running_judge
from worker.judge import OWN_CALLS
from worker.messages import Judged
from worker.sandbox.confinement import SandboxSettings
from worker.settings import WorkerSettings
from worker.tool_report import FILE_BYTES

NO_TEXT = ncu_stand_in.NO_TEXT
HONEST = Path("tests/candidates/honest_torch.py").read_bytes()
CASES = PROBLEM.benchmarks


@pytest.fixture(scope="module")
def profiling_judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgeHarness]:
    folder = tmp_path_factory.mktemp("nsight")
    folder.chmod(0o755)
    ncu = folder / "ncu"
    ncu.write_text(f"#!{sys.executable} -I\n" + Path(ncu_stand_in.__file__).read_text())
    ncu.chmod(0o755)
    settings = WorkerSettings(
        limits=LIMITS, spares=1, ncu=str(ncu), sandbox=SandboxSettings(shown=(folder,))
    )
    with running_judge(settings, (gpu_stand_in.__file__,)) as running:
        yield running


def profiled(judge: JudgeHarness, source: bytes = HONEST) -> Judged:
    return judge.judged(source, CASES, mode=Mode.PROFILE)


def test_a_profile_has_the_kernels_of_every_case_and_the_tools_own_text(
    profiling_judge: JudgeHarness,
) -> None:
    judged = profiled(profiling_judge)
    verdict = judged.verdict
    assert isinstance(verdict, Passed), verdict
    assert (verdict.profile.tool, verdict.profile.note) == ("ncu", None)
    kernels = [(each.case, each.name, each.duration_us) for each in verdict.profile.kernels]
    assert kernels == [(case, *each) for case in (0, 1) for each in (("gemm", 80), ("split", 20))]
    assert verdict.profile.kernels[0].tensor_pipe == pytest.approx(0.44)
    assert verdict.profile.links == {"text": "profile.txt", "report": "profile.ncu-rep"}
    assert judged.artifacts == {
        "profile.txt": b"4 kernels, in words\n",
        "profile.ncu-rep": b"2\n" + NO_TEXT,
    }
    assert verdict.score is None


def test_a_report_file_that_is_too_large_is_left_out_and_the_note_says_so(
    profiling_judge: JudgeHarness,
) -> None:
    judged = profiled(profiling_judge, HONEST + b"# LARGE REPORT\n")
    profile = judged.verdict.profile
    assert profile.note == "the report file is left out: it has more than 8 MiB"
    assert (profile.tool, len(profile.kernels)) == ("ncu", 4)
    assert set(judged.artifacts) == {"profile.txt"}
    largest = profiled(profiling_judge, HONEST + b"# FULL REPORT\n")
    assert largest.verdict.profile.note is None
    assert len(largest.artifacts["profile.ncu-rep"]) == FILE_BYTES


def test_torch_looks_where_ncu_cannot_and_the_note_says_why(profiling_judge: JudgeHarness) -> None:
    judged = profiled(profiling_judge, HONEST + b"# NO COUNTERS\n")
    profile = judged.verdict.profile
    assert profile.tool == "torch"
    assert "ncu ended with status 1" in profile.note
    assert "ERR_NVGPUCTRPERM: not permitted" in profile.note
    assert set(profile.links) == {"text"}
    table = judged.artifacts[profile.links["text"]].decode()
    assert "case 0" in table
    assert "case 1" in table
    assert "aten::mm" in table


def test_torch_looks_where_there_is_no_ncu(gpu_judge: JudgeHarness) -> None:
    profile = profiled(gpu_judge).verdict.profile
    assert (profile.tool, profile.note) == ("torch", "ncu is not installed on this worker")


def test_a_wrong_file_is_not_profiled(profiling_judge: JudgeHarness) -> None:
    verdict = profiled(profiling_judge, HONEST.replace(b"@ decode", b"@ -decode")).verdict
    assert isinstance(verdict, Incorrect)
    assert verdict.profile is None


def in_profile(does: str) -> bytes:
    """An honest file that does something else once it is profiled."""
    seen = f"\nimport json, os, sys\nif 'worker.profiler' in sys.modules:\n    {does}\n"
    return HONEST + seen.encode()


@pytest.mark.parametrize(
    ("does", "says"),
    [
        ("raise ValueError('not now')", "ValueError: not now"),
        ("os._exit(3)", "status 3, and without a result"),
        (
            "open('result.json', 'w').write(json.dumps({'note': None, 'kernels': [{'case': -1}]}));"
            " os._exit(0)",
            "what no honest process does",
        ),
        ("open('result.json', 'w').write('[' * 100000); os._exit(0)", "without a result"),
    ],
)
def test_a_file_that_misbehaves_while_it_is_profiled_has_a_note_and_its_verdict(
    gpu_judge: JudgeHarness, does: str, says: str
) -> None:
    verdict = profiled(gpu_judge, in_profile(does)).verdict
    assert isinstance(verdict, Passed), verdict
    assert says in verdict.profile.note
    assert verdict.profile.kernels == ()


def test_a_profile_has_what_is_left_of_the_jobs_time(gpu_judge: JudgeHarness) -> None:
    """A file that took all of it twice ended as a fault of the service, which costs nothing."""
    slow = in_profile("import time; time.sleep(1000)").replace(
        b"def custom_kernel(data):", b"def custom_kernel(data):\n    __import__('time').sleep(0.4)"
    )
    limits = LIMITS.model_copy(update={"job_s": 6})
    verdict = gpu_judge.judged(slow, CASES, mode=Mode.PROFILE, limits=limits).verdict
    assert isinstance(verdict, Passed), verdict
    found = re.search(r"no answer within ([0-9.]+) s \(job_limit\)", verdict.profile.note)
    assert 0 < float(found[1]) < 6 - 2 * OWN_CALLS * 0.4


def ranked(judge: JudgeHarness, source: bytes = HONEST) -> Verdict:
    return judge.judge(source, PROBLEM.tests + PROBLEM.benchmarks, mode=Mode.RANKED)


def test_a_ranked_time_stands_beside_the_kernels_of_its_call(profiling_judge: JudgeHarness) -> None:
    """The stand-ins say 100 and 400 us by the clock, and 100 us of kernels."""
    verdict = ranked(profiling_judge)
    assert isinstance(verdict, Passed)
    first, second = verdict.audit
    assert [each.case for each in verdict.audit] == [2, 3]
    assert (first.median_us, first.kernels_us, first.exceeds) == (100, 100, False)
    assert (second.median_us, second.kernels_us, second.exceeds) == (400, 100, False)
    assert verdict.profile is None


def test_an_audit_that_saw_nothing_is_empty(profiling_judge: JudgeHarness) -> None:
    verdict = ranked(profiling_judge, HONEST + b"# NO COUNTERS\n")
    assert (verdict.outcome, verdict.audit) == ("passed", ())


def test_a_ranked_run_without_ncu_has_no_audit(gpu_judge: JudgeHarness) -> None:
    assert ranked(gpu_judge).audit is None
