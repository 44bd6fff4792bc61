"""Tests of the images and of what runs them, on machines without a container engine."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
