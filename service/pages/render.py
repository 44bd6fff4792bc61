"""From a template to a response: everything is escaped, and browsers are told what may be loaded.

The policy lets a page load its own style sheets, its one script and pictures of this service, send
forms here, and nothing else; what a candidate printed stays text even if escaping were forgotten.
"""

import base64
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

from fastapi import Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from service.access import Caller
from service.openapi import VERSION
from service.pages import words
from service.visible import visible

STATIC = Path(__file__).with_name("static")
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # `no-referrer` would make the origin of our own forms null
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_PICTURE_STYLE = (STATIC / "pictures.css").read_text(encoding="utf-8")
_STYLE_HASH = base64.b64encode(sha256(_PICTURE_STYLE.encode()).digest()).decode()
PICTURE_HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}


@cache
def static(name: str) -> str:
    """Return the path of a file of ours, with what changes when the file does."""
    return f"/static/{name}?v={sha256((STATIC / name).read_bytes()).hexdigest()[:8]}"


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("service.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for each in (
        *(words.ago, words.count, words.distribution, words.exactly, words.extents, words.figure),
        *(words.micros, words.now, words.percent, words.rest, words.span, words.what, visible),
    ):
        environment.filters[each.__name__] = each
    environment.globals |= {"static": static, "version": VERSION, "stages": words.STAGES}
    return environment


_TEMPLATES = _environment()


def page(
    template: str,
    caller: Caller | None,
    values: Mapping[str, object],
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a page; `who` in a template is the caller, None where that is not known."""
    text = _TEMPLATES.get_template(template).render(who=caller, **values)
    return Response(text, status, HEADERS | dict(headers or {}), "text/html; charset=utf-8")


def picture(template: str, chart: object) -> Response:
    """Return a picture as a file of its own, with its style inside."""
    style = Markup(_PICTURE_STYLE)  # noqa: S704 - a file of ours
    text = _TEMPLATES.get_template(template).render(style=style, chart=chart)
    return Response(text, headers=PICTURE_HEADERS, media_type="image/svg+xml")
