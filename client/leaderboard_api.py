"""LeaderboardClient: leaderboards over HTTP, and what their organisers decide."""

from typing import cast
from urllib.parse import quote

from client.transport import Transport
from client.wire_service import (
    BoardWindow,
    ChangedWindow,
    History,
    HistoryResult,
    Leaderboard,
    Leaderboards,
    Webhook,
)


class LeaderboardClient(Transport):
    """The leaderboards of one service."""

    def leaderboards(self) -> Leaderboards:
        """Return the boards that anybody stands on, or that have a window."""
        request = self._http.build_request("GET", f"{self.url}/v1/leaderboards")
        return cast(Leaderboards, self._json(request))

    def leaderboard(
        self, problem: str, device: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Leaderboard:
        """Return a page of a board; without `device` of the only one of the problem."""
        return cast(Leaderboard, self._board(problem, "", device, limit=limit, cursor=cursor))

    def history(
        self,
        problem: str,
        owner: str | None = None,
        device: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> History:
        """Return a page of the results of an owner, one's own where none is named."""
        page = self._board(problem, "/history", device, owner=owner, limit=limit, cursor=cursor)
        return cast(History, page)

    def export(self, problem: str, device: str | None = None) -> bytes:
        """Return a whole board as CSV."""
        params = {"device": device} if device else None
        request = self._http.build_request("GET", self._at(problem, "/export"), params=params)
        return self._send(request).content

    def window(self, problem: str, device: str) -> BoardWindow:
        """Return when a board takes ranked jobs; refused with 404 where it always does."""
        return cast(BoardWindow, self._board(problem, "/window", device))

    def set_window(
        self,
        problem: str,
        device: str,
        opens_at: str | None = None,
        closes_at: str | None = None,
    ) -> ChangedWindow:
        """Have a board take what was and is sent in a window only; times as in RFC 3339."""
        bounds = {"opens_at": opens_at, "closes_at": closes_at}
        where = {"device": device}
        request = self._http.build_request(
            "PUT", self._at(problem, "/window"), params=where, json=bounds
        )
        return cast(ChangedWindow, self._json(request))

    def unset_window(self, problem: str, device: str) -> None:
        """Have a board take what was and is sent at any time."""
        where = {"device": device}
        self._send(self._http.build_request("DELETE", self._at(problem, "/window"), params=where))

    def disqualify(self, job: str, reason: str) -> HistoryResult:
        """Take the result of a ranked job out of the count."""
        return self._decide("POST", job, "/disqualify", reason)

    def reinstate(self, job: str, reason: str) -> HistoryResult:
        """Let a disqualified result count again."""
        return self._decide("POST", job, "/reinstate", reason)

    def delete_result(self, job: str, reason: str) -> HistoryResult:
        """Forget the result of a ranked job."""
        return self._decide("DELETE", job, "", reason)

    def webhook(self) -> Webhook:
        """Return where entries of the feed of ranked verdicts are posted."""
        request = self._http.build_request("GET", f"{self.url}/v1/ranked/webhook")
        return cast(Webhook, self._json(request))

    def set_webhook(self, url: str) -> Webhook:
        """Have entries of the feed posted to an address from now on."""
        hook = f"{self.url}/v1/ranked/webhook"
        request = self._http.build_request("PUT", hook, json={"url": url})
        return cast(Webhook, self._json(request))

    def unset_webhook(self) -> None:
        """Have entries of the feed posted no more."""
        self._send(self._http.build_request("DELETE", f"{self.url}/v1/ranked/webhook"))

    def _board(
        self, problem: str, rest: str, device: str | None, **asked: str | int | None
    ) -> object:
        given = {"device": device, **asked}
        return self._json(
            self._http.build_request(
                "GET",
                self._at(problem, rest),
                params={name: value for name, value in given.items() if value is not None},
            )
        )

    def _at(self, problem: str, rest: str) -> str:
        return f"{self.url}/v1/leaderboards/{quote(problem, safe='')}{rest}"

    def _decide(self, method: str, job: str, rest: str, reason: str) -> HistoryResult:
        url, why = f"{self.url}/v1/results/{quote(job, safe='')}{rest}", {"reason": reason}
        if method == "POST":
            request = self._http.build_request(method, url, json=why)
        else:
            request = self._http.build_request(method, url, params=why)
        return cast(HistoryResult, self._json(request))
