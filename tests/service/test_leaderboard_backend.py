"""What docs/leaderboard-backends.md shows works: a board elsewhere, from the feed alone."""

import re
from asyncio import to_thread
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from contract.contest import Contest
from contract.ranked_feed import RankedFeed
from contract.results import Results
from contract.windows import BoardWindow
from tests.contract.ranked import PROBLEM, ranked, timed

GUIDE = Path(__file__).parents[2] / "docs" / "leaderboard-backends.md"
SECRET = "whsec_" + "c2VjcmV0" * 4


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    """The names that the guide's programs about the feed define."""
    half = GUIDE.read_text().partition("## A backend of your own")[2]
    names: dict[str, Any] = {"SECRET": SECRET}
    for program in re.findall(r"```python\n(.*?)```", half, re.DOTALL):
        exec(program, names)
    return names


async def test_the_guides_board_is_ours_whatever_was_decided_meanwhile(shown, http, queue):
    results = Results(queue.store)
    counting, after = {}, 0
    with httpx.Client(base_url=str(http.base_url)) as reader:

        async def same() -> int:
            nonlocal after
            after = await to_thread(shown["catch_up"], reader, counting, after)
            told = await http.get(f"/v1/leaderboards/{PROBLEM}", params={"device": "H200"})
            theirs = [entry["job"] for entry in shown["board"](counting, PROBLEM, "H200")]
            assert theirs == [entry["job"] for entry in told.json()["entries"]]
            return len(theirs)

        await same()
        cheat = await ranked(queue, "ann", 1.0)
        for owner, score in (("ann", 5.0), ("bob", 5.0), ("bob", 7.0), ("cat", 5.0)):
            await ranked(queue, owner, score)
        await ranked(queue, "dan", timed(0.5).model_copy(update={"emulated": True}))
        await ranked(queue, "ann", 0.1, device="B200")
        await same()
        for decide in (results.disqualify, results.reinstate, results.delete):
            await decide(cheat.id, "a trial", "root")
            await same()
        contest, past = Contest(queue.store), datetime(2026, 1, 1, tzinfo=UTC)
        over = BoardWindow(problem=PROBLEM, device="H200", closes_at=past)
        await contest.set_window(over, "root")
        assert await same() == 0
        await contest.unset_window(PROBLEM, "H200", "root")
        assert await same() == 3
    assert after == 18


async def test_a_knock_is_verified_and_old_ones_lead_to_nothing(shown, http, queue):
    await ranked(queue, "ann", 1.0)
    entry = await RankedFeed(queue.store).entry(1)
    body = entry.model_dump_json()
    headers = {
        "webhook-id": "msg_ranked-1",
        "webhook-timestamp": str(int(entry.at.timestamp())),
        "webhook-signature": Webhook(SECRET).sign("msg_ranked-1", entry.at, body),
    }
    counting: dict[str, Any] = {}
    with httpx.Client(base_url=str(http.base_url)) as reader:
        knocked = shown["knocked"]
        assert await to_thread(knocked, reader, counting, 0, body.encode(), headers) == 1
        assert list(counting) == [entry.job]
        assert knocked(None, counting, 1, body.encode(), headers) == 1  # asks nothing
        with pytest.raises(WebhookVerificationError, match="signature"):
            knocked(None, counting, 0, body.encode() + b" ", headers)
