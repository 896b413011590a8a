"""People, teams, tokens."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ladder.database import db
from ladder.database.db import Connection
from ladder.enums import LeagueRole
from ladder.errors import Conflict, LadderError, NotFound
from ladder.leagues import leagues
from ladder.people import teams, tokens, users
from ladder.people.records import TeamMember
from tests.integration.ladder.contest import Contest


def test_a_taken_name_or_slug_is_refused(conn: Connection) -> None:
    ada = users.create_user(conn, "ada")
    with pytest.raises(Conflict, match="name: a user 'Ada' already exists"):
        users.create_user(conn, "Ada")
    team = users.create_team(conn, "Geese", "geese", ada.id)
    with pytest.raises(Conflict, match="slug"):
        users.create_team(conn, "Other", "geese", ada.id)
    assert users.get_team(conn, "geese") == users.get_team(conn, team.id) == team
    assert users.teams_of(conn, ada.id) == [team]
    assert teams.list_members(conn, team.id) == [TeamMember(ada.id, ada.name, True)]


def test_a_rolled_back_transaction_keeps_nothing(database_url: str, conn: Connection) -> None:
    with db.connect(database_url) as own:
        users.create_user(own, "ghost")
        own.rollback()
    assert conn.execute("select 1 from users").fetchall() == []


def test_a_conflict_leaves_the_callers_transaction_alive(
    database_url: str, conn: Connection
) -> None:
    with db.connect(database_url) as own:
        users.create_user(own, "ada")
        with pytest.raises(Conflict):
            users.create_user(own, "ada")
        users.create_user(own, "bob")
    names = conn.execute("select name from users order by id").fetchall()
    assert names == [("ada",), ("bob",)]


def test_a_token_identifies_its_user_until_revocation(contest: Contest) -> None:
    conn = contest.conn
    user, team = contest.team()
    leagues.set_member_role(conn, contest.league.id, user, LeagueRole.COMPETITOR)
    token, text = tokens.mint_token(conn, user, "laptop", ["agents:write", "read"])
    viewer = users.viewer_of_token(conn, text)
    assert viewer is not None
    assert (viewer.user_id, viewer.team_ids) == (user, frozenset({team}))
    assert viewer.roles == {contest.league.id: LeagueRole.COMPETITOR}
    assert viewer.scopes == {"agents:write", "read"}
    assert tokens.list_tokens(conn, user) == [token]
    with pytest.raises(NotFound):
        tokens.revoke_token(conn, contest.host, token.id)
    assert tokens.revoke_token(conn, user, token.id).revoked_at is not None
    assert users.viewer_of_token(conn, text) is None


def test_the_text_of_a_token_is_stored_nowhere(contest: Contest) -> None:
    _, text = tokens.mint_token(contest.conn, contest.host, "laptop", ["read"])
    row = contest.conn.execute("select tokens::text from tokens").fetchone()
    assert row is not None
    assert text not in row[0]
    assert text.encode().hex() not in row[0]


def test_an_expired_token_identifies_no_user(contest: Contest) -> None:
    past = datetime.now(UTC) - timedelta(seconds=1)
    _, text = tokens.mint_token(contest.conn, contest.host, "old", ["read"], past)
    assert users.viewer_of_token(contest.conn, text) is None


def test_only_an_admin_gets_the_admin_scope(conn: Connection) -> None:
    admin = users.create_user(conn, "root", is_admin=True)
    ada = users.create_user(conn, "ada")
    with pytest.raises(Conflict, match="administrators only"):
        tokens.mint_token(conn, ada.id, "x", ["admin"])
    with pytest.raises(LadderError, match="cook unknown; choose from read"):
        tokens.mint_token(conn, ada.id, "x", ["cook"])
    for scopes, is_admin in ((["admin"], True), (["read"], False)):
        _, text = tokens.mint_token(conn, admin.id, "x", scopes)
        viewer = users.viewer_of_token(conn, text)
        assert viewer is not None
        assert viewer.is_admin is is_admin
