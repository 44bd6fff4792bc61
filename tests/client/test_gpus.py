"""Which GPUs of this machine get a worker: by index, by UUID, all of them, none."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from client.errors import UsageError
from client.fleet import worker_specs
from client.gpus import chosen, gpus_here
from tests.client.processes import until

FIRST, SECOND, THIRD = "GPU-f", "GPU-a", "GPU-c"
LISTED = {"0000:07:00.0": FIRST, "0000:1a:00.0": SECOND, "0000:a3:00.0": THIRD}
"""As the driver lists them: by address, whatever their UUIDs are."""
STAND_INS = Path(__file__).parent / "stand_ins"
FLEET = """
import sys
from pathlib import Path
from client import fleet, gpus
fleet.chosen = lambda wanted: gpus.chosen(wanted, Path(sys.argv[1]))
fleet.serve("all", "redis://nowhere", Path(sys.argv[2]))
"""


@pytest.fixture
def driver(tmp_path: Path) -> Path:
    for minor, (address, uuid) in enumerate(LISTED.items()):
        folder = tmp_path / "gpus" / address
        folder.mkdir(parents=True)
        facts = (
            f"Model: \t NVIDIA H200\nIRQ:   \t 0\nGPU UUID: \t {uuid}\nDevice Minor: \t {minor}\n"
        )
        (folder / "information").write_text(facts)
    return tmp_path / "gpus"


@pytest.fixture
def three(driver: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("client.fleet.chosen", lambda wanted: chosen(wanted, driver))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("all", (FIRST, SECOND, THIRD)),
        ("1", (SECOND,)),
        ("2, 0", (THIRD, FIRST)),
        (f"{THIRD},0", (THIRD, FIRST)),
    ],
)
def test_gpus_are_named_by_place_or_uuid(driver: Path, wanted: str, found: tuple[str, ...]) -> None:
    assert chosen(wanted, driver) == found


@pytest.mark.parametrize("wanted", ["3", "-1", "GPU-x", "", "0,", "0,0", f"0,{FIRST}"])
def test_a_gpu_that_is_not_here_or_named_twice_is_refused(driver: Path, wanted: str) -> None:
    with pytest.raises(UsageError, match="--gpus"):
        chosen(wanted, driver)


def test_a_machine_without_a_driver_has_none(tmp_path: Path) -> None:
    assert gpus_here(tmp_path / "nothing") == chosen("all", tmp_path / "nothing") == ()
    with pytest.raises(UsageError, match="there are none"):
        chosen("0", tmp_path / "nothing")


def gpus_of(specs: list) -> list[str | None]:
    return [spec.env.get("HALFBYTE_WORKER_GPU") for spec in specs]


@pytest.mark.usefixtures("three")
def test_every_gpu_has_a_worker_of_its_own() -> None:
    specs = worker_specs("all", None, "redis://here")
    assert gpus_of(specs) == [FIRST, SECOND, THIRD]
    assert len({spec.name for spec in specs}) == 3
    assert {spec.env["HALFBYTE_QUEUE_REDIS_URL"] for spec in specs} == {"redis://here"}
    assert gpus_of(worker_specs("all", 2, "")) == [FIRST, SECOND]
    assert worker_specs("all", 0, "") == []
    with pytest.raises(UsageError, match="--workers 2: a GPU has one worker, and of 1 there are 1"):
        worker_specs("1", 2, "")


def test_without_a_gpu_there_are_as_many_workers_as_are_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("client.fleet.chosen", lambda wanted: ())
    monkeypatch.delenv("HALFBYTE_WORKER_GPU", raising=False)
    counts = [len(worker_specs("all", count, "")) for count in (None, 0, 3)]
    assert counts == [1, 0, 3]
    assert gpus_of(worker_specs("all", 3, "")) == [None] * 3


@pytest.mark.usefixtures("three")
def test_gpus_that_are_here_can_be_left_alone() -> None:
    assert gpus_of(worker_specs("none", 2, "")) == ["none", "none"]


def children(pid: int) -> dict[str, int]:
    """The workers below a process, by their GPU."""
    found = {}
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        try:
            if b"worker.main" not in Path(f"/proc/{child}/cmdline").read_bytes():
                continue
            environment = Path(f"/proc/{child}/environ").read_bytes().decode().split("\0")
        except OSError:
            continue
        (gpu,) = (line for line in environment if line.startswith("HALFBYTE_WORKER_GPU="))
        found[gpu.partition("=")[2]] = int(child)
    return found


def test_a_dead_worker_is_started_again_on_its_gpu_and_all_end_with_their_parent(
    driver: Path, tmp_path: Path
) -> None:
    fleet = subprocess.Popen(
        [sys.executable, "-c", FLEET, str(driver), str(tmp_path / "logs")],
        env={**os.environ, "PYTHONPATH": str(STAND_INS), "STAND_IN_DIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert "starting a worker on each of 3 GPUs" in fleet.stdout.readline()
        running = until(lambda: len(children(fleet.pid)) == 3 and children(fleet.pid), "all three")
        os.kill(running[SECOND], signal.SIGKILL)
        until(
            lambda: children(fleet.pid).get(SECOND, running[SECOND]) != running[SECOND],
            "the second is back",
        )
        assert {gpu: pid for gpu, pid in children(fleet.pid).items() if gpu != SECOND} == {
            gpu: pid for gpu, pid in running.items() if gpu != SECOND
        }
        fleet.terminate()
        fleet.communicate(timeout=30)
        assert fleet.returncode == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in running.values())
    finally:
        fleet.kill()
        fleet.communicate()


def test_workers_on_gpus_are_refused_where_there_are_none(halfbyte, tmp_path) -> None:
    if gpus_here():
        pytest.skip("there are GPUs")
    done = halfbyte("worker", "--gpus", "all", "--redis", "redis://127.0.0.1:1/0")
    assert done.returncode == 2
    assert "there is no GPU to serve" in done.stderr
