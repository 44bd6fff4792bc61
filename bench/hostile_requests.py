"""Requests as no honest client sends them, to the roads that /openapi.json leaves out."""

import json
import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

T = TypeVar("T")
MARK = "x-mark"
"""An element and a header that are in no answer of ours, unless somebody put them there."""
HONEST = b"def custom_kernel(data):\n    return data[-1]\n"
ODD = (
    *("", "0", "-1", "1", "9" * 30, "1e9", "NaN", "null", "None", "true", "../..", "%2e%2e/", "\0"),
    *("a" * 9000, "é☃😀", "\u202etxt", "=1+1", "'\"`;--", "{{7*7}}", "${7*7}", "%s%n", "\\", "/"),
    *(f'"><{MARK}>', f"<{MARK}>", f"javascript:{MARK}", f"\r\n{MARK}: 1\r\n\r\n<{MARK}>"),
    *("+2AA-", "\\ud800", "ranked", "compile", "compare", "hb_" + "0" * 12),
)
RIGHT: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(
        ("board", "name", "problem", "leaderboard"), ("nvfp4_group_gemm", "NVFP4_GEMV")
    ),
    **dict.fromkeys(("gpu", "device"), ("any", "CPU", "nvidia", "B200")),
    "mode": ("test", "benchmark", "leaderboard", "profile"),
    "provider": ("github", "discord"),
    "benchmark_index": ("0",),
    **dict.fromkeys(("m", "n", "k"), ("16", "[16]", "[16, 32]")),
    "kernel": ("auto", "portable"),
    "limit": ("1", "100"),
    "leaderboards": ("nvfp4_gemm",),
    "directory": ("problems/nvfp4_gemm",),
}
"""Words that a parameter takes; those of jobs are known only while they run."""
HEADERS: tuple[tuple[str, Sequence[str]], ...] = (
    ("Accept", ("text/html", "text/html;q=nan", "*/*", "", "application/json", "text/html" * 900)),
    ("Cookie", ("halfbyte_session=hs_" + "0" * 64, 'halfbyte_session="\\377"', ";=;" * 2000)),
    ("Origin", ("null", "http://localhost", "http://other.example", "", "://localhost")),
    ("Content-Type", ("application/json", "text/plain", "application/x-www-form-urlencoded", "")),
    ("Content-Encoding", ("gzip", "identity", "br")),
    ("X-Popcorn-Cli-Id", ("hb_" + "0" * 12 + "_" + "0" * 64, "ÿ", "", "a" * 9000)),
    ("Authorization", ("Bearer", "Bearer ", "Basic eDp5", "Bearer ÿ", "Bearer hb_x_y", "a" * 9000)),
    ("Host", ("[", "localhost:99999", "other.example", "", "ÿ")),
    ("Range", ("bytes=0-", "bytes=5-1", "bytes=" + "0-1," * 500)),
    ("If-None-Match", ("*", '"' + "a" * 500)),
    ("If-Modified-Since", ("yesterday", "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 99 Jan 0000")),
    ("Expect", ("100-continue",)),
)


class Road(NamedTuple):
    """A path that is served and not described."""

    path: str
    methods: Sequence[str]
    parameters: Sequence[str]
    """Of its query."""


class Hostile(NamedTuple):
    """A request, as bytes."""

    text: bytes
    leaves_after: int | None
    """Bytes after which the client goes away; None where it waits for an answer."""


def roads_of(app: FastAPI) -> Sequence[Road]:
    """Return every path that the description leaves out, and the files that pages load."""
    found = [
        Road(f"/{name}/{{path}}", ("GET",), ("v",)) for name in ("static", "static-offline-docs")
    ]
    for each in iter_route_contexts(app.routes):
        if each.path and each.methods and not getattr(each, "include_in_schema", True):
            query = each.dependant.query_params if getattr(each, "dependant", None) else ()
            names = [name for one in query for name in _names(one)]
            found.append(Road(each.path, sorted(each.methods), names))
    return found


def _names(parameter: object) -> Sequence[str]:
    """Return a parameter's name, or those of the members of a model of parameters."""
    annotation = getattr(getattr(parameter, "field_info", None), "annotation", None)
    members = getattr(annotation, "model_fields", None)
    return tuple(members) if members else (getattr(parameter, "alias", ""),)


