"""Accounts over the API and the command line: signing up, sessions, logins of devices."""

from __future__ import annotations

import json
import secrets
import webbrowser
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from fastapi import FastAPI

from ladder.database import db
from ladder.ids import UserId
from ladder.people import sessions, tokens
from services.api_client import ApiError, Client
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.world import GOOD, World
from tests.typed import peck

PASSWORD = "three geese on a torus"


@pytest.fixture
def anybody(world: World) -> Client:
    """A client without a token."""
    return Client(str(world.http.base_url))


def test_a_stranger_signs_up_and_uploads(world: World, anybody: Client) -> None:
    with anybody:
        made = anybody.post("/v1/sign-up", {"name": "Newcomer", "password": PASSWORD})
    assert made["team"]["slug"] == "newcomer"
    with Client(anybody.address, made["token"]) as own:
        assert own.get("/v1/me")["user"]["name"] == "Newcomer"
        assert "admin" not in own.get("/v1/me")["scopes"]
        agent = own.post("/v1/agents", {"name": "First"})
        sent = own.upload(
            f"/v1/agents/{agent['id']}/submissions",
            b"def agent(o):\n    return 'NORTH'\n",
            season="public",
        )
    assert sent["entry"]["state"] == "pending"


@pytest.mark.parametrize(
    ("name", "password", "status", "message"),
    [
        ("Admin", PASSWORD, 422, "reserved"),
        ("Newcomer", "short", 422, "10 to 200"),
        ("member", PASSWORD, 409, "already exists"),
        ("", PASSWORD, 422, "name"),
    ],
)
def test_a_refused_sign_up_names_the_field(
    anybody: Client, name: str, password: str, status: int, message: str
) -> None:
    with anybody, pytest.raises(ApiError, match=message) as refused:
        anybody.post("/v1/sign-up", {"name": name, "password": password})
    assert refused.value.status == status


def test_peck_ups_mode_signs_up_people_on_this_machine_only(
    fresh_world: World, app: FastAPI
) -> None:
    app.state.peck.settings.sign_up = "local"
    body = {"name": "Near", "password": PASSWORD}
    headers = {"X-Forwarded-For": "203.0.113.7"}
    answer = fresh_world.http.post("/v1/sign-up", json=body, headers=headers)
    assert answer.status_code == 403
    assert "PECK_SIGN_UP" in answer.json()["detail"]
    page = fresh_world.http.get("/sign-up", headers=headers)
    assert page.status_code == 403
    assert "PECK_SIGN_UP" in page.text
    port = fresh_world.http.base_url.port
    bound = {"Host": f"ladder.example.org:{port}"}  # a name that leads here
    assert fresh_world.http.post("/v1/sign-up", json=body, headers=bound).status_code == 403
    assert fresh_world.http.post("/v1/sign-up", json=body).status_code == 201


def test_a_closed_site_signs_nobody_up(fresh_world: World, app: FastAPI) -> None:
    app.state.peck.settings.sign_up = "closed"
    answer = fresh_world.http.post("/v1/sign-up", json={"name": "Far", "password": PASSWORD})
    assert answer.status_code == 403
    assert "Nobody can sign up alone" in fresh_world.http.get("/sign-up").text


def test_a_person_lists_and_ends_own_sessions_only(fresh_world: World) -> None:
    with db.connect(fresh_world.database_url) as conn:
        mine = UserId(fresh_world.users["member"])
        key = sessions.create_session(conn, mine, "Firefox on Linux")
        conn.commit()
    member, rival = fresh_world.client("member"), fresh_world.client("rival")
    (shown,) = member.get("/v1/users/me/sessions")["items"]
    assert shown["device"] == "Firefox on Linux"
    with pytest.raises(ApiError) as hidden:
        rival.send("DELETE", f"/v1/users/me/sessions/{shown['id']}")
    assert hidden.value.status == 404
    with db.connect(fresh_world.database_url) as conn:
        _, few = tokens.mint_token(conn, mine, "few scopes", ["read"])
        conn.commit()
    with Client(member.address, few) as limited, pytest.raises(ApiError) as refused:
        limited.send("DELETE", f"/v1/users/me/sessions/{shown['id']}")
    assert refused.value.status == 403
    member.send("DELETE", f"/v1/users/me/sessions/{shown['id']}")
    assert member.get("/v1/users/me/sessions")["items"] == []
    with db.connect(fresh_world.database_url) as conn:
        assert sessions.viewer_of_session(conn, key) is None


def signs_in(address: str, source: str, name: str, password: str) -> int:
    """The status of the sign-in form, sent from this address of the machine."""
    with httpx.Client(
        base_url=address, transport=httpx.HTTPTransport(local_address=source)
    ) as browser:
        proof = form_token(browser.get("/sign-in").text)
        values = {"name": name, "password": password, "form_token": proof}
        return browser.post("/sign-in", data=values).status_code


