"""Signing in: a key once, a session in its place, and nothing for other sites to use."""

import re
from http.cookies import SimpleCookie

import httpx
import pytest

from contract.keys import Role
from contract.sessions import SESSION_S
from service.dependencies import SESSION_COOKIE
from tests.service.conftest import serving
from tests.service.pages.found import V1, finished
from tests.service.pages.reading import BROWSER, checked, page_at


@pytest.fixture
async def alice(keys):
    made, _ = await keys.make("alice")
    return made


@pytest.fixture
async def closed(queue_settings, alice):
    async with serving(queue_settings) as http:
        yield http


async def signed_in(http: httpx.AsyncClient, token: str, next: str = "/") -> httpx.Response:
    return await http.post("/sign-in", data={"key": token, "next": next}, headers=BROWSER)


async def test_whoever_is_not_signed_in_is_asked_for_a_key_and_then_led_on(closed, queue, alice):
    job = await finished(queue, V1, "alice")
    text = await page_at(closed, f"/jobs/{job}?from=mail", 401)
    assert f'name="next" value="/jobs/{job}?from=mail"' in text
    answer = await signed_in(closed, f" {alice.token} ", f"/jobs/{job}?from=mail")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/jobs/{job}?from=mail")
    assert "alice, role submit" in await page_at(closed, f"/jobs/{job}")


async def test_the_cookie_is_for_our_own_pages_and_does_not_hold_the_key(closed, alice):
    answer = await signed_in(closed, alice.token)
    (sent,) = SimpleCookie(answer.headers["set-cookie"]).values()
    assert re.fullmatch("hs_[0-9a-f]{64}", sent.value)
    assert sent["httponly"]
    assert sent["samesite"] == "strict"
    assert sent["path"] == "/"
    assert int(sent["max-age"]) == SESSION_S
    assert not sent["secure"]  # of a service on loopback
    assert alice.token not in str(answer.headers)


async def test_behind_https_the_cookie_stays_there(closed, alice):
    answer = await closed.post(
        "/sign-in", data={"key": alice.token}, headers={"X-Forwarded-Proto": "https"}
    )
    assert "secure" in answer.headers["set-cookie"].lower()


async def test_a_session_opens_what_its_key_opens_and_no_more(closed, queue, keys, alice):
    mine, other = await finished(queue, V1, "alice"), await finished(queue, V1, "bob")
    await signed_in(closed, alice.token)
    for path in (f"/v1/jobs/{mine}", f"/v1/jobs/{mine}/roofline.svg", f"/v1/jobs/{mine}/events"):
        assert (await closed.get(path)).status_code == 200
    assert (await closed.get(f"/v1/jobs/{other}")).status_code == 404
    assert (await closed.post("/v1/workers/x/drain")).status_code == 403
    _, admin = await keys.make("root", Role.ADMIN)
    # A key that is presented goes before the session, also where it is none.
    assert (await closed.get(f"/v1/jobs/{other}", headers=admin)).status_code == 200
    for wrong in ("Bearer hb_x", "Bearer", "Basic eA=="):
        answer = await closed.get("/v1/jobs", headers={"Authorization": wrong})
        assert answer.status_code == 401


@pytest.mark.parametrize("key", ["", "hb_", "hs_" + "0" * 64, "hb_" + "0" * 12 + "_" + "0" * 64])
async def test_what_is_no_key_gives_no_session(closed, key):
    answer = await signed_in(closed, key, "/problems")
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    text = checked(answer)
    assert "no key of this service" in text
    assert 'value="/problems"' in text


async def test_a_session_cannot_make_another(closed, alice):
    await signed_in(closed, alice.token)
    session = closed.cookies[SESSION_COOKIE]
    closed.cookies.clear()
    assert (await signed_in(closed, session)).status_code == 401


async def test_signing_out_ends_the_session_for_everybody_who_has_it(closed, alice, wait_until):
    await signed_in(closed, alice.token)
    cookie = {SESSION_COOKIE: closed.cookies[SESSION_COOKIE]}
    assert (await closed.get("/", headers=BROWSER)).status_code == 200
    answer = await closed.post("/sign-out")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert SESSION_COOKIE not in closed.cookies
    await page_at(closed, "/", 401)
    closed.cookies.update(cookie)

    async def void() -> bool:
        return (await closed.get("/v1/jobs")).status_code == 401

    await wait_until(void, "the service to notice")


async def test_a_session_ends_with_its_key(closed, keys, alice, wait_until):
    await signed_in(closed, alice.token)
    assert (await closed.get("/v1/jobs")).status_code == 200
    await keys.store.revoke(alice.key.id)

    async def void() -> bool:
        return (await closed.get("/v1/jobs")).status_code == 401

    await wait_until(void, "the service to notice")


@pytest.mark.parametrize(
    "leads", ["https://evil.example/", "//evil.example", "/\\evil.example", "evil", "/a\nb", ""]
)
async def test_signing_in_leads_nowhere_else(closed, alice, leads):
    answer = await signed_in(closed, alice.token, leads)
    assert answer.headers["location"] == "/"


async def test_another_site_cannot_use_the_session_nor_sign_anybody_in(closed, alice):
    await signed_in(closed, alice.token)
    for path, data in (("/jobs", {}), ("/sign-in", {"key": alice.token}), ("/sign-out", {})):
        for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
            answer = await closed.post(path, data=data, headers={"Origin": origin})
            assert answer.status_code == 403
    assert (await closed.get("/v1/jobs")).json()["jobs"] == []


async def test_who_comes_from_another_site_is_told_why_and_how_to_go_on(closed):
    headers = BROWSER | {"Sec-Fetch-Site": "cross-site"}
    text = await page_at(closed, "/problems", 401, headers=headers)
    assert '<a href="/problems">open this page again</a>' in text


async def test_programs_are_told_of_the_header(closed):
    answer = await closed.get("/problems")
    assert answer.status_code == 401
    assert "Authorization: Bearer" in answer.json()["detail"]


@pytest.mark.parametrize("body", [b"key=" + b"x" * 5000, b"\xff", b"&".join([b"a=1"] * 20)])
async def test_a_form_that_cannot_be_read_is_no_fault_of_ours(closed, body):
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await closed.post("/sign-in", content=body, headers=BROWSER | kind)
    assert answer.status_code == 400
    checked(answer)


async def test_without_keys_nobody_is_asked(http):
    text = await page_at(http, "/")
    assert "Sign out" not in text
