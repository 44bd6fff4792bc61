"""Mode compile, with a real judge: what is found, and what becomes of what does not compile."""

import re

import pytest
import torch

from contract.limits import Limits
from contract.submission import Mode
from contract.verdict import CompileError, Crashed, OutOfMemory, Passed, Rejected, TimedOut
from kernels.problem import Case
from tests.worker.judge_harness import JudgeHarness
from worker.messages import Judged, Progressed, Stopped

pytestmark = pytest.mark.timeout(240)

SMALL = (Case(m=(16,), n=(32,), k=(64,)),)
LIMITS = Limits(job_s=90, memory_bytes=2 << 30)
BOTH = ("sm_90a", "sm_100a")
KERNEL = b"""
import os, sys, time
import torch, triton
import triton.language as tl

@triton.jit
def fill(c, size, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(c + at, at.to(tl.float16), mask=at < size)

def custom_kernel(data):
    for _, _, c in data[0]:
        before(torch.cuda.get_device_capability())
        fill[(1,)](c, c.numel(), 128)
    return [c for _, _, c in data[0]]

def before(capability):
    pass
"""


def compiled(
    judge: JudgeHarness,
    source: bytes,
    targets: tuple[str, ...] = BOTH,
    cases: tuple[Case, ...] = SMALL,
    limits: Limits = LIMITS,
) -> Judged:
    return judge.judged(source, cases, mode=Mode.COMPILE, targets=targets, limits=limits)


def before(body: str) -> bytes:
    """The kernel, with something that happens before each launch."""
    return KERNEL + f"\ndef before(capability):\n    {body}\n".encode()


@pytest.fixture(scope="module", autouse=True)
def healthy(judge: JudgeHarness):
    """Whatever a test's file did, the next one is compiled: that of the next test, or this one."""
    yield
    assert isinstance(compiled(judge, KERNEL, ("sm_120a",)).verdict, Passed)


def test_every_kernel_is_described_for_every_target(judge: JudgeHarness) -> None:
    judged = compiled(judge, KERNEL)
    verdict = judged.verdict
    assert isinstance(verdict, Passed), verdict.message
    assert verdict.summary == "passed: 2 kernels compiled for sm_90a, sm_100a; nothing was run"
    assert (verdict.cases, verdict.score, verdict.emulated) == ((), None, True)
    assert [(found.name, found.target) for found in verdict.kernels] == [
        ("fill", "sm_90a"),
        ("fill", "sm_100a"),
    ]
    for found in verdict.kernels:
        assert 0 < found.registers <= 255
        assert (found.instructions, found.spill_bytes, found.tma) == ({}, 0, False)
        assert f".target {found.target}".encode() in judged.artifacts[found.links["ptx"]]
        assert b"EXIT" in judged.artifacts[found.links["sass"]]
    assert set(judged.artifacts) == {link for k in verdict.kernels for link in k.links.values()}


def test_tensor_core_instructions_are_counted(judge: JudgeHarness) -> None:
    case = (Case(m=(128,), n=(128,), k=(256,)),)
    judge.begin(b"", case, kernel="dot_scaled", mode=Mode.COMPILE, targets=("sm_100a",))
    end = judge.end()
    assert isinstance(end, Judged)
    (found,) = end.verdict.kernels
    (instruction,) = found.instructions
    assert instruction.startswith("tcgen05.mma")
    assert "block_scale" in instruction
    assert found.tma


def test_the_sizes_decide_what_is_specialised(judge: JudgeHarness) -> None:
    odd = Case(m=(3,), n=(5,), k=(16,))  # 15 elements: not a multiple of 16
    verdict = compiled(judge, KERNEL, ("sm_90a",), (*SMALL, odd, odd)).verdict
    assert len(verdict.kernels) == 2
    assert len({found.links["ptx"] for found in verdict.kernels}) == 2


def test_a_file_without_a_triton_kernel_passes_and_says_so(judge: JudgeHarness) -> None:
    verdict = compiled(judge, b"def custom_kernel(data):\n    return []\n").verdict
    assert isinstance(verdict, Passed)
    assert "nothing was compiled" in verdict.summary
    assert verdict.kernels == ()


def test_what_the_compiler_says_is_in_the_message_once_for_all_targets(judge: JudgeHarness) -> None:
    verdict = compiled(judge, KERNEL.replace(b"at.to(", b"tl.nonesuch(")).verdict
    assert isinstance(verdict, CompileError)
    assert verdict.reason == "compiler"
    first, *lines = verdict.message.splitlines()
    assert re.fullmatch("sm_90a, sm_100a: CompilationError at 3:21: .*nonesuch.*", first)
    assert verdict.summary == f"compile error for {first.replace(', sm_100a', '')}"
    assert any("tl.store(c + at, tl.nonesuch(" in line for line in lines)
    assert "worker/compile" not in verdict.message
    assert len(lines) <= 40
    assert "CompilationError" in verdict.log.stderr


