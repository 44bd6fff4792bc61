"""What a reader of docker/Dockerfile relies on, and hadolint's opinion of it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docker import ROOT
from tests.docker.dockerfile import DOCKERFILE, Stage, in_context, read_stages

ARGUMENTS, STAGES = read_stages()
IMAGES = ("api", "worker", "worker-gpu")
PINNED = re.compile(r"[a-z]+(/[a-z]+)?:\d+\.\d+\.\d+[a-z0-9.-]*@sha256:[0-9a-f]{64}")


@pytest.fixture(params=IMAGES)
def image(request: pytest.FixtureRequest) -> Stage:
    return STAGES[request.param]


def test_hadolint_finds_nothing() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    found = subprocess.run([hadolint, DOCKERFILE], capture_output=True, text=True, check=False)
    assert (found.stdout, found.returncode) == ("", 0)


def test_hadolint_would_find_something(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM python:latest\nENTRYPOINT python\n")
    hadolint = Path(sys.executable).with_name("hadolint")
    found = subprocess.run([hadolint, tmp_path / "Dockerfile"], capture_output=True, check=False)
    assert found.returncode != 0


@pytest.mark.parametrize("stage", STAGES)
def test_bases_have_a_full_version_and_a_digest_and_name_no_registry(stage: str) -> None:
    assert PINNED.fullmatch(STAGES[stage].base)


def test_no_image_runs_as_root_or_through_a_shell(image: Stage) -> None:
    assert image.last("USER").rest == "10001:10001"
    assert image.last("ENTRYPOINT").argv[0] == "python"
    assert all(each.argv for each in image.all("CMD"))


def test_the_code_comes_after_everything_that_it_needs(image: Stage) -> None:
    """So a change of the code installs nothing anew."""
    *dependencies, code = [
        number
        for number, each in enumerate(image.instructions)
        if each.word == "RUN" and "pip install" in each.rest
    ]
    assert "--no-deps --no-index" in image.instructions[code].rest
    [arrival] = [
        number for number, each in enumerate(image.instructions) if "--from=wheel" in each.rest
    ]
    assert max(dependencies) < arrival < code


def test_dependencies_are_constrained(image: Stage) -> None:
    *installs, _ = [each.rest for each in image.all("RUN") if "pip install" in each.rest]
    assert installs
    assert all("--constraint" in each for each in installs)


def test_the_api_has_no_torch_and_the_workers_have_a_compiler() -> None:
    assert not any("torch" in each.rest for each in STAGES["api"].instructions)
    for name in ("worker", "worker-gpu"):
        system = STAGES[name].all("RUN")[0].rest
        assert {"g++", "ninja-build"} <= set(system.split())


def test_the_gpu_worker_has_what_competition_files_use(tmp_path: Path) -> None:
    assert re.match(r"nvidia/cuda:[0-9.]+-devel-", STAGES["worker-gpu"].base)  # nvcc
    [listed] = [
        each.rest for each in STAGES["worker-gpu"].all("RUN") if "dependencies.py" in each.rest
    ]
    program, *extras = listed.partition(" > ")[0].removeprefix("python ").split()
    found = subprocess.run(
        [sys.executable, ROOT / "docker" / program, *extras],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for package in ("nvidia-cutlass-dsl", "triton", "cuda-bindings", "nvidia-ml-py"):
        assert re.search(rf"^{package}\b", found, re.MULTILINE)


def test_a_build_is_sent_what_is_copied_and_nothing_else() -> None:
    copied = {
        source.rstrip("/")
        for stage in STAGES.values()
        for each in stage.all("COPY")
        if "--from=" not in each.rest
        for source in each.rest.split()[:-1]
    }
    assert all((ROOT / source).exists() for source in copied)
    sent = {path for path in ROOT.iterdir() if in_context(path)} - {ROOT / "docker"}
    assert {path.name for path in sent} | {"docker/dependencies.py"} == copied
    kept_out = (".git", ".venv", "tests", "bench", ".halfbyte", "docker/Dockerfile")
    assert not any(in_context(ROOT / name) for name in kept_out)
    assert not in_context(ROOT / "worker/__pycache__/main.cpython-312.pyc")
