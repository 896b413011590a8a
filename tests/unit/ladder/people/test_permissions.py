"""The permissions as a table: resource by viewer."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from ladder.enums import (
    Embargo,
    LeagueRole,
    LogAudience,
    MatchKind,
    ReplayVisibility,
    ScrimAudience,
    Visibility,
)
from ladder.ids import LeagueId, TeamId, UserId
from ladder.people import permissions
from ladder.people.permissions import may_see
from ladder.people.records import STRANGER, Viewer
from ladder.people.resources import (
    EntryResource,
    LeagueResource,
    LiveResource,
    LogResource,
    MatchResource,
    ReplayResource,
    Resource,
    ScrimPrivacy,
    ScrimRequestResource,
    ScrimResource,
    SubmissionResource,
    TeamPrivateResource,
    TeamResource,
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


def league(
    visibility: Visibility = Visibility.PUBLIC,
    replays: ReplayVisibility = ReplayVisibility.PUBLIC,
) -> LeagueResource:
    return LeagueResource(LEAGUE, visibility, replays)


def match(
    kind: MatchKind, seen: LeagueResource, teams: Iterable[TeamId] = (OWN, RIVAL)
) -> MatchResource:
    one = scrim(within=seen) if kind is MatchKind.SCRIM else None
    return MatchResource(kind, seen, frozenset(teams), one)


def scrim(
    within: LeagueResource | None = None,
    results: ScrimAudience = ScrimAudience.ASKER,
    replays: ScrimAudience = ScrimAudience.ASKER,
    logs: LogAudience = LogAudience.OWN,
    *,
    members_only: bool = False,
) -> ScrimResource:
    privacy = ScrimPrivacy(results, replays, logs, members_only)
    return ScrimResource(OWN, frozenset({OWN, RIVAL}), within or league(), privacy)


def scrim_replay(results: ScrimAudience, replays: ScrimAudience) -> ReplayResource:
    one = scrim(league(), results, replays)
    played = MatchResource(MatchKind.SCRIM, league(), frozenset({OWN, RIVAL}), one)
    return ReplayResource(played, True, False)


def replay(
    seen: LeagueResource,
    kind: MatchKind = MatchKind.RATED,
    *,
    finished: bool = True,
    over: bool = False,
) -> ReplayResource:
    teams = (OWN,) if kind is MatchKind.VALIDATION else (OWN, RIVAL)
    return ReplayResource(match(kind, seen, teams), finished, over)


def live(
    seen: LeagueResource,
    kind: MatchKind = MatchKind.RATED,
    *,
    over: bool = False,
    withheld: bool = False,
) -> LiveResource:
    teams = (OWN,) if kind is MatchKind.VALIDATION else (OWN, RIVAL)
    return LiveResource(match(kind, seen, teams), over, withheld)


def live_game(embargo: Embargo) -> LiveResource:
    teams = frozenset({OWN, RIVAL})
    game = MatchResource(MatchKind.TOURNAMENT, league(), teams, None, embargo, teams)
    return LiveResource(game, False, False)


PRIVATE = league(Visibility.PRIVATE)
ASKER, SIDES, ALL = ScrimAudience
LOGS = LogAudience.SIDES
PLAYERS = {"owner", "rival"}
RULES: list[tuple[str, Resource, set[str]]] = [
    ("a public league", league(), EVERYBODY),
    ("a private league", PRIVATE, MEMBERS),
    ("an agent of a public league", TeamResource(OWN, (league(),)), EVERYBODY),
    ("an agent of a private league", TeamResource(OWN, (PRIVATE,)), MEMBERS),
    ("an agent of both", TeamResource(OWN, (PRIVATE, league())), EVERYBODY),
    ("an agent that never played", TeamResource(OWN, ()), {"owner", "admin"}),
    ("an entry on the board", EntryResource(OWN, league(), True), EVERYBODY),
    ("an entry on a private board", EntryResource(OWN, PRIVATE, True), MEMBERS),
    ("a pending entry", EntryResource(OWN, league(), False), GRADED),
    ("a pending entry in private", EntryResource(OWN, PRIVATE, False), GRADED),
    ("a pending entry of a rival", EntryResource(RIVAL, league(), False), {"rival", *HOSTS}),
    ("a submission", SubmissionResource(OWN), {"owner", "admin"}),
    ("a bundle", TeamPrivateResource(OWN), {"owner"}),
    ("a seat's log and reason", LogResource(OWN, LEAGUE), {"owner", "grader"}),
    ("a log of a team that did not agree", LogResource(RIVAL, LEAGUE), {"rival"}),
    ("a log of a scrim", LogResource(OWN, None), {"owner"}),
    ("a log of another league", LogResource(OWN, LeagueId("lea_y")), {"owner"}),
    ("a scrim", scrim(), {"owner", "admin"}),
    ("a request for a scrim", ScrimRequestResource(OWN, RIVAL), {"owner", "rival", "admin"}),
    ("a scrim for both sides", scrim(None, SIDES), {"owner", "rival", "admin"}),
    ("a scrim for the league", scrim(None, ALL), EVERYBODY),
    ("a scrim for a private league", scrim(PRIVATE, ALL), MEMBERS),
    ("a scrim of a league that became public", scrim(None, ALL, members_only=True), MEMBERS),
    ("a hidden replay of a shared scrim", scrim_replay(ALL, ASKER), {"owner", "admin"}),
    ("a replay of a scrim for both sides", scrim_replay(ALL, SIDES), {"owner", "rival", "admin"}),
    ("a replay of a scrim for the league", scrim_replay(ALL, ALL), EVERYBODY),
    ("a replay of a hidden scrim", scrim_replay(ASKER, ALL), {"owner", "admin"}),
    ("a log that sides share", LogResource(OWN, None, scrim(None, ALL, ALL, LOGS)), PLAYERS),
    ("a log that they do not", LogResource(OWN, None, scrim(None, ALL, ALL)), {"owner"}),
    ("a log of a hidden scrim", LogResource(OWN, None, scrim(None, ASKER, ALL, LOGS)), {"owner"}),
    ("a rated match", match(MatchKind.RATED, league()), EVERYBODY),
    ("a rated match in private", match(MatchKind.RATED, PRIVATE), MEMBERS),
    (
        "a validation match",
        match(MatchKind.VALIDATION, league(), (OWN,)),
        GRADED,
    ),
    ("a scrim match", match(MatchKind.SCRIM, league()), {"owner", "admin"}),
    ("a replay", replay(league()), EVERYBODY),
    ("a replay in private", replay(PRIVATE), MEMBERS),
    ("a replay of a match that runs", replay(league(), finished=False), set()),
    ("a replay for members", replay(league(replays=ReplayVisibility.MEMBERS)), MEMBERS),
    (
        "a replay for those who played",
        replay(league(replays=ReplayVisibility.OWN)),
        {"owner", "rival", *HOSTS},
    ),
    (
        "a replay before the close",
        replay(league(replays=ReplayVisibility.AFTER_CLOSE)),
        {"owner", "rival", "commentator", *HOSTS},
    ),
    (
        "a replay after the close",
        replay(league(replays=ReplayVisibility.AFTER_CLOSE), over=True),
        EVERYBODY,
    ),
    (
        "a replay after the close in private",
        replay(league(Visibility.PRIVATE, ReplayVisibility.AFTER_CLOSE), over=True),
        MEMBERS,
    ),
    ("a replay of a validation", replay(league(), MatchKind.VALIDATION), {"owner", "admin"}),
    ("a replay of a scrim", replay(league(), MatchKind.SCRIM), {"owner", "admin"}),
    ("a running match", live(league()), EVERYBODY),
    ("a running match in private", live(PRIVATE), MEMBERS),
    ("a running match for members", live(league(replays=ReplayVisibility.MEMBERS)), MEMBERS),
    (
        "a running match for those who play",
        live(league(replays=ReplayVisibility.OWN)),
        {"owner", "rival", *HOSTS},
    ),
    (
        "a running match before the close",
        live(league(replays=ReplayVisibility.AFTER_CLOSE)),
        {"owner", "rival", *HOSTS},
    ),
    (
        "a running match after the close",
        live(league(replays=ReplayVisibility.AFTER_CLOSE), over=True),
        EVERYBODY,
    ),
    ("a running hidden game of a tournament", live_game(Embargo.HIDDEN), HOSTS),
    ("a running game that its teams see", live_game(Embargo.PARTICIPANTS), PLAYERS | HOSTS),
    ("a running game of a tournament", live_game(Embargo.PUBLIC), EVERYBODY),
    ("a running validation", live(league(), MatchKind.VALIDATION), {"owner", "admin"}),
    ("a running scrim", live(league(), MatchKind.SCRIM), {"owner", "admin"}),
    (
        "a running match that hides something from a remote agent",
        live(league(), withheld=True),
        set(),
    ),
]


@pytest.mark.parametrize(("resource", "seers"), [r[1:] for r in RULES], ids=[r[0] for r in RULES])
def test_each_resource_has_exactly_the_expected_viewers(
    resource: Resource, seers: set[str]
) -> None:
    assert {name for name, viewer in VIEWERS.items() if may_see(viewer, resource)} == seers


def test_a_role_in_another_league_gives_no_access() -> None:
    elsewhere = Viewer(user_id=UserId("u"), roles={LeagueId("lea_y"): LeagueRole.HOST})
    assert not may_see(elsewhere, PRIVATE)
    assert not may_see(elsewhere, EntryResource(OWN, league(), False))


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
