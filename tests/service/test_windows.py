"""Windows of leaderboards over HTTP: who sets them, what they refuse, and where they are seen."""

import csv
import io

import pytest

from contract.keys import Role
from tests.contract.ranked import GPU_WORKER, PROBLEM, ranked, timed
from tests.service.conftest import serving
from tests.service.pages.reading import page_at
from tests.service.popcorn_cli import ApplicationError
from tests.service.test_errors import problem_in
from tests.service.workers import HONEST, wrong_everywhere

BOARD = f"/v1/leaderboards/{PROBLEM}"
WINDOW = f"{BOARD}/window?device=h200"
OVER = {"opens_at": "2026-01-01T00:00:00Z", "closes_at": "2026-01-31T23:59:59.500Z"}
SENT = {"mode": "ranked", "device": "H200"}


async def test_an_organiser_sets_sees_changes_and_unsets_a_window(http):
    assert (await http.get(WINDOW)).status_code == 404
    told = {"problem": PROBLEM, "device": "H200"}
    answer = await http.put(WINDOW, json=OVER)
    assert (answer.status_code, answer.json()) == (
        200,
        {**told, **OVER}
        | {
            "closes_at": "2026-01-31T23:59:59.500000Z",
            "included": 0,
            "excluded": 0,
            "hint": "it is over already: this board takes no ranked job now",
        },
    )
    later = await http.put(WINDOW, json={"closes_at": "2099-06-01T02:00:00+02:00"})
    bounds = {**told, "opens_at": None, "closes_at": "2099-06-01T00:00:00Z"}
    assert later.json() == bounds | {"included": 0, "excluded": 0, "hint": None}
    assert (await http.get(WINDOW)).json() == bounds
    assert (await http.delete(WINDOW)).status_code == 204
    assert (await http.delete(WINDOW)).status_code == 404
    assert (await http.get("/v1/leaderboards")).json() == {"leaderboards": []}


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({}, "closes_at", "give `opens_at`, `closes_at` or both"),
        ({"opens_at": OVER["closes_at"], "closes_at": OVER["opens_at"]}, "closes_at", "after"),
        ({"opens_at": OVER["opens_at"], "closes_at": OVER["opens_at"]}, "closes_at", "after"),
        (
            {"opens_at": OVER["opens_at"], "closes_at": "2026-01-01T00:00:00.0009Z"},
            *("closes_at", "after"),
        ),
        *(
            ({"closes_at": wrong}, "closes_at", "must be a time with its zone")
            for wrong in (
                *("2026-12-01", "2026-12-01T12:00:00", "2026-12-01 12:00:00Z", "tomorrow", ""),
                *("2026-13-01T12:00:00Z", "0001-01-01T00:00:00+23:59", 1_796_000_000, True, []),
            )
        ),
        ({"deadline": OVER["closes_at"]}, "deadline", "unknown field"),
    ],
)
async def test_a_window_that_is_none_is_refused_by_field(http, body, field, said):
    answer = await http.put(WINDOW, json=body)
    assert answer.status_code == 422
    (error,) = problem_in(answer).errors
    assert error.field == field
    assert said in error.message


@pytest.mark.parametrize("device", ["any", "cpu", "sm_90", "abacus"])
async def test_a_window_is_of_a_card(http, queue, device):
    await queue.heartbeat(GPU_WORKER)
    answer = await http.put(f"{BOARD}/window?device={device}", json=OVER)
    assert answer.status_code == 422
    (error,) = problem_in(answer).errors
    assert (error.field, "H200" in error.message) == ("device", True)
    assert (await http.put(f"{BOARD}/window", json=OVER)).status_code == 422
    unknown = await http.put("/v1/leaderboards/chess/window?device=H200", json=OVER)
    assert unknown.status_code == 404


async def test_windows_are_seen_by_everybody_and_set_by_admins(queue_settings, keys):
    (_, root), (_, ann) = await keys.make("root", Role.ADMIN), await keys.make("ann")
    async with serving(queue_settings) as http:
        assert (await http.put(WINDOW, json=OVER, headers=ann)).status_code == 403
        assert (await http.put(WINDOW, json=OVER, headers=root)).status_code == 200
        assert (await http.delete(WINDOW, headers=ann)).status_code == 403
        assert (await http.get(WINDOW, headers=ann)).status_code == 200
        assert (await http.get(WINDOW)).status_code == 401


