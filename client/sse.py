"""Server-sent events, as far as the service uses them (HTML standard, section 9.2)."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a job. `id` is what a later stream can resume after, empty before the first.

    A comment, which is how a stream says that it is alive, is an event of type `comment`.
    """

    id: str
    type: str
    data: dict[str, object]


def events(lines: Iterable[str]) -> Iterator[Event]:
    """Read events from lines without their ends; an event that was cut off is not yielded.

    Events whose data is no JSON object are left out: they are not ours.
    """
    last_id, kind, data = "", "", list[str]()
    for line in lines:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name if line else None:
            case "":
                yield Event(last_id, "comment", {})
            case None:
                event = _event(last_id, kind, data)
                kind, data = "", []
                if event:
                    yield event
            case "id":
                last_id = value
            case "event":
                kind = value
            case "data":
                data.append(value)


def _event(last_id: str, kind: str, data: list[str]) -> Event | None:
    try:
        value = json.loads("\n".join(data))
    except ValueError:
        return None
    return Event(last_id, kind or "message", value) if isinstance(value, dict) else None