class Attacker:
    """Draws requests; the same ones for the same seed and the same known words."""

    def __init__(
        self, roads: Sequence[Road], seed: int, known: Mapping[str, Sequence[str]]
    ) -> None:
        """`known` has more words that parameters take, and may change: numbers of jobs, ..."""
        self._random = random.Random(seed)
        self._roads = roads
        self._known = known

    def draw(self, tokens: Sequence[str]) -> Hostile:
        """Return the next request; `tokens` are keys to present now and then."""
        road = self._one(self._roads)
        path = "/".join(
            quote(self._word(part[1:-1]), safe=self._one(("", "/%")))
            if part.startswith("{")
            else part
            for part in road.path.split("/")
        )
        names = [*road.parameters, *self._some(("x", "cursor", "wait"), 0.1)]
        query = "&".join(f"{name}={quote(self._word(name))}" for name in self._some(names, 0.7))
        content_type, body = self._body() if self._often(0.8) else ("", b"")
        headers = {"Host": "localhost", "Connection": "close"}
        headers |= {"Content-Type": content_type} if content_type else {}
        if tokens and self._often(0.7):
            token = self._one(tokens)
            headers |= {"X-Popcorn-Cli-Id": token, "Authorization": f"Bearer {token}"}
        share = self._one((0, 0, 0.1))
        headers |= {name: self._one(words) for name, words in self._some(HEADERS, share)}
        headers["Content-Length"] = str(len(body))
        odd = ("HEAD", "OPTIONS", "TRACE", "PUT", "PATCH", "DELETE", "GET", "POST")
        method = self._one(odd) if self._often(0.1) else self._one(road.methods)
        lines = [f"{method} {path}{'?' if query else ''}{query} HTTP/1.1"]
        lines += [f"{name}: {word}" for name, word in headers.items()]
        text = "\r\n".join((*lines, "", "")).encode("latin-1", "replace") + body
        return Hostile(text, self._random.randrange(len(text)) if self._often(0.05) else None)

    def _body(self) -> tuple[str, bytes]:
        match self._random.randrange(6):
            case 0 | 1 | 2:
                return self._form()
            case 3:
                names = ("key", "next", "once", self._word())
                pairs = (f"{name}={quote(self._word(name))}" for name in self._some(names, 0.7))
                return "application/x-www-form-urlencoded", "&".join(pairs).encode()
            case 4:
                names = ("code", "directory", "leaderboards", "count", self._word())
                members = {name: self._value(name) for name in self._some(names, 0.7)}
                return "application/json", json.dumps(members).encode()
        return "application/json", self._random.randbytes(self._random.randrange(400))

    def _form(self) -> tuple[str, bytes]:
        """Return a multipart form that is nearly right."""
        names = ("m", "n", "k", "l", "kernel", "problem", "mode", "device", "once")
        names += ("leaderboard", "benchmark_index", self._word())
        sent = self._some(names, self._one((0, 0.1, 0.5)))
        parts = [(f'name="{name}"', self._word(name).encode()) for name in sent]
        if self._often(0.8):
            filename = self._word("filename").replace('"', "%22")
            parts.append((f'name="file"; filename="{filename}"', self._source()))
        if self._often(0.05):
            parts.append((self._word(), b""))
        body = b"".join(
            b"--b\r\nContent-Disposition: form-data; "
            + says.encode()
            + b"\r\n\r\n"
            + text
            + b"\r\n"
            for says, text in parts
        )
        charset = self._one(
            (
                "; charset=utf-7",
                "; charset=unicode_escape",
                "; charset=idna",
                "; charset=ÿ",
                *("",) * 9,
            )
        )
        ending = self._one((b"--b--", b"", b"--b", *(b"--b--\r\n",) * 5))
        return f"multipart/form-data; boundary=b{charset}", body + ending

    def _source(self) -> bytes:
        if self._often(0.5):
            return HONEST + b"# " + self._word().encode("utf-8", "replace")
        return self._one((b"", b"\0", b"(" * 3000, b"import os\n" * 50, self._random.randbytes(99)))

    def _value(self, name: str) -> object:
        return self._one(
            (self._word(name), [self._word(name)], [], {}, None, True, 1e9, -1, 10**30, 2)
        )

    def _word(self, name: str = "") -> str:
        """Return a word, for a parameter often one that it takes."""
        right = (*RIGHT.get(name, ()), *self._known.get(name, ()))
        return self._one(right) if right and self._often(0.8) else self._one(ODD)

    def _often(self, share: float) -> bool:
        return self._random.random() < share

    def _one(self, words: Sequence[T]) -> T:
        return self._random.choice(words)

    def _some(self, words: Sequence[T], share: float) -> Sequence[T]:
        return [word for word in words if self._often(share)]