def test_a_compiler_that_aborts_ends_its_target_only(judge: JudgeHarness) -> None:
    body = "capability[0] == 10 and (os.write(2, b'Assertion `fits` failed.\\n'), os.abort())"
    verdict = compiled(judge, before(body), (*BOTH, "sm_103a")).verdict
    assert isinstance(verdict, CompileError)
    assert verdict.reason == "abort"
    assert verdict.message.startswith("sm_100a, sm_103a: ")
    assert verdict.summary.startswith("compile error for sm_100a: the process died of SIGABRT")
    assert "Assertion `fits` failed." in verdict.message
    assert re.search('File "submission.py", line [0-9]+ in custom_kernel$', verdict.message, re.M)
    assert [found.target for found in verdict.kernels] == ["sm_90a"]


@pytest.mark.parametrize(
    ("body", "kind", "reason", "words"),
    [
        ("raise ValueError('no such tile')", Crashed, "exception", "ValueError: no such tile"),
        ("sys.exit(3)", Crashed, "exit", "SystemExit: 3"),
        ("os._exit(3)", Crashed, "exit", "exited with status 3"),
        ("os._exit(0)", Crashed, "exit", "exited with status 0"),
        ("os.kill(os.getpid(), 11)", Crashed, "signal", "SIGSEGV"),
        ("os.kill(os.getppid(), 9)", Crashed, "signal", "SIGKILL"),
        ("os.kill(os.getppid(), 6)", CompileError, "abort", "SIGABRT"),
        ("torch.empty(4 << 30, dtype=torch.uint8).fill_(1)", OutOfMemory, "limit", "memory"),
        ("time.sleep(1000)", TimedOut, "job_limit", "(job_limit)"),
    ],
)
def test_every_other_end_is_told_apart(
    judge: JudgeHarness, body: str, kind: type, reason: str, words: str
) -> None:
    limits = LIMITS.model_copy(update={"job_s": 3 if kind is TimedOut else 60})
    verdict = compiled(judge, before(body), ("sm_90a",), limits=limits).verdict
    assert isinstance(verdict, kind), verdict
    assert verdict.reason == reason
    assert words in verdict.message


def test_no_entry_point_is_told(judge: JudgeHarness) -> None:
    verdict = compiled(judge, b"custom_kernel = 1\n").verdict
    assert isinstance(verdict, Crashed)
    assert verdict.reason == "no_entry"


def test_a_flood_on_stderr_changes_nothing(judge: JudgeHarness) -> None:
    body = "[os.write(2, b'x' * 65536) for _ in range(400)]"
    verdict = compiled(judge, before(body)).verdict
    assert isinstance(verdict, Passed)
    assert verdict.log.stderr_bytes >= 2 * 400 * 65536
    assert verdict.log.truncated


def test_a_forged_report_is_no_report(judge: JudgeHarness) -> None:
    forge = """frame = sys._getframe()
    while "order" not in frame.f_locals:
        frame = frame.f_back
    frame.f_locals["order"].reports[:8] = b"\\x04\\0\\0\\0null"
    os._exit(0)"""
    verdict = compiled(judge, before(forge), ("sm_90a",)).verdict
    assert isinstance(verdict, Rejected)
    assert verdict.reason == "protocol"


def test_cuda_cpp_without_its_compiler_says_what_is_missing(judge: JudgeHarness) -> None:
    if torch.version.cuda is not None:
        pytest.skip("this torch may find a CUDA compiler")
    source = b"""
from torch.utils.cpp_extension import load_inline

module = load_inline("gemm", cpp_sources="int f();", cuda_sources="int f() { return 1; }")

def custom_kernel(data):
    return []
"""
    verdict = compiled(judge, source).verdict
    assert isinstance(verdict, Crashed)
    assert verdict.message.startswith("sm_90a, sm_100a: OSError: CUDA_HOME")


def test_a_cancel_stops_a_compilation(judge: JudgeHarness) -> None:
    judge.begin(before("time.sleep(1000)"), SMALL, mode=Mode.COMPILE, targets=BOTH, limits=LIMITS)
    message = judge.receive()
    while isinstance(message, Progressed) and message.progress.stage != "compiling":
        message = judge.receive()
    judge.cancel()
    assert isinstance(judge.end(), Stopped)
