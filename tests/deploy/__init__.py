"""Tests of what operators deploy: Kubernetes, monitoring, and Redis with its backups."""

from tests.docker import ROOT

DEPLOY = ROOT / "deploy"
