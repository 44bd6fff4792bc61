"""Profiles: what a profiler saw, or the compiler made, as popcorn-cli and backends read it."""

import asyncio
import base64
import io
import re
import zipfile

import pytest

from contract.problem import PROBLEMS
from contract.profile import CompiledKernel, Profile, ProfiledKernel
from contract.verdict import Passed
from tests.service.popcorn_cli import FILE, ApplicationError, form_of
from tests.service.popcorn_jobs import BOARD, H200
from tests.service.workers import HERE, timed, worker, wrong_everywhere

CASE = "m: [16]; n: [16]; k: [16]; g: 1"
PTX = "sm_100a-0-gemm.ptx"
REPORT = "profile.ncu-rep"
NO_TEXT = bytes(range(256)) * 100


def compiled(name: str = "gemm") -> Passed:
    kernel = CompiledKernel(
        name=name,
        target="sm_100a",
        instructions={"tcgen05.mma": 4},
        registers=96,
        spill_bytes=0,
        shared_bytes=1024,
        tma=True,
        links={"ptx": PTX},
    )
    return Passed(
        summary="compiled 1 kernel",
        environment=HERE,
        sandbox_level=0,
        emulated=True,
        kernels=(kernel,),
    )


def unpacked(archive: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return {name: opened.read(name).decode() for name in opened.namelist()}


async def test_a_profile_has_a_count_a_report_and_a_zip(cli, queue):
    listening = asyncio.create_task(cli.stream(BOARD, "b200", "profile"))
    lease = await queue.claim(worker(), wait_s=10)
    assert (lease.submission.device, lease.submission.targets) == ("any", ("sm_100a",))
    await queue.finish(lease, compiled(), {PTX: b".version 8.8"})
    ((key, run),) = (await listening)["results"][0]["runs"].items()
    assert key.startswith("profile")
    assert "not run" in run["profile"]["profiler"]
    count = run["run"]["result"]["benchmark-count"]
    assert type(count) is int
    assert count == 1
    assert run["run"]["result"]["benchmark.0.spec"] == "sm_100a"
    report = decoded(run["run"]["result"]["benchmark.0.report"]).decode()
    assert report.startswith("gemm: 96 registers, 0 bytes spilled")
    files = unpacked(decoded(run["profile"]["trace"]))
    assert files[PTX] == ".version 8.8"
    assert files["report.txt"].endswith(f"\n\nsm_100a\n{report}")


async def test_a_kernel_whose_name_is_a_path_stays_in_its_folder_and_off_the_terminal(cli, queue):
    listening = asyncio.create_task(cli.stream(BOARD, "b200", "profile"))
    lease = await queue.claim(worker(), wait_s=10)
    await queue.finish(lease, compiled("../../.ssh/rc\x1b[2J"), {PTX: b".version 8.8"})
    ((_, run),) = (await listening)["results"][0]["runs"].items()
    files = unpacked(decoded(run["profile"]["trace"]))
    assert set(files) == {PTX, "report.txt"}
    report = decoded(run["run"]["result"]["benchmark.0.report"]).decode()
    assert "\x1b" not in report + files["report.txt"]


async def test_a_profile_is_read_aloud_where_the_client_only_saves_it(cli, queue):
    await queue.heartbeat(H200)
    listening = asyncio.create_task(cli.profile(BOARD, "h200", benchmark_index="1"))
    lease = await queue.claim(H200, wait_s=10)
    assert lease.submission.cases == PROBLEMS[BOARD].benchmarks[1:2]
    await queue.finish(lease, measured(REPORT), {"ncu.txt": b"what ncu says", REPORT: NO_TEXT})
    saved = {"ncu-details.txt": b"what ncu says", REPORT: NO_TEXT}
    assert await listening == [saved]
    assert "gemm: 12.25 us, 96 registers" in cli.log[-1]
    assert "There is no .ncu-rep" not in "".join(cli.log)


async def test_without_a_report_file_the_client_is_told_why_it_ends_with_1(cli, queue):
    await queue.heartbeat(H200)
    listening = asyncio.create_task(cli.profile(BOARD, "h200"))
    await queue.finish(
        await queue.claim(H200, wait_s=10), measured(), {"ncu.txt": b"what ncu says"}
    )
    with pytest.raises(ApplicationError, match=r"saved \['ncu-details.txt'\]; NCU archive"):
        await listening
    assert "There is no .ncu-rep" in cli.log[-1]


async def test_a_static_profile_is_read_aloud_too(cli, queue):
    listening = asyncio.create_task(cli.profile(BOARD, "b200"))
    lease = await queue.claim(worker(), wait_s=10)
    assert lease.submission.targets == ("sm_100a",)
    await queue.finish(lease, compiled(), {PTX: b".version 8.8"})
    with pytest.raises(ApplicationError, match=r"saved \[\]; NCU archive contains no .ncu-rep"):
        await listening
    assert "gemm: 96 registers, 0 bytes spilled" in cli.log[-1]


async def test_a_file_that_fails_while_it_is_profiled_says_so(cli, queue):
    listening = asyncio.create_task(cli.profile(BOARD, "b200"))
    lease = await queue.claim(worker(), wait_s=10)
    await queue.finish(lease, wrong_everywhere())
    with pytest.raises(ApplicationError, match="Server processing error: wrong values in case 0"):
        await listening
    assert "There is no .ncu-rep" not in "".join(cli.log)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"benchmark_index": "4"}, "benchmark_index: must be 0 to 3, got '4'"),
        ({"benchmark_index": "-1"}, "benchmark_index: must be 0 to 3"),
        ({"ncu_kernel_name": "regex:gemm"}, "leave --ncu-kernel-name out"),
        ({"ncu_launch_count": "2"}, "every kernel is profiled here"),
    ],
)
async def test_options_of_a_profile_are_heeded_or_refused(cli, queue, options, says):
    with pytest.raises(ApplicationError, match=f"422 .*{re.escape(says)}"):
        await cli.profile(BOARD, "any", **options)
    form = form_of(FILE, "k.py", {"leaderboard": BOARD, **options})
    with pytest.raises(ApplicationError, match=re.escape(says)):
        await cli.json("POST", "/profile", form=form)
    assert (await queue.list())[0] == []


