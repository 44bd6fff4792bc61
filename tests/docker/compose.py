"""docker-compose.yml as data."""

import yaml

from tests.docker import ROOT

COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]
