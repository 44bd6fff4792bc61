"""Leaderboards over HTTP: pages, history, exports, decisions, and who may do what."""

import csv
import io
from collections.abc import AsyncIterator

import httpx
import pytest

from contract.keys import Role
from contract.results import Results
from tests.contract.ranked import PROBLEM, ranked, timed
from tests.service.conftest import serving
from tests.service.test_errors import problem_in

BOARD = f"/v1/leaderboards/{PROBLEM}"
THIRD = 1 / 3


@pytest.fixture
async def keyed(queue_settings) -> AsyncIterator[httpx.AsyncClient]:
    """A service of one's own: once it has seen keys it is never open again."""
    async with serving(queue_settings) as http:
        yield http


async def test_an_empty_service_has_empty_boards(http):
    assert (await http.get("/v1/leaderboards")).json() == {"leaderboards": []}
    for device in ("", "?device=H200", "?device=any"):
        assert (await http.get(BOARD + device)).json() == {"entries": [], "next_cursor": None}
    history = await http.get(f"{BOARD}/history?device=H200")
    assert history.json() == {"results": [], "next_cursor": None}


async def test_a_board_tells_ranks_owners_scores_times_and_jobs_and_no_more(http, queue):
    job = await ranked(queue, "ann", THIRD)
    await ranked(queue, "bob", 20.0)
    answer = await http.get(BOARD, params={"device": "h200"})
    first, second = answer.json()["entries"]
    told = (await http.get(f"/v1/jobs/{job.id}")).json()
    assert first == {
        "job": job.id,
        "job_number": job.number,
        "owner": "ann",
        "problem": PROBLEM,
        "device": "H200",
        "geomean_us": THIRD,
        "created_at": told["created_at"],
        "finished_at": told["finished_at"],
        "rank": 1,
    }
    assert (second["rank"], second["owner"]) == (2, "bob")


async def test_the_only_board_needs_no_device_and_of_several_one_is_named(http, queue):
    await ranked(queue, "ann", 10.0)
    assert len((await http.get(BOARD)).json()["entries"]) == 1
    await ranked(queue, "ann", 9.0, device="B200")
    (error,) = problem_in(await http.get(BOARD)).errors
    assert error.field == "device"
    assert "B200, H200" in error.message
    boards = (await http.get("/v1/leaderboards")).json()["leaderboards"]
    assert [(each["device"], each["entries"], each["best"]["owner"]) for each in boards] == [
        ("B200", 1, "ann"),
        ("H200", 1, "ann"),
    ]


