"""A web page of another site must not use the service through its reader's browser."""

import pytest

from service.middleware import is_loopback
from service.settings import ServiceSettings
from tests.service.conftest import serving


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://127.0.0.1:9",
        "http://127.0.0.1",
        "null",
        "",
    ],
)
async def test_a_page_of_another_site_cannot_submit_nor_cancel(http, origin):
    headers = {"Origin": origin}
    answer = await http.post("/v1/jobs", json={}, headers=headers)
    assert answer.status_code == 403
    assert answer.headers["content-type"] == "application/problem+json"
    assert "access-control-allow-origin" not in answer.headers
    assert (await http.delete("/v1/jobs/x", headers=headers)).status_code == 403
    assert (await http.get("/v1/jobs")).json()["jobs"] == []


async def test_a_page_of_our_own_and_programs_can_submit(http):
    own = str(http.base_url).rstrip("/")
    assert (await http.post("/v1/jobs", json={}, headers={"Origin": own})).status_code == 202
    assert (await http.post("/v1/jobs", json={})).status_code == 202


@pytest.mark.parametrize("host", ["evil.example:8000", "evil.example", "10.0.0.1", "[", "[::]:80"])
async def test_a_name_that_merely_leads_to_loopback_is_not_answered(http, host):
    headers = {"Origin": f"http://{host}", "Host": host}
    for answer in (
        await http.get("/v1/jobs", headers=headers),
        await http.post("/v1/jobs", json={}, headers=headers),
    ):
        assert answer.status_code == 421
        assert answer.headers["content-type"] == "application/problem+json"


async def test_who_asks_by_the_name_of_a_proxy_reads_what_to_set(http, queue_settings):
    headers = {"Host": "bench.example"}
    told = (await http.get("/healthz", headers=headers)).json()["detail"]
    assert told.startswith("this service is not bench.example, but localhost; ")
    assert "HALFBYTE_SERVICE_TRUSTED_NETWORK=true" in told
    settings = ServiceSettings(trusted_network=True, hosts=("api",))  # as under compose
    async with serving(queue_settings, settings) as composed:
        answer = await composed.get("/", headers=headers | {"Accept": "text/html"})
        told = (await composed.get("/healthz", headers=headers)).json()["detail"]
    assert "api, localhost; its operator adds further names" in told
    assert told.endswith("HALFBYTE_SERVICE_HOSTS")
    assert "HALFBYTE_SERVICE_HOSTS" in answer.text  # a person sees it too


@pytest.mark.parametrize("host", ["localhost:9", "LOCALHOST", "127.0.0.1", "[::1]:8000"])
async def test_loopback_has_several_names(http, host):
    assert (await http.get("/healthz", headers={"Host": host})).status_code == 200


async def test_on_a_trusted_network_the_service_has_names(queue_settings):
    headers = {"Origin": "http://judge.lan:8000", "Host": "judge.lan:8000"}
    async with serving(queue_settings, ServiceSettings(trusted_network=True)) as http:
        assert (await http.post("/v1/jobs", json={}, headers=headers)).status_code == 202
        headers["Origin"] = "https://evil.example"
        assert (await http.post("/v1/jobs", json={}, headers=headers)).status_code == 403


async def test_on_a_trusted_network_it_may_know_its_names(queue_settings):
    settings = ServiceSettings(trusted_network=True, hosts=("Judge.lan", "api"))
    async with serving(queue_settings, settings) as http:
        for host, status in (
            *((name, 200) for name in ("judge.lan:8000", "API", "localhost:9", "[::1]:8000")),
            *((name, 421) for name in ("evil.example:8000", "api.evil.example", "10.0.0.1", "[")),
        ):
            assert (await http.get("/healthz", headers={"Host": host})).status_code == status


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_is_this_machine(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "judge.lan", ""])
def test_nothing_else_is_loopback(host):
    assert not is_loopback(host)
