"""Mode compile on the whole road: a file in, facts and texts out, on a machine without a GPU."""

import subprocess
from pathlib import Path

import pytest

from contract.submission import TARGETS
from tests.system.conftest import HALFBYTE, Stack

pytestmark = pytest.mark.timeout(240)

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_kernel.py"
ABORTING = EXAMPLE.read_bytes() + b"\n\ndef custom_kernel(data):\n    __import__('os').abort()\n"


def ended(client, **body):
    submitted = client.post("/v1/jobs", json={"mode": "compile", **body})
    assert submitted.status_code == 202, submitted.text
    job = submitted.json()
    while job["state"] in ("queued", "running"):
        job = client.get(submitted.headers["Location"], params={"wait": 60}).json()
    return job


def test_a_built_in_kernel_is_compiled_and_its_texts_are_served(stack: Stack):
    starts = {"sm_100a": "tcgen05.mma", "sm_120a": "mma.sync"}
    with stack.client() as client:
        verdict = ended(client, kernel="dot_scaled", targets=list(starts))["verdict"]
        assert verdict["outcome"] == "passed", verdict
        kernels = {found["target"]: found for found in verdict["kernels"]}
        assert list(kernels) == list(starts)
        for target, start in starts.items():
            (instruction,) = kernels[target]["instructions"]
            assert instruction.startswith(start)
            assert "block_scale" in instruction
        for target, found in kernels.items():
            ptx, sass = (client.get(found["links"][kind]) for kind in ("ptx", "sass"))
            assert f".target {target}" in ptx.text
            assert "EXIT" in sass.text
            assert ptx.headers["content-type"] == "text/plain; charset=utf-8"


def test_a_compiler_that_aborts_harms_no_later_job(stack: Stack):
    with stack.client() as client:
        verdict = ended(client, source=ABORTING.decode())["verdict"]
        assert (verdict["outcome"], verdict["reason"]) == ("compile_error", "abort")
        assert "SIGABRT" in verdict["message"]
        (worker,) = client.get("/v1/workers").json()["workers"]
        assert worker["state"] in ("idle", "busy")
        after = ended(client, kernel="portable", targets=["sm_120a"])
        assert after["verdict"]["outcome"] == "passed"
        assert (after["worker"], after["attempts"]) == (worker["id"], 1)


def test_the_command_prints_a_table(stack: Stack):
    command = [HALFBYTE, "compile", str(EXAMPLE), "--url", stack.url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"passed: 4 kernels compiled for {', '.join(TARGETS)}")
    assert "registers" in done.stdout
    assert all(f" {target} " in done.stdout for target in TARGETS)
    assert "compiled only: nothing was run" in done.stdout