async def test_pages_follow_the_cursor(http, queue):
    for index in range(5):
        await ranked(queue, f"owner{index}", 10.0)
    owners, cursor = [], None
    while True:
        params = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = (await http.get(BOARD, params=params)).json()
        owners += [entry["owner"] for entry in page["entries"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert owners == [f"owner{index}" for index in range(5)]


@pytest.mark.parametrize("decision", ["disqualify", "delete"])
async def test_a_page_goes_on_where_it_was_when_its_last_entry_is_gone(http, queue, decision):
    jobs = [await ranked(queue, f"owner{index}", 10.0) for index in range(4)]
    mine = [await ranked(queue, "owner3", 10.0 + step) for step in range(1, 4)]

    async def page(path: str, key: str, cursor: str | None = None) -> tuple[list[str], str | None]:
        params = {"limit": 2, "owner": "owner3"} if "history" in path else {"limit": 2}
        params |= {"cursor": cursor} if cursor else {}
        answer = (await http.get(path, params=params)).json()
        return [each["job"] for each in answer[key]], answer["next_cursor"]

    first, board_cursor = await page(BOARD, "entries")
    newest, history_cursor = await page(f"{BOARD}/history", "results")
    assert first == [job.id for job in jobs[:2]]
    assert newest == [job.id for job in mine[:0:-1]]
    decide = getattr(Results(queue.store), decision)
    for job in (jobs[0], jobs[1], mine[1]):
        await decide(job.id, "a trial", "root")
    assert await page(BOARD, "entries", board_cursor) == ([job.id for job in jobs[2:]], None)
    rest = await page(f"{BOARD}/history", "results", history_cursor)
    assert rest == ([mine[0].id, jobs[3].id], None)


@pytest.mark.parametrize(
    ("path", "status", "field"),
    [
        ("/v1/leaderboards/no_such_problem", 404, None),
        (f"{BOARD}?device=abacus", 422, "device"),
        (f"{BOARD}?limit=0", 422, "limit"),
        (f"{BOARD}?cursor=x", 422, "cursor"),
        (f"{BOARD}?page=2", 422, "page"),
        (f"{BOARD}/history?cursor=x", 422, "cursor"),
        (f"{BOARD}/export?format=xml", 422, "format"),
        ("/v1/ranked?after=-1", 422, "after"),
        ("/v1/ranked?after=7", 422, "after"),
        (f"/v1/ranked?after={2**53 - 1}", 422, "after"),
    ],
)
async def test_what_is_asked_for_wrongly_is_refused(http, path, status, field):
    answer = await http.get(path)
    assert answer.status_code == status
    assert [error.field for error in problem_in(answer).errors] == ([field] if field else [])


async def test_exports_have_every_digit(http, queue):
    await ranked(queue, "bob", 10.0 + THIRD)
    await ranked(queue, "ann", THIRD)
    text = await http.get(f"{BOARD}/export")
    assert text.headers["content-type"] == "text/csv; charset=utf-8"
    assert text.headers["content-disposition"] == f'attachment; filename="{PROBLEM}-H200.csv"'
    rows = list(csv.DictReader(io.StringIO(text.text)))
    assert [(row["rank"], row["owner"], float(row["geomean_us"])) for row in rows] == [
        ("1", "ann", THIRD),
        ("2", "bob", 10.0 + THIRD),
    ]
    whole = (await http.get(f"{BOARD}/export", params={"format": "json"})).json()
    assert whole == (await http.get(BOARD)).json()


async def test_an_admin_disqualifies_reinstates_and_deletes_and_everybody_sees_why(
    keyed, queue, keys
):
    (_, root), (_, bob) = await keys.make("root", Role.ADMIN), await keys.make("bob")
    cheat = await ranked(queue, "ann", 1.0)
    await ranked(queue, "ann", 3.0)
    result = f"/v1/results/{cheat.id}"
    why = {"reason": "forged its clock"}
    answer = await keyed.post(f"{result}/disqualify", json=why, headers=root)
    assert answer.json()["disqualified"] | {"at": None} == {
        "at": None,
        "reason": "forged its clock",
        "by": "root",
    }
    (entry,) = (await keyed.get(BOARD, headers=bob)).json()["entries"]
    assert entry["geomean_us"] == 3.0
    history = await keyed.get(f"{BOARD}/history", params={"owner": "ann"}, headers=bob)
    assert [
        each["disqualified"] and each["disqualified"]["reason"]
        for each in history.json()["results"]
    ] == [
        None,
        "forged its clock",
    ]
    await keyed.post(f"{result}/reinstate", json={"reason": "it did not"}, headers=root)
    (entry,) = (await keyed.get(BOARD, headers=bob)).json()["entries"]
    assert entry["geomean_us"] == 1.0
    deleted = await keyed.delete(result, params={"reason": "a test of ours"}, headers=root)
    assert deleted.json()["job"] == cheat.id
    assert (await keyed.delete(result, params=why, headers=root)).status_code == 404
    feed = (await keyed.get("/v1/ranked", headers=bob)).json()
    assert [(each["type"], each["reason"]) for each in feed["entries"][2:]] == [
        ("disqualified", "forged its clock"),
        ("reinstated", "it did not"),
        ("deleted", "a test of ours"),
    ]


async def test_decisions_take_an_admin_and_a_reason(keyed, queue, keys):
    (_, root), (_, ann) = await keys.make("root", Role.ADMIN), await keys.make("ann")
    job = await ranked(queue, "ann", 1.0)
    why = {"reason": "because"}
    for word in ("disqualify", "reinstate"):
        path = f"/v1/results/{job.id}/{word}"
        assert (await keyed.post(path, json=why, headers=ann)).status_code == 403
        for body in ({}, {"reason": ""}, {"reason": "x" * 501}, {"reason": "x", "more": 1}):
            assert (await keyed.post(path, json=body, headers=root)).status_code == 422
        unknown = await keyed.post(f"/v1/results/{'0' * 32}/{word}", json=why, headers=root)
        assert unknown.status_code == 404
    path = f"/v1/results/{job.id}"
    assert (await keyed.delete(path, params=why, headers=ann)).status_code == 403
    assert (await keyed.delete(path, headers=root)).status_code == 422
    assert len((await keyed.get(BOARD, headers=ann)).json()["entries"]) == 1


async def test_a_board_is_there_for_every_key_and_the_source_for_its_owner(keyed, queue, keys):
    (_, ann), (_, bob) = await keys.make("ann"), await keys.make("bob", Role.READ)
    job = await ranked(queue, "ann", 1.0)
    assert (await keyed.get(BOARD)).status_code == 401
    (entry,) = (await keyed.get(BOARD, headers=bob)).json()["entries"]
    assert entry["job"] == job.id
    assert (await keyed.get(f"/v1/jobs/{job.id}/source", headers=bob)).status_code == 404
    assert (await keyed.get(f"/v1/jobs/{job.id}/source", headers=ann)).status_code == 200


async def test_the_feed_resumes_and_shows_what_failed_to_its_owner_only(keyed, queue, keys):
    (_, root), (_, ann), (_, bob) = [
        await keys.make(name, role)
        for name, role in (("root", Role.ADMIN), ("ann", Role.READ), ("bob", Role.READ))
    ]
    await ranked(queue, "ann", 2.0)
    await ranked(queue, "ann", timed(1.0).model_copy(update={"emulated": True}))
    await ranked(queue, "bob", 3.0)

    async def numbers(headers, after=0, limit=100) -> tuple[list[int], int]:
        params = {"after": after, "limit": limit}
        page = (await keyed.get("/v1/ranked", params=params, headers=headers)).json()
        return [entry["number"] for entry in page["entries"]], page["next_after"]

    assert await numbers(root) == ([1, 2, 3], 3)
    assert await numbers(ann) == ([1, 2, 3], 3)
    assert await numbers(bob) == ([1, 3], 3)
    assert await numbers(root, after=1, limit=1) == ([2], 2)
    assert await numbers(bob, after=1, limit=1) == ([], 2)
    assert await numbers(root, after=3) == ([], 3)
