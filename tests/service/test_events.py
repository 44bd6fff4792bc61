"""Events as they happen, for as many clients as want to listen."""

import asyncio
import json

from contract.job import Progress
from service.settings import ServiceSettings
from tests.service.conftest import serving
from tests.service.workers import finish_next, timed, worker

SIZES = {"m": [16], "n": [16], "k": [16]}


def events_in(text: str) -> list[tuple[str, str, object]]:
    """Return `(id, event, data)` of a whole stream."""
    found = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line[:1] != ":")
        if fields:
            found.append((fields["id"], fields["event"], json.loads(fields["data"])))
    return found


async def submitted(http) -> str:
    return (await http.post("/v1/jobs", json=SIZES)).json()["id"]


async def test_a_stream_tells_states_and_progress_and_ends_with_the_job(http, queue):
    job_id = await submitted(http)
    stream = asyncio.create_task(http.get(f"/v1/jobs/{job_id}/events"))
    lease = await queue.claim(worker(), wait_s=10)
    await queue.progress(lease, Progress(stage="testing", case=0, cases=1))
    await queue.finish(lease, timed())
    answer = await stream
    assert answer.headers["content-type"].startswith("text/event-stream")
    told = [(event, data) for _, event, data in events_in(answer.text)]
    states = [data["state"] for event, data in told if event == "state"]
    assert states == ["queued", "running", "finished"]
    assert ("progress", {"stage": "testing", "case": 0, "cases": 1}) in told


async def test_a_stream_resumes_after_the_last_event_that_arrived(http, queue):
    job_id = await submitted(http)
    await finish_next(queue, timed())
    whole = events_in((await http.get(f"/v1/jobs/{job_id}/events")).text)
    assert len(whole) > 2
    for index, (event_id, _, _) in enumerate(whole):
        rest = await http.get(f"/v1/jobs/{job_id}/events", headers={"Last-Event-ID": event_id})
        assert events_in(rest.text) == whole[index + 1 :]


async def test_an_id_that_is_none_of_ours_means_the_beginning(http, queue):
    job_id = await submitted(http)
    await finish_next(queue, timed())
    whole = await http.get(f"/v1/jobs/{job_id}/events")
    again = await http.get(f"/v1/jobs/{job_id}/events", headers={"Last-Event-ID": "yesterday"})
    assert events_in(again.text) == events_in(whole.text)


async def test_an_idle_stream_carries_comments(queue_settings):
    async with serving(queue_settings, ServiceSettings(ping_s=0.05)) as http:
        job_id = await submitted(http)
        async with http.stream("GET", f"/v1/jobs/{job_id}/events") as answer:
            async for line in answer.aiter_lines():
                if line.startswith(":"):
                    break
            else:
                raise AssertionError("the stream ended without a comment")
        await http.delete(f"/v1/jobs/{job_id}")


async def test_a_client_that_goes_away_does_not_matter_to_the_job(http, queue):
    job_id = await submitted(http)
    async with http.stream("GET", f"/v1/jobs/{job_id}/events") as answer:
        await anext(answer.aiter_lines())
    await finish_next(queue, timed())
    assert (await http.get(f"/v1/jobs/{job_id}")).json()["state"] == "finished"
