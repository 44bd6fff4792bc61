"""popcorn-cli and a backend's runner job, with everything started as a user does it."""

import base64
import io
import zipfile
from pathlib import Path

import pytest

from tests.service.popcorn_cli import ApplicationError, PopcornCli, document
from tests.system.conftest import Stack

CANDIDATES = Path(__file__).parents[1] / "candidates"
BOARD = "nvfp4_group_gemm"
SIZES = "m: [96, 128]; n: [128, 256]; k: [256, 512]; g: 2; seed: 1111"


@pytest.fixture
def cli(stack: Stack) -> PopcornCli:
    return PopcornCli(f"{stack.url}/popcorn", cli_id="me")


async def submit(cli: PopcornCli, candidate: str, mode: str = "test") -> str:
    path = CANDIDATES / f"{candidate}.py"
    return await cli.submit(BOARD, "cpu", mode, path.read_bytes(), path.name)


@pytest.mark.timeout(120)
async def test_an_honest_kernel_passes(cli: PopcornCli) -> None:
    shown = document(await submit(cli, "honest_torch"))
    assert [(run["mode"], run["passed"], run["runner"]) for run in shown["runs"]] == [
        ("test", True, "cpu")
    ]


@pytest.mark.timeout(120)
async def test_a_wrong_kernel_exits_1_and_names_case_and_place(cli: PopcornCli) -> None:
    with pytest.raises(ApplicationError) as error:
        await submit(cli, "wrong_one_element")
    lines = str(error.value).splitlines()
    assert "failed: incorrect in case 0 (0 of 10 cases passed)" in lines[0]
    assert lines[1].startswith(
        "case 0 (m: [96, 128]; n: [128, 256]; k: [256, 512]; g: 2): group 1, row 127, column 255: "
    )


@pytest.mark.timeout(120)
async def test_a_file_that_raises_exits_1_with_its_traceback(cli: PopcornCli) -> None:
    with pytest.raises(ApplicationError, match="failed: crashed") as error:
        await submit(cli, "crash_raises")
    assert "line " in str(error.value)


@pytest.mark.timeout(120)
async def test_a_profile_is_what_the_compiler_made(cli: PopcornCli) -> None:
    content = (CANDIDATES / "honest_triton_pointers.py").read_bytes()
    (result,) = (await cli.stream(BOARD, "B200", "profile", content))["results"]
    run = result["runs"]["profile.0"]
    assert run["run"]["result"]["benchmark-count"] == 1
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(run["profile"]["trace"]))) as opened:
        ends = {name.rpartition(".")[2] for name in opened.namelist()}
        assert ends == {"txt", "ptx", "sass"}
        assert " registers, " in opened.read("report.txt").decode()


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("candidate", "passed"), [("honest_torch", True), ("wrong_zeros", False)])
def test_a_runner_gives_its_result(stack: Stack, candidate: str, passed: bool) -> None:
    job = {
        "lang": "py",
        "sources": {
            "submission.py": (CANDIDATES / f"{candidate}.py").read_text(),
            "eval.py": "raise SystemExit(0)",
        },
        "main": "eval.py",
        "mode": "test",
        "tests": SIZES,
    }
    with stack.client() as client:
        result = client.post("/v1/compat/run", json=job).json()
    told = result["runs"]["test"]["run"]["result"]
    assert result["success"] is True
    assert (told["test.0.spec"], told["check"]) == (SIZES, "pass" if passed else "fail")
    assert ("got 0.0, expected" in told.get("test.0.error", "")) is not passed
