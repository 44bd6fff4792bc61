"""The whole service on all GPUs of a machine: asked with curl, disturbed, and looked at.

    . bench/h200/setup.sh; $HB/python bench/h200/several_gpus.py OUT_FOLDER SEED_FILE

`halfbyte up` starts a worker a GPU. Then: one job alone and as many at once as there are GPUs; the
four official benchmarks with the built-in kernel and with the example file; a file whose compiler
aborts, a profile, and a second worker on a GPU that is taken; a worker that is killed while it has
a job. OUT_FOLDER gets each answer as it comes; what is known is printed.
"""

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

OUT, SEED = Path(sys.argv[1]), Path(sys.argv[2])
HB = Path(sys.executable).with_name("halfbyte")
API = "http://127.0.0.1:8000"
DATA = OUT / "data"
EXAMPLE = "file=@examples/my_kernel.py"
CASE_4 = ("-F", "m=[128,384]", "-F", "n=[4096,4096]", "-F", "k=[1536,1536]")
LARGE = ("-F", "m=[4096]", "-F", "n=[4096]", "-F", "k=[4096]")
TIMED = ("-F", "mode=benchmark", f"{API}/v1/submissions")
BEGAN_S = time.monotonic()
T = TypeVar("T")
Job = dict[str, Any]


def say(*words: object) -> None:
    print(f"[{time.monotonic() - BEGAN_S:.0f} s]", *words, flush=True)


def curl(*words: str) -> Job:
    done = subprocess.run(["curl", "-sSg", *words], check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def keep(name: str, answer: Job) -> None:
    (OUT / f"{name}.json").write_text(json.dumps(answer, indent=1))


def workers(name: str | None = None) -> list[Job]:
    answer = curl(f"{API}/v1/workers")
    if name:
        keep(name, answer)
    return list(answer["workers"])


def until(condition: Callable[[], T], what: str, limit_s: float) -> T:
    deadline_s = time.monotonic() + limit_s
    while not (found := condition()):
        if time.monotonic() > deadline_s:
            say("in vain:", what)
            break
        time.sleep(0.2)
    return found


def ended(name: str, job: Job) -> Job:
    """Wait for the end of a job, keep it and say what it found."""
    if "id" not in job:
        say(name, job)
        return job
    answer = curl(f"{API}/v1/jobs/{job['id']}?wait=60")
    keep(name, answer)
    verdict = answer["verdict"] or {}
    where = verdict.get("environment", {}).get("gpu_uuid")
    say(name, answer["state"], verdict.get("outcome"), answer["worker"], where, answer["attempts"])
    say("  ", verdict.get("summary"), verdict.get("score"), answer["error"])
    for case in verdict.get("cases", ()):
        if case["timing"]:
            figures = ("median_us", "p10_us", "p90_us", "samples", "fraction_of_speed_of_light")
            say("  ", *(f"{case['timing'][figure]:.4g}" for figure in figures))
    return answer


def all_ended(jobs: Mapping[str, Job]) -> dict[str, Job]:
    return {name: ended(name, job) for name, job in jobs.items()}


def median_us(job: Job) -> float:
    return float(job["verdict"]["cases"][0]["timing"]["median_us"])


def alone_and_at_once(gpus: int) -> None:
    case_4 = ("-F", EXAMPLE, *CASE_4, *TIMED)
    alone = ended("alone", curl(*case_4))
    at_once = all_ended({f"at_once_{place}": curl(*case_4) for place in range(gpus)})
    ratios = {name: median_us(job) / median_us(alone) for name, job in at_once.items()}
    keep("ratios", ratios)
    say("at once, by alone:", ratios)


def official() -> None:
    as_json = ("-H", "content-type: application/json", "-d", '{"mode":"benchmark"}')
    all_ended(
        {
            "official_builtin": curl(*as_json, f"{API}/v1/jobs"),
            "official_example": curl("-F", EXAMPLE, *TIMED),
        }
    )


def unusual() -> None:
    """A compiler that aborts, a profile, and a worker for whom there is no GPU."""
    command = [HB, "worker", "--gpus", "0", "--data", DATA]
    log = (OUT / "second.log").open("w")
    second = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        file = "file=@bench/h200/large_matmul.py"
        jobs = {
            "seed": curl("-F", f"file=@{SEED}", "-F", "mode=test", f"{API}/v1/submissions"),
            "profile": curl("-F", file, *LARGE, "-F", "mode=profile", f"{API}/v1/submissions"),
        }
        found = all_ended(jobs)
        for kernel in (found["profile"].get("verdict") or {}).get("profile", {}).get("kernels", ()):
            say("  ", kernel)
        at = f"{API}/v1/jobs/{jobs['profile']['id']}/artifacts/profile.txt"
        subprocess.run(["curl", "-sS", "-o", OUT / "profile.txt", at], check=True)
        until(lambda: any(each["reason"] for each in workers()), "the second worker says why", 20)
        for each in workers("workers_taken"):
            say("  ", each["id"], each["state"], each["gpu"], each["reason"])
    finally:
        second.terminate()
        second.wait()


def killed(gpus: int) -> None:
    """One of several jobs loses its worker; all end, and every worker is there again."""
    case_4 = ("-F", EXAMPLE, *CASE_4, *TIMED)
    jobs = {f"killed_{place}": curl(*case_4) for place in range(gpus)}
    busy = until(lambda: [each for each in workers() if each["job"]], "a worker has a job", 10)
    os.kill(busy[0]["pid"], signal.SIGKILL)
    say("killed", busy[0]["id"], busy[0]["job"])
    all_ended(jobs)
    until(lambda: len([w for w in workers() if w["state"] == "idle"]) == gpus, "all again", 25)
    workers("workers_after")


def main() -> None:
    log = (OUT / "up.log").open("w")
    up = subprocess.Popen([HB, "up", "--data", DATA], stdout=log, stderr=log)
    try:
        until(lambda: "serving" in (OUT / "up.log").read_text(), "it serves", 90)
        gpus = len(list(Path("/proc/driver/nvidia/gpus").glob("*")))
        until(lambda: len(workers()) == gpus, "every GPU has a worker", 30)
        for each in workers("workers"):
            say(each["id"], each["state"], each["gpu"], each["device"], each["reason"])
        for step in (lambda: alone_and_at_once(gpus), official, unusual, lambda: killed(gpus)):
            try:
                step()
            except Exception:  # what comes behind it has something to say, too
                traceback.print_exc()
    finally:
        up.terminate()
        up.wait()
        say("stopped")


if __name__ == "__main__":
    main()
