"""`halfbyte admin`: keys, made beside the service, and what organisers decide, through it.

Making the first key can ask for no key. So commands about keys need the service's Redis, which only
the machine itself (or whoever was given its address) reaches, and they turn into `service.keys`.
Decisions about results take a key of role `admin`.
"""

from enum import StrEnum
from typing import Annotated

import typer

from client.child import become, python
from client.datadir import redis_url_of
from client.environment import inherited
from client.errors import UsageError
from client.leaderboard_tables import microseconds, when, window_sentence
from client.option_groups import grouped
from client.options import Data, Json, Redis, Service
from client.terminal import console, plain
from client.watch import print_json
from client.wire_service import HistoryResult
from client.words import PROBLEMS, beginning

app = typer.Typer(help="What only whoever runs the service may do.", no_args_is_help=True)
keys = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)
app.add_typer(keys, name="key")


class Role(StrEnum):
    """What a key may do."""

    READ = "read"
    SUBMIT = "submit"
    ADMIN = "admin"


Job = Annotated[str, typer.Argument(metavar="JOB", help="The ranked job: `leaderboard` shows it.")]
Reason = Annotated[str, typer.Option(help="Why: everybody who sees the result sees it.")]
Name = Annotated[str, typer.Argument(help="Who its jobs belong to; several keys may share one.")]


@keys.command()
def create(
    name: Name,
    data: Data,
    role: Annotated[Role, typer.Option(help="What it may do.")] = Role.SUBMIT,
    redis: Redis = None,
) -> None:
    """Make a key and print it, once. From the first key on every call needs one."""
    _become(data, redis, "create", "--role", role, "--", name)


@keys.command()
def revoke(
    key: Annotated[str, typer.Argument(metavar="ID", help="The middle part of hb_ID_SECRET.")],
    data: Data,
    redis: Redis = None,
) -> None:
    """Make a key void, for good."""
    _become(data, redis, "revoke", "--", key)


@keys.command(name="list")
def list_keys(data: Data, redis: Redis = None) -> None:
    """List all keys, without their secrets."""
    _become(data, redis, "list")


@app.command(name="callback-secret")
def callback_secret(name: Name, data: Data, redis: Redis = None) -> None:
    """Print what the callbacks of a name's jobs are signed with; without keys it is `anonymous`."""
    _become(data, redis, "callback-secret", "--", name)


@app.command()
@grouped
def disqualify(*, job: Job, reason: Reason, service: Service, as_json: Json = False) -> None:
    """Take a result off the leaderboard; its owner's next best takes the place."""
    with service.leaderboards() as client:
        _decided("disqualified", client.disqualify(job, reason), as_json)


@app.command()
@grouped
def reinstate(*, job: Job, reason: Reason, service: Service, as_json: Json = False) -> None:
    """Let a disqualified result count again."""
    with service.leaderboards() as client:
        _decided("reinstated", client.reinstate(job, reason), as_json)


@app.command("delete-result")
@grouped
def delete_result(*, job: Job, reason: Reason, service: Service, as_json: Json = False) -> None:
    """Forget a result, for good."""
    with service.leaderboards() as client:
        _decided("deleted", client.delete_result(job, reason), as_json)


@app.command()
@grouped
def window(
    *,
    problem: Annotated[str, typer.Argument(autocompletion=beginning(*PROBLEMS))],
    device: Annotated[str, typer.Option(help="Of which board: H200, ...")],
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
            return
        if opens or closes:
            found = client.set_window(problem, device, opens, closes)
        else:
            found = client.window(problem, device)
    if as_json:
        print_json(found)
    else:
        where = f"{found['problem']} on {found['device']}"
        console().print(plain(f"{where} {window_sentence(found)}"))


@app.command()
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
            return
        hook = client.set_webhook(address) if address else client.webhook()
    if as_json:
        print_json(hook)
    else:
        said = f"{hook['url']}, signed for {hook['name']}, since {when(hook['since'])}"
        console().print(plain(said))


def _decided(what: str, result: HistoryResult, as_json: bool) -> None:
    if as_json:
        print_json(result)
        return
    score = microseconds(result["geomean_us"])
    console().print(plain(f"{what}: {result['owner']}, {score} us on {result['device']}"))


def _become(data: Data, redis: str | None, *arguments: str) -> None:
    url = redis_url_of(data, redis)
    become(python("service.keys", *arguments), inherited(HALFBYTE_QUEUE_REDIS_URL=url))
