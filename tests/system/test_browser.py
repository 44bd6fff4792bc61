"""A person's first job: a browser, the service as `halfbyte up` starts it, and a real worker."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser import LAUNCH, NEEDS_BROWSER
from tests.system.conftest import Stack

EXAMPLE = Path(__file__).parents[2] / "examples" / "torch_kernel.py"
VERDICT_MS = 100_000


@NEEDS_BROWSER
@pytest.mark.slow
@pytest.mark.timeout(200)
def test_a_file_sent_in_a_browser_is_judged_before_ones_eyes(stack: Stack) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**LAUNCH)
        page = browser.new_context(base_url=stack.url).new_page()
        said: list[str] = []
        page.on("console", lambda each: said.append(f"{each.type}: {each.text}"))
        page.goto("/")
        expect(page.locator("#workers")).to_contain_text("level")
        page.get_by_label("Kernel file").set_input_files(EXAMPLE)
        for name, sizes in (("m", "40, 72"), ("n", "128, 256"), ("k", "64, 256")):
            page.get_by_label(name, exact=True).fill(sizes)
        page.get_by_role("button", name="Submit").click()
        page.wait_for_url(re.compile("/jobs/[0-9a-f]{32}$"))
        expect(page.locator(".lead .badge")).to_contain_text("passed", timeout=VERDICT_MS)
        expect(page.get_by_role("status")).to_have_text(re.compile("^passed"))
        expect(page.locator("#case-0")).to_contain_text("bit-exact")
        expect(page.get_by_text("A CPU stood in for the GPU")).to_be_visible()
        browser.close()
    assert said == []
