"""Signing in by identity providers: one that is not ours, and one that lies."""

from __future__ import annotations

import html
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx
import pytest
from fastapi import FastAPI
from joserfc.jwk import ECKey

from ladder.database import db
from ladder.people import identities
from ladder.settings import Settings
from services.app import create_app
from tests.integration.api.identity_site import CLIENT
from tests.integration.api.identity_site import address as address
from tests.integration.api.identity_site import app as app
from tests.integration.api.identity_site import browser as browser
from tests.integration.api.identity_site import honest as honest
from tests.integration.api.identity_site import liar as liar
from tests.integration.api.lying_provider import LyingProvider
from tests.integration.api.provider_lies import LIES
from tests.integration.api.provider_visits import (
    alert,
    choose_name,
    come_back,
    leave,
    people,
    send,
    sign_up,
    visit_liar,
)
from tests.integration.api.test_accounts import PASSWORD


def test_a_new_person_signs_up_and_in_at_another_projects_provider(
    app: FastAPI, browser: httpx.Client, honest: str
) -> None:
    for is_new in (True, False):
        at = leave(browser, "honest")
        query = parse_qs(urlsplit(at).query)
        assert at.startswith(f"{honest}/oauth2/authorize?")
        assert query["code_challenge_method"] == ["S256"]
        sent = httpx.post(at, data={"sub": "ada-1"})
        back = urlsplit(sent.headers["location"])
        page = browser.get(f"{back.path}?{back.query}")
        if is_new:
            assert page.status_code == 200, page.text
            assert "ada@example.edu is new here" in page.text
            assert choose_name(browser, page, "Ada").status_code == 303
        else:
            assert page.status_code == 303
        assert "Ada" in browser.get("/me").text
        send(browser, "/sign-out", "/me")
    assert people(app) == ["Ada"]


def test_a_person_who_refuses_there_reads_so(browser: httpx.Client, honest: str) -> None:
    at = leave(browser, "honest")
    back = urlsplit(httpx.post(at, data={"action": "deny"}).headers["location"])
    page = browser.get(f"{back.path}?{back.query}")
    assert page.status_code == 400
    assert "you refused there" in alert(page)


