"""Finds things for a viewer and checks permissions with ``ladder.people.permissions``.

What the viewer may not see raises NotFound. What it may see but not change raises a 403 problem.
"""

from __future__ import annotations

from collections.abc import Callable

from ladder.database.db import Connection
from ladder.entries import agents, entries, team_merges
from ladder.entries.records import Agent, Entry, EntryState, Submission
from ladder.entries.team_merges import TeamMerge
from ladder.enums import VoidCause
from ladder.errors import NotFound
from ladder.ids import (
    AgentId,
    ComparisonId,
    EntryId,
    LeagueId,
    MatchId,
    ScrimBatchId,
    ScrimId,
    ScrimRequestId,
    SeasonId,
    SubmissionId,
    TeamId,
    TeamMergeId,
    TournamentId,
    is_id,
)
from ladder.leagues import leagues, records, seasons
from ladder.leagues.records import League, Season
from ladder.matches import history
from ladder.matches import records as matches_records
from ladder.matches.match_titles import ending_text
from ladder.matches.records import Match, Seat
from ladder.people import permissions, resources, users
from ladder.people.records import Team, Viewer
from ladder.people.roles import STAFF, RoleScope, has_scope
from ladder.scrims import batches, comparisons, scrims
from ladder.scrims import requests as scrim_requests
from ladder.scrims.batches import Batch
from ladder.scrims.comparisons import Comparison
from ladder.scrims.requests import ScrimRequest
from ladder.scrims.scrims import Scrim
from ladder.tournaments import tournaments
from ladder.tournaments.records import Tournament, TournamentState
from services.http.problems import ProblemError


def require_visible(who: Viewer, resource: resources.Resource, what: str) -> None:
    """Raises NotFound if the viewer may not see the resource."""
    if not permissions.may_see(who, resource):
        raise NotFound.of(what)


def visible_league(conn: Connection, who: Viewer, key: str) -> League:
    """The league with this id or slug."""
    found = leagues.get_league(conn, key)
    require_visible(who, records.league_resource(found), "league")
    return found


def hosted_league(conn: Connection, who: Viewer, key: str) -> League:
    """The league with this key, if the viewer hosts it."""
    found = visible_league(conn, who, key)
    _require_host(who, found)
    return found


def visible_season(conn: Connection, who: Viewer, key: str) -> Season:
    """The season with this id, or the current season of the league with this slug."""
    return _season_and_league(conn, who, key)[0]


def hosted_season(conn: Connection, who: Viewer, key: str) -> tuple[Season, League]:
    """The season and its league, if the viewer hosts the league."""
    found, its_league = _season_and_league(conn, who, key)
    _require_host(who, its_league)
    return found, its_league


def season_to_enter(conn: Connection, who: Viewer, key: str, team_id: TeamId) -> Season:
    """The season, if the viewer may enter it with this team. 403 if the viewer may only see it."""
    found, its_league = _season_and_league(conn, who, key)
    role = who.roles.get(its_league.id)
    if role in STAFF:
        raise ProblemError(
            "forbidden", f"A {role} does not compete: you are {role} of this league."
        )
    if not permissions.may_enter(who, records.league_resource(its_league), team_id):
        detail = f"Ask the host of {its_league.title} to make you a competitor."
        raise ProblemError("forbidden", detail)
    return found


def visible_team(conn: Connection, who: Viewer, key: str) -> Team:
    """The team with this id or slug."""
    found = users.get_team(conn, key)
    if found.id not in who.team_ids:
        played = _league_resources(conn, agents.leagues_of_team(conn, found.id))
        require_visible(who, resources.TeamResource(found.id, played), "team")
    return found


def require_member_team(conn: Connection, who: Viewer, key: str) -> Team:
    """The team with this id or slug, for its members only. 403 for others."""
    found = visible_team(conn, who, key)
    if not may_see_private(who, found.id):
        raise ProblemError(
            "forbidden", f"Choose a team of yours: you are not a member of {found.name}."
        )
    return found


def may_see_people(conn: Connection, who: Viewer, team: Team) -> bool:
    """Whether the viewer may see who the people of a visible team are."""
    played = _league_resources(conn, agents.leagues_of_team(conn, team.id))
    return permissions.may_see(who, resources.TeamPeopleResource(team.id, played))


def team_for_members_and_admins(conn: Connection, who: Viewer, key: str) -> Team:
    """The team with this id or slug, for its members and administrators. 403 for others."""
    found = visible_team(conn, who, key)
    if not who.is_admin and found.id not in who.team_ids:
        raise ProblemError("forbidden", f"You are not a member of {found.name}.")
    return found


def team_merge_of_member(conn: Connection, who: Viewer, key: str) -> TeamMerge:
    """The open request for a merge, for members of either team and administrators."""
    found = team_merges.get_merge(conn, TeamMergeId(key))
    if not who.is_admin and who.team_ids.isdisjoint((found.team_id, found.into_team_id)):
        raise NotFound.of("merge request")
    return found


