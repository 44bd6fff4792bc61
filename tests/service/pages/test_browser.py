"""Pages in a real browser: live, on phone and desk, light and dark, with and without scripts."""

import contextlib
import re
from collections.abc import AsyncIterator

import httpx
import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from contract.job import Progress
from contract.keys import Role
from contract.queue import JobQueue
from tests.browser import LAUNCH, NEEDS_BROWSER, SCREENSHOTS
from tests.contract.ranked import ranked
from tests.service.conftest import serving
from tests.service.pages.found import FILE, V1, V2, clocked, finished, hostile, in_turns, worker

pytestmark = [NEEDS_BROWSER, pytest.mark.timeout(120)]
FAULTS = ("serious", "critical")
TELLING = ("error", "warning")
WAIT_MS = 30_000
LOOKS = [(width, scheme) for width in (390, 1440) for scheme in ("light", "dark")]


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    expect.set_options(timeout=WAIT_MS)  # machines may be busy; nothing here waits for the clock
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**LAUNCH)
        yield browser
        await browser.close()


@contextlib.asynccontextmanager
async def window(
    browser: Browser,
    http: httpx.AsyncClient,
    width: int = 1440,
    scheme: str = "light",
    refused: int = 0,
    **options,
) -> AsyncIterator[Page]:
    """A page in a window; a console may tell of nothing but answers that were `refused`."""
    context: BrowserContext = await browser.new_context(
        base_url=str(http.base_url),
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        reduced_motion="reduce",
        **options,
    )
    context.set_default_timeout(WAIT_MS)
    page = await context.new_page()
    said: list[str] = []
    page.on("console", lambda each: each.type in TELLING and said.append(each.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    await context.close()
    assert [text for text in said if f"status of {refused} " not in text] == []


async def no_serious_fault(page: Page) -> None:
    found = (await Axe().run(page)).response
    faults = [
        (fault["impact"], fault["id"], [node["html"][:200] for node in fault["nodes"]])
        for fault in found["violations"]
        if fault["impact"] in FAULTS
    ]
    assert faults == []
    assert len(found["passes"]) > 10


async def fits(page: Page) -> None:
    """Nothing has to be scrolled sideways but what scrolls by itself."""
    wide = await page.evaluate("document.documentElement.scrollWidth")
    assert wide <= page.viewport_size["width"], page.url
    out_of_a_card = await page.evaluate(
        "[...document.querySelectorAll('.card')]"
        ".filter(each => each.scrollWidth > each.clientWidth)"
        ".map(each => each.innerText.slice(0, 40))"
    )
    assert out_of_a_card == [], page.url


async def test_a_file_is_submitted_watched_and_its_verdict_seen(browser, http, queue: JobQueue):
    await queue.heartbeat(worker())
    async with window(browser, http) as page:
        await page.goto("/")
        await page.get_by_label("Kernel file").set_input_files(
            {"name": "mine.py", "mimeType": "text/x-python", "buffer": FILE}
        )
        await page.get_by_role("button", name="Submit").click()
        await page.wait_for_url(re.compile("/jobs/[0-9a-f]{32}$"))
        await expect(page.get_by_role("heading", level=1)).to_have_text("mine.py")
        status = page.get_by_role("status")
        lead = page.locator(".lead")
        await expect(lead).to_contain_text("Queued, number 1 in line")
        lease = await queue.claim(worker(), wait_s=10)
        for stage, case, said in (
            ("importing", None, "Importing the file"),
            ("testing", 1, "Testing: case 2 of 4"),
            ("benchmarking", 2, "Benchmarking: case 3 of 4"),
        ):
            await queue.progress(lease, Progress(stage=stage, case=case, cases=4))
            # No reload: the page was told by events. Screen readers are told as well.
            await expect(lead).to_contain_text(said)
            await expect(status).to_have_text(said)
        await expect(page.locator("[aria-current=step]")).to_have_text("Testing and timing")
        await page.get_by_role("button", name="Cancel this job").focus()
        await queue.finish(lease, V1)
        await expect(status).to_have_text(V1.summary)
        await expect(page.get_by_role("img", name="Roofline on NVIDIA H200")).to_be_visible()
        await expect(page.get_by_role("img", name="Samples of each case")).to_be_visible()
        await expect(page.get_by_role("row")).to_have_count(5)
        await expect(page).to_have_title(re.compile("passed, mine.py"))
        # What had the focus is gone: it went to the content, not to the top of the document.
        assert await page.evaluate("document.activeElement.id") == "main"


async def test_without_scripts_everything_works_too(browser, http, queue: JobQueue):
    async with window(browser, http, refused=422, java_script_enabled=False) as page:
        await page.goto("/")
        for name, value in (("m", "16"), ("n", "16, 16"), ("k", "16")):
            await page.get_by_label(name, exact=True).fill(value)
        await page.get_by_role("button", name="Submit").click()
        await expect(page.get_by_role("alert")).to_contain_text("not accepted")
        await page.get_by_label("n", exact=True).fill("16")
        await page.get_by_role("button", name="Submit").click()
        await page.wait_for_url(re.compile("/jobs/[0-9a-f]{32}$"))
        lease = await queue.claim(worker(), wait_s=10)
        await queue.finish(lease, V1)
        await expect(page.locator(".badge").first).to_contain_text("passed")  # it reloaded
        await page.get_by_text("each group").first.click()
        await expect(page.get_by_text("m 80, 176, 128, 72, 64, 248, 96, 160")).to_be_visible()


async def test_the_first_page_keeps_itself_current_and_leaves_the_form_alone(browser, http):
    async with window(browser, http) as page:
        await page.goto("/")
        await page.get_by_label("m", exact=True).fill("77")
        await http.post("/v1/jobs", json={})
        await expect(page.get_by_role("link", name="#1")).to_be_visible()
        await expect(page.get_by_label("m", exact=True)).to_have_value("77")


async def test_keys_alone_lead_to_the_content_and_through_the_form(browser, http):
    async with window(browser, http) as page:
        await page.goto("/")
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        await page.keyboard.press("Enter")
        passed = []
        for _ in range(10):
            await page.keyboard.press("Tab")
            passed.append(await page.evaluate("document.activeElement.id || 'submit'"))
        assert passed == [
            *("problem", "file", "kernel", "m", "n", "k", "l", "mode", "device", "submit")
        ]
        await page.keyboard.press("Enter")
        await page.wait_for_url(re.compile("/jobs/[0-9a-f]{32}$"))


async def test_signing_in_and_out(browser, queue_settings, queue, keys):
    made, _ = await keys.make("alice", Role.SUBMIT)
    job = await finished(queue, V1, "alice")
    async with serving(queue_settings) as http, window(browser, http) as page:
        await page.goto("/sign-in")
        await no_serious_fault(page)
        await page.get_by_label("Key").fill(made.token)
        await page.keyboard.press("Enter")
        await page.get_by_role("link", name="#1").click()
        await page.wait_for_url(f"**/jobs/{job}")
        await expect(page.get_by_text("alice, role submit")).to_be_visible()
        picture = await page.context.new_page()
        answer = await picture.goto(f"/v1/jobs/{job}/roofline.svg")
        assert answer.status == 200
        assert made.token not in str(await page.context.cookies())
        assert await page.evaluate("document.cookie") == ""
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        assert await page.context.cookies() == []


async def test_a_table_of_jobs_stays_in_its_card(browser, http, queue):
    """At every width: beside the form there is less room than on a screen half as wide."""
    await ranked(queue, "a-name-of-twenty-one", 1234.5)
    await finished(queue, hostile())
    await finished(queue, in_turns(0.93, "faster"))
    for width in (390, 641, 800, 961, 1100, 1280, 1440):
        async with window(browser, http, width) as page:
            await page.goto("/")
            await fits(page)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
async def test_pages_fit_read_well_and_have_no_serious_fault(browser, http, queue, width, scheme):
    for score in (30.5, 20.25):
        await ranked(queue, "ann", score)
    turns = await finished(queue, in_turns(0.93, "faster"))
    one = await finished(queue, clocked(V1, 1755, ("sw_power_cap",)))
    two = await finished(queue, V2, source=FILE.replace(b"data[2]", b"data[3]"))
    wrong = await finished(queue, hostile())
    running = (await http.post("/v1/jobs", json={"device": "H200"})).json()["id"]
    lease = await queue.claim(worker(), wait_s=10)
    await queue.progress(lease, Progress(stage="testing", case=1, cases=4))
    await http.post("/v1/jobs", json={"device": "B200"})
    await queue.heartbeat(worker())
    SCREENSHOTS.mkdir(exist_ok=True)
    async with window(browser, http, width, scheme) as page:
        rich = {
            "jobs": "/",
            "job": f"/jobs/{one}",
            "compare": f"/compare?a={one}&b={two}",
        }
        plain = {
            "wrong": f"/jobs/{wrong}",
            "running": f"/jobs/{running}",
            "turns": f"/jobs/{turns}",
            "leaderboard": "/leaderboard",
            "history": "/leaderboard?owner=ann",
            "problems": "/problems",
            "sign-in": "/sign-in",
        }
        # It takes a second each; what the plain ones are made of, the others have as well.
        seen = rich | plain if (width, scheme) in LOOKS[::3] else rich
        for number, (name, path) in enumerate(seen.items()):
            await page.goto(path)
            if name in rich or number % 2 == (scheme == "dark"):
                await no_serious_fault(page)
            await fits(page)
            await page.screenshot(path=SCREENSHOTS / f"{name}-{width}-{scheme}.png", full_page=True)
