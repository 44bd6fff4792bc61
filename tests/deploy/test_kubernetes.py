"""What deploy/kubernetes promises: valid, complete, and as narrow as the compose file.

There is no cluster here. Documents are held against the schemas of Kubernetes, against each other,
and against the code: probes that exist, settings that exist, figures that exist.
"""

import re
import shutil
import subprocess
import tomllib
from importlib.util import find_spec

import kubernetes_validate
import pytest
import yaml

from contract.device import ANY, CPU, GPU_ONLY
from contract.limits import Limits
from contract.settings import QueueSettings
from service.settings import ServiceSettings
from tests.architecture.test_docs_are_true import names
from tests.deploy import DEPLOY
from tests.deploy.manifests import (
    EVERYTHING,
    KUBERNETES,
    WORKLOADS,
    container,
    load,
    of_kind,
    pod,
)
from tests.docker import ROOT
from tests.docker.compose import SERVICES
from tests.docker.dockerfile import read_stages
from tests.service.conftest import serving
from worker.settings import WorkerSettings

VERSIONS = ("1.33", kubernetes_validate.latest_version())
"""The first that lets a pod unmask /proc by itself, and the newest whose schemas we have."""
OURS = ("api", "worker", "worker-gpu")
WORKERS = ("worker", "worker-gpu")
GUIDE = (ROOT / "docs/deploying.md").read_text()
SETTINGS = {
    *(f"HALFBYTE_SERVICE_{name}" for name in names(ServiceSettings)),
    *(f"HALFBYTE_QUEUE_{name}" for name in names(QueueSettings)),
    *(f"HALFBYTE_WORKER_{name}" for name in names(WorkerSettings)),
}


@pytest.mark.parametrize(
    "document",
    [each for each in EVERYTHING if each["kind"] != "ScaledObject"],  # whose schema is KEDA's
    ids=lambda each: f"{each['kind']}-{each['metadata']['name']}",
)
def test_documents_are_what_kubernetes_takes(document: dict) -> None:
    for version in VERSIONS:
        kubernetes_validate.validate(document, version, strict=True)


def test_a_misspelt_field_would_be_found() -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "x"},
        "spec": {"prot": 1},
    }
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, VERSIONS[0], strict=True)


def test_every_file_is_part_of_a_kustomization() -> None:
    named = set()
    for path in DEPLOY.rglob("kustomization.yaml"):
        kustomization = yaml.safe_load(path.read_text())
        files = list(kustomization.get("resources", ()))
        for generated in kustomization.get("configMapGenerator", ()):
            files += [*generated.get("files", ()), *generated.get("envs", ())]
        named |= {(path.parent / name).resolve() for name in files} | {path}
    assert {path for path in KUBERNETES.rglob("*") if path.is_file()} <= named
    assert DEPLOY / "redis/start.sh" in named


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl")
@pytest.mark.parametrize("folder", ["base", "gpu", "monitoring", "autoscaling"])
def test_kustomize_makes_the_same(folder: str) -> None:
    made = subprocess.run(
        ["kubectl", "kustomize", KUBERNETES / folder], capture_output=True, text=True, check=True
    )
    documents = list(yaml.safe_load_all(made.stdout))
    wanted = [(each["kind"], each["metadata"]["name"]) for each in load(KUBERNETES / folder)]
    hashless = [
        (kind, re.sub("-[a-z0-9]{10}$", "", name) if kind == "ConfigMap" else name)
        for kind, name in ((each["kind"], each["metadata"]["name"]) for each in documents)
    ]
    assert sorted(hashless) == sorted(wanted)
    assert {each["metadata"].get("namespace", "halfbyte") for each in documents} == {"halfbyte"}


@pytest.mark.parametrize("name", WORKLOADS)
def test_what_a_pod_refers_to_is_there(name: str) -> None:
    maps, secrets = set(of_kind("ConfigMap")), set()
    for source in container(name).get("envFrom", ()):
        assert source["configMapRef"]["name"] in maps
    for variable in container(name).get("env", ()):
        if "valueFrom" in variable:
            secrets.add(variable["valueFrom"]["secretKeyRef"]["name"])
    for volume in pod(name).get("volumes", ()):
        if "configMap" in volume:
            assert volume["configMap"]["name"] in maps
        if "secret" in volume:
            secrets.add(volume["secret"]["secretName"])
    # Secrets are made by hand; the guide says how.
    assert all(f"create secret generic {secret} " in GUIDE for secret in secrets)
    declared = {volume["name"] for volume in pod(name).get("volumes", ())}
    declared |= {
        claim["metadata"]["name"]
        for claim in WORKLOADS[name]["spec"].get("volumeClaimTemplates", ())
    }
    assert {mount["name"] for mount in container(name)["volumeMounts"]} == declared


