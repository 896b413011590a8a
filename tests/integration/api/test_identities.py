"""Signing in by identity providers: one that is not ours, and one that lies."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from fastapi import FastAPI
from joserfc.jwk import ECKey, OctKey

from ladder.database import db
from ladder.people import identity_visits
from ladder.settings import Settings
from services.app import create_app
from tests.integration.api.lying_provider import LyingProvider, lying_provider
from tests.integration.api.serving import serve
from tests.integration.api.test_accounts import PASSWORD, form_token
from tests.ports import free_port
from tests.servers import cloned

CLIENT = {"client_id": "peck", "client_secret": "hush", "networks": ["127.0.0.0/8"]}


@pytest.fixture(scope="module")
def liar() -> Iterator[LyingProvider]:
    with lying_provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def honest() -> Iterator[str]:
    """The issuer of `oidc-provider-mock`, in a process of its own."""
    port = free_port()
    claims = {"sub": "ada-1", "email": "ada@example.edu", "email_verified": True, "name": "Ada"}
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port)]
    command += ["--require-nonce", "true", "--user-claims", json.dumps(claims)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 180
        while time.monotonic() < until:
            assert server.poll() is None, "the provider ended"
            try:
                httpx.get(f"{address}/.well-known/openid-configuration")
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield address
    finally:
        server.terminate()
        server.wait(120)


@pytest.fixture(scope="module")
def app(
    postgres_url: str,
    migrated_template: str,
    tmp_path_factory: pytest.TempPathFactory,
    liar: LyingProvider,
    honest: str,
) -> Iterator[FastAPI]:
    providers = [
        {**CLIENT, "key": "honest", "name": "University", "issuer": honest},
        {**CLIENT, "key": "liar", "name": "Liar", "issuer": liar.issuer,
         "domains": ["example.edu"]},
        {**CLIENT, "key": "gone", "name": "Gone", "issuer": "http://127.0.0.1:1"},
        {**CLIENT, "key": "github", "name": "GitHub", "kind": "github",
         "issuer": f"{liar.issuer}/enterprise"},
    ]  # fmt: skip
    with cloned(postgres_url, migrated_template) as url:
        made = create_app(
            Settings(
                database_url=url,
                blobs_url=f"file://{tmp_path_factory.mktemp('blobs')}",
                session_secret="x" * 32,
                sign_up="open",
                password_memory_mib=8,
                password_passes=1,
                identity_providers=json.dumps(providers),
            )
        )
        made.state.database_url = url
        yield made


@pytest.fixture(scope="module")
def address(app: FastAPI) -> Iterator[str]:
    with serve(app) as found:
        yield found


@pytest.fixture
def browser(app: FastAPI, address: str, liar: LyingProvider) -> Iterator[httpx.Client]:
    """A browser without script. The site has no people, and remembers no provider."""
    liar.forget()
    for client in app.state.peck.providers.values():
        client._known = client._failure = None
    app.state.peck.settings.sign_up = "open"
    with db.connect(app.state.database_url) as conn:
        conn.execute("truncate users cascade")
        conn.commit()
    with httpx.Client(base_url=address, timeout=60) as client:
        yield client


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


LIES: dict[str, tuple[Callable[[LyingProvider], None], str]] = {}


def lie(told: str) -> Callable[[Callable[[LyingProvider], None]], Callable[[LyingProvider], None]]:
    """Registers a lie with the words that the page says of it."""

    def register(act: Callable[[LyingProvider], None]) -> Callable[[LyingProvider], None]:
        LIES[act.__name__] = act, told
        return act

    return register


def claim(name: str, value: Any, told: str) -> None:
    def act(liar: LyingProvider) -> None:
        made = value() if callable(value) else value
        liar.claims = {name: made}

    LIES[f"{name} {value if not callable(value) else ''}"] = act, told


claim("iss", "https://other.example.org", "(iss)")
claim("iss", None, "(iss)")
claim("aud", "another client", "(aud)")
claim("aud", ["peck", "another client"], "(azp)")
claim("aud", None, "(aud)")
claim("nonce", "of an earlier visit", "(nonce)")
claim("nonce", None, "(nonce)")
claim("exp", lambda: int(time.time()) - 120, "has expired (exp); compare the clock")
claim("exp", "tomorrow", "(exp)")
claim("iat", lambda: int(time.time()) + 120, "(iat); compare the clock")
claim("nbf", lambda: int(time.time()) + 120, "(nbf); compare the clock")
claim("sub", None, "(sub)")
claim("sub", "", "no usable sub")
claim("sub", 7, "(sub)")
claim("at_hash", "of another token", "(at_hash)")


@lie("wrong signature")
def another_key(liar: LyingProvider) -> None:
    liar.signing_key = ECKey.generate_key("P-256", {"kid": "one"})


@lie("wrong signature")
def no_signature(liar: LyingProvider) -> None:
    liar.algorithm = "none"


@lie("wrong signature")
def a_secret_in_place_of_a_key(liar: LyingProvider) -> None:
    liar.algorithm, liar.signing_key = "HS256", OctKey.import_key("x" * 32)


@lie("another issuer")
def metadata_of_another_issuer(liar: LyingProvider) -> None:
    liar.metadata = {"issuer": "https://other.example.org"}


@lie("lacks a usable jwks_uri")
def metadata_without_keys(liar: LyingProvider) -> None:
    liar.metadata = {"jwks_uri": None}


@lie("an address without https")
def a_script_as_address(liar: LyingProvider) -> None:
    liar.metadata = {"authorization_endpoint": "javascript:alert(1)"}


@lie("cannot be reached")
def keys_at_a_cloud(liar: LyingProvider) -> None:
    liar.metadata = {"jwks_uri": "http://169.254.169.254/latest/meta-data"}


@lie("cannot be read")
def keys_of_another_form(liar: LyingProvider) -> None:
    liar.answers["/keys"] = 200, b'{"keys": [{"kty": "EC", "crv": "P-256", "x": 1}]}'


@lie("sent no JSON")
def metadata_in_html(liar: LyingProvider) -> None:
    liar.answers["/.well-known/openid-configuration"] = 200, b"<html>"


@lie("longer than")
def endless_metadata(liar: LyingProvider) -> None:
    liar.answers["/.well-known/openid-configuration"] = 200, b" " * 600_000


@lie("sent no JSON")
def deep_metadata(liar: LyingProvider) -> None:
    liar.answers["/.well-known/openid-configuration"] = 200, b"[" * 200_000


@lie("status 302")
def a_redirect(liar: LyingProvider) -> None:
    liar.answers["/.well-known/openid-configuration"] = 302, b""


@lie("refused the code (invalid_grant)")
def a_refused_code(liar: LyingProvider) -> None:
    liar.answers["/token"] = 400, b'{"error": "invalid_grant"}'


@lie("no id token")
def a_token_without_identity(liar: LyingProvider) -> None:
    liar.answers["/token"] = 200, b'{"access_token": "x", "token_type": "Bearer"}'


@lie("wrong signature")
def noise_as_token(liar: LyingProvider) -> None:
    liar.answers["/token"] = 200, b'{"access_token": "x", "id_token": "\\u0000.\\ud800.."}'


@lie("sent no token")
def a_list_as_token(liar: LyingProvider) -> None:
    liar.answers["/token"] = 200, b"[1]"


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
    monkeypatch.setattr(identity_visits, "REFRESH_SECONDS", 0.0)
    assert "Choose a name" in visit_liar(browser, liar).text


@pytest.mark.parametrize("key", ["liar", "gone"])
def test_a_provider_that_does_not_answer_is_named(
    browser: httpx.Client, liar: LyingProvider, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity_visits, "CALL_SECONDS", 0.2)
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
        ([{**CLIENT, "key": "x", "name": "X", "issuer": "http://sso.example.edu"}], "https://"),
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