def test_a_token_with_few_scopes_wins_no_more(world: World) -> None:
    with db.connect(world.database_url) as conn:
        _, few = tokens.mint_token(conn, UserId(world.users["member"]), "few", ["read"])
        login, secret = tokens.start_login(conn, "laptop")
        conn.commit()
    with httpx.Client(base_url=str(world.http.base_url)) as browser:
        proof = form_token(browser.get("/sign-in").text)
        browser.post("/sign-in", data={"token": few, "form_token": proof})
        proof = form_token(browser.get("/me/account").text)
        values = {"password": "another long password", "form_token": proof}
        assert browser.post("/me/password", data=values).status_code == 403
        values = {"code": login.code, "answer": "confirm", "form_token": proof}
        assert browser.post("/device/answer", data=values).status_code == 403
    assert (
        world.client("member").post("/v1/device-logins/token", {"secret": secret})["state"]
        == "waiting"
    )


def form_token(page: str) -> str:
    """The hidden value of the forms on this page."""
    return page.split('name="form_token" value="', 1)[1].split('"', 1)[0]


@pytest.fixture
def newcomer(world: World) -> Iterator[httpx.Client]:
    """A browser in which a new person is signed in."""
    with httpx.Client(base_url=str(world.http.base_url), follow_redirects=True) as browser:
        proof = form_token(browser.get("/sign-up").text)
        name = f"Newcomer {secrets.token_hex(4)}"
        values = {"name": name, "password": PASSWORD, "form_token": proof}
        assert browser.post("/sign-up", data=values).status_code == 200
        yield browser


def upload(
    browser: httpx.Client, world: World, content: bytes, filename: str = "main.py", **values: str
) -> httpx.Response:
    """Sends the form of the upload page as it is now, with these values."""
    page = browser.get("/upload").text
    key = page.split('name="key" value="', 1)[1].split('"', 1)[0]
    fields = {
        "form_token": form_token(page),
        "key": key,
        "season": world.seasons["public"],
        "name": "First",
        **values,
    }
    return browser.post("/upload", data=fields, files={"file": (filename, content)})


def test_an_upload_of_another_site_is_refused(newcomer: httpx.Client, world: World) -> None:
    assert upload(newcomer, world, GOOD, form_token="forged").status_code == 403
    headers = {"Sec-Fetch-Site": "cross-site"}
    sent = newcomer.post("/upload", files={"file": ("main.py", GOOD)}, headers=headers)
    assert sent.status_code == 403
    assert "No agents yet" in newcomer.get("/me").text


def test_page_refuses_a_note_above_the_limit_of_the_api(
    newcomer: httpx.Client, world: World
) -> None:
    assert 'maxlength="500"' in newcomer.get("/upload").text
    refused = upload(newcomer, world, GOOD, message="n" * 501)
    assert refused.status_code == 422
    assert "Use at most 500 characters" in refused.text
    assert "n" * 500 in upload(newcomer, world, GOOD, message="n" * 500).text


def test_a_corrected_file_from_the_same_page_is_another_submission(
    newcomer: httpx.Client, world: World
) -> None:
    counts = []
    for content in (b"# 1", b"# 1", b"# 2"):
        page = upload(newcomer, world, GOOD + content, key="one page")
        assert page.status_code == 200
        counts.append(page.text.count("In validation") or page.text.count("in validation"))
    assert counts == [1, 1, 2]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"name": ""}, "Name the new agent"),
        ({"season": ""}, "Choose the season"),
        ({"profile": "windows"}, "Choose one of the list"),
        ({"message": "two\nlines\0"}, "Use only visible characters"),
        ({"agent": "age_00000000000000000000000000"}, "no such"),
    ],
    ids=["name", "season", "profile", "message", "agent"],
)
def test_a_refused_upload_names_the_field(
    newcomer: httpx.Client, world: World, values: dict[str, str], message: str
) -> None:
    page = upload(newcomer, world, GOOD, **values)
    assert page.status_code == 422
    assert message in page.text


def test_page_refuses_a_text_file(newcomer: httpx.Client, world: World) -> None:
    page = upload(newcomer, world, b"Read this first.", filename="readme.txt")
    assert page.status_code == 422
    assert "Send a .py file" in page.text
    assert "No agents yet" in newcomer.get("/me").text


def test_an_agent_may_have_a_name_without_latin_letters(
    newcomer: httpx.Client, world: World
) -> None:
    page = upload(newcomer, world, GOOD, name="犬")
    assert page.status_code == 200
    assert "犬" in page.text


def test_a_name_that_no_person_can_have_is_refused_as_any_other(anybody: Client) -> None:
    with anybody:
        assert signs_in(anybody.address, "127.0.0.1", "zero\0byte", PASSWORD) == 422


