"""The permissions as a table: resource by viewer."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from ladder.enums import LeagueRole, Visibility
from ladder.ids import LeagueId, TeamId, UserId
from ladder.people import permissions
from ladder.people.permissions import may_see
from ladder.people.records import STRANGER, Viewer
from ladder.people.resources import (
    LeagueResource,
    LogResource,
    Resource,
    ScrimRequestResource,
    SubmissionResource,
    TeamPrivateResource,
)

OWN, RIVAL = TeamId("tea_own"), TeamId("tea_rival")
LEAGUE = LeagueId("lea_x")


def member(
    name: str, team: TeamId | None, role: LeagueRole | None, agreeing: Iterable[TeamId] = ()
) -> Viewer:
    return Viewer(
        user_id=UserId(name),
        team_ids=frozenset() if team is None else frozenset({team}),
        roles={} if role is None else {LEAGUE: role},
        agreeing={LEAGUE: frozenset(agreeing)},
    )


VIEWERS = {
    "stranger": STRANGER,
    "outsider": member("outsider", TeamId("tea_other"), None),
    "owner": member("owner", OWN, LeagueRole.COMPETITOR),
    "rival": member("rival", RIVAL, LeagueRole.COMPETITOR),
    "watcher": member("watcher", None, LeagueRole.VIEWER),
    "host": member("host", None, LeagueRole.HOST),
    "cohost": member("cohost", None, LeagueRole.CO_HOST),
    "grader": member("grader", None, LeagueRole.GRADER, (OWN,)),
    "commentator": member("commentator", None, LeagueRole.COMMENTATOR, (OWN, RIVAL)),
    "newcomer": member("newcomer", None, LeagueRole.COMMENTATOR, (OWN,)),
    "admin": Viewer(user_id=UserId("admin"), is_admin=True),
}
EVERYBODY = set(VIEWERS)
HOSTS = {"host", "cohost", "admin"}
GRADED = {"owner", "grader", *HOSTS}
STAFF = {"grader", "commentator", "newcomer"}
MEMBERS = {"owner", "rival", "watcher"} | HOSTS | STAFF


def league(visibility: Visibility = Visibility.PUBLIC) -> LeagueResource:
    return LeagueResource(LEAGUE, visibility)


PRIVATE = league(Visibility.PRIVATE)
RULES: list[tuple[str, Resource, set[str]]] = [
    ("a public league", league(), EVERYBODY),
    ("a private league", PRIVATE, MEMBERS),
    ("a submission", SubmissionResource(OWN), {"owner", "admin"}),
    ("a bundle", TeamPrivateResource(OWN), {"owner"}),
    ("an entry's log and reason", LogResource(OWN, LEAGUE), {"owner", "grader"}),
    ("a log of a team that did not agree", LogResource(RIVAL, LEAGUE), {"rival"}),
    ("a log of another league", LogResource(OWN, LeagueId("lea_y")), {"owner"}),
    ("a request for a scrim", ScrimRequestResource(OWN, RIVAL), {"owner", "rival", "admin"}),
]


@pytest.mark.parametrize(("resource", "seers"), [r[1:] for r in RULES], ids=[r[0] for r in RULES])
def test_each_resource_has_exactly_the_expected_viewers(
    resource: Resource, seers: set[str]
) -> None:
    assert {name for name, viewer in VIEWERS.items() if may_see(viewer, resource)} == seers


def test_a_role_in_another_league_gives_no_access() -> None:
    elsewhere = Viewer(user_id=UserId("u"), roles={LeagueId("lea_y"): LeagueRole.HOST})
    assert not may_see(elsewhere, PRIVATE)


def test_only_competitors_enter_agents_in_a_private_league() -> None:
    public, private = league(), PRIVATE
    assert permissions.may_enter(VIEWERS["outsider"], public, TeamId("tea_other"))
    assert not permissions.may_enter(VIEWERS["outsider"], private, TeamId("tea_other"))
    assert permissions.may_enter(VIEWERS["owner"], private, OWN)
    assert not permissions.may_enter(VIEWERS["owner"], public, RIVAL)
    assert not permissions.may_enter(VIEWERS["admin"], public, OWN)


def test_only_hosts_and_admins_run_a_league() -> None:
    assert {n for n, v in VIEWERS.items() if permissions.may_manage(v, league())} == HOSTS
    appointing = {n for n, v in VIEWERS.items() if permissions.may_appoint(v, LEAGUE)}
    assert appointing == HOSTS - {"cohost"}


def test_graders_and_commentators_enter_no_agents() -> None:
    for role in LeagueRole:
        person = member("person", OWN, role)
        competes = role not in (LeagueRole.GRADER, LeagueRole.COMMENTATOR)
        assert permissions.may_enter(person, league(), OWN) is competes