def team_to_act_for(conn: Connection, who: Viewer, key: str | None) -> Team:
    """The named team, or else the viewer's only team. 403 if the viewer is not a member."""
    mine = users.teams_of(conn, who.user_id) if who.user_id is not None else []
    if key is not None:
        found = visible_team(conn, who, key)
        if found.id not in who.team_ids:
            raise ProblemError(
                "forbidden", f"Choose a team of yours: you are not a member of {found.name}."
            )
        return found
    if not mine:
        raise ProblemError("forbidden", "Make a team first: you have none.")
    if len(mine) > 1:
        slugs = ", ".join(one.slug for one in mine)
        raise ProblemError("invalid", f"name one of your teams: {slugs}.", where="team")
    return mine[0]


def visible_agent(conn: Connection, who: Viewer, key: str) -> Agent:
    found = agents.get_agent(conn, AgentId(key))
    if not may_see_agent(conn, who, found):
        raise NotFound.of("agent")
    return found


def may_see_agent(conn: Connection, who: Viewer, found: Agent) -> bool:
    """True for members of its team, and for viewers of a league where it played."""
    if found.team_id in who.team_ids:
        return True
    played = _league_resources(conn, agents.leagues_of_agent(conn, found.id))
    return permissions.may_see(who, resources.TeamResource(found.team_id, played))


def own_agent(conn: Connection, who: Viewer, key: str) -> Agent:
    """The agent with this key, if it belongs to the viewer's team."""
    found = visible_agent(conn, who, key)
    if found.team_id not in who.team_ids:
        raise ProblemError(
            "forbidden", f"Choose an agent of yours: {found.name} belongs to another team."
        )
    return found


def visible_submission(conn: Connection, who: Viewer, key: str) -> Submission:
    """The submission with this id or number."""
    wanted = int(key[:18]) if key.isdigit() else SubmissionId(key)
    found = agents.get_submission(conn, wanted)
    require_visible(who, resources.SubmissionResource(found.team_id), "submission")
    return found


def may_see_submissions(who: Viewer, team_id: TeamId) -> bool:
    """Whether the viewer may see the uploads of this team."""
    return permissions.may_see(who, resources.SubmissionResource(team_id))


def own_submission(conn: Connection, who: Viewer, key: str) -> Submission:
    """The submission with this key, if it belongs to the viewer's team."""
    found = visible_submission(conn, who, key)
    if found.team_id not in who.team_ids:
        raise ProblemError("forbidden", "This submission belongs to another team.")
    return found


def visible_entry(conn: Connection, who: Viewer, key: str) -> Entry:
    found = entries.get_entry(conn, EntryId(key))
    if not may_see_entry(conn, who, found):
        raise NotFound.of("entry")
    return found


def own_entry(conn: Connection, who: Viewer, key: str) -> Entry:
    """The entry with this key, if it belongs to the viewer's team."""
    found = visible_entry(conn, who, key)
    if not may_see_private(who, found.team_id):
        raise ProblemError("forbidden", "Only the owner of the agent may do this with its entry.")
    return found


def may_see_entry(conn: Connection, who: Viewer, found: Entry) -> bool:
    """An entry on the leaderboard is as visible as the league. Its team and hosts also see
    others."""
    on_board = found.state is EntryState.ACTIVE or found.activated_at is not None
    (seen,) = _league_resources(conn, [found.league_id])
    return permissions.may_see(who, resources.EntryResource(found.team_id, seen, on_board))


def may_see_private(who: Viewer, team_id: TeamId) -> bool:
    """Whether the viewer may see data that only this team sees."""
    return permissions.may_see(who, resources.TeamPrivateResource(team_id))


def may_see_requester(who: Viewer, team_id: TeamId) -> bool:
    """Whether the viewer, of the team or an administrator, may see which person asked."""
    return permissions.may_see(who, resources.TeamPeopleResource(team_id, ()))


def may_read_logs(who: Viewer, team_id: TeamId, league_id: LeagueId) -> bool:
    """Whether the viewer may read logs and reasons of this team's entries in the league."""
    return permissions.may_see(who, resources.LogResource(team_id, league_id))


def may_read_seat(who: Viewer, match: Match, team_id: TeamId) -> bool:
    """Whether the viewer may read log and reason of this team's seat in the match."""
    league_id = None if match.scrim else match.league_id
    return permissions.may_see(who, resources.LogResource(team_id, league_id, match.scrim))


def seat_ending(who: Viewer, match: Match, seat: Seat) -> str | None:
    """How the match ended for this seat, in a few words, as far as the viewer may read it."""
    return ending_text(match, seat, explains=may_read_seat(who, match, seat.team_id))


def visible_match(conn: Connection, who: Viewer, key: str) -> Match:
    found = history.get_match(conn, MatchId(key))
    if not visible_match_filter(conn, who)(found):
        raise NotFound.of("match")
    return found


def void_reason(who: Viewer, found: Match) -> str | None:
    """Why a match is void. Only hosts of the league see messages of machines."""
    if who.is_admin or has_scope(who.roles.get(found.league_id), RoleScope.MANAGE):
        return found.void_reason
    if found.void_cause is VoidCause.ATTEMPTS_USED_UP:
        return f"{found.attempt} attempts used up"
    return found.void_reason