async def test_the_second_profiler_gives_a_job_and_a_zip(cli, queue):
    form = form_of(FILE, "k.py", {"leaderboard": BOARD, "benchmark_index": "0"})
    job_id = (await cli.json("POST", "/profile", form=form))["job_id"]
    assert isinstance(job_id, str)
    waiting = await cli.json("GET", f"/jobs/{job_id}")
    assert waiting["queue_position"] == 1
    assert waiting["artifacts"] == []
    lease = await queue.claim(worker(), wait_s=10)
    await queue.finish(lease, compiled(), {PTX: b".version 8.8"})
    done = await cli.json("GET", f"/jobs/{job_id}")
    assert done["status"] == "succeeded"
    ((name, url),) = [(each["name"], each["url"]) for each in done["artifacts"]]
    assert "/" not in name
    assert "report.txt" in unpacked((await cli.request("GET", url)).content)


def measured(report: str | None = None) -> Passed:
    kernel = ProfiledKernel(case=0, name="gemm", duration_us=12.25, registers=96, occupancy=0.5)
    links = {"text": "ncu.txt"} | ({"report": report} if report else {})
    profile = Profile(tool="ncu", kernels=(kernel,), links=links)
    return timed().model_copy(update={"profile": profile, "score": None})


def decoded(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


async def test_a_worker_with_a_gpu_measures(cli, queue):
    await queue.heartbeat(H200)
    listening = asyncio.create_task(cli.stream(BOARD, "h200", "profile"))
    lease = await queue.claim(H200, wait_s=10)
    assert (lease.job.mode, lease.job.device) == ("profile", "H200")
    await queue.finish(lease, measured(), {"ncu.txt": b"what ncu says"})
    result = await listening
    run = result["results"][0]["runs"]["profile.0"]
    told = run["run"]["result"]
    assert (told["benchmark-count"], told["benchmark.0.spec"]) == (1, CASE)
    line = "gemm: 12.25 us, 96 registers, occupancy 50%"
    assert decoded(told["benchmark.0.report"]).decode() == line
    assert run["profile"]["profiler"] == "ncu"
    files = unpacked(decoded(run["profile"]["trace"]))
    assert files["ncu-details.txt"] == "what ncu says"
    assert files["report.txt"].splitlines()[2:] == [CASE, line]
    assert line in result["reports"][0]


async def test_a_backend_gets_a_profile_too(http, queue):
    await queue.heartbeat(H200)
    job = {"lang": "py", "mode": "profile", "sources": {"submission.py": FILE.decode()}}
    sent = asyncio.create_task(http.post("/v1/compat/run", json=job | {"benchmarks": CASE}))
    lease = await queue.claim(H200, wait_s=10)
    await queue.finish(lease, measured(), {"ncu.txt": b"what ncu says"})
    result = (await sent).json()
    assert result["success"] is True
    ((key, run),) = result["runs"].items()
    assert key == "profile.0"
    assert unpacked(decoded(run["profile"]["trace"]))["ncu-details.txt"] == "what ncu says"


async def test_a_backend_is_told_that_profiles_need_a_gpu(http, queue):
    await queue.heartbeat(worker())
    job = {"lang": "py", "mode": "profile", "sources": {"submission.py": FILE.decode()}}
    answer = await http.post("/v1/compat/run", json=job | {"problem": BOARD})
    assert answer.status_code == 422
    assert "needs a GPU" in answer.json()["detail"]
