"""Scans the answers of every route for the headers and cookies that known rules expect.

The rules are those of the OWASP secure headers project, Mozilla's observatory and securityheaders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.cookies import Morsel, SimpleCookie

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from ladder.database import db
from ladder.ids import UserId
from ladder.people import sessions
from ladder.settings import Settings
from services.app import create_app
from services.http.middleware import ACCOUNT_PATHS
from services.web import routes, session
from tests.integration.api.route_walk.words import words
from tests.integration.api.serving import serve
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.world import World

PARAMETER = re.compile(r"\{(\w+)(?::path)?\}")
STREAMS = ("/events", "/stream")
"""Ends of addresses whose answers do not end."""


@pytest.fixture
def secure(fresh_world: World, app: FastAPI) -> Iterator[httpx.Client]:
    """The same world behind a proxy that speaks https."""
    settings: Settings = app.state.peck.settings
    https = create_app(settings.model_copy(update={"base_url": "https://ladder.example.org"}))
    with serve(https) as address, httpx.Client(base_url=address, timeout=60) as client:
        yield client


def page_paths(world: World) -> list[str]:
    """An address of each page, of files and of some operations of the API."""
    known = {**words(world, "public"), "slug": "not-found", "n": "0", "seat": "0"}
    known |= {f"{name}_id": value for name, value in known.items()} | {"league_slug": "public"}
    found = {
        PARAMETER.sub(lambda part: known.get(part[1], "unknown"), route.path)
        for router in routes.ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and "GET" in (route.methods or ())
    }
    files = {"/static/site.css", "/static/site.js", "/static/mark.svg", "/static/none.js"}
    api = {"/v1/leagues", "/v1/me", "/health/ready", "/openapi.json", "/v1/nothing", "/nothing"}
    return sorted(path for path in found | files | api if not path.endswith(STREAMS))


def faults(answer: httpx.Response) -> list[str]:
    """What a scan says against this answer."""
    headers, bad = answer.headers, []
    policy = {
        part.split()[0]: part.split()[1:]
        for part in headers.get("content-security-policy", "").split(";")
        if part.strip()
    }
    is_style_only = answer.request.url.path.startswith("/static/")
    if policy.get("default-src") != ["'none'"]:
        bad.append("CSP does not begin from nothing")
    sources = [source for values in policy.values() for source in values]
    if any(source not in ("'none'", "'self'", "data:") for source in sources):
        bad.append(f"CSP has {sources}")
    if not is_style_only and policy.get("frame-ancestors") != ["'none'"]:
        bad.append("CSP permits frames")
    if "text/html" in headers.get("content-type", "") and not (
        policy.get("base-uri") == ["'none'"] and policy.get("form-action") == ["'self'"]
    ):
        bad.append("CSP leaves base-uri or form-action open")
    expected = {
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
    }
    if answer.request.url.path.startswith("/pictures/") and answer.status_code < 300:
        expected["cross-origin-resource-policy"] = "cross-origin"  # other sites show them
    bad += [
        f"{name} is {headers.get(name)}"
        for name, value in expected.items()
        if headers.get(name) != value
    ]
    if "camera=()" not in headers.get("permissions-policy", ""):
        bad.append("no Permissions-Policy")
    stored = headers.get("cache-control", "")
    kept: tuple[str, ...] = ("no-store", "no-cache")
    if "text/html" not in headers.get("content-type", ""):
        kept = (*kept, "private")  # a public feed may be a minute old
    if not any(word in stored for word in kept):
        bad.append(f"Cache-Control is {stored!r}")
    if ACCOUNT_PATHS.match(answer.request.url.path) and stored != "no-store":
        bad.append(f"a private page may be stored: {stored!r}")
    bad += [name for name in ("server", "x-powered-by") if headers.get(name, "").strip("uvicorn")]
    if len(headers.get_list("content-security-policy")) > 1:
        bad.append("two policies")
    return bad


def cookies_of(answer: httpx.Response) -> list[Morsel[str]]:
    return [
        morsel
        for line in answer.headers.get_list("set-cookie")
        for morsel in SimpleCookie(line).values()
    ]


def test_a_scan_of_every_page_finds_no_fault(fresh_world: World, secure: httpx.Client) -> None:
    with db.connect(fresh_world.database_url) as conn:
        key = sessions.create_session(conn, UserId(fresh_world.users["member"]), "Firefox on Linux")
        conn.commit()
    paths = page_paths(fresh_world)
    assert {"/", "/me/account", "/sign-in", "/confirm"} <= set(paths)
    wrong = []
    for path in paths:
        for cookie in ("", f"__Host-{session.SESSION}={key}"):
            answer = secure.get(path, headers={"Accept": "text/html", "Cookie": cookie})
            told = faults(answer)
            if not re.fullmatch(
                "max-age=[0-9]{8,}", answer.headers.get("strict-transport-security", "")
            ):
                told.append("no Strict-Transport-Security")
            for sent in cookies_of(answer):
                if not (sent["secure"] and sent["httponly"] and sent["samesite"] == "lax"):
                    told.append(f"the cookie {sent.key} lacks an attribute")
                if not sent.key.startswith("__Host-") or sent["path"] != "/" or sent["domain"]:
                    told.append(f"the cookie {sent.key} is not bound to this host")
            if answer.status_code >= 500:
                told.append(str(answer.status_code))
            wrong += [f"{path}: {fault}" for fault in told]
    assert wrong == [], "\n".join(wrong)


def test_without_https_no_hsts_header_is_sent(world: World) -> None:
    answer = world.http.get("/sign-in")
    assert "strict-transport-security" not in answer.headers
    assert faults(answer) == []
    (cookie,) = cookies_of(answer)
    assert cookie.key == session.VISIT


def test_the_address_for_changing_the_password_leads_to_the_form(world: World) -> None:
    answer = world.http.get("/.well-known/change-password")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/me/account#password"
    missing = "/.well-known/resource-that-should-not-exist-whose-status-code-should-not-be-200"
    assert world.http.get(missing).status_code == 404


@pytest.mark.parametrize("path", ["/sign-in", "/sign-up", "/confirm", "/v1/sign-up", "/device"])
def test_a_large_body_is_refused_before_it_is_read(world: World, path: str) -> None:
    kind = "application/json" if path.startswith("/v1") else "application/x-www-form-urlencoded"
    sent = {"Content-Type": kind}
    assert world.http.post(path, content=b"x" * 40_000, headers=sent).status_code == 413
    chunks = iter([b"name="] + [b"x" * 10_000] * 4)
    refused = world.http.post(path, content=chunks, headers=sent)
    assert refused.status_code == 413
    assert "at most 32 kB" in refused.text
