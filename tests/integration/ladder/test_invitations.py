"""Invitation codes and consent in a real database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ladder.database.db import Connection
from ladder.enums import LeagueRole, ReplayVisibility, Visibility
from ladder.errors import Conflict, LadderError, NotFound
from ladder.ids import UserId
from ladder.leagues import invitations, leagues, members, records, terms
from ladder.people import permissions, users
from tests.integration.ladder.contest import Contest, make_contest

OWN, PUBLIC = ReplayVisibility.OWN, ReplayVisibility.PUBLIC
BY_CODE = Visibility.INVITATION


@pytest.fixture
def club(conn: Connection) -> Contest:
    """A league by invitation with replays private to the teams."""
    made = make_contest(conn, visibility="invitation")
    leagues.update_league(conn, made.league.id, replay_visibility=OWN)
    return made


def invite(club: Contest, role: str = "competitor", **more: object) -> tuple[str, str]:
    made, code = invitations.create_invitation(
        club.conn,
        club.league.id,
        role=role,
        created_by=club.host,
        **more,  # type: ignore[arg-type]
    )
    return made.id, code


def digest_of(visibility: Visibility, replays: ReplayVisibility) -> str:
    return terms.terms_digest(terms.TermsSettings(visibility, replays))


def join(club: Contest, user: UserId, code: str) -> LeagueRole:
    league = leagues.get_league(club.conn, club.league.id)
    digest = digest_of(league.visibility, league.replay_visibility)
    return invitations.join_league(club.conn, user, code, digest)[2]


def person(club: Contest, name: str) -> UserId:
    return users.create_user(club.conn, name).id


def test_a_code_makes_its_user_a_competitor(club: Contest) -> None:
    ada = person(club, "Ada Lovelace")
    seen = records.league_resource(club.league)
    before = users.viewer_of_user(club.conn, ada)
    assert before is not None
    assert not permissions.may_see(before, seen)
    _, code = invite(club)
    assert join(club, ada, code) is LeagueRole.COMPETITOR
    after = users.viewer_of_user(club.conn, ada)
    assert after is not None
    (team,) = users.teams_of(club.conn, ada)
    assert (team.name, team.slug) == ("Ada Lovelace", "ada-lovelace")
    assert permissions.may_enter(after, seen, team.id)
    kept = terms.agreement_of_member(club.conn, club.league.id, ada)
    assert kept is not None
    assert kept.terms_digest == digest_of(BY_CODE, OWN)
    assert kept.at is not None


def test_the_code_is_not_stored(club: Contest) -> None:
    _, code = invite(club)
    row = club.conn.execute("select to_jsonb(i)::text from invitations i").fetchone()
    assert row is not None
    assert code.removeprefix("join_") not in row[0]


def test_a_used_up_expired_or_revoked_code_is_refused(club: Contest) -> None:
    ada, bob = person(club, "ada"), person(club, "bob")
    once_id, once = invite(club, max_uses=1)
    join(club, ada, once)
    assert join(club, ada, once) is LeagueRole.COMPETITOR  # the same person again
    _, late = invite(club, expires_at=datetime.now(UTC) - timedelta(seconds=1))
    gone_id, gone = invite(club)
    invitations.revoke_invitation(club.conn, club.league.id, gone_id)  # type: ignore[arg-type]
    for code in (once, late, gone, "join_nonsense", ""):
        with pytest.raises(NotFound, match="mistyped, expired, revoked or used up"):
            join(club, bob, code)
    listed = invitations.list_invitations(club.conn, club.league.id)
    assert [(row.id, row.uses) for row in listed if row.uses] == [(once_id, 1)]
    revoked = next(row for row in listed if row.id == gone_id)
    assert revoked.revoked_at is not None


def test_a_code_never_lowers_a_role(club: Contest) -> None:
    ada = person(club, "ada")
    _, look = invite(club, "viewer")
    _, play = invite(club, "competitor")
    assert join(club, ada, look) is LeagueRole.VIEWER
    assert users.teams_of(club.conn, ada) == []
    assert join(club, ada, play) is LeagueRole.COMPETITOR
    assert join(club, ada, look) is LeagueRole.COMPETITOR
    assert join(club, club.host, play) is LeagueRole.HOST
    with pytest.raises(LadderError, match="role: a code can make competitors or viewers"):
        invite(club, "host")


def test_a_private_league_takes_no_codes(club: Contest) -> None:
    leagues.update_league(club.conn, club.league.id, visibility=Visibility.PRIVATE)
    with pytest.raises(Conflict, match="a private league takes no codes"):
        invite(club)


def test_changed_terms_must_be_read_again(club: Contest) -> None:
    ada = person(club, "ada")
    _, code = invite(club)
    stale = digest_of(BY_CODE, OWN)
    leagues.update_league(club.conn, club.league.id, replay_visibility=PUBLIC)
    with pytest.raises(Conflict, match="read them again"):
        invitations.join_league(club.conn, ada, code, stale)


def test_settings_are_widened_only_with_consent_of_competitors(club: Contest) -> None:
    ada = person(club, "ada")
    _, code = invite(club)
    widen = (club.conn, club.league.id, BY_CODE, PUBLIC)
    terms.refuse_unagreed_settings(*widen)  # only the host is in the league
    join(club, ada, code)
    with pytest.raises(Conflict, match=r"1 member has not agreed.*--replays public"):
        terms.refuse_unagreed_settings(*widen)
    terms.refuse_unagreed_settings(club.conn, club.league.id, Visibility.PRIVATE, OWN)
    terms.record_consent(club.conn, club.league, ada, digest_of(BY_CODE, PUBLIC))
    terms.refuse_unagreed_settings(*widen)
    with pytest.raises(Conflict, match="1 member has not agreed"):
        terms.refuse_unagreed_settings(club.conn, club.league.id, Visibility.PUBLIC, PUBLIC)


def test_a_competitor_turned_viewer_must_still_consent(club: Contest) -> None:
    ada = person(club, "ada")
    join(club, ada, invite(club)[1])
    leagues.set_member_role(club.conn, club.league.id, ada, "viewer")
    with pytest.raises(Conflict, match="1 member has not agreed"):
        terms.refuse_unagreed_settings(club.conn, club.league.id, BY_CODE, PUBLIC)


def test_a_used_code_restores_no_role(club: Contest) -> None:
    ada = person(club, "ada")
    _, code = invite(club)
    join(club, ada, code)
    leagues.set_member_role(club.conn, club.league.id, ada, "viewer")
    assert join(club, ada, code) is LeagueRole.VIEWER
    club.conn.execute("delete from league_members where user_id = %s", (ada,))
    with pytest.raises(NotFound):
        join(club, ada, code)


def test_an_old_code_is_refused_in_a_private_league(club: Contest) -> None:
    _, code = invite(club)
    leagues.update_league(club.conn, club.league.id, visibility=Visibility.PRIVATE)
    with pytest.raises(NotFound):
        invitations.read_code(club.conn, person(club, "ada"), code)


def test_a_member_added_by_a_host_must_consent_to_wider_settings(club: Contest) -> None:
    ada = person(club, "ada")
    leagues.set_member_role(club.conn, club.league.id, ada, "competitor")
    with pytest.raises(Conflict, match="1 member has not agreed"):
        terms.refuse_unagreed_settings(club.conn, club.league.id, BY_CODE, PUBLIC)


def test_consent_makes_a_public_competitor_a_member(conn: Connection) -> None:
    contest = make_contest(conn)
    leagues.update_league(conn, contest.league.id, replay_visibility=OWN)
    user, team = contest.team()
    contest.pending(contest.agent(team))
    widen = (conn, contest.league.id, Visibility.PUBLIC, PUBLIC)
    with pytest.raises(Conflict, match="1 team whose people are not members"):
        terms.refuse_unagreed_settings(*widen)
    terms.record_consent(
        conn,
        contest.league,
        user,
        digest_of(Visibility.PUBLIC, PUBLIC),
    )
    terms.refuse_unagreed_settings(*widen)
    found = members.list_members(conn, contest.league.id)
    roles = {member.user_id: member.role for member in found}
    assert roles[user] is LeagueRole.COMPETITOR


def test_consent_to_an_outdated_text_is_refused(
    club: Contest,
) -> None:
    ada = person(club, "ada")
    with pytest.raises(NotFound, match="no such league"):
        terms.record_consent(club.conn, club.league, ada, digest_of(BY_CODE, OWN))
    leagues.update_league(club.conn, club.league.id, replay_visibility=PUBLIC)
    for digest in (digest_of(BY_CODE, OWN), "0" * 64):
        with pytest.raises(Conflict, match="this digest is not that of the league's terms"):
            terms.record_consent(club.conn, club.league, ada, digest)
