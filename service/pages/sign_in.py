"""Signing in with a key, and out.

The cookie is out of reach of scripts, is sent with requests of our own pages only, and holds a
session in place of the key: see docs/decisions.md. There is nothing to guess, so nothing is slowed.
"""

import logging

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from contract.keys import KeyStore
from contract.sessions import SESSION_S, Sessions
from service.dependencies import SESSION_COOKIE, Queue
from service.pages.forms import small_form
from service.pages.render import page

router = APIRouter(include_in_schema=False)
log = logging.getLogger(__name__)


@router.get("/sign-in")
async def ask() -> Response:
    """Ask for a key."""
    return page("sign_in.html", None, {"next": "/", "elsewhere": False, "refused": None})


@router.post("/sign-in")
async def sign_in(request: Request, queue: Queue) -> Response:
    """Look at the key once, and give a session in its place."""
    sent = await small_form(request)
    key = await KeyStore(queue.store).holder(sent.get("key", "").strip())
    following = _own_path(sent.get("next", ""))
    if key is None:
        refused = "This is no key of this service, or it was revoked."
        values = {"next": following, "elsewhere": False, "refused": refused}
        return page("sign_in.html", None, values, 401)
    log.info("signed in", extra={"owner": key.name, "key": key.id})
    response = RedirectResponse(following, 303)
    response.set_cookie(
        SESSION_COOKIE,
        await Sessions(queue.store).open(key),
        max_age=SESSION_S,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


@router.post("/sign-out")
async def sign_out(request: Request, queue: Queue) -> Response:
    """End the session."""
    await Sessions(queue.store).close(request.cookies.get(SESSION_COOKIE, ""))
    response = RedirectResponse("/sign-in", 303)
    response.delete_cookie(SESSION_COOKIE)
    return response


def _own_path(path: str) -> str:
    """Return a path of this service; whatever leads elsewhere becomes the first page."""
    leads_away = not path.startswith("/") or path.startswith(("//", "/\\"))
    return "/" if leads_away or not path.isprintable() else path
