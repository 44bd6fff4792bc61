import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels.in_emulation import ROOT, Emulation
from tests.kernels.kernel_cases import ANY, OFFICIAL

COMPETITION_STYLE = str(ROOT / "tests/candidates/honest_triton_descriptors.py")


@pytest.mark.parametrize("name", OFFICIAL)
def test_a_file_in_the_competitions_style_runs_and_is_bit_exact(
    emulation: Emulation, name: str
) -> None:
    assert emulation.compare(COMPETITION_STYLE, OFFICIAL[name]).bit_exact


def test_a_scale_is_decoded_as_e4m3_over_its_whole_range(emulation: Emulation) -> None:
    assert emulation.compare(COMPETITION_STYLE, ANY["full_range"]).worst is None


def test_integer_scales_are_still_powers_of_two(emulation: Emulation) -> None:
    answer = emulation.answer("""
import numpy as np
import triton.language as tl
from triton.runtime import interpreter

scale = interpreter.TensorHandle(np.array([126, 127, 130], dtype=np.uint8), tl.uint8)
answer = interpreter._dot_scaled_scale_to_f32(scale, tl.bfloat16).tolist()
""")
    assert answer == [0.5, 1.0, 8.0]


CREATED_ON_CUDA = {
    "by_name": "torch.zeros(2, device='cuda')",
    "by_numbered_name": "torch.arange(2, device='cuda:0')",
    "by_number": "torch.ones(2, device=0)",
    "by_device": "torch.empty(2, device=torch.device('cuda'))",
    "like_another": "torch.empty_like(torch.zeros(2), device='cuda')",
    "by_method": "torch.zeros(2).cuda()",
    "by_moving": "torch.zeros(2).to('cuda', non_blocking=True)",
    "by_moving_to_a_device": "torch.zeros(2).to(torch.device('cuda', 0), torch.float16)",
    "by_keyword": "torch.zeros(2).to(device='cuda')",
    "new": "torch.zeros(2).new_empty(2, device='cuda')",
    "pinned": "torch.zeros(2, pin_memory=True).cuda(non_blocking=True)",
    "pinned_later": "torch.zeros(2).pin_memory()",
}


@pytest.mark.parametrize("name", CREATED_ON_CUDA)
def test_a_tensor_on_cuda_is_a_plain_tensor_on_the_cpu(emulation: Emulation, name: str) -> None:
    answer = emulation.answer(f"""
import torch
tensor = {CREATED_ON_CUDA[name]}
answer = [type(tensor) is torch.Tensor, tensor.device.type, tensor.is_cuda]
""")
    assert answer == [True, "cpu", True]


def test_a_default_device_of_cuda_means_the_cpu(emulation: Emulation) -> None:
    answer = emulation.answer("""
import torch
with torch.device("cuda"):
    inside = torch.zeros(2)
answer = inside.device.type
""")
    assert answer == "cpu"


def test_a_dtype_can_still_be_converted_to(emulation: Emulation) -> None:
    source = "import torch\nanswer = str(torch.zeros(2).to(torch.float16).dtype)"
    assert emulation.answer(source) == "torch.float16"


def test_torch_cuda_answers_what_candidates_ask(emulation: Emulation) -> None:
    answer = emulation.answer("""
import torch
torch.cuda.manual_seed(7)
first = torch.rand(1).item()
torch.manual_seed(7)
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
with torch.cuda.device(0), torch.cuda.stream(torch.cuda.Stream()):
    start.record()
    torch.cuda.current_stream().wait_stream(torch.cuda.Stream())
    end.record(torch.cuda.current_stream())
end.synchronize()
torch.cuda.synchronize()
torch.cuda.empty_cache()
answer = {
    "seeded": torch.rand(1).item() == first,
    "elapsed": start.elapsed_time(end) >= 0,
    "available": torch.cuda.is_available(),
    "devices": torch.cuda.device_count(),
    "current": torch.cuda.current_device(),
    "capability": list(torch.cuda.get_device_capability()),
    "name": torch.cuda.get_device_name(0),
    "multiprocessors": torch.cuda.get_device_properties("cuda").multi_processor_count,
}
""")
    assert answer == {
        "seeded": True,
        "elapsed": True,
        "available": True,
        "devices": 1,
        "current": 0,
        "capability": [10, 0],
        "name": "halfbyte emulation",
        "multiprocessors": 148,
    }


def test_tritons_driver_answers_for_the_same_device(emulation: Emulation) -> None:
    answer = emulation.answer("""
import triton
driver = triton.runtime.driver.active
properties = driver.utils.get_device_properties(driver.get_current_device())
answer = [driver.get_current_target().arch, properties["multiprocessor_count"]]
""")
    assert answer == [100, 148]


def test_autotune_takes_the_first_configuration_that_survives_pruning(
    emulation: Emulation, tmp_path: Path
) -> None:
    # A kernel needs a file: the interpreter reads its source.
    file = tmp_path / "tuned.py"
    file.write_text("""
import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"VALUE": value}) for value in (1, 2, 3)],
    key=["size"],
    prune_configs_by={"early_config_prune": lambda configs, *_, **__: configs[1:]},
)
@triton.jit
def kernel(out, size, VALUE: tl.constexpr):
    tl.atomic_add(out, VALUE)


out = torch.zeros(1, dtype=torch.int32)
kernel[(1,)](out, 1)
""")
    source = f"import runpy\nanswer = runpy.run_path({str(file)!r})['out'].item()"
    assert emulation.answer(source) == 2


def test_a_launch_leaves_inputs_alone_even_where_they_cannot_be_written(
    emulation: Emulation, tmp_path: Path
) -> None:
    file = tmp_path / "copies.py"
    file.write_text("""
import mmap
import warnings

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out, given):
    tl.store(out, tl.load(given) + 1)


page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch warns that the buffer is read-only: that is the point
    given = torch.frombuffer(page, dtype=torch.int32)
out = torch.zeros(1, dtype=torch.int32)
kernel[(1,)](out, given)
""")
    source = f"import runpy\nanswer = runpy.run_path({str(file)!r})['out'].item()"
    assert emulation.answer(source) == 1


def test_overflow_is_infinity_and_no_warning(emulation: Emulation) -> None:
    found = emulation.compare("kernels.portable_gemm", ANY["at_the_edge_of_float16"])
    assert found.bit_exact
    assert found.non_finite_elements == 2 * 128 * 128


def _fails_to_install(prelude: str, interpret: str) -> str:
    code = f"{prelude}\nfrom kernels import emulation\nemulation.install()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"TRITON_INTERPRET": interpret, "TRITON_DEFAULT_FP_FUSION": "1", "HOME": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    return done.stderr.strip().splitlines()[-1]


def test_it_refuses_a_triton_that_was_imported_without_the_interpreter() -> None:
    assert _fails_to_install("", "0") == (
        "RuntimeError: emulation needs TRITON_INTERPRET=1 before triton is imported"
    )


def test_it_refuses_a_triton_that_cannot_interpret_dot_scaled() -> None:
    prelude = "from triton.runtime import interpreter\ndel interpreter._dot_scaled_scale_to_f32"
    message = _fails_to_install(prelude, "1")
    assert message.startswith("RuntimeError: Triton ")
    assert message.endswith("cannot interpret dot_scaled: emulation needs Triton 3.9")
