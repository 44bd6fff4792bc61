"""What organisers of a contest do: decisions about results, the window of a board, the webhook.

All of it goes through the service, and takes a key of role `admin`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated

import typer

from client.errors import UsageError
from client.leaderboard_tables import change_sentence, microseconds, when, window_sentence
from client.option_groups import grouped
from client.options import Json, Service, job_id
from client.terminal import console, plain
from client.watch import print_json
from client.wire_service import HistoryResult
from client.words import PROBLEMS, beginning

Job = Annotated[
    str,
    typer.Argument(metavar="JOB", callback=job_id, help="The ranked job: `leaderboard` shows it."),
]
Reason = Annotated[str, typer.Option(help="Why: everybody who sees the result sees it.")]


@grouped
def disqualify(*, job: Job, reason: Reason, service: Service, as_json: Json = False) -> None:
    """Take a result off the leaderboard; its owner's next best takes the place."""
    with service.leaderboards() as client:
        _decided("disqualified", client.disqualify(job, reason), as_json)


@grouped
def reinstate(*, job: Job, reason: Reason, service: Service, as_json: Json = False) -> None:
    """Let a disqualified result count again."""
    with service.leaderboards() as client:
        _decided("reinstated", client.reinstate(job, reason), as_json)


@grouped
def delete_result(*, job: Job, reason: Reason, service: Service, as_json: Json = False) -> None:
    """Forget a result, for good."""
    with service.leaderboards() as client:
        _decided("deleted", client.delete_result(job, reason), as_json)


@grouped
def window(
    *,
    problem: Annotated[
        str, typer.Argument(autocompletion=beginning(*PROBLEMS), help="Of which board.")
    ],
    device: Annotated[str, typer.Option(help="Of which of its boards: H200, ...")],
    opens: Annotated[
        str | None, typer.Option(metavar="TIME", help="From then on: 2026-12-01T12:00:00Z")
    ] = None,
    closes: Annotated[
        str | None, typer.Option(metavar="TIME", help="The deadline: before, and not at it.")
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Take ranked jobs at any time.")] = False,
    service: Service,
    as_json: Json = False,
) -> None:
    """Set when a leaderboard takes ranked jobs, by when they are sent; without times: show."""
    if off and (opens or closes):
        raise UsageError("--off takes no times")
    with service.leaderboards() as client:
        if off:
            client.unset_window(problem, device)
            if not as_json:
                console().print(plain(f"{problem} on {device} takes ranked jobs at any time"))
            return
        changed = client.set_window(problem, device, opens, closes) if opens or closes else None
        found = changed or client.window(problem, device)
    where = f"{found['problem']} on {found['device']}"
    _show(found, f"{where} {window_sentence(found)}", as_json)
    if changed and not as_json and (said := change_sentence(changed)):
        console(stderr=True).print(plain(said))


@grouped
def webhook(
    *,
    address: Annotated[
        str | None, typer.Argument(metavar="[ADDRESS]", help="Post there; without one: show.")
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Post no more.")] = False,
    service: Service,
    as_json: Json = False,
) -> None:
    """Have every ranked verdict posted to an address, signed with your callback secret."""
    if off and address:
        raise UsageError("--off takes no address")
    with service.leaderboards() as client:
        if off:
            client.unset_webhook()
            if not as_json:
                console().print("ranked verdicts are posted nowhere")
            return
        hook = client.set_webhook(address) if address else client.webhook()
    said = f"{hook['url']}, signed for {hook['name']}, since {when(hook['since'])}"
    _show(hook, said, as_json)


def _decided(what: str, result: HistoryResult, as_json: bool) -> None:
    score = microseconds(result["geomean_us"])
    _show(result, f"{what}: {result['owner']}, {score} us on {result['device']}", as_json)


def _show(answer: Mapping[str, object], sentence: str, as_json: bool) -> None:
    """Print what the service answered, whole or in a sentence."""
    if as_json:
        print_json(answer)
    else:
        console().print(plain(sentence))


COMMANDS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {
        "window": window,
        "disqualify": disqualify,
        "reinstate": reinstate,
        "delete-result": delete_result,
        "webhook": webhook,
    }
)