def visible_match_filter(conn: Connection, who: Viewer) -> Callable[[Match], bool]:
    """Returns a function that says which matches the viewer may see. Reads each league once."""
    known: dict[LeagueId, League] = {}

    def sees(found: Match) -> bool:
        if found.league_id not in known:
            known[found.league_id] = leagues.get_league(conn, found.league_id)
        return permissions.may_see(
            who, matches_records.match_resource(found, known[found.league_id])
        )

    return sees


def visible_replay_filter(conn: Connection, who: Viewer) -> Callable[[Match], bool]:
    """Returns a function that says whose replay the viewer may see. Reads each league and season
    once."""
    known: dict[SeasonId, tuple[League, str]] = {}

    def sees(found: Match) -> bool:
        if found.season_id not in known:
            state = seasons.get_season(conn, found.season_id).state
            known[found.season_id] = (leagues.get_league(conn, found.league_id), state)
        return permissions.may_see(
            who, matches_records.replay_resource(found, *known[found.season_id])
        )

    return sees


def visible_comparison(conn: Connection, who: Viewer, key: str) -> Comparison:
    found = comparisons.get_comparison(conn, ComparisonId(key))
    require_visible(who, comparisons.comparison_resource(found), "comparison")
    return found


def visible_scrim(conn: Connection, who: Viewer, key: str) -> Scrim:
    found = scrims.get_scrim(conn, ScrimId(key))
    fork = history.read_forks(conn, [found.id]).get(found.id)
    continues = None
    if fork is not None:
        its_league = leagues.get_league(conn, found.league_id)
        continues = matches_records.continued_replay(fork, its_league, found.team_id)
    require_visible(who, scrims.scrim_resource(found, continues), "scrim")
    return found


def own_scrim(conn: Connection, who: Viewer, key: str) -> Scrim:
    """The scrim with this id, if the viewer's team requested it."""
    found = visible_scrim(conn, who, key)
    if not may_see_private(who, found.team_id):
        raise ProblemError("forbidden", "Only the team that requested a scrim may cancel it.")
    return found


def visible_scrim_request(conn: Connection, who: Viewer, key: str) -> ScrimRequest:
    """The request for a scrim with this id, for both teams."""
    found = scrim_requests.get_request(conn, ScrimRequestId(key))
    require_visible(who, scrim_requests.request_resource(found), "request")
    return found


def own_scrim_request(conn: Connection, who: Viewer, key: str) -> ScrimRequest:
    """The request for a scrim with this id, if the viewer's team sent it."""
    found = visible_scrim_request(conn, who, key)
    if not may_see_private(who, found.team_id):
        raise ProblemError("forbidden", "Only the team that asked may withdraw a request.")
    return found


def visible_batch(conn: Connection, who: Viewer, key: str) -> Batch:
    """The batch of scrims with this id."""
    found = batches.get_batch(conn, ScrimBatchId(key))
    one, *_ = scrims.list_batch_scrims(conn, found.id)
    require_visible(who, scrims.batch_resource(one), "batch")
    return found


def own_batch(conn: Connection, who: Viewer, key: str) -> Batch:
    """The batch with this id, if it belongs to the viewer's team."""
    found = visible_batch(conn, who, key)
    if not may_see_private(who, found.team_id):
        raise ProblemError("forbidden", "Only the team that started a batch may cancel it.")
    return found


def visible_tournament(conn: Connection, who: Viewer, key: str) -> Tournament:
    """The tournament with this id. Only hosts see a draft."""
    found = tournaments.get_tournament(conn, TournamentId(key))
    resource = records.league_resource(leagues.get_league(conn, found.league_id))
    require_visible(who, resource, "tournament")
    if found.state is TournamentState.DRAFT and not permissions.may_manage(who, resource):
        raise NotFound.of("tournament")
    return found


def hosted_tournament(conn: Connection, who: Viewer, key: str) -> Tournament:
    """The tournament with this id, if the viewer hosts its league."""
    found = visible_tournament(conn, who, key)
    _require_host(who, leagues.get_league(conn, found.league_id))
    return found


def _league_resources(
    conn: Connection, league_ids: list[LeagueId]
) -> tuple[resources.LeagueResource, ...]:
    return tuple(records.league_resource(leagues.get_league(conn, one)) for one in league_ids)


def _require_host(who: Viewer, found: League) -> None:
    if not permissions.may_manage(who, records.league_resource(found)):
        raise ProblemError(
            "forbidden", "Ask a host of the league or an administrator: only they may do this."
        )


def _season_and_league(conn: Connection, who: Viewer, key: str) -> tuple[Season, League]:
    """The season, if the viewer may see it, and its league."""
    if is_id(key, "sea"):
        found, its_league = seasons.get_season_and_league(conn, SeasonId(key))
        require_visible(who, records.league_resource(its_league), "season")
        return found, its_league
    its_league = visible_league(conn, who, key)
    current = seasons.current_season(conn, its_league.id)
    if current is None:
        raise NotFound("this league has no season yet")
    return current, its_league