def test_guesses_from_one_address_do_not_lock_another_out(anybody: Client) -> None:
    with anybody:
        anybody.post("/v1/sign-up", {"name": "Guessed", "password": PASSWORD})
    statuses = [signs_in(anybody.address, "127.0.0.1", "guessed", f"wrong {n}") for n in range(11)]
    assert statuses == [422] * 10 + [429]
    assert signs_in(anybody.address, "127.0.0.1", "guessed", PASSWORD) == 429
    assert signs_in(anybody.address, "127.0.0.2", "Guessed", PASSWORD) == 303


def test_guesses_at_once_do_not_pass_together(anybody: Client) -> None:
    with anybody:
        anybody.post("/v1/sign-up", {"name": "Attacked", "password": PASSWORD})
    with ThreadPoolExecutor(16) as pool:
        guess = partial(signs_in, anybody.address, "127.0.0.3", "attacked")
        statuses = list(pool.map(guess, [f"wrong {n}" for n in range(16)]))
    assert statuses.count(429) >= 6, statuses
    assert [signs_in(anybody.address, "127.0.0.4", "attacked", PASSWORD) for _ in range(11)] == [
        303
    ] * 11, "what succeeds does not count"


def expiring(world: World, person: str) -> str:
    """A token with all scopes of this person that expires."""
    with db.connect(world.database_url) as conn:
        scopes = tokens.SCOPES if person == "admin" else tokens.DEVICE_SCOPES
        end = datetime.now(UTC) + timedelta(days=1)
        _, text = tokens.mint_token(conn, UserId(world.users[person]), "brief", scopes, end)
        conn.commit()
    return text


def test_a_token_is_no_passkey(fresh_world: World) -> None:
    rival, deletion = fresh_world.client("rival"), "/v1/users/me/deletion"
    with Client(rival.address, expiring(fresh_world, "rival")) as brief:
        for act in (
            partial(brief.post, deletion, {"name": "rival"}),
            partial(brief.send, "GET", "/v1/users/me/export"),
        ):
            with pytest.raises(ApiError, match="never expires") as refused:
                act()
            assert refused.value.status == 403
    with db.connect(fresh_world.database_url) as conn:
        conn.execute(
            "insert into passkeys (id, user_id, credential_id, public_key, sign_count, name)"
            " values ('psk_1', %s, 'id', 'key', 0, 'phone')",
            (fresh_world.users["rival"],),
        )
        conn.commit()
    with pytest.raises(ApiError, match="/me/data") as refused:
        rival.post(deletion, {"name": "rival"})
    assert refused.value.status == 403
    with db.connect(fresh_world.database_url) as conn:
        conn.execute("delete from passkeys")
        conn.commit()
    assert rival.post(deletion, {"name": "rival"})["pseudonym"].startswith("Deleted user")


def test_peck_login_waits_for_the_browser(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def confirm(address: str) -> bool:
        opened.append(address)
        (code,) = parse_qs(urlsplit(address).query)["code"]
        with db.connect(world.database_url) as conn:
            tokens.answer_login(conn, UserId(world.users["member"]), code, confirm=True)
            conn.commit()
        return True

    monkeypatch.setattr(webbrowser, "open", confirm)
    monkeypatch.setattr(tokens, "POLL_SECONDS", 0)
    environment = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    done = peck(tmp_path, environment, "login", str(world.http.base_url))
    assert done.returncode == 0, done.stderr
    assert f"Open {opened[0]}" in done.stdout
    assert opened[0].startswith(str(world.http.base_url))
    assert "Logged in as member" in done.stdout
    shown = json.loads(peck(tmp_path, environment, "whoami", "--json").stdout)
    assert shown["user"]["name"] == "member"
    done = peck(tmp_path, environment, "logout")
    assert "its token is revoked" in done.stdout
    kept = world.client("member").list_items("/v1/users/me/tokens")
    (own,) = [token for token in kept if token["id"] == shown["token"]["id"]]
    assert own["revoked_at"] is not None


def test_logging_out_keeps_a_pasted_token(world: World, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    with db.connect(world.database_url) as conn:
        _, token = tokens.mint_token(conn, UserId(world.users["member"]), "shared", ["read"])
        conn.commit()
    address = str(world.http.base_url)
    peck(tmp_path, environment, "login", address, "--token", token)
    assert "its token stays valid" in peck(tmp_path, environment, "logout").stdout
    with Client(address, token) as ladder:
        assert ladder.get("/v1/me")["token"]["label"] == "shared"
    assert peck(tmp_path, environment, "logout").stdout == "there was no login\n"


def test_peck_sign_up_makes_an_account_and_signs_in(world: World, tmp_path: Path) -> None:
    environment = {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
        "PECK_PASSWORD": PASSWORD,
    }
    done = peck(tmp_path, environment, "sign-up", "Terminal", str(world.http.base_url))
    assert done.returncode == 0, done.stderr
    assert "Your team is terminal" in done.stdout
    shown = peck(tmp_path, environment, "whoami", "--json")
    assert json.loads(shown.stdout)["user"]["name"] == "Terminal"
