import pytest

from worker.sandbox.confinement import Sandbox, SandboxSettings, SandboxUnavailable
from worker.sandbox.namespaces import build_level_1, build_level_2

BUILDS = {"level 2": build_level_2, "level 1": build_level_1}


@pytest.fixture(params=BUILDS)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Every level that confines, where this machine allows it."""
    return build(request.param)


@pytest.fixture
def level_2() -> Sandbox:
    return build("level 2")


def build(level: str) -> Sandbox:
    try:
        return BUILDS[level](SandboxSettings())
    except SandboxUnavailable as error:
        pytest.skip(str(error))
