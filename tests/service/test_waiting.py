"""Clients that wait cost nothing: everybody else is answered meanwhile."""

import asyncio
import re
import time

from tests.service.workers import finish_next, timed

SIZES = {"m": [16], "n": [16], "k": [16]}


async def test_fifty_clients_wait_and_others_are_answered(http, queue, wait_until):
    job_id = (await http.post("/v1/jobs", json=SIZES)).json()["id"]
    path = f"/v1/jobs/{job_id}"
    waiting = [
        asyncio.create_task(http.get(each)) for each in 25 * [f"{path}?wait=60", f"{path}/events"]
    ]

    async def inside() -> bool:
        text = (await http.get("/metrics")).text
        found = re.search(r"^halfbyte_http_requests_open (\S+)$", text, re.MULTILINE)
        return float(found.group(1)) > 50  # the fifty, and the one that asks

    await wait_until(inside, "fifty clients to be waiting")
    started = time.monotonic()
    for path in ("/healthz", "/readyz", "/v1/workers", "/v1/jobs", f"/v1/jobs/{job_id}"):
        assert (await http.get(path)).status_code == 200
    assert time.monotonic() - started < 30  # that is, before any of the waits ends by itself
    assert not any(each.done() for each in waiting)
    await finish_next(queue, timed())
    answers = await asyncio.gather(*waiting)
    assert {answer.status_code for answer in answers} == {200}
    assert sum('"finished"' in answer.text for answer in answers) == 50


async def test_a_large_file_is_looked_at_while_others_are_answered(http):
    """The parser takes its time, in which nobody else may stand still."""
    large = b"x = (" + b"f(a)(b), " * 30_000 + b")\ndef custom_kernel(data): ...\n"
    sending = asyncio.create_task(http.post("/v1/submissions", content=large))
    answered = 0
    while not sending.done():
        assert (await http.get("/healthz")).status_code == 200
        answered += 1
    assert (await sending).status_code == 202
    assert answered > 5
