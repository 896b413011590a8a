"""A browser without script: it keeps cookies and sends the forms of pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape

import httpx

from tests.integration.api.world import World

FIELD = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')


class Browser:
    """A signed-in browser; ``stranger`` is not signed in."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http

    def get(self, path: str) -> httpx.Response:
        return self.http.get(path)

    def form_token(self, path: str) -> str:
        """The proof in a form of this page."""
        fields = dict(FIELD.findall(self.get(path).text))
        return unescape(fields.get("form_token", ""))

    def send(self, page: str, path: str, **fields: str | list[str]) -> httpx.Response:
        """Sends a form of the page to this path with these fields."""
        return self.http.post(path, data={"form_token": self.form_token(page), **fields})

    def submit(self, page: str, path: str | None = None, **fields: str) -> httpx.Response:
        """Sends the page's form for ``path`` (default: the page itself) with its hidden fields."""
        action = path or page
        text = self.get(page).text
        form = text.split(f'action="{action}"', 1)[1].split("</form>", 1)[0]
        hidden = {name: unescape(value) for name, value in FIELD.findall(form)}
        return self.http.post(action, data={**hidden, **fields})


@contextmanager
def browse(world: World, person: str) -> Iterator[Browser]:
    """A browser signed in with this person's token."""
    with httpx.Client(
        base_url=world.http.base_url,
        follow_redirects=True,
        headers={"Accept": "text/html"},
        timeout=60,
    ) as http:
        browser = Browser(http)
        if person in world.tokens:
            browser.send("/sign-in", "/sign-in", token=world.tokens[person])
        yield browser
