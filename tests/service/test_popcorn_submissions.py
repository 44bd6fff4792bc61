"""popcorn-cli: what its user has sent, listed, shown and deleted."""

import re

import pytest

from contract.errors import LeaseLost
from contract.keys import Role
from contract.leaderboard import Leaderboards
from contract.results import Results
from service.access import Caller
from service.popcorn.routes_submissions import forget
from tests.service.popcorn_cli import FILE, ApplicationError
from tests.service.popcorn_jobs import BOARD, H200, judged, ranked
from tests.service.workers import timed


async def test_submissions_are_listed_shown_and_deleted(cli, queue):
    numbers = [await cli.accepted(BOARD, "any", "test", filename=f"k{i}.py") for i in range(3)]
    await judged(queue, timed())
    listed = await cli.json("GET", f"/user/submissions?leaderboard={BOARD.upper()}&limit=2")
    assert [item["id"] for item in listed] == numbers[:0:-1]
    assert listed[0]["file_name"] == "k2.py"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", listed[0]["submission_time"])
    shown = await cli.json("GET", f"/user/submissions/{numbers[0]}")
    assert (shown["id"], shown["code"], shown["user_id"]) == (
        numbers[0],
        FILE.decode(),
        "anonymous",
    )
    assert shown["leaderboard_name"] == BOARD
    deleted = await cli.json("DELETE", f"/user/submissions/{numbers[0]}")
    assert deleted["status"] == "ok"
    with pytest.raises(ApplicationError, match="404"):
        await cli.json("GET", f"/user/submissions/{numbers[0]}")
    listed = await cli.json("GET", f"/user/submissions?leaderboard={BOARD}&limit=50")
    assert [item["id"] for item in listed] == numbers[:0:-1]


async def test_a_deleted_submission_leaves_the_leaderboard(cli, queue):
    number = await cli.accepted(BOARD, "any", "leaderboard")
    await judged(queue, ranked())
    assert len((await Leaderboards(queue.store).page(BOARD, "H200")).entries) == 1
    await cli.json("DELETE", f"/user/submissions/{number}")
    assert (await Leaderboards(queue.store).page(BOARD, "H200")).entries == []


async def test_what_ends_while_it_is_deleted_enters_no_leaderboard(cli, queue, monkeypatch):
    await cli.accepted(BOARD, "any", "leaderboard")
    lease = await queue.claim(H200, wait_s=10)
    withdraw = Results.withdraw

    async def and_then_it_ends(*arguments):
        await withdraw(*arguments)
        with pytest.raises(LeaseLost):
            await queue.finish(lease, ranked())

    monkeypatch.setattr(Results, "withdraw", and_then_it_ends)
    await forget(queue, lease.job, Caller("anonymous", Role.SUBMIT))
    assert (await Leaderboards(queue.store).page(BOARD, "H200")).entries == []


@pytest.mark.parametrize("path", ["0", "-1", "999", "1" * 40])
async def test_a_number_that_no_submission_has_is_not_found(cli, path):
    answer = await cli.request("GET", f"/user/submissions/{path}")
    assert answer.status_code == 404
    assert isinstance(answer.json()["detail"], str)


@pytest.mark.parametrize(
    "path",
    ["/user/submissions/me", f"/user/submissions?leaderboard={BOARD}&limit=0", "/auth/init"],
)
async def test_wrong_parameters_are_told_in_one_string(cli, path):
    answer = await cli.request("GET", path)
    assert answer.status_code == 422
    assert isinstance(answer.json()["detail"], str)
