"""What docker-compose.yml promises: who may do what, who reaches whom, and what is kept."""

import re
from typing import Any

import pytest

from tests.docker import ROOT
from tests.docker.compose import COMPOSE, SERVICES
from tests.docker.dockerfile import read_stages

STAGES = read_stages()[1]
OURS = ("api", "worker", "worker-gpu")
WORKERS = ("worker", "worker-gpu")
WEAKER = {"seccomp=docker/seccomp-worker.json", "apparmor=unconfined", "systempaths=unconfined"}
"""What bubblewrap needs: docs/operating.md says for each what it opens."""


@pytest.fixture(params=SERVICES)
def service(request: pytest.FixtureRequest) -> dict[str, Any]:
    return SERVICES[request.param]


def test_the_services_are_these() -> None:
    assert set(SERVICES) == {"redis", *OURS}
    assert SERVICES["worker-gpu"]["profiles"] == ["gpu"]
    assert not any("profiles" in SERVICES[name] for name in ("redis", "api", "worker"))


def test_nobody_may_more_than_is_needed(service: dict[str, Any]) -> None:
    assert "privileged" not in service
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["read_only"] is True
    assert not {"network_mode", "pid", "ipc", "devices"} & set(service)


def test_only_the_worker_that_makes_namespaces_has_weaker_walls() -> None:
    for name, service in SERVICES.items():
        options = set(service["security_opt"]) - {"no-new-privileges:true"}
        assert options == (WEAKER if name == "worker" else set())
    assert (ROOT / "docker/seccomp-worker.json").is_file()


def test_nobody_is_root_but_the_worker_that_hands_out_uids() -> None:
    assert {name: service["user"] for name, service in SERVICES.items()} == {
        "redis": "redis",
        "api": "10001:10001",
        "worker": "10001:10001",
        "worker-gpu": "0:0",
    }
    for name, service in SERVICES.items():
        allowed = ["CHOWN", "DAC_OVERRIDE", "KILL", "SETGID", "SETUID"]
        assert service.get("cap_add", []) == (allowed if name == "worker-gpu" else [])


def test_every_service_is_checked_and_waited_for(service: dict[str, Any]) -> None:
    check = service["healthcheck"]
    assert check["test"][0] == "CMD"
    assert {"interval", "timeout", "start_period"} <= set(check)
    if service is not SERVICES["redis"]:
        assert service["depends_on"] == {"redis": {"condition": "service_healthy"}}


def test_zombies_are_buried_and_what_dies_comes_back(service: dict[str, Any]) -> None:
    assert service["init"] is True
    works = service["image"].startswith("halfbyte-worker")
    # A drained worker ends well, and stays away.
    assert service["restart"] == ("on-failure" if works else "unless-stopped")


def test_only_the_api_is_published_and_on_loopback_only() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"api": ["127.0.0.1:8000:8000"]}
    assert SERVICES["api"]["environment"]["HALFBYTE_SERVICE_TRUSTED_NETWORK"] == "true"
    assert STAGES["api"].last("CMD").argv == ["--host", "0.0.0.0", "--port", "8000"]


def test_redis_and_workers_reach_nothing_outside() -> None:
    assert COMPOSE["networks"]["queue"] == {"internal": True}
    for name in ("redis", *WORKERS):
        assert SERVICES[name]["networks"] == ["queue"]


def test_no_accepted_job_is_lost_with_redis() -> None:
    redis = SERVICES["redis"]
    assert re.fullmatch(r"redis:\d+\.\d+\.\d+-alpine@sha256:[0-9a-f]{64}", redis["image"])
    program, *words = redis["command"]
    assert program == "redis-server"
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert options == {
        "--appendonly": "yes",
        "--appendfsync": "always",
        "--save": "",
        "--maxmemory-policy": "noeviction",
    }
    assert redis["volumes"] == ["redis:/data"]
    assert "redis" in COMPOSE["volumes"]


@pytest.mark.parametrize("name", OURS)
def test_our_images_are_targets_of_the_dockerfile(name: str) -> None:
    build = SERVICES[name]["build"]
    assert (build["context"], build["dockerfile"]) == (".", "docker/Dockerfile")
    assert build["target"] == name
    assert name in STAGES


@pytest.mark.parametrize("name", WORKERS)
def test_workers_scale_and_stop_in_their_own_time(name: str) -> None:
    service = SERVICES[name]
    assert not {"container_name", "hostname", "ports"} & set(service)
    grace_s = int(service["stop_grace_period"].removesuffix("s"))
    assert grace_s > 30  # GRACE_S of a worker, and some for the rest


def test_a_gpu_worker_has_one_gpu() -> None:
    [device] = SERVICES["worker-gpu"]["deploy"]["resources"]["reservations"]["devices"]
    assert device == {
        "driver": "nvidia",
        "device_ids": ["${HALFBYTE_GPU:-0}"],
        "capabilities": ["gpu"],
    }
