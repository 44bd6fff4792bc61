"""What docker-compose.yml promises: who may do what, who reaches whom, and what is kept."""

import json
import re
from typing import Any

import pytest

from service.settings import ServiceSettings
from tests.docker import ROOT
from tests.docker.compose import COMPOSE, SERVICES, by_default
from tests.docker.dockerfile import read_stages

STAGES = read_stages()[1]
OURS = ("api", "worker", "worker-gpu")
WORKERS = ("worker", "worker-gpu")
WATCHERS = ("prometheus", "grafana")
PROFILES = {"worker-gpu": ["gpu"], "prometheus": ["monitoring"], "grafana": ["monitoring"]}
PINNED = re.compile(r"[a-z]+(/[a-z]+)?:v?\d+\.\d+\.\d+(-alpine)?@sha256:[0-9a-f]{64}")
WEAKER = {"seccomp=docker/seccomp-worker.json", "apparmor=unconfined", "systempaths=unconfined"}
"""What bubblewrap needs: docs/deploying.md says for each what it opens."""


@pytest.fixture(params=SERVICES)
def service(request: pytest.FixtureRequest) -> dict[str, Any]:
    return SERVICES[request.param]


def test_the_services_are_these() -> None:
    assert set(SERVICES) == {"redis", *OURS, *WATCHERS}
    found = {name: each["profiles"] for name, each in SERVICES.items() if "profiles" in each}
    assert found == PROFILES


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
        "prometheus": "nobody",
        "grafana": "472:0",
    }
    for name, service in SERVICES.items():
        allowed = ["CHOWN", "DAC_OVERRIDE", "KILL", "SETGID", "SETUID"]
        assert service.get("cap_add", []) == (allowed if name == "worker-gpu" else [])


def test_every_service_is_checked_and_waited_for(service: dict[str, Any]) -> None:
    check = service["healthcheck"]
    assert check["test"][0] == "CMD"
    assert {"interval", "timeout", "start_period"} <= set(check)
    awaited = {"prometheus": "api", "grafana": "prometheus"}
    if service is not SERVICES["redis"]:
        [name] = [name for name, each in SERVICES.items() if each is service]
        needed = awaited.get(name, "redis")
        assert service["depends_on"] == {needed: {"condition": "service_healthy"}}


def test_zombies_are_buried_and_what_dies_comes_back(service: dict[str, Any]) -> None:
    assert service["init"] is True
    works = service["image"].startswith("halfbyte-worker")
    # A drained worker ends well, and stays away.
    assert service["restart"] == ("on-failure" if works else "unless-stopped")


def test_what_is_published_is_on_loopback_only() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {
        "api": ["127.0.0.1:8000:8000"],
        "prometheus": ["127.0.0.1:9090:9090"],
        "grafana": ["127.0.0.1:3000:3000"],
    }
    assert SERVICES["api"]["environment"]["HALFBYTE_SERVICE_TRUSTED_NETWORK"] == "true"
    assert STAGES["api"].last("CMD").argv == ["--host", "0.0.0.0", "--port", "8000"]


def test_redis_and_workers_reach_nothing_outside() -> None:
    assert COMPOSE["networks"]["queue"] == {"internal": True}
    for name in ("redis", *WORKERS):
        assert SERVICES[name]["networks"] == ["queue"]
    for name in WATCHERS:
        assert SERVICES[name]["networks"] == ["published"]  # so they reach no redis either


def test_images_of_others_have_a_full_version_and_a_digest() -> None:
    for name in ("redis", *WATCHERS):
        assert PINNED.fullmatch(SERVICES[name]["image"])


def test_what_is_mounted_from_here_is_here_and_cannot_be_written_to() -> None:
    mounted = [
        volume.split(":")
        for service in SERVICES.values()
        for volume in service.get("volumes", ())
        if volume.startswith(".")
    ]
    assert len(mounted) == 6
    for source, _, mode in mounted:
        assert (ROOT / source).is_file()
        assert mode == "ro"


def test_volumes_and_secrets_are_declared() -> None:
    named = {
        volume.split(":")[0]
        for service in SERVICES.values()
        for volume in service.get("volumes", ())
        if not volume.startswith(".")
    }
    assert named == set(COMPOSE["volumes"])
    assert SERVICES["prometheus"]["secrets"] == list(COMPOSE["secrets"])
    assert (ROOT / by_default(COMPOSE["secrets"]["metrics-key"]["file"])).read_text() == ""


def test_the_name_of_a_proxy_can_be_given_without_an_edit() -> None:
    given = SERVICES["api"]["environment"]["HALFBYTE_SERVICE_HOSTS"]
    assert given.startswith("${HALFBYTE_SERVICE_HOSTS:-")
    assert ServiceSettings(hosts=json.loads(by_default(given))).hosts == ("api",)


def test_no_accepted_job_is_lost_with_redis() -> None:
    redis = SERVICES["redis"]
    shell, script, *words = redis["command"]
    assert (shell, script) == ("sh", "/start.sh")
    assert f"./deploy/redis/start.sh:{script}:ro" in redis["volumes"]
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert options == {
        "--appendonly": "yes",
        "--appendfsync": "always",
        "--save": "",
        "--maxmemory-policy": "noeviction",
    }
    assert "redis:/data" in redis["volumes"]


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