def test_services_and_walls_name_pods_and_ports_that_are_there() -> None:
    ports, numbers = {}, set()
    for name, workload in WORKLOADS.items():
        labels = workload["spec"]["template"]["metadata"]["labels"]
        assert labels == workload["spec"]["selector"]["matchLabels"] == {"app": name}
        ports[name] = {port["name"] for port in container(name).get("ports", ())}
        numbers |= {port["containerPort"] for port in container(name).get("ports", ())}
    for service in of_kind("Service").values():
        found = ports[service["spec"]["selector"]["app"]]
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= found
    for policy in of_kind("NetworkPolicy").values():
        text = yaml.safe_dump(policy)
        assert set(re.findall(r"(?<!-)app: (\S+)", text)) <= set(WORKLOADS)
        for rule in (*policy["spec"].get("ingress", ()), *policy["spec"].get("egress", ())):
            assert {each["port"] for each in rule.get("ports", ())} - {53} <= numbers


def test_workers_reach_redis_and_names_only() -> None:
    for name in WORKERS:
        reached = []
        for policy in of_kind("NetworkPolicy").values():
            selector = policy["spec"]["podSelector"]
            values = [v for each in selector.get("matchExpressions", ()) for v in each["values"]]
            if not selector or selector.get("matchLabels") == {"app": name} or name in values:
                reached += policy["spec"].get("egress", ())
        assert [each["to"][0].get("podSelector") for each in reached] == [
            {"matchLabels": {"k8s-app": "kube-dns"}},
            {"matchLabels": {"app": "redis"}},
        ]
    assert of_kind("NetworkPolicy")["nothing"]["spec"] == {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
    }


async def test_probes_are_answered_also_where_the_service_knows_its_names(queue_settings) -> None:
    """A kubelet asks by the pod's address, which is none of the names."""
    settings = ServiceSettings(trusted_network=True, hosts=("bench.example",))
    async with serving(queue_settings, settings) as http:
        for probe in ("livenessProbe", "readinessProbe"):
            ask = container("api")[probe]["httpGet"]
            headers = {each["name"]: each["value"] for each in ask["httpHeaders"]}
            assert (await http.get(ask["path"], headers=headers)).status_code == 200
        assert (await http.get(ask["path"], headers={"Host": "10.1.2.3:8000"})).status_code == 421


def test_workers_are_asked_for_their_health_and_never_killed_for_it() -> None:
    for name in WORKERS:
        command = container(name)["readinessProbe"]["exec"]["command"]
        assert command == SERVICES[name]["healthcheck"]["test"][1:]
        assert find_spec(command[-1]) is not None
        assert "livenessProbe" not in container(name)


def test_images_are_pinned() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    for name in OURS:
        assert container(name)["image"] == f"{SERVICES[name]['image']}:{version}"
        assert name in read_stages()[1]
    for name in ("redis", "prometheus"):
        assert container(name)["image"] == SERVICES[name]["image"]
        assert "@sha256:" in container(name)["image"]


def test_variables_are_settings() -> None:
    given = set(of_kind("ConfigMap")["settings"]["data"])
    for name in OURS:
        own = {each["name"]: each for each in container(name)["env"]}
        given |= {each for each in own if each.startswith("HALFBYTE_")}
        url = own["HALFBYTE_QUEUE_REDIS_URL"]["value"]
        assert url == "redis://:$(REDIS_PASSWORD)@redis:6379/0"
        assert list(own).index("REDIS_PASSWORD") < list(own).index("HALFBYTE_QUEUE_REDIS_URL")
    assert given <= SETTINGS


@pytest.mark.parametrize("name", WORKLOADS)
def test_nobody_may_more_than_under_compose(name: str) -> None:
    compose, context = SERVICES[name], container(name)["securityContext"]
    assert "privileged" not in context
    assert context["allowPrivilegeEscalation"] is False
    assert context["readOnlyRootFilesystem"] is True
    added = {"add": compose["cap_add"]} if "cap_add" in compose else {}
    assert context["capabilities"] == {"drop": ["ALL"]} | added
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod(name))
    assert pod(name)["automountServiceAccountToken"] is False
    of_pod = pod(name)["securityContext"]
    assert of_pod.get("runAsNonRoot", False) is (name != "worker-gpu")
    if compose["user"][0].isdigit():
        assert f"{of_pod['runAsUser']}:{of_pod['runAsGroup']}" == compose["user"]
    if name != "worker":
        assert of_pod["seccompProfile"] == {"type": "RuntimeDefault"}
        assert "appArmorProfile" not in of_pod
        assert "procMount" not in context


