"""A headless Chromium for tests of pages, where the machine has one (Debian: chromium)."""

import os
import shutil
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
NEEDS_BROWSER = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
LAUNCH = {
    "executable_path": CHROMIUM,
    "args": ["--no-sandbox"] if os.geteuid() == 0 else [],
}
"""For `chromium.launch`."""
SCREENSHOTS = Path(__file__).parents[1] / "screenshots"
"""Kept of the latest run, for people; git ignores them."""