async def test_a_ranked_job_out_of_the_window_is_told_which_board_when_and_now(http):
    await http.put(WINDOW, json=OVER)
    answer = await http.post("/v1/submissions", content=HONEST, params=SENT)
    told = problem_in(answer)
    assert (answer.status_code, told.type) == (409, "urn:halfbyte:problem:outside-window")
    assert told.detail.startswith(
        f"the leaderboard of {PROBLEM} takes ranked jobs on H200 from 2026-01-01T00:00:00Z until "
        "2026-01-31T23:59:59.500000Z; now it is "
    )
    assert answer.json()["windows"] == [
        {"problem": PROBLEM, "device": "H200", **OVER, "closes_at": "2026-01-31T23:59:59.500000Z"}
    ]
    assert (await http.get("/v1/jobs")).json()["jobs"] == []
    test = await http.post("/v1/submissions", content=HONEST, params=SENT | {"mode": "test"})
    assert test.status_code == 202
    other = {"problem": "nvfp4_gemm", "kernel": "portable", **SENT}
    assert (await http.post("/v1/jobs", json=other)).status_code == 202
    await http.put(WINDOW, json={"closes_at": "2099-01-01T00:00:00Z"})
    again = await http.post("/v1/submissions", content=HONEST, params=SENT)
    assert again.status_code == 202


async def test_a_job_that_passed_and_has_no_place_says_why(http, queue):
    """It was for any device, one of which takes no jobs any more."""
    await http.put(f"{BOARD}/window?device=B200", json=OVER)
    job = await ranked(queue, "anonymous", timed(10.0, "B200"))
    why = "it was sent outside of the window of the board"
    assert (await http.get(f"/v1/jobs/{job.id}")).json()["why_not"] == why
    assert (await http.get(f"/v1/jobs/{job.id}?samples=true")).json()["why_not"] == why
    assert f"Not on the leaderboard: {why}." in await page_at(http, f"/jobs/{job.id}")
    counts = await ranked(queue, "anonymous", 10.0)
    crashed = await ranked(queue, "anonymous", wrong_everywhere())
    for each in counts, crashed:
        assert "why_not" not in (await http.get(f"/v1/jobs/{each.id}")).json()
        assert "Not on the leaderboard" not in await page_at(http, f"/jobs/{each.id}")


async def test_correcting_a_window_corrects_board_history_and_page(http, queue):
    """A deadline of the wrong year took everything off the board."""
    job = await ranked(queue, "anonymous", 10.0)
    where = {"owner": "anonymous"}
    wrong = (await http.put(WINDOW, json=OVER)).json()
    assert (wrong["included"], wrong["excluded"]) == (0, 1)
    assert wrong["hint"] == "it is over already: this board takes no ranked job now"
    assert (await http.get(BOARD)).json()["entries"] == []
    (result,) = (await http.get(f"{BOARD}/history", params=where)).json()["results"]
    assert (result["counts"], result["disqualified"]) == (False, None)
    assert "no: sent outside of the window" in await page_at(http, "/leaderboard?owner=anonymous")
    assert "Not on the leaderboard: it was sent" in await page_at(http, f"/jobs/{job.id}")
    corrected = (await http.put(WINDOW, json={"closes_at": "2099-01-31T00:00:00Z"})).json()
    assert (corrected["included"], corrected["excluded"]) == (1, 0)
    assert corrected["hint"] is None
    assert [entry["job"] for entry in (await http.get(BOARD)).json()["entries"]] == [job.id]
    (result,) = (await http.get(f"{BOARD}/history", params=where)).json()["results"]
    assert result["counts"]
    assert "Not on the leaderboard" not in await page_at(http, f"/jobs/{job.id}")
    feed = (await http.get("/v1/ranked")).json()["entries"]
    assert [(each["type"], each["counts"]) for each in feed] == [
        ("verdict", True),
        ("excluded", False),
        ("included", True),
    ]


