"""The API image's own instructions, followed in an empty folder, give a service that is healthy."""

import signal
import socket
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import WaitUntil
from tests.docker import ROOT
from tests.docker.build import Built, build, make_base
from tests.docker.compose import SERVICES, by_default
from tests.docker.dockerfile import read_stages
from tests.redis_server import SERVERS, RedisServer

STAGES = read_stages()[1]
PACKAGES = ("client", "contract", "kernels", "service", "worker")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Built:
    base = make_base(tmp_path_factory.mktemp("base"))
    return build(STAGES["wheel"], tmp_path_factory.mktemp("wheel"), base, {})


@pytest.fixture(scope="module")
def api(wheel: Built, tmp_path_factory: pytest.TempPathFactory) -> Built:
    root = tmp_path_factory.mktemp("api")
    return build(STAGES["api"], root, wheel.base, {"wheel": wheel})  # it adds nothing to its base


def entrypoint(built: Built, *arguments: str) -> list[str]:
    return built.command([*STAGES["api"].last("ENTRYPOINT").argv, *arguments])


@contextmanager
def served(built: Built, redis_url: str) -> Iterator[Callable[[], bool]]:
    """Run the image's command on a free port; yield its health check."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    compose = {name: by_default(each) for name, each in SERVICES["api"]["environment"].items()}
    given = compose | {"HALFBYTE_QUEUE_REDIS_URL": redis_url}
    command = [port if word == "8000" else word for word in STAGES["api"].last("CMD").argv]
    check = [word.replace("8000", port) for word in SERVICES["api"]["healthcheck"]["test"][1:]]

    def healthy() -> bool:
        ended = subprocess.run(
            built.command(check), env=built.environment, stderr=subprocess.DEVNULL, check=False
        )
        return ended.returncode == 0

    process = subprocess.Popen(
        entrypoint(built, *command), cwd=built.workdir, env=built.environment | given
    )
    try:
        yield healthy
    finally:
        process.terminate()
        assert process.wait(30) == -signal.SIGTERM  # it ends itself so, once all is in order


def test_the_wheel_holds_every_file_of_the_packages(wheel: Built) -> None:
    [file] = (wheel.root / "wheel").glob("*.whl")
    held = {name for name in zipfile.ZipFile(file).namelist() if ".dist-info/" not in name}
    there = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == there


def test_the_image_has_the_service_and_no_torch(api: Built) -> None:
    look = "import importlib.util as i; print(i.find_spec('torch'), i.find_spec('service').origin)"
    found = subprocess.run(
        api.command(["python", "-I", "-c", look]), capture_output=True, text=True, check=True
    )
    torch, origin = found.stdout.split()
    assert torch == "None"
    assert Path(origin).is_relative_to(api.root / "opt/halfbyte")


def test_the_entrypoint_explains_itself(api: Built) -> None:
    found = subprocess.run(
        entrypoint(api, "--help"), capture_output=True, text=True, check=True, env=api.environment
    )
    assert found.stdout.startswith("usage:")


async def test_it_is_healthy_while_redis_is_there(
    api: Built, tmp_path: Path, wait_until: WaitUntil
) -> None:
    redis = RedisServer(SERVERS["valkey9"], tmp_path).start()
    try:
        with served(api, redis.url) as healthy:
            await wait_until(healthy, "the health check to pass")
            redis.end()
            await wait_until(lambda: not healthy(), "the health check to fail")
    finally:
        redis.end()
