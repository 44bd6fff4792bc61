"""docker-compose.yml as data."""

import re

import yaml

from tests.docker import ROOT

COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]


def by_default(value: str) -> str:
    """Return a value as it is where nobody sets the variable that it names."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value)
