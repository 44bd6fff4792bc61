"""Who asks: the id that the client keeps in `~/.popcorn.yaml` is a key of ours.

So nobody can act as somebody else, and what a key may do it may do here. While there are no keys
everybody may do everything, and an id that was drawn here names its holder: `guest-1a2b3c4d`.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated

from fastapi import Depends, Request

from contract.errors import NotAuthenticated
from contract.keys import Kept, Role, kept_of
from service.access import ANYBODY, Caller
from service.dependencies import parts_of

CLI_ID = "X-Popcorn-Cli-Id"
STRANGER = (
    "this cli id is no key of this service: write `cli_id: hb_...` into ~/.popcorn.yaml, "
    "or register and join with an invite"
)


async def who_asks(request: Request) -> Caller:
    """Return who a request comes from.

    Raises:
        NotAuthenticated: there are keys, and the client's id is none of them.

    """
    cli_id = request.headers.get(CLI_ID)
    try:
        caller = await parts_of(request).access.caller(cli_id)
    except NotAuthenticated:
        raise NotAuthenticated(STRANGER) from None
    kept = kept_of(cli_id or "")
    return caller if caller is not ANYBODY or kept is None else replace(caller, owner=_guest(kept))


def _guest(kept: Kept) -> str:
    return f"guest-{kept.digest[:8]}"


def _caller(role: Role) -> Callable[..., Awaitable[Caller]]:
    async def with_role(request: Request) -> Caller:
        caller = await who_asks(request)
        caller.require(role)
        return caller

    return with_role


Viewer = Annotated[Caller, Depends(_caller(Role.READ))]
Competitor = Annotated[Caller, Depends(_caller(Role.SUBMIT))]
