import pytest

from worker.process_tree import adopt_orphans
from worker.sandbox.confinement import SandboxSettings, SandboxUnavailable
from worker.sandbox.landlock import Landlocked, build_landlock
from worker.sandbox.namespaces import Namespaces, build_level_1, build_level_2

BUILDS = {"level 2": build_level_2, "level 1": build_level_1, "Landlock": build_landlock}


@pytest.fixture(autouse=True, scope="session")
def _subreaper() -> None:
    """Adopt orphans, as the judge does."""
    adopt_orphans()


@pytest.fixture(params=BUILDS)
def sandbox(request: pytest.FixtureRequest) -> Namespaces | Landlocked:
    """Every way to confine, where this machine allows it."""
    return build(request.param)


@pytest.fixture(params=["level 2", "level 1"])
def namespaces(request: pytest.FixtureRequest) -> Namespaces | Landlocked:
    return build(request.param)


@pytest.fixture
def level_2() -> Namespaces | Landlocked:
    return build("level 2")


def build(way: str) -> Namespaces | Landlocked:
    try:
        return BUILDS[way](SandboxSettings())
    except SandboxUnavailable as error:
        pytest.skip(str(error))
