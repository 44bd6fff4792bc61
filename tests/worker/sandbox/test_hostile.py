"""The same hostile actions against every level, and against nothing at all."""

import json
import os
import resource
import subprocess
import sys

import pytest

from tests.worker.sandbox.conftest import build
from tests.worker.sandbox.trials import as_ordinary_user
from worker.sandbox.namespaces import Namespaces
from worker.sandbox.selftest import HERE, PYTHON, bait, hostile_results
from worker.sandbox.unconfined import Unconfined

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
SHUT_BY_A_CLEAN_START = {"find_secret_in_environment", "find_inherited_descriptors", "dump_core"}
OPEN_TO_ANYBODY = {
    "see_processes",
    "read_environment_of_judge",
    "read_memory_of_judge",
    "read_descriptor_of_judge",
    "trace_judge",
    "read_judge_by_process_vm_readv",
    "take_descriptor_of_judge",
    "signal_judge",
    "read_secret_file",
    "see_host_tmp",
    "connect_to_loopback",
    "connect_to_abstract_socket",
    "connect_to_path_socket",
    "open_internet_socket",
    "see_interfaces",
    "unshare_user_namespace",
    "clone_user_namespace",
    "start_400_processes",
    "fill_scratch",
}
KNOWN_WITH_LANDLOCK = {
    "see_processes",
    "see_interfaces",
    "connect_to_path_socket",
    "connect_to_abstract_socket",  # before Linux 6.12
    "fill_scratch",
}
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def opened(results: dict[str, str]) -> dict[str, str]:
    return {name: got for name, got in results.items() if got}


@needs_root
def test_every_action_succeeds_where_nothing_confines_it():
    extra = [os.open("/dev/null", os.O_RDONLY) for _ in range(2)]
    with bait() as words:
        naked = subprocess.run(
            [*PYTHON, HERE / "hostile.py", json.dumps(words)],
            env={"LEAKED": words["secret"]},
            pass_fds=extra,
            preexec_fn=allow_core_files,
            capture_output=True,
            check=True,
            start_new_session=True,
        )
    for fd in extra:
        os.close(fd)
    assert {name for name, got in json.loads(naked.stdout).items() if not got} == set()


def allow_core_files() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))


def test_nothing_is_open_in_namespaces(namespaces: Namespaces):
    assert opened(hostile_results(namespaces, ENVIRONMENT)) == {}


def test_with_landlock_what_is_open_is_known():
    sandbox = build("Landlock")
    opened_here = opened(hostile_results(sandbox, ENVIRONMENT)).keys()
    assert opened_here == sandbox.open_to
    assert sandbox.open_to <= KNOWN_WITH_LANDLOCK


@needs_root
def test_level_0_stops_only_what_a_clean_start_stops():
    results = hostile_results(Unconfined(), ENVIRONMENT)
    assert results.keys() - opened(results).keys() == SHUT_BY_A_CLEAN_START


LEVEL_1_OF_A_USER = """
import json, os
from worker.sandbox.confinement import SandboxSettings
from worker.sandbox.namespaces import build_level_1
from worker.sandbox.selftest import hostile_results
from worker.sandbox.unconfined import Unconfined
assert os.geteuid() != 0
environment = {"PATH": "/usr/bin:/bin"}
sandbox = build_level_1(SandboxSettings())
print(json.dumps([
    sandbox.level, sandbox.description,
    hostile_results(sandbox, environment), hostile_results(Unconfined(), environment),
]))
"""


def test_nothing_is_open_at_level_1_of_an_ordinary_user():
    command = [*as_ordinary_user(), sys.executable, "-I", "-c", LEVEL_1_OF_A_USER]
    user = subprocess.run(command, capture_output=True, text=True, check=False)
    assert user.returncode == 0, user.stderr
    level, description, confined, unconfined = json.loads(user.stdout)
    assert level == 1
    assert "a uid each" not in description
    assert opened(confined) == {}
    assert opened(unconfined).keys() >= OPEN_TO_ANYBODY
