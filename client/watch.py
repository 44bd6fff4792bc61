"""Follow a job to its end, and say how it ended: by exit code, and as text or JSON."""

import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from typing import cast

from rich.status import Status
from rich.text import Text

from client import render
from client.api import Halfbyte
from client.config import load
from client.errors import OUR_FAULT, ServiceFailed, Unreachable
from client.reproduce import same_again
from client.sse import Event
from client.terminal import console, plain
from client.wire import ENDED, JobView, Progress, State

PASSED = 0
KERNEL_FAULT = 1
INTERRUPTED = 130
REOPEN_S = 1


def exit_code(view: JobView) -> int:
    """Return 0 for a kernel that passed, 1 for its fault, 3 where there is no verdict.

    Of a comparison 1 also says that B is slower.
    """
    verdict = view.get("verdict")
    if verdict is None:
        return OUR_FAULT
    compared = verdict.get("compared")
    if compared and compared["overall"] and compared["overall"]["decision"] == "slower":
        return KERNEL_FAULT
    return PASSED if verdict["outcome"] == "passed" else KERNEL_FAULT


def changes(client: Halfbyte, view: JobView) -> Iterator[JobView]:
    """Yield the job as it is, then whenever something happened, and last as it ended."""
    job, seen = view["id"], ""
    while view["state"] not in ENDED:
        yield view
        with suppress(Unreachable):  # `get` tries for longer, and says so.
            for event in client.events(job, after=seen):
                seen = event.id
                # The place in line moves without an event: signs of life are when to look.
                view = client.get(job) if event.type == "comment" else _after(view, event)
                if view["state"] in ENDED:
                    break
                yield view
        view = client.get(job, wait=REOPEN_S)
    yield view


def _after(view: JobView, event: Event) -> JobView:
    if event.type == "progress":
        return {**view, "progress": cast(Progress, event.data)}
    state = cast(State, event.data.get("state"))
    if event.type != "state" or state == view["state"]:
        return view
    return {**view, "state": state, "position": None, "progress": None}


def follow(client: Halfbyte, view: JobView, as_json: bool) -> int:
    """Show progress on stderr and the end on stdout; return the exit code.

    Ctrl-C, and a service that is gone for good, leave the job alone.
    """
    job = plain(view["id"]) + ("" if client.url == load().url else f" --url {plain(client.url)}")
    hint = f"The job goes on: halfbyte watch {job}, or halfbyte cancel {job}"
    try:
        view = _shown_to_the_end(client, view, quiet=as_json)
    except KeyboardInterrupt:
        console(stderr=True).print(hint)
        return INTERRUPTED
    except (Unreachable, ServiceFailed) as error:
        error.add_note(hint)
        raise
    show(view, as_json)
    return exit_code(view)


def show(view: JobView, as_json: bool) -> None:
    """Print the job on stdout; as JSON alone, with what to do next on stderr."""
    if as_json:
        print_json(view)
        if said := same_again(view):
            console(stderr=True).print(said)
        return
    out = console()
    for part in render.job(view):
        out.print(part)


def print_json(value: object) -> None:
    """Print JSON and nothing else; in ASCII, so that a terminal has nothing to act on."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def _shown_to_the_end(client: Halfbyte, view: JobView, quiet: bool) -> JobView:
    err = console(stderr=True)
    live = err.is_terminal and not quiet
    with Status("", console=err) if live else nullcontext() as spinner:
        said = ""
        for now in changes(client, view):
            if now["state"] in ENDED:
                continue
            status = (now.get("hint") or "") if quiet else render.status(now)
            if spinner:
                spinner.update(Text(status))
            elif status != said and status:
                err.print(plain(status))
            said = status
    return now
