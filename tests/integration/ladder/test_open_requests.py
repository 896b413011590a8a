"""The list of requests that wait for a person's answer."""

from __future__ import annotations

from ladder.entries import team_merges
from ladder.enums import LeagueRole
from ladder.ids import ScrimRequestId, TeamInvitationId, TeamMergeId, UserId
from ladder.leagues import join_requests, leagues, terms
from ladder.people import team_invitations, teams, users
from ladder.people.team_invitations import NewTeamInvitation
from ladder.reports.open_requests import OpenRequest, list_open_requests
from ladder.scrims import requests
from tests.integration.ladder.scrim_pairs import Pair
from tests.integration.ladder.scrim_pairs import pair as pair
from tests.integration.ladder.team_people import join, person, viewer


def waiting(pair: Pair, user_id: UserId) -> list[OpenRequest]:
    return list_open_requests(pair.contest.conn, viewer(pair.contest.conn, user_id))


def host_takes_requests(pair: Pair) -> None:
    conn, league = pair.contest.conn, pair.contest.league
    conn.execute("update leagues set takes_requests = true")
    leagues.set_member_role(conn, league.id, pair.asked[0], LeagueRole.CO_HOST)


def ask_to_join(pair: Pair, name: str) -> UserId:
    conn, league = pair.contest.conn, leagues.get_league(pair.contest.conn, pair.contest.league.id)
    asker = person(conn, name)
    digest = terms.terms_digest(terms.settings_of_league(league))
    join_requests.request_to_join(conn, league.id, asker, digest, "please")
    return asker


def ask_in_every_way(pair: Pair) -> None:
    """Asks the second team for a scrim and a merge, and invites its owner, who is a host."""
    conn = pair.contest.conn
    asker, asked = pair.asker, pair.asked
    pair.ask(games=1)
    name = users.get_user(conn, asked[0]).name
    team_invitations.invite(conn, asker[1], viewer(conn, asker[0]), NewTeamInvitation(person=name))
    team_merges.ask_for_merge(conn, asker[1], asked[1], viewer(conn, asker[0]))
    host_takes_requests(pair)
    ask_to_join(pair, "ada")


def test_requests_of_every_kind_are_listed_newest_first(pair: Pair) -> None:
    ask_in_every_way(pair)
    league = pair.contest.league
    mine, theirs = (users.get_team(pair.contest.conn, one[1]) for one in (pair.asker, pair.asked))
    asker = users.get_user(pair.contest.conn, pair.asker[0])
    found = waiting(pair, pair.asked[0])
    assert [(one.title, one.path) for one in found] == [
        (f"ada asks to join {league.title}", f"/leagues/{league.slug}/people#requests"),
        (f"{mine.name} asks to become part of {theirs.name}", f"/teams/{theirs.id}#manage"),
        (f"{asker.name} invites you to the team {mine.name}", "/me#teams"),
        (f"{mine.name} asks {theirs.name} for a scrim", f"/scrim-requests/{found[3].id}"),
    ]
    assert found[3].text == f"1 game, {league.title}."
    assert waiting(pair, pair.asker[0]) == [], "the team that asks"


def test_pages_of_requests_together_are_the_whole_list(pair: Pair) -> None:
    ask_in_every_way(pair)
    who = viewer(pair.contest.conn, pair.asked[0])
    pages: list[OpenRequest] = []
    while part := list_open_requests(
        pair.contest.conn, who, pages[-1].id if pages else None, limit=1
    ):
        pages += part
    assert len(pages) == 4
    assert pages == waiting(pair, pair.asked[0])


def test_answered_requests_are_not_listed(pair: Pair) -> None:
    conn = pair.contest.conn
    ask_in_every_way(pair)
    _, merge, invitation, scrim = waiting(pair, pair.asked[0])
    who = viewer(conn, pair.asked[0])
    requests.decline_request(conn, ScrimRequestId(scrim.id), who.user_id)
    team_invitations.decline_invitation(conn, pair.asked[0], TeamInvitationId(invitation.id))
    team_merges.end_merge(conn, TeamMergeId(merge.id), who)
    join_requests.answer_requests(conn, who, pair.contest.league, None, role=None)
    assert waiting(pair, pair.asked[0]) == []


def test_expired_requests_are_not_listed(pair: Pair) -> None:
    ask_in_every_way(pair)
    for table in ("scrim_requests", "team_invitations", "team_merges", "join_requests"):
        pair.contest.conn.execute(f"update {table} set expires_at = now()")
    assert waiting(pair, pair.asked[0]) == []


def test_requests_to_join_one_league_are_one_row(pair: Pair) -> None:
    host_takes_requests(pair)
    ask_to_join(pair, "ada")
    last = ask_to_join(pair, "bob")
    (found,) = waiting(pair, pair.asked[0])
    assert found.title == f"2 people ask to join {pair.contest.league.title}"
    (newest,) = join_requests.requests_of_person(pair.contest.conn, last)
    assert (found.id, found.created_at) == (newest.id, newest.created_at)


def test_only_owners_see_a_request_to_merge(pair: Pair) -> None:
    conn = pair.contest.conn
    member = person(conn, "member")
    join(conn, pair.asked[1], member)
    team_merges.ask_for_merge(conn, pair.asker[1], pair.asked[1], viewer(conn, pair.asker[0]))
    assert waiting(pair, member) == []
    teams.hand_over(conn, pair.asked[1], member, viewer(conn, pair.asked[0]))
    assert [one.kind for one in waiting(pair, member)] == ["team_merge"]
    assert waiting(pair, pair.asked[0]) == []
