"""Recovery codes, links of administrators, mailed links, and signing up by a mail address."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from ladder.database import db
from ladder.people import recovery
from ladder.people.tokens import SCOPES, mint_token
from ladder.people.users import create_user
from ladder.settings import Settings
from services.api_client import ApiError, Client
from services.app import create_app
from tests.integration.api.serving import serve
from tests.integration.api.test_accounts import PASSWORD, form_token
from tests.mailbox import Mailbox, smtp_server
from tests.servers import cloned
from tests.typed import peck

LINK = re.compile(r"http://ladder\.test(/\S+)")


@pytest.fixture(scope="module")
def shared_mailbox() -> Mailbox:
    return Mailbox()


@pytest.fixture(scope="module")
def app(
    postgres_url: str,
    migrated_template: str,
    tmp_path_factory: pytest.TempPathFactory,
    shared_mailbox: Mailbox,
) -> Iterator[FastAPI]:
    with cloned(postgres_url, migrated_template) as url, smtp_server(shared_mailbox) as port:
        made = create_app(
            Settings(
                database_url=url,
                blobs_url=f"file://{tmp_path_factory.mktemp('blobs')}",
                base_url="http://ladder.test",
                session_secret="x" * 32,
                sign_up="open",
                sign_up_domains="example.edu",
                smtp_url=f"smtp+plain://127.0.0.1:{port}",
                smtp_from="site@ladder.test",
            )
        )
        made.state.database_url = url
        yield made


@pytest.fixture(scope="module")
def address(app: FastAPI) -> Iterator[str]:
    with serve(app) as found:
        yield found


@pytest.fixture
def mailbox(shared_mailbox: Mailbox) -> Mailbox:
    shared_mailbox.messages.clear()
    return shared_mailbox


@pytest.fixture
def browser(app: FastAPI, address: str, mailbox: Mailbox) -> Iterator[httpx.Client]:
    """A browser in which Ada has just signed up. Nobody else is there, but an administrator."""
    app.state.peck.settings.sign_up = "open"
    app.state.peck.attempts.__init__("")
    with db.connect(app.state.database_url) as conn:
        conn.execute("truncate users, audits cascade")
        admin = create_user(conn, "Root Admin", is_admin=True)
        app.state.admin_token = mint_token(conn, admin.id, "admin", SCOPES)[1]
        conn.commit()
    with httpx.Client(base_url=address, timeout=60) as client:
        assert send(client, "/sign-up", "/sign-up", name="Ada", password=PASSWORD).is_redirect
        yield client


@pytest.fixture
def stranger(address: str) -> Iterator[httpx.Client]:
    """A browser in which nobody is signed in."""
    with httpx.Client(base_url=address, timeout=60) as client:
        yield client


def send(browser: httpx.Client, path: str, page: str, **values: str) -> httpx.Response:
    """Sends a form with the form token of a page."""
    proof = form_token(browser.get(page).text)
    return browser.post(path, data={**values, "form_token": proof})


def new_codes(browser: httpx.Client) -> list[str]:
    page = send(browser, "/me/recovery/codes", "/me/account")
    assert page.headers["cache-control"] == "no-store"
    return page.text.split("<pre>", 1)[1].split("</pre>", 1)[0].split()


def admin(app: FastAPI, address: str) -> Client:
    return Client(address, app.state.admin_token)


def user_id(app: FastAPI, name: str = "Ada") -> str:
    with db.connect(app.state.database_url) as conn:
        ((found,),) = conn.execute("select id from users where name = %s", (name,)).fetchall()
    return str(found)


def prove_address(app: FastAPI, mail: str = "ada@example.org") -> None:
    with db.connect(app.state.database_url) as conn:
        recovery.store_address(conn, user_id(app), mail)  # type: ignore[arg-type]
        conn.commit()


def link_of(mailbox: Mailbox, number: int = 1) -> str:
    found = LINK.search(mailbox.read(number).get_content())
    assert found is not None
    return found[1]


def test_a_recovery_code_signs_in_once_and_lets_a_new_password_be_set(
    browser: httpx.Client, stranger: httpx.Client
) -> None:
    codes = new_codes(browser)
    assert len(set(codes)) == 10
    typed = codes[3].upper().replace("-", " ")
    done = send(stranger, "/recover/code", "/recover", code=typed)
    assert done.headers["location"] == "/me/account?changed=recovered#password"
    page = stranger.get("/me/account").text
    assert "Present password" not in page
    assert "9 unused codes" in page
    new = {"password": "another long password"}
    assert send(stranger, "/me/password", "/me/account", **new).is_redirect
    assert browser.get("/me").is_redirect  # the new password ended the other session
    assert send(browser, "/recover/code", "/recover", code=codes[3]).status_code == 422
    assert send(browser, "/recover/code", "/recover", code="").status_code == 422


def test_new_codes_replace_the_old_ones(browser: httpx.Client, stranger: httpx.Client) -> None:
    old = new_codes(browser)
    new_codes(browser)
    page = send(stranger, "/recover/code", "/recover", code=old[0])
    assert page.status_code == 422
    assert "mistyped or was used" in page.text


def test_an_administrators_link_signs_in_once_and_is_audited(
    app: FastAPI, address: str, browser: httpx.Client, stranger: httpx.Client
) -> None:
    with admin(app, address) as ladder:
        made = ladder.post(f"/v1/users/{user_id(app)}/recovery-link", {"reason": "lost phone"})
    assert "Sign in as <strong>Ada" in stranger.get(made["path"]).text.replace("\n", "") or (
        "Sign in as Ada" in stranger.get(made["path"]).text
    )

    def use(_: int) -> int:
        with httpx.Client(base_url=address, timeout=60) as one:
            return send(one, made["path"], "/sign-in").status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(use, range(4))) == [303, 404, 404, 404]
    assert "was used already" in stranger.get(made["path"]).text
    with db.connect(app.state.database_url) as conn:
        rows = conn.execute(
            "select act, subject, reason, league_id from audits where act like '%recovery%'"
        ).fetchall()
    assert rows == [("create-recovery-link", user_id(app), "lost phone", None)]


def test_a_newer_link_ends_an_older_one(
    app: FastAPI, address: str, browser: httpx.Client, stranger: httpx.Client
) -> None:
    with admin(app, address) as ladder:
        path = f"/v1/users/{user_id(app)}/recovery-link"
        first, second = (ladder.post(path, {"reason": "x"})["path"] for _ in range(2))
    assert stranger.get(first).status_code == 404
    assert stranger.get(second).status_code == 200


def test_peck_makes_a_recovery_link(
    app: FastAPI, address: str, browser: httpx.Client, tmp_path: Path
) -> None:
    environment = {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
        "PECK_URL": address,
        "PECK_TOKEN": app.state.admin_token,
    }
    done = peck(
        tmp_path, environment, "api", "create-recovery-link", "ada", "reason=asked", "--json"
    )
    assert done.returncode == 0, done.stderr
    path = json.loads(done.stdout)["path"]
    assert httpx.get(f"{address}{path}").status_code == 200


def test_a_mailed_link_signs_in_once(
    app: FastAPI, browser: httpx.Client, stranger: httpx.Client, mailbox: Mailbox
) -> None:
    prove_address(app)
    page = send(stranger, "/recover/mail", "/recover", address="Ada@Example.org")
    assert "If an account has the address" in page.text
    message = mailbox.read(1)
    assert message["To"] == "ada@example.org"
    path = link_of(mailbox)
    assert stranger.get(path).status_code == 200  # programs that check mails use nothing up
    assert send(stranger, path, path).is_redirect
    assert "Ada" in stranger.get("/me").text
    assert mailbox.read(2)["Subject"] == "Your account was changed"
    assert send(stranger, path, "/me").status_code == 404


def test_an_unknown_address_gets_the_same_answer_and_no_mail(
    app: FastAPI, browser: httpx.Client, stranger: httpx.Client, mailbox: Mailbox
) -> None:
    prove_address(app)
    pages = []
    for mail in ("stranger@example.org", "ada@example.org"):
        page = send(stranger, "/recover/mail", "/recover", address=mail)
        pages.append((page.status_code, page.text.replace(mail, "")))
    assert pages[0] == pages[1]
    assert mailbox.read(1)["To"] == "ada@example.org"
    assert len(mailbox.messages) == 1


@pytest.mark.parametrize("added", ["\r\nBcc: x@example.org", "%0d%0aBcc: x", " x@example.org", ","])
def test_no_address_adds_a_header_or_a_recipient(
    app: FastAPI, browser: httpx.Client, stranger: httpx.Client, mailbox: Mailbox, added: str
) -> None:
    prove_address(app)
    page = send(stranger, "/recover/mail", "/recover", address=f"ada@example.org{added}")
    assert page.status_code == 422
    assert "one mail address" in page.text
    assert mailbox.messages == []


def test_a_link_to_an_address_that_was_removed_signs_nobody_in(
    app: FastAPI, browser: httpx.Client, stranger: httpx.Client, mailbox: Mailbox
) -> None:
    prove_address(app)
    send(stranger, "/recover/mail", "/recover", address="ada@example.org")
    path = link_of(mailbox)
    assert send(browser, "/me/mail/remove", "/me/account").is_redirect
    assert stranger.get(path).status_code == 404
    assert send(stranger, path, "/recover").status_code == 404


def test_one_account_gets_five_mails_an_hour(
    app: FastAPI, browser: httpx.Client, stranger: httpx.Client, mailbox: Mailbox
) -> None:
    prove_address(app)
    for number in range(1, 6):
        send(stranger, "/recover/mail", "/recover", address="ada@example.org")
        mailbox.read(number)
    for _ in range(2):
        page = send(stranger, "/recover/mail", "/recover", address="ada@example.org")
        assert page.status_code == 200
    assert len(mailbox.messages) == 5
    for number in range(6, 11):  # a stranger's mails leave the person's own ones
        send(browser, "/me/mail", "/me/account", address=f"ada{number}@example.net")
        mailbox.read(number)
    refused = send(browser, "/me/mail", "/me/account", address="ada@example.net")
    assert refused.status_code == 422
    assert "Mails for one account" in refused.text
    assert len(mailbox.messages) == 10


def test_a_strangers_request_ends_no_earlier_link(
    app: FastAPI,
    address: str,
    browser: httpx.Client,
    stranger: httpx.Client,
    mailbox: Mailbox,
) -> None:
    prove_address(app)
    with admin(app, address) as ladder:
        made = ladder.post(f"/v1/users/{user_id(app)}/recovery-link", {"reason": "asked"})
    paths = [made["path"]]
    for number in (1, 2):
        send(stranger, "/recover/mail", "/recover", address="ada@example.org")
        paths.append(link_of(mailbox, number))
    assert [stranger.get(path).status_code for path in paths] == [200, 200, 200]
    given = {"present": PASSWORD, "password": "another long password"}
    assert send(browser, "/me/password", "/me/account", **given).is_redirect
    assert [stranger.get(path).status_code for path in paths] == [404, 404, 404]


def test_an_address_counts_once_its_link_is_opened_by_the_same_person(
    app: FastAPI, browser: httpx.Client, stranger: httpx.Client, mailbox: Mailbox
) -> None:
    page = send(browser, "/me/mail", "/me/account", address="ada@Example.ORG")
    assert "on its way to ada@example.org" in page.text
    path = link_of(mailbox)
    send(stranger, "/sign-up", "/sign-up", name="Bob", password=PASSWORD)
    assert stranger.get(path).status_code == 404
    assert send(stranger, path, "/me").status_code == 404
    assert "ada@example.org" in browser.get(path).text
    assert send(browser, path, path).is_redirect
    assert "ada@example.org" in browser.get("/me/account").text
    send(stranger, "/me/mail", "/me/account", address="ADA@example.org")
    path = link_of(mailbox, 2)
    taken = send(stranger, path, path)
    assert taken.status_code == 409
    assert "another account has this one" in taken.text


def test_a_person_of_the_domain_signs_up_by_a_mailed_link(
    app: FastAPI, browser: httpx.Client, stranger: httpx.Client, mailbox: Mailbox
) -> None:
    app.state.peck.settings.sign_up = "domain"
    assert "example.edu" in stranger.get("/sign-up").text
    answers = {
        send(stranger, "/sign-up/address", "/sign-up", address=mail).text.replace(mail, "")
        for mail in ("x@example.org", "x@sub.example.edu", "x@example.edu.org", "new@example.edu")
    }
    assert len(answers) == 1
    path = link_of(mailbox)
    assert mailbox.read(1)["To"] == "new@example.edu"
    secret = path.rpartition("/")[2]
    assert "new@example.edu" in stranger.get(path).text
    given = {"name": "Of the Domain", "password": PASSWORD}
    assert send(stranger, "/sign-up", path, **given).status_code == 422  # without the link
    done = send(stranger, "/sign-up", path, **given, link=secret)
    assert done.is_redirect, done.text[done.text.find("alert") :][:400]
    assert "new@example.edu" in stranger.get("/me/account").text
    assert stranger.get(path).status_code == 404
    assert len(mailbox.messages) == 1


def test_a_person_of_a_roster_signs_up_where_others_need_an_address(
    app: FastAPI, address: str, stranger: httpx.Client
) -> None:
    app.state.peck.settings.sign_up = "domain"
    with admin(app, address) as ladder:
        league = {"slug": "course", "title": "C", "game": "hungry_geese", "visibility": "private"}
        ladder.post("/v1/leagues", {**league, "fill": False})
        csv = "name,team,role,external_id\nGrace,,competitor,s-1\n"
        (line,) = ladder.post("/v1/leagues/course/roster", {"csv": csv})["items"]
    code = line["code"]
    with Client(address) as anybody:
        for wrong in ("", "join_wrong", "listed_wrong"):
            with pytest.raises(ApiError, match="code"):
                anybody.post("/v1/sign-up", {"name": "Grace", "password": PASSWORD, "code": wrong})
        asked = {"name": "Grace", "password": PASSWORD, "code": code}
        assert anybody.post("/v1/sign-up", asked)["team"] is None
        with pytest.raises(ApiError, match="used up"):
            anybody.post("/v1/sign-up", {**asked, "name": "Grace Two"})
    form = stranger.get(f"/sign-up?next=/join?code={code}").text
    assert f'value="{code}"' in form
    assert user_id(app, "Grace")


def test_a_new_password_can_revoke_all_tokens(app: FastAPI, browser: httpx.Client) -> None:
    with db.connect(app.state.database_url) as conn:
        _, kept = mint_token(conn, user_id(app), "laptop", ["read"])  # type: ignore[arg-type]
        conn.commit()
    given = {"present": PASSWORD, "password": "another long password"}
    assert send(browser, "/me/password", "/me/account", **given).is_redirect
    assert api_status(browser, kept) == 200
    given = {"present": "another long password", "password": PASSWORD, "revoke_tokens": "true"}
    assert send(browser, "/me/password", "/me/account", **given).is_redirect
    assert api_status(browser, kept) == 401


def api_status(browser: httpx.Client, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return browser.get("/v1/me", headers=headers).status_code
