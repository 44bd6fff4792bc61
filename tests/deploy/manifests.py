"""deploy/kubernetes as data, put together as kustomize does it but for the names' hashes."""

from pathlib import Path
from typing import Any

import yaml

from tests.deploy import DEPLOY

KUBERNETES = DEPLOY / "kubernetes"
Document = dict[str, Any]


def load(folder: Path) -> list[Document]:
    """All documents that a kustomization makes; a ConfigMap has its files or settings as data."""
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    documents = []
    for resource in kustomization.get("resources", ()):
        path = (folder / resource).resolve()
        documents += load(path) if path.is_dir() else yaml.safe_load_all(path.read_text())
    for generated in kustomization.get("configMapGenerator", ()):
        data = {name: (folder / name).read_text() for name in generated.get("files", ())}
        for name in generated.get("envs", ()):
            data |= settings(folder / name)
        config = {"apiVersion": "v1", "kind": "ConfigMap", "data": data}
        documents.append(config | {"metadata": {"name": generated["name"]}})
    return documents


def settings(file: Path) -> dict[str, str]:
    lines = file.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def everything() -> list[Document]:
    """What all folders make, each document once."""
    documents = {}
    for folder in ("gpu", "monitoring", "autoscaling"):  # gpu has the base in it
        for document in load(KUBERNETES / folder):
            documents[document["kind"], document["metadata"]["name"]] = document
    return list(documents.values())


EVERYTHING = everything()


def of_kind(*kinds: str) -> dict[str, Document]:
    return {each["metadata"]["name"]: each for each in EVERYTHING if each["kind"] in kinds}


WORKLOADS = of_kind("Deployment", "StatefulSet")


def pod(name: str) -> Document:
    """The pod that a workload makes."""
    spec: Document = WORKLOADS[name]["spec"]["template"]["spec"]
    return spec


def container(name: str) -> Document:
    """The one container of a workload's pod."""
    [found] = pod(name)["containers"]
    result: Document = found
    return result