def test_the_worker_that_makes_namespaces_has_what_that_takes() -> None:
    of_pod = pod("worker")["securityContext"]
    profile = of_pod["seccompProfile"]["localhostProfile"]
    assert (ROOT / "docker" / profile.removeprefix("halfbyte/")).is_file()
    assert f"/var/lib/kubelet/seccomp/{profile}" in GUIDE
    assert of_pod["appArmorProfile"] == {"type": "Unconfined"}
    assert container("worker")["securityContext"]["procMount"] == "Unmasked"
    assert pod("worker")["hostUsers"] is False  # Kubernetes refuses the above otherwise


def test_a_worker_that_is_told_to_go_may_finish_its_job() -> None:
    grace_s = float(of_kind("ConfigMap")["settings"]["data"]["HALFBYTE_WORKER_GRACE_S"])
    assert grace_s >= Limits().job_s
    for name in WORKERS:
        assert pod(name)["terminationGracePeriodSeconds"] >= grace_s + 30


def test_a_gpu_worker_has_one_gpu_and_whole_cores() -> None:
    resources = container("worker-gpu")["resources"]
    assert resources["limits"] == resources["requests"]
    assert resources["limits"]["nvidia.com/gpu"] == 1
    assert resources["limits"]["cpu"].isdigit()
    rolling = WORKLOADS["worker-gpu"]["spec"]["strategy"]["rollingUpdate"]
    assert rolling["maxSurge"] == 0


def test_redis_keeps_what_it_accepts_and_asks_for_a_password() -> None:
    *start, option, password = container("redis")["args"][:4]
    assert (start, option, password) == (
        ["sh", "/start/start.sh"],
        "--requirepass",
        "$(REDISCLI_AUTH)",
    )
    assert container("redis")["args"][4:] == SERVICES["redis"]["command"][2:]
    assert "start.sh" in of_kind("ConfigMap")["redis-start"]["data"]
    [claim] = WORKLOADS["redis"]["spec"]["volumeClaimTemplates"]
    assert claim["metadata"]["name"] == "data"


def test_autoscaling_scales_what_is_there_and_asks_who_is_there() -> None:
    scaled = of_kind("ScaledObject")
    service = of_kind("Service")["prometheus"]
    for name, each in scaled.items():
        spec = each["spec"]
        assert spec["scaleTargetRef"]["name"] == name
        assert name in WORKLOADS
        [trigger] = spec["triggers"]
        assert all(isinstance(value, str) for value in trigger["metadata"].values())
        [port] = service["spec"]["ports"]
        assert (
            trigger["metadata"]["serverAddress"] == f"http://prometheus.halfbyte.svc:{port['port']}"
        )
    assert set(scaled) == set(WORKERS)
    assert all("replicas" not in WORKLOADS[name]["spec"] for name in scaled)  # KEDA's to set


def test_every_line_of_the_queue_is_counted_for_one_kind_of_worker() -> None:
    cpu, gpu = (
        of_kind("ScaledObject")[name]["spec"]["triggers"][0]["metadata"]["query"]
        for name in WORKERS
    )
    devices, modes = f"{ANY}|{CPU}", "|".join(GPU_ONLY)
    assert f'halfbyte_jobs_queued{{device=~"{devices}",mode!~"{modes}"}}' in cpu
    assert f'halfbyte_jobs_queued{{device!~"{devices}"}}' in gpu
    assert f'halfbyte_jobs_queued{{mode=~"{modes}"}}' in gpu


def test_prometheus_finds_every_api() -> None:
    config = yaml.safe_load((KUBERNETES / "monitoring/prometheus.yml").read_text())
    [job] = config["scrape_configs"]
    [found] = job["dns_sd_configs"]
    [service] = found["names"]
    assert of_kind("Service")[service]["spec"]["clusterIP"] == "None"
    assert found["port"] == container("api")["ports"][0]["containerPort"]
    mounts = {each["name"]: each["mountPath"] for each in container("prometheus")["volumeMounts"]}
    assert config["rule_files"] == [f"{mounts['rules']}/alerts.yml"]
    assert job["authorization"]["credentials_file"] == f"{mounts['key']}/key"
