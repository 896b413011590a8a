"""Signing up, passwords, sessions and logins of devices, in the database."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from ladder.database import db
from ladder.database.db import Connection
from ladder.enums import Visibility
from ladder.errors import Conflict, Forbidden, Invalid, NotFound
from ladder.leagues import invitations, leagues, terms
from ladder.leagues.sign_up import SignUpMode, sign_up
from ladder.people import passwords, sessions, tokens, users
from ladder.people.passwords import PasswordHashing, PasswordsBusy
from ladder.people.records import User
from ladder.people.request_models import SignUp
from ladder.people.tokens import LoginState
from tests.integration.ladder.contest import Contest

PASSWORD = "three geese on a torus"
HASHING = PasswordHashing(memory_mib=8, passes=1)


HASH = HASHING.hash(PASSWORD)


def ada(conn: Connection, name: str = "ada") -> User:
    """A new person with the password of the tests."""
    asked = SignUp(name=name, password=PASSWORD)
    return sign_up(conn, SignUpMode.OPEN, asked, HASH)[0]


def test_a_new_person_gets_a_team_and_can_sign_in(conn: Connection) -> None:
    user = ada(conn, "Ada Lovelace")
    assert [team.slug for team in users.teams_of(conn, user.id)] == ["ada-lovelace"]
    assert passwords.stored_hash(conn, "ada lovelace") == (user.id, HASH)
    assert passwords.stored_hash(conn, "nobody") is None
    assert HASHING.is_right(HASH, PASSWORD)
    assert not HASHING.is_right(HASH, PASSWORD + "!")
    assert not HASHING.is_right(None, PASSWORD)
    assert not HASHING.is_right("no hash", PASSWORD)
    row = conn.execute("select hash from passwords").fetchone()
    assert row is not None
    assert row[0].startswith("$argon2id$")


def test_a_user_without_a_password_cannot_sign_in_with_one(conn: Connection) -> None:
    users.create_user(conn, "bob")
    assert passwords.stored_hash(conn, "bob") is None


def test_more_hashes_than_turns_wait_and_then_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "WAIT_SECONDS", 0.01)
    one = PasswordHashing(memory_mib=8, passes=1, at_a_time=1)
    with one._turn(), pytest.raises(PasswordsBusy):
        one.hash(PASSWORD)
    assert one.is_right(one.hash(PASSWORD), PASSWORD)


@pytest.mark.parametrize(
    ("password", "message"),
    [("short", "10 to 200"), ("x" * 201, "10 to 200"), ("1234567890", "common"),
     ("Ada Lovelace", "your name")],
)  # fmt: skip
def test_a_weak_password_is_refused(conn: Connection, password: str, message: str) -> None:
    asked = SignUp(name="ada lovelace", password=password)
    with pytest.raises(Invalid, match=message) as refused:
        sign_up(conn, SignUpMode.OPEN, asked, HASH)
    assert refused.value.field == "password"
    assert conn.execute("select 1 from users").fetchall() == []


def test_a_name_that_looks_like_another_is_refused(conn: Connection) -> None:
    ada(conn, "ada")
    for name in ("Ada", "Аda", "a.d.a"):
        with pytest.raises(Conflict, match="similar name"):
            ada(conn, name)
    with pytest.raises(Invalid, match="reserved"):
        ada(conn, "Admin")


def test_two_people_cannot_take_one_name_at_once(database_url: str, conn: Connection) -> None:
    def join(name: str) -> bool:
        with db.connect(database_url) as own:
            try:
                ada(own, name)
            except Conflict:
                return False
            own.commit()
            return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(join, ["Eve", "eve", "EVE", "Еve"])) == 1
    assert conn.execute("select count(*) from users").fetchone() == (1,)


def test_the_mode_decides_who_may_sign_up(contest: Contest) -> None:
    conn = contest.conn
    leagues.update_league(conn, contest.league.id, visibility=Visibility.INVITATION)
    _, code = invitations.create_invitation(
        conn, contest.league.id, role="competitor", created_by=contest.host, max_uses=1
    )
    asked = SignUp(name="eve", password=PASSWORD)
    with pytest.raises(Forbidden, match="administrator"):
        sign_up(conn, SignUpMode.CLOSED, asked, HASH)
    with pytest.raises(NotFound, match="invitation code") as refused:
        sign_up(conn, SignUpMode.INVITATION, asked, HASH)
    assert refused.value.field == "code"
    invited = asked.model_copy(update={"code": code})
    eve, team = sign_up(conn, SignUpMode.INVITATION, invited, HASH)
    assert team is None  # joining the league gives one
    other = SignUp(name="mallory", password=PASSWORD, code=code)
    with pytest.raises(NotFound, match="used up"):
        sign_up(conn, SignUpMode.INVITATION, other, HASH)
    _, league = invitations.read_code(conn, eve.id, code)
    digest = terms.terms_digest(terms.settings_of_league(league))
    invitations.join_league(conn, eve.id, code, digest)
    assert [mine.name for mine in users.teams_of(conn, eve.id)] == ["eve"]


def test_a_session_has_its_persons_rights_until_it_is_revoked(conn: Connection) -> None:
    user = ada(conn)
    key = sessions.create_session(conn, user.id, "Firefox on Linux")
    found = sessions.viewer_of_session(conn, key)
    assert found is not None
    session_id, viewer = found
    assert (viewer.user_id, viewer.is_admin) == (user.id, False)
    assert "agents:write" in viewer.scopes
    other = sessions.create_session(conn, user.id, "Safari on iPhone")
    assert {one.device for one in sessions.list_sessions(conn, user.id)} == {
        "Firefox on Linux",
        "Safari on iPhone",
    }
    with pytest.raises(NotFound):
        sessions.revoke_session(conn, users.create_user(conn, "bob").id, session_id)
    assert sessions.revoke_other_sessions(conn, user.id, session_id) == 1
    assert sessions.viewer_of_session(conn, other) is None
    sessions.revoke_session(conn, user.id, session_id)
    assert sessions.viewer_of_session(conn, key) is None
    assert sessions.list_sessions(conn, user.id) == []


def test_a_session_ends_in_time_and_with_its_token(conn: Connection) -> None:
    user = ada(conn)
    token, _ = tokens.mint_token(conn, user.id, "laptop", ["read"])
    key = sessions.create_session(conn, user.id, "curl", token.id)
    found = sessions.viewer_of_session(conn, key)
    assert found is not None
    assert found[1].scopes == {"read"}
    tokens.revoke_token(conn, user.id, token.id)
    assert sessions.viewer_of_session(conn, key) is None
    late = sessions.create_session(conn, user.id, "curl")
    conn.execute("update sessions set expires_at = now()")
    assert sessions.viewer_of_session(conn, late) is None


def test_only_the_digest_of_a_sessions_key_is_stored(conn: Connection) -> None:
    key = sessions.create_session(conn, ada(conn).id, "curl")
    row = conn.execute("select hash, to_jsonb(sessions) - 'hash' from sessions").fetchone()
    assert row is not None
    assert bytes(row[0]) == hashlib.sha256(key.encode()).digest()
    assert key not in str(row[1])


def test_a_session_of_a_limited_token_may_not_change_the_account(conn: Connection) -> None:
    user = ada(conn)
    soon = datetime.now(UTC) + timedelta(minutes=10)
    for scopes, expires_at in ((["read"], None), (tokens.DEVICE_SCOPES, soon)):
        token, _ = tokens.mint_token(conn, user.id, "limited", scopes, expires_at)
        found = sessions.viewer_of_session(
            conn, sessions.create_session(conn, user.id, "curl", token.id)
        )
        assert found is not None
        with pytest.raises(Forbidden, match="password"):
            sessions.require_full_session(conn, found[1], found[0])
    found = sessions.viewer_of_session(conn, sessions.create_session(conn, user.id, "curl"))
    assert found is not None
    sessions.require_full_session(conn, found[1], found[0])


def test_a_confirmed_device_gets_one_token(conn: Connection) -> None:
    user = ada(conn)
    login, secret = tokens.start_login(conn, "laptop")
    assert tokens.redeem_login(conn, secret).state is LoginState.WAITING
    typed = login.code.lower().replace("-", " ")
    assert tokens.waiting_login(conn, typed) == login
    tokens.answer_login(conn, user.id, login.code, confirm=True)
    with pytest.raises(NotFound):
        tokens.answer_login(conn, user.id, login.code, confirm=True)
    answer = tokens.redeem_login(conn, secret)
    assert answer.state is LoginState.CONFIRMED
    assert answer.text is not None
    viewer = users.viewer_of_token(conn, answer.text)
    assert viewer is not None
    assert viewer.user_id == user.id
    assert "admin" not in viewer.scopes
    assert tokens.redeem_login(conn, secret).state is LoginState.EXPIRED


def test_a_refused_late_or_unknown_device_gets_no_token(conn: Connection) -> None:
    user = ada(conn)
    login, secret = tokens.start_login(conn, "laptop")
    tokens.answer_login(conn, user.id, login.code, confirm=False)
    assert tokens.redeem_login(conn, secret).state is LoginState.REFUSED
    late, secret = tokens.start_login(conn, "laptop")
    conn.execute("update device_logins set expires_at = now()")
    with pytest.raises(NotFound, match="peck login"):
        tokens.waiting_login(conn, late.code)
    assert tokens.redeem_login(conn, secret).state is LoginState.EXPIRED
    assert tokens.redeem_login(conn, "guessed").state is LoginState.EXPIRED
    assert tokens.list_tokens(conn, user.id) == []


def test_a_device_that_asks_twice_at_once_gets_one_token(
    database_url: str, conn: Connection
) -> None:
    user = ada(conn)
    login, secret = tokens.start_login(conn, "laptop")
    tokens.answer_login(conn, user.id, login.code, confirm=True)
    conn.commit()

    def redeem(_: int) -> LoginState:
        with db.connect(database_url) as own:
            return tokens.redeem_login(own, secret).state

    with ThreadPoolExecutor(4) as pool:
        states = list(pool.map(redeem, range(4)))
    assert sorted(states) == [LoginState.CONFIRMED] + [LoginState.EXPIRED] * 3
    assert len(tokens.list_tokens(conn, user.id)) == 1


def test_a_new_hash_replaces_the_old_one(conn: Connection) -> None:
    user = ada(conn)
    stronger = PasswordHashing(memory_mib=9, passes=1)
    assert stronger.is_outdated(HASH)
    renewed = stronger.hash(PASSWORD)
    passwords.store_hash(conn, user.id, renewed)
    assert passwords.stored_hash(conn, "ada") == (user.id, renewed)
    assert not stronger.is_outdated(renewed)


def test_a_removed_password_ends_all_sessions(conn: Connection) -> None:
    user = ada(conn)
    key = sessions.create_session(conn, user.id, "curl")
    passwords.remove_password(conn, user.id)
    assert passwords.stored_hash(conn, "ada") is None
    assert sessions.viewer_of_session(conn, key) is None
