from pathlib import Path

import pytest

from kernels.hopper_device import machine_code, products
from kernels.hopper_plan import WIDTH_SETS
from kernels.nvrtc import Build, CompileError, compile_cubin

SOURCE = 'extern "C" __global__ void nothing() {}\n'
OPTIONS = ("-arch=sm_90a",)


@pytest.fixture
def compiler() -> None:
    """Skip where NVRTC or its bindings are missing."""
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="needs cuda-bindings")
    try:
        nvrtc.nvrtcVersion()
    except RuntimeError as error:
        pytest.skip(f"needs NVRTC: {error}")


def test_the_log_tells_of_serialised_products_spills_and_registers() -> None:
    build = Build(
        b"",
        "ptxas info    : (C7512) Potential Performance Loss: wgmma.mma_async are serialized\n"
        "    16 bytes stack frame, 36 bytes spill stores, 104 bytes spill loads\n"
        "ptxas info    : Used 96 registers, used 16 barriers\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 168 registers, used 1 barriers\n",
    )
    assert build.warnings == ("(C7512) Potential Performance Loss: wgmma.mma_async are serialized",)
    assert build.spill_bytes == 140
    assert build.registers == 168


def test_a_log_without_complaints_says_nothing() -> None:
    build = Build(b"", "ptxas info    : Compiling entry function 'nothing' for 'sm_90a'\n")
    assert (build.warnings, build.spill_bytes, build.registers) == ((), 0, 0)


def test_the_products_of_a_width_name_as_many_registers_as_it_has_sums() -> None:
    header = products((16, 32))
    assert header.count('"+f"(sums[') == 8 + 16
    assert "m64n32k16" in header
    assert header.endswith("#define WIDTHS(F) F(16) F(32)\n")


@pytest.mark.usefixtures("compiler")
def test_machine_code_is_built_once_for_a_source_its_headers_and_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = compile_cubin(SOURCE, {}, OPTIONS, tmp_path / "cache")
    assert first.cubin.startswith(b"\x7fELF")
    for source, headers, options in (
        (SOURCE + "\n", {}, OPTIONS),
        (SOURCE, {"unused.cu": ""}, OPTIONS),
        (SOURCE, {}, (*OPTIONS, "-DNOTHING")),
    ):
        compile_cubin(source, headers, options, tmp_path / "cache")
    assert len(list((tmp_path / "cache").glob("*.cubin"))) == 4
    monkeypatch.setattr("kernels.nvrtc._compile", None)
    assert compile_cubin(SOURCE, {}, OPTIONS, tmp_path / "cache") == first


@pytest.mark.usefixtures("compiler")
def test_a_source_that_does_not_compile_is_an_error_with_the_log(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="expected"):
        compile_cubin("not C++", {}, OPTIONS, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("widths", WIDTH_SETS, ids=str)
def test_every_set_of_widths_overlaps_products_and_spills_nothing(
    widths: tuple[int, ...], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert machine_code(widths, tmp_path).startswith(b"\x7fELF")
    assert caplog.messages == []