async def test_popcorn_cli_is_shown_the_deadline_and_told_when_it_is_over(http, cli):
    assert {each["deadline"] for each in await cli.json("GET", "/leaderboards")} == {None}
    await http.put(WINDOW, json=OVER)
    first, *others = await cli.json("GET", "/leaderboards")
    assert (first["name"], first["deadline"]) == (PROBLEM, "2026-01-31T23:59:59+00:00")
    await http.put(f"{BOARD}/window?device=B200", json={"opens_at": OVER["opens_at"]})
    first, *others = await cli.json("GET", "/leaderboards")
    assert first["deadline"] is None  # a job for a B200 is taken after that of the H200
    assert first["description"].endswith(
        "\nOn B200 mode leaderboard is open from 2026-01-01T00:00:00Z."
        "\nOn H200 mode leaderboard is open from 2026-01-01T00:00:00Z until "
        "2026-01-31T23:59:59.500000Z."
    )
    assert {each["deadline"] for each in others} == {None}
    with pytest.raises(ApplicationError, match="takes ranked jobs on H200 from 2026-01"):
        await cli.submit(PROBLEM, "H200", "leaderboard")
    assert await cli.accepted(PROBLEM, "H200", "test")


async def test_popcorn_cli_is_shown_a_deadline_where_every_board_has_one(http, queue, cli):
    """One stood for the boards of all devices, though jobs for the others were taken after it."""

    async def shown() -> tuple[str | None, str]:
        first, *_ = await cli.json("GET", "/leaderboards")
        return first["deadline"], first["description"].partition("\nOn ")[2]

    assert await shown() == (None, "")
    await http.put(WINDOW, json={"closes_at": "2099-01-31T00:00:00Z"})
    until = "mode leaderboard is open until"
    alone = f"H200 {until} 2099-01-31T00:00:00Z."
    assert await shown() == ("2099-01-31T00:00:00+00:00", alone)
    await queue.heartbeat(GPU_WORKER)
    assert await shown() == ("2099-01-31T00:00:00+00:00", alone)
    await ranked(queue, "ann", timed(10.0, "B200"))  # a board that is open
    both = f"B200 mode leaderboard is open at any time.\nOn {alone}"
    assert await shown() == (None, both)
    await http.put(f"{BOARD}/window?device=B200", json={"closes_at": "2099-02-28T00:00:00Z"})
    assert await shown() == (
        "2099-02-28T00:00:00+00:00",
        f"B200 {until} 2099-02-28T00:00:00Z.\nOn {alone}",
    )
    await queue.heartbeat(GPU_WORKER.model_copy(update={"id": "w", "device": "B300"}))
    assert (await shown())[0] is None


async def test_the_deadline_is_in_lists_boards_exports_and_the_page(http, queue):
    await http.put(WINDOW, json=OVER)
    shown = OVER | {"closes_at": "2026-01-31T23:59:59.500000Z"}
    (board,) = (await http.get("/v1/leaderboards")).json()["leaderboards"]
    assert board == {
        "problem": PROBLEM, "device": "H200", "entries": 0, "best": None, "window": shown,
    }  # fmt: skip
    assert (await http.get(BOARD)).json() == {
        "entries": [], "next_cursor": None, "window": shown,
    }  # fmt: skip
    text = await page_at(http, "/leaderboard")
    assert (
        "Takes ranked jobs sent from 2026-01-01 00:00:00 UTC until 2026-01-31 23:59:59 UTC" in text
    )
    assert "0 entries" in text
    await http.delete(WINDOW)
    await ranked(queue, "ann", 10.0)
    shown = {"opens_at": OVER["opens_at"], "closes_at": "2099-01-31T00:00:00Z"}
    await http.put(WINDOW, json=shown)
    assert (await http.get(f"{BOARD}/export?format=json")).json()["window"] == shown
    (row,) = csv.DictReader(io.StringIO((await http.get(f"{BOARD}/export")).text))
    assert (row["owner"], row["opens_at"], row["closes_at"]) == ("ann", *shown.values())
    await http.delete(WINDOW)
    assert "window" not in (await http.get(BOARD)).json()
    (row,) = csv.DictReader(io.StringIO((await http.get(f"{BOARD}/export")).text))
    assert (row["opens_at"], row["closes_at"]) == ("", "")
    assert "Takes ranked jobs" not in await page_at(http, "/leaderboard")