@pytest.mark.parametrize("name", LIES)
def test_a_lie_signs_nobody_in_and_is_named(
    app: FastAPI,
    browser: httpx.Client,
    liar: LyingProvider,
    name: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    act, told = LIES[name]
    act(liar)
    page = send(browser, "/sign-in/with/liar", "/sign-in")
    if page.status_code == 200:
        found = re.search(r'content="0; url=([^"]+)"', page.text)
        assert found is not None
        at = html.unescape(found[1])
        liar.nonce = parse_qs(urlsplit(at).query)["nonce"][0]
        page = come_back(browser, "liar", at)
    assert page.status_code == 502, page.text
    assert told in alert(page)
    assert "Liar" in alert(page)
    assert people(app) == []
    assert "peck_session" not in browser.cookies
    assert "Traceback" not in caplog.text


def test_small_differences_of_clocks_are_allowed(
    browser: httpx.Client, liar: LyingProvider
) -> None:
    now = int(time.time())
    liar.claims = {"exp": now - 20, "iat": now + 20}
    assert "Choose a name" in visit_liar(browser, liar).text


def test_a_provider_with_new_keys_is_read_again(
    app: FastAPI, browser: httpx.Client, liar: LyingProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Choose a name" in visit_liar(browser, liar).text
    monkeypatch.setattr(liar, "key", ECKey.generate_key("P-256", {"kid": "two"}))
    liar.signing_key = liar.key
    monkeypatch.setattr(identities, "REFRESH_SECONDS", 0.0)
    assert "Choose a name" in visit_liar(browser, liar).text


@pytest.mark.parametrize("key", ["liar", "gone"])
def test_a_provider_that_does_not_answer_is_named(
    browser: httpx.Client, liar: LyingProvider, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identities, "CALL_SECONDS", 0.2)
    liar.pause_seconds = 1.0
    for _ in range(2):  # the second answer is remembered
        page = send(browser, f"/sign-in/with/{key}", "/sign-in")
        assert page.status_code == 502
        assert "cannot be reached" in alert(page)
        liar.pause_seconds = 0.0


def test_a_state_counts_once_and_in_its_own_browser(
    app: FastAPI, browser: httpx.Client, address: str, liar: LyingProvider
) -> None:
    at = leave(browser, "liar")
    liar.nonce = parse_qs(urlsplit(at).query)["nonce"][0]
    with httpx.Client(base_url=address) as thief:
        thief.get("/sign-in")
        assert "begin again" in alert(come_back(thief, "liar", at)).lower()
    assert come_back(browser, "liar", at).status_code == 200
    assert "begin again" in alert(come_back(browser, "liar", at)).lower()
    at = leave(browser, "liar")
    assert "begin again" in alert(come_back(browser, "honest", at)).lower()  # a mix-up
    at = leave(browser, "liar")
    told = alert(come_back(browser, "liar", at, iss="https://other.example.org"))
    assert "not from Liar" in told
    at = leave(browser, "liar")
    with db.connect(app.state.database_url) as conn:
        conn.execute("update sign_in_steps set expires_at = now()")
        conn.commit()
    assert "begin again" in alert(come_back(browser, "liar", at)).lower()
    assert people(app) == []


@pytest.mark.parametrize(
    "other",
    ["person-1 ", " person-1", "Person-1", "person-1\u200b", "person-1\u00ad", "person-\uff11"],
)
def test_a_subject_that_differs_by_one_character_is_another_person(
    app: FastAPI, browser: httpx.Client, liar: LyingProvider, other: str
) -> None:
    for subject, name in (("person-1", "Ada"), (other, "Bob")):
        liar.claims = {"sub": subject, "email": None}
        page = visit_liar(browser, liar)
        assert "Choose a name" in page.text
        assert choose_name(browser, page, name).status_code == 303
        send(browser, "/sign-out", "/me")
    for subject, name in ((other, "Bob"), ("person-1", "Ada")):
        liar.claims = {"sub": subject, "email": None}
        assert visit_liar(browser, liar).status_code == 303
        assert name in browser.get("/me").text
        send(browser, "/sign-out", "/me")


def test_an_address_links_nothing(app: FastAPI, browser: httpx.Client, liar: LyingProvider) -> None:
    sign_up(browser, "Ada")
    with db.connect(app.state.database_url) as conn:
        conn.execute(
            "insert into mail_addresses (user_id, address) select id, 'ada@example.edu' from users"
        )
        conn.commit()
    send(browser, "/sign-out", "/me")
    page = visit_liar(browser, liar)
    assert "is new here" in page.text
    refused = choose_name(browser, page, "Thief")  # Ada's address is hers
    assert refused.status_code == 422
    assert "Sign in and link this identity" in refused.text
    assert people(app) == ["Ada"]


def test_a_second_identity_is_linked_by_a_confirmed_session_only(
    app: FastAPI, browser: httpx.Client, liar: LyingProvider
) -> None:
    sign_up(browser, "Ada")
    with db.connect(app.state.database_url) as conn:
        conn.execute("update sessions set confirmed_at = now() - interval '16 minutes'")
        conn.commit()
    refused = send(browser, "/me/identities/liar/link", "/me/account")
    assert refused.headers["location"].startswith("/confirm?")
    assert send(browser, "/confirm", "/confirm", password=PASSWORD).status_code == 303
    done = visit_liar(browser, liar, "/me/identities/liar/link")
    assert done.status_code == 303, done.text
    send(browser, "/sign-out", "/me")
    assert visit_liar(browser, liar).status_code == 303
    assert "Ada" in browser.get("/me").text
    assert send(browser, "/sign-in/with/liar", "/me/account", code="a\0").status_code == 400


def test_another_persons_identity_is_not_linked(
    app: FastAPI, browser: httpx.Client, liar: LyingProvider
) -> None:
    choose_name(browser, visit_liar(browser, liar), "Ada")
    send(browser, "/sign-out", "/me")
    sign_up(browser, "Bob")
    page = visit_liar(browser, liar, "/me/identities/liar/link")
    assert page.status_code == 422
    assert "another person" in page.text
    assert "Ada" not in page.text.replace("ada@", "")


def test_the_last_credential_cannot_be_unlinked(
    app: FastAPI, browser: httpx.Client, liar: LyingProvider
) -> None:
    assert choose_name(browser, visit_liar(browser, liar), "Ada").status_code == 303
    page = browser.get("/me/account").text
    path = re.search(r'action="(/me/identities/idn_\w+/unlink)"', page)
    assert path is not None
    refused = send(browser, path[1], "/me/account")
    assert refused.status_code == 422
    assert "your last one" in refused.text
    assert send(browser, "/me/password", "/me/account", password=PASSWORD).status_code == 303
    assert send(browser, path[1], "/me/account").status_code == 303
    assert "Unlink" not in browser.get("/me/account").text


def test_a_person_confirms_by_the_own_identity_only(
    app: FastAPI, browser: httpx.Client, liar: LyingProvider
) -> None:
    assert choose_name(browser, visit_liar(browser, liar), "Ada").status_code == 303
    with db.connect(app.state.database_url) as conn:
        conn.execute("update sessions set confirmed_at = now() - interval '16 minutes'")
        conn.commit()
    for subject, status in (("somebody else", 400), ("person-1", 303)):
        liar.claims = {"sub": subject}
        at = leave(browser, "liar", "/confirm/with/liar", "/confirm")
        query = parse_qs(urlsplit(at).query)
        assert query["prompt"] == ["login"]
        liar.nonce = query["nonce"][0]
        assert come_back(browser, "liar", at).status_code == status
    assert send(browser, "/me/recovery/codes", "/me/account").status_code == 200


@pytest.mark.parametrize(
    ("mode", "claims", "status"),
    [
        ("closed", {}, None),
        ("invitation", {}, 422),
        ("domain", {}, 303),
        ("domain", {"email_verified": False}, 422),
        ("domain", {"email": "ada@example.edu.evil.org"}, 422),
        ("domain", {"email": "ada@other.edu"}, 422),
    ],
)
def test_sign_up_by_identity_obeys_the_mode(
    app: FastAPI,
    browser: httpx.Client,
    liar: LyingProvider,
    mode: str,
    claims: dict[str, Any],
    status: int | None,
) -> None:
    app.state.peck.settings.sign_up = mode
    liar.claims = claims
    page = visit_liar(browser, liar)
    if status is None:
        assert "Nobody can sign up alone" in page.text
        assert 'action="/sign-up/identity"' not in page.text
    else:
        assert choose_name(browser, page, "Ada").status_code == status
    assert people(app) == (["Ada"] if status == 303 else [])


def test_a_refused_name_can_be_corrected(
    app: FastAPI, browser: httpx.Client, liar: LyingProvider
) -> None:
    page = choose_name(browser, visit_liar(browser, liar), "admin")
    assert page.status_code == 422
    assert "reserved" in page.text
    state = page.text.split('name="state" value="', 1)[1].split('"', 1)[0]
    assert choose_name(browser, page, "Ada").status_code == 303
    again = send(browser, "/sign-up/identity", "/me", name="Ada Again", state=state)
    assert again.status_code == 400
    assert people(app) == ["Ada"]


def test_github_signs_in_by_its_number_and_not_by_its_name(
    app: FastAPI, browser: httpx.Client, liar: LyingProvider
) -> None:
    liar.github_emails = [
        {"email": "old@example.org", "verified": True, "primary": False},
        {"email": "octocat@github.example", "verified": True, "primary": True},
        {"email": "unproven@example.edu", "verified": False, "primary": False},
    ]
    at = leave(browser, "github")
    assert "/login/oauth/authorize?" in at
    assert "nonce" not in parse_qs(urlsplit(at).query)
    page = come_back(browser, "github", at)
    assert "octocat is new here" in page.text
    assert choose_name(browser, page, "Octo").status_code == 303
    with db.connect(app.state.database_url) as conn:
        rows = conn.execute("select subject, label from identities").fetchall()
    assert rows == [("583231", "octocat")]
    (form,) = [form for path, form in liar.asked if path == "/login/oauth/access_token"]
    assert form["client_secret"] == ["hush"]
    assert len(form["code_verifier"][0]) >= 43


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        ("{}", "write a JSON list"),
        ("[1", "JSON list"),
        ("/no/such/file", "cannot read the file"),
        ([{"key": "x", "name": "X", "client_id": "a"}], "give the issuer"),
        (
            [{**CLIENT, "key": "x", "name": "X", "issuer": "http://sso.example.edu"}],
            "begin with https://, and not as in 'http://sso.example.edu'",
        ),
        (
            [
                {
                    **CLIENT,
                    "key": "x",
                    "name": "X",
                    "issuer": "https://login.microsoftonline.com/common/v2.0",
                }
            ],
            "write https://login.microsoftonline.com/TENANT/v2.0 with the id of your tenant",
        ),
        ([{**CLIENT, "key": "x", "name": "X", "issuer": "https://sso"}], "with a dot"),
        ([{**CLIENT, "key": "X Y", "name": "X", "kind": "github"}], "key"),
        ([{**CLIENT, "key": "x", "name": "X", "kind": "github", "networks": ["y"]}], "networks"),
        ([{**CLIENT, "key": "x", "name": "X", "kind": "github"}] * 2, "the same key"),
    ],
)
def test_a_wrong_setting_is_named_at_the_start(listed: Any, told: str, tmp_path: Path) -> None:
    text = listed if isinstance(listed, str) else json.dumps(listed)
    with pytest.raises(ValueError, match=r"^PECK_IDENTITY_PROVIDERS: ") as refused:
        create_app(Settings(database_url="x", blobs_url="file:///x", identity_providers=text))
    assert told in str(refused.value) or told == "networks"


@pytest.mark.parametrize("named", ["{}/", "https://sso.example.edu/TENANT"])
def test_a_provider_that_names_another_issuer_is_refused_at_the_start(
    app: FastAPI, liar: LyingProvider, named: str
) -> None:
    liar.metadata = {"issuer": named.format(liar.issuer)}
    providers = [{**CLIENT, "key": "university", "name": "University", "issuer": liar.issuer}]
    settings = app.state.settings.model_copy(update={"identity_providers": json.dumps(providers)})
    started = create_app(settings)

    async def start() -> None:
        async with started.router.lifespan_context(started):
            pass

    try:
        with (
            # a process that drives a browser has a running event loop in its main thread
            ThreadPoolExecutor(1) as pool,
            pytest.raises(ValueError, match=r"^PECK_IDENTITY_PROVIDERS: ") as refused,
        ):
            pool.submit(anyio.run, start).result()
    finally:
        liar.forget()
    told = str(refused.value)
    assert "provider university, issuer" in told
    assert repr(named.format(liar.issuer)) in told
    assert repr(liar.issuer) in told
