"""Workers, the queue and leaderboards as the client reads them: see client.wire."""

from typing import NotRequired, TypedDict


class Worker(TypedDict):
    """A live worker."""

    id: str
    state: str
    device: str
    gpu: str | None
    sandbox_level: int | None
    job: str | None
    reason: NotRequired[str | None]


class Workers(TypedDict):
    """The live workers."""

    workers: list[Worker]


class Line(TypedDict):
    """The jobs of one mode that wait for one device."""

    device: str
    mode: str
    waiting: int
    oldest_s: float


class QueueView(TypedDict):
    """How the queue is."""

    waiting: int
    running: int
    workers: int
    lines: list[Line]


class Result(TypedDict):
    """One ranked job that passed."""

    job: str
    job_number: int
    owner: str
    problem: str
    device: str
    geomean_us: float
    created_at: str
    finished_at: str


class Disqualification(TypedDict):
    """Why a result does not count any more."""

    at: str
    reason: str
    by: str


class HistoryResult(Result):
    """One of an owner's results."""

    counts: bool
    disqualified: Disqualification | None


class History(TypedDict):
    """A page of an owner's results, the newest first."""

    results: list[HistoryResult]
    next_cursor: str | None


class Entry(Result):
    """Where an owner stands."""

    rank: int


class Window(TypedDict):
    """When a board takes ranked jobs, by when they are sent."""

    opens_at: str | None
    closes_at: str | None


class BoardWindow(Window):
    """The window of one board."""

    problem: str
    device: str


class ChangedWindow(BoardWindow):
    """The window of a board as it was just set."""

    included: int
    excluded: int
    hint: str | None


class Leaderboard(TypedDict):
    """A page of a board, the best first."""

    entries: list[Entry]
    next_cursor: str | None
    window: NotRequired[Window]


class Board(TypedDict):
    """A board in a list."""

    problem: str
    device: str
    entries: int
    best: Result | None
    window: NotRequired[Window]


class Leaderboards(TypedDict):
    """The boards that anybody stands on, or that have a window."""

    leaderboards: list[Board]


class Webhook(TypedDict):
    """Where entries of the feed of ranked verdicts are posted."""

    url: str
    name: str
    since: str
