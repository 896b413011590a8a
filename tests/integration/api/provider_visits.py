"""Visits of a browser to an identity provider, and the forms after them."""

from __future__ import annotations

import html
import re
from urllib.parse import parse_qs, urlsplit

import httpx
from fastapi import FastAPI

from ladder.database import db
from tests.integration.api.lying_provider import LyingProvider
from tests.integration.api.test_accounts import PASSWORD, form_token


def send(browser: httpx.Client, path: str, page: str, **values: str) -> httpx.Response:
    """Sends a form with the form token of a page."""
    proof = form_token(browser.get(page).text)
    return browser.post(path, data={**values, "form_token": proof})


def leave(browser: httpx.Client, key: str, path: str = "", page: str = "/sign-in") -> str:
    """Begins a visit; returns the address at the provider."""
    answer = send(browser, path or f"/sign-in/with/{key}", page)
    assert answer.status_code == 200, answer.text
    found = re.search(r'content="0; url=([^"]+)"', answer.text)
    assert found is not None
    return html.unescape(found[1])


def come_back(browser: httpx.Client, key: str, at: str, **query: str) -> httpx.Response:
    """Comes back from the provider with its answer."""
    state = parse_qs(urlsplit(at).query)["state"][0]
    values = {"state": state, "code": "a code", **query}
    return browser.get(f"/sign-in/with/{key}/callback", params=values)


def visit_liar(browser: httpx.Client, liar: LyingProvider, path: str = "") -> httpx.Response:
    page = "/me/account" if path else "/sign-in"
    at = leave(browser, "liar", path, page)
    liar.nonce = parse_qs(urlsplit(at).query)["nonce"][0]
    return come_back(browser, "liar", at)


def choose_name(browser: httpx.Client, page: httpx.Response, name: str) -> httpx.Response:
    state = page.text.split('name="state" value="', 1)[1].split('"', 1)[0]
    values = {"name": name, "state": state, "form_token": form_token(page.text)}
    return browser.post("/sign-up/identity", data=values)


def sign_up(browser: httpx.Client, name: str) -> None:
    """Makes an account with a password."""
    answer = send(browser, "/sign-up", "/sign-up", name=name, password=PASSWORD)
    assert answer.status_code == 303


def people(app: FastAPI) -> list[str]:
    with db.connect(app.state.database_url) as conn:
        rows = conn.execute("select name from users order by id").fetchall()
        return [row[0] for row in rows]


def alert(page: httpx.Response) -> str:
    """What the page says went wrong."""
    return html.unescape(page.text.split('role="alert"', 1)[1].split(">", 1)[1].split("<", 1)[0])
