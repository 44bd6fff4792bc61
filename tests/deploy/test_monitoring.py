"""Alerts, dashboard and autoscaling ask for figures that there are, by labels that they have."""

import json
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from contract.job import WorkerState
from contract.keys import KeyStore, Role
from contract.queue import JobQueue
from contract.settings import QueueSettings
from tests.contract.examples import LOST
from tests.deploy import DEPLOY
from tests.deploy.expressions import kept, selectors
from tests.deploy.manifests import of_kind
from tests.docker.compose import SERVICES
from tests.service.conftest import serving
from tests.service.workers import finish_next, timed, worker

HERE = Path(__file__).parent
MONITORING = DEPLOY / "monitoring"
RULES = [
    rule
    for group in yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]
BOARD = json.loads((MONITORING / "grafana/halfbyte.json").read_text())
TARGETS = [target for panel in BOARD["panels"] for target in panel["targets"]]
OF_ONE_PROCESS = re.compile("halfbyte_(http_.*|jobs_accepted_total)")
EXPRESSIONS = [
    *(rule["expr"] for rule in RULES),
    *(target["expr"] for target in TARGETS),
    *(
        each["spec"]["triggers"][0]["metadata"]["query"]
        for each in of_kind("ScaledObject").values()
    ),
]
PROMTOOL = shutil.which("promtool")

Samples = dict[str, list[dict[str, str]]]


@pytest.fixture
async def samples(queue: JobQueue, queue_settings: QueueSettings) -> Samples:
    """The labels of each sample that a service shows once a bit of everything has happened."""
    found: Samples = defaultdict(list)
    async with serving(queue_settings) as http:
        await http.post("/v1/jobs", json={})
        await finish_next(queue, timed())
        await http.post("/v1/jobs", json={})
        lease = await queue.claim(worker(), 0)
        await queue.release(lease, LOST)
        lease = await queue.claim(worker(), 0)
        await queue.release(lease, LOST)  # the last attempt, so the job fails
        await http.post("/v1/jobs", json={"device": "cpu"})
        await queue.heartbeat(worker())
        await queue.heartbeat(worker("H200", state=WorkerState.UNHEALTHY))
        for family in text_string_to_metric_families((await http.get("/metrics")).text):
            for sample in family.samples:
                found[sample.name].append(sample.labels)
    return found


def test_expressions_name_metrics_that_are_there(samples: Samples) -> None:
    named = {each.metric for expression in EXPRESSIONS for each in selectors(expression)}
    assert len(named) > 15
    assert named <= set(samples)


def test_expressions_match_and_keep_labels_that_these_metrics_have(samples: Samples) -> None:
    for expression in EXPRESSIONS:
        labels = set()
        for each in selectors(expression):
            shown = samples[each.metric]
            labels |= set(shown[0])
            for label, operator, value in each.matchers:
                assert label in shown[0], f"{each.metric} has no label {label}"
                if operator == "=":
                    values = {labels[label] for labels in shown}
                    assert value in values, f"{label} of {each.metric} is never {value}"
        assert kept(expression) <= labels, expression


def test_legends_name_labels_that_are_kept() -> None:
    for target in TARGETS:
        named = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
        assert named <= kept(target["expr"]), target["expr"]


def test_figures_of_the_queue_are_not_added_up_over_processes() -> None:
    """Each process shows all of them: a sum over two APIs would be twice the truth."""
    for expression in EXPRESSIONS:
        bare = re.sub(r"max( by \([^)]*\))? \(|max\(", "(", expression)
        for each in selectors(expression):
            if not OF_ONE_PROCESS.fullmatch(each.metric):
                assert bare != expression, f"no max around {each.metric}"


def test_every_alert_says_how_bad_it_is_and_what_it_means() -> None:
    names = [rule["alert"] for rule in RULES]
    assert len(set(names)) == len(names) > 0
    for rule in RULES:
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"]["summary"]
        text = " ".join(rule["annotations"].values())
        named = set(re.findall(r"\$labels\.(\w+)", text)) - {"instance"}
        assert named <= kept(rule["expr"])


def test_every_alert_is_in_the_guide() -> None:
    guide = (DEPLOY.parent / "docs/deploying.md").read_text()
    assert [rule["alert"] for rule in RULES if f"`{rule['alert']}`" not in guide] == []


def test_panels_do_not_overlap() -> None:
    taken = [
        (x, y)
        for panel in BOARD["panels"]
        for at in [panel["gridPos"]]
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(taken)) == len(taken)
    assert max(x for x, _ in taken) < 24


def test_what_compose_mounts_is_what_the_files_point_to() -> None:
    config = yaml.safe_load((MONITORING / "prometheus.yml").read_text())
    [job] = config["scrape_configs"]
    assert job["job_name"] == "halfbyte"  # alerts name it
    assert job["static_configs"] == [{"targets": ["api:8000"]}]
    assert config["rule_files"] == ["alerts.yml"]
    mounts = dict(
        volume.removesuffix(":ro").split(":")
        for name in ("prometheus", "grafana")
        for volume in SERVICES[name]["volumes"]
        if volume.startswith("./")
    )
    by_source = {Path(source).name: target for source, target in mounts.items()}
    assert by_source["alerts.yml"] == "/etc/prometheus/alerts.yml"
    [provider] = yaml.safe_load((MONITORING / "grafana/dashboards.yml").read_text())["providers"]
    assert by_source["halfbyte.json"].startswith(provider["options"]["path"])
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert by_source["halfbyte.json"] == home


async def test_an_empty_key_will_do_until_there_are_keys_and_one_that_reads_afterwards(
    queue: JobQueue, queue_settings: QueueSettings
) -> None:
    """Prometheus sends a bearer token in any case, so its file is empty at first."""
    async with serving(queue_settings) as http:
        empty = {"Authorization": "Bearer"}
        assert (await http.get("/metrics", headers=empty)).status_code == 200
    _, token = await KeyStore(queue.store).create("prometheus", Role.READ)
    async with serving(queue_settings) as http:
        assert (await http.get("/metrics", headers=empty)).status_code == 401
        reads = {"Authorization": f"Bearer {token}"}
        assert (await http.get("/metrics", headers=reads)).status_code == 200


def test_every_alert_has_its_cause_written_down() -> None:
    calm, firing = yaml.safe_load((HERE / "alerts_test.yml").read_text())["tests"]
    [check] = firing["promql_expr_test"]
    assert {sample["labels"] for sample in check["exp_samples"]} == {
        f'{{alertname="{rule["alert"]}"}}' for rule in RULES
    }
    assert calm["promql_expr_test"][0]["exp_samples"] == []


@pytest.mark.skipif(PROMTOOL is None, reason="no promtool")
def test_promtool_understands_the_configuration_and_sees_each_alert_fire() -> None:
    for words in (("rules", "alerts.yml"), ("config", "--syntax-only", "prometheus.yml")):
        subprocess.run([PROMTOOL, "check", *words], cwd=MONITORING, check=True)
    subprocess.run([PROMTOOL, "test", "rules", "alerts_test.yml"], cwd=HERE, check=True)
