"""Pages as they come, held to what holds for every one of them."""

from html.parser import HTMLParser

import httpx

from service.pages.render import POLICY

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
VOID = ("meta", "link", "input", "br", "img")


class Page(HTMLParser):
    """What a page consists of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


async def page_at(http: httpx.AsyncClient, path: str, status: int = 200, **asked) -> str:
    """Fetch a page, and hold it to what holds for every page."""
    answer = await http.get(path, headers=BROWSER | asked.pop("headers", {}), **asked)
    assert answer.status_code == status
    return checked(answer)


def checked(answer: httpx.Response) -> str:
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    page = Page(answer.text)
    for tag, attrs in page.tags:
        assert "style" not in attrs
        assert not [name for name in attrs if name.startswith("on")]
        for name in ("src", "href", "action"):
            assert (attrs.get(name) or "/").startswith(("/", "#")), attrs
        if tag == "script":
            assert set(attrs) == {"src", "defer"}
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    labelled = {attrs.get("for") for attrs in page.all("label")}
    for tag in ("input", "select"):
        for attrs in page.all(tag):
            assert attrs.get("type") == "hidden" or attrs["id"] in labelled
    assert len(page.all("h1")) == 1
    assert page.all("html") == [{"lang": "en"}]
    return answer.text
