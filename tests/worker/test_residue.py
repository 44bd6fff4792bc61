"""What is left of hostile jobs while the judge lives on: nothing."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from contract.verdict import Passed
from tests.worker.judge_harness import LIMITS, JudgeHarness, descendants, running_judge
from tests.worker.test_judge_main import HONEST, runners, wait_for
from worker.sandbox.cgroup import ControlGroup
from worker.sandbox.cgroup_root import find_control_groups
from worker.sandbox.confinement import SandboxSettings
from worker.settings import WorkerSettings

CANDIDATES = Path(__file__).parent.parent / "candidates"
SAMPLE = (
    "harm_leaves_spinners",
    "harm_fork_bomb",
    "harm_fills_disks",
    "harm_breaks_its_init",
    "harm_stops_everything",
    "harm_poisons_caches",
    "harm_poisons_caches",
)
UIDS = 8
FIRST_UID = 100_000 + os.getpid() % 10_000 * UIDS
"""Nobody else's on this host, so that whatever has one of these uids is ours."""
SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run")


@pytest.fixture(scope="module")
def own_judge() -> Iterator[JudgeHarness]:
    sandbox = SandboxSettings(first_uid=FIRST_UID, uids=UIDS)
    with running_judge(WorkerSettings(limits=LIMITS, sandbox=sandbox)) as judge:
        if judge.ready.sandbox_level < 2:
            pytest.skip(f"level {judge.ready.sandbox_level} gives candidates no uids of their own")
        yield judge
    for group in control_groups():  # of spares; else whoever takes the uid next removes it
        group.remove()
    for uid in range(FIRST_UID, FIRST_UID + UIDS):
        (sandbox.state / f"uid-{uid}").unlink(missing_ok=True)


def is_ours(uid: int) -> bool:
    return FIRST_UID <= uid < FIRST_UID + UIDS


def processes() -> set[int]:
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if is_ours(folder.stat().st_uid):
                found.add(int(folder.name))
        except OSError:
            continue
    return found


def living() -> list[str]:
    """What still runs with a uid of ours; zombies are left to whoever adopted them."""
    found = []
    for pid in processes():
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        if stat.rpartition(")")[2].split()[0] != "Z":
            found.append(stat)
    return found


def files() -> list[str]:
    found = []
    for entry in (entry for folder in SHARED_FOLDERS for entry in os.scandir(folder)):
        with suppress(FileNotFoundError):  # others have files there as well
            if is_ours(entry.stat(follow_symlinks=False).st_uid):
                found.append(entry.path)
    return found


def control_groups() -> list[ControlGroup]:
    """Groups of ours, with or without processes."""
    within = find_control_groups()
    groups = [within.named(f"halfbyte-{uid}") for uid in range(FIRST_UID, FIRST_UID + UIDS)]
    return [group for group in groups if any(folder.exists() for folder in group.folders)]


@pytest.mark.timeout(120)
def test_hostile_jobs_leave_nothing_and_the_next_one_passes(own_judge: JudgeHarness) -> None:
    pid = own_judge.process.pid
    for name in SAMPLE:
        verdict = own_judge.judge((CANDIDATES / f"{name}.py").read_bytes())
    assert "of an earlier job: nothing" in verdict.log.stdout
    assert isinstance(own_judge.judge(HONEST), Passed)
    wait_for(lambda: len(runners(pid)) == 2, "two spares run")
    spares = set(descendants(pid))
    wait_for(lambda: processes() <= spares, "no process but of the spares")
    assert len(control_groups()) == 2
    assert files() == []
    own_judge.close()
    wait_for(lambda: not living(), "nobody outlives the judge", 60)
