"""`halfbyte admin`: keys, made beside the service, and what organisers do, through it.

Making the first key can ask for no key. So commands about keys need the service's Redis, which only
the machine itself (or whoever was given its address) reaches, and they turn into `service.keys`.
"""

from enum import StrEnum
from typing import Annotated

import typer

from client.child import become, python
from client.commands import organising
from client.datadir import redis_url_of
from client.environment import inherited
from client.options import Data, Redis

app = typer.Typer(help="What only whoever runs the service may do.", no_args_is_help=True)
keys = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)
app.add_typer(keys, name="key")
for name, command in organising.COMMANDS.items():
    app.command(name)(command)


class Role(StrEnum):
    """What a key may do."""

    READ = "read"
    SUBMIT = "submit"
    ADMIN = "admin"


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


def _become(data: Data, redis: str | None, *arguments: str) -> None:
    url = redis_url_of(data, redis)
    become(python("service.keys", *arguments), inherited(HALFBYTE_QUEUE_REDIS_URL=url))
