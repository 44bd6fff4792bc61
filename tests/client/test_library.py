"""The client as other programs use it: waits, verdicts, errors."""

from pathlib import Path

import pytest

import client as library
from client import Halfbyte, NotEnded, NoVerdict, Refused
from tests.client.answers import JOB, JOBS, ONE, Answer, finished, job, problem


@pytest.fixture
def halfbyte_client(service):
    with Halfbyte(service.url, patience_s=5) as client:
        yield client


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "kernel.py"
    path.write_text("x = 1")
    return path


def test_a_file_becomes_a_verdict(halfbyte_client, service, file):
    service.tell("POST", JOBS, Answer(202, job("queued")))
    service.tell("GET", ONE, Answer(200, job("running")), Answer(200, finished("incorrect")))
    verdict = halfbyte_client.evaluate(file, mode="test", device="cpu")
    assert verdict["outcome"] == "incorrect"
    assert [request.path for request in service.of("GET")] == [f"{ONE}?wait=60"] * 2


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (job("cancelled"), f"job {JOB} has no verdict; cancelled"),
        (
            job("failed", error={"reason": "worker_lost", "message": "twice"}),
            f"job {JOB} has no verdict; worker_lost: twice",
        ),
    ],
)
def test_what_is_no_verdict_is_an_error_that_has_the_job(
    halfbyte_client, service, file, view, said
):
    service.tell("POST", JOBS, Answer(202, job("queued")))
    service.tell("GET", ONE, Answer(200, view))
    with pytest.raises(NoVerdict) as error:
        halfbyte_client.evaluate(file)
    assert str(error.value) == said
    assert error.value.job == view


def test_a_wait_has_an_end(halfbyte_client, service):
    service.tell("GET", ONE, Answer(200, job("running")))
    with pytest.raises(NotEnded, match=r"is running, and 0\.25 s are over") as error:
        halfbyte_client.wait(JOB, timeout_s=0.25)
    assert error.value.job["id"] == JOB
    (request,) = service.requests
    assert 0 < float(request.path.partition("wait=")[2]) <= 0.25


def test_a_refusal_names_the_fields(halfbyte_client, service, file):
    service.tell("POST", JOBS, problem(422, "mode: must be", ("mode", "must be 'test'")))
    with pytest.raises(Refused) as error:
        halfbyte_client.evaluate(file, mode="x")
    assert error.value.fields == (("mode", "must be 'test'"),)


def test_a_program_is_configured_as_the_command_is(service, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HALFBYTE_URL", service.url)
    monkeypatch.setenv("HALFBYTE_KEY", "hb_k")
    service.tell("GET", ONE, Answer(200, finished()))
    with Halfbyte.configured() as client:
        client.get(JOB)
    assert service.requests[0].headers["Authorization"] == "Bearer hb_k"


def test_what_is_public_is_there_and_has_types():
    assert all(hasattr(library, name) for name in library.__all__)
    assert (Path(library.__file__).parent / "py.typed").exists()


def test_a_job_that_nobody_can_take_says_so_when_time_is_over():
    lonely = job("queued", hint="no live worker takes jobs of mode test for device H200")
    assert str(NotEnded(lonely, 5)).endswith("5 s are over; " + lonely["hint"])
    assert str(NotEnded(job("queued"), 5)).endswith("5 s are over")
