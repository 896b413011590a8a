"""Finds things for a viewer and checks permissions with ``ladder.people.permissions``.

What the viewer may not see raises NotFound. What it may see but not change raises a 403 problem.
"""

from __future__ import annotations

from ladder.database.db import Connection
from ladder.entries import agents, entries, team_merges
from ladder.entries.records import Agent, Entry, Submission
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
from ladder.matches.records import Match
from ladder.people import permissions, resources, users, visibility
from ladder.people.records import STAFF, RoleScope, Team, Viewer, has_scope
from ladder.scrims import batches, comparisons, scrims
from ladder.scrims import requests as scrim_requests
from ladder.scrims.batches import Batch
from ladder.scrims.comparisons import Comparison
from ladder.scrims.requests import ScrimRequest
from ladder.scrims.scrims import Scrim
from ladder.tournaments import tournaments
from ladder.tournaments.records import Tournament, TournamentState
from services.http.problems import ProblemError


def require_visible(viewer: Viewer, resource: resources.Resource, what: str) -> None:
    """Raises NotFound if the viewer may not see the resource."""
    if not permissions.may_see(viewer, resource):
        raise NotFound.of(what)


def visible_league(conn: Connection, viewer: Viewer, key: str) -> League:
    """The league with this id or slug."""
    league = leagues.get_league(conn, key)
    require_visible(viewer, records.league_resource(league), "league")
    return league


def hosted_league(conn: Connection, viewer: Viewer, key: str) -> League:
    """The league with this key, if the viewer hosts it."""
    league = visible_league(conn, viewer, key)
    _require_host(viewer, league)
    return league


def visible_season(conn: Connection, viewer: Viewer, key: str) -> Season:
    """The season with this id, or the current season of the league with this slug."""
    return _season_and_league(conn, viewer, key)[0]


def hosted_season(conn: Connection, viewer: Viewer, key: str) -> tuple[Season, League]:
    """The season and its league, if the viewer hosts the league."""
    season, league = _season_and_league(conn, viewer, key)
    _require_host(viewer, league)
    return season, league


def season_to_enter(conn: Connection, viewer: Viewer, key: str, team_id: TeamId) -> Season:
    """The season, if the viewer may enter it with this team. 403 if the viewer may only see it."""
    season, league = _season_and_league(conn, viewer, key)
    role = viewer.roles.get(league.id)
    if role in STAFF:
        raise ProblemError(
            "forbidden", f"A {role} does not compete: you are {role} of this league."
        )
    if not permissions.may_enter(viewer, records.league_resource(league), team_id):
        detail = f"Ask the host of {league.title} to make you a competitor."
        raise ProblemError("forbidden", detail)
    return season


def visible_team(conn: Connection, viewer: Viewer, key: str) -> Team:
    """The team with this id or slug."""
    team = users.get_team(conn, key)
    if team.id not in viewer.team_ids and not visibility.sees_team(conn, viewer, team.id):
        raise NotFound.of("team")
    return team


def require_member_team(conn: Connection, viewer: Viewer, key: str) -> Team:
    """The team with this id or slug, for its members only. 403 for others."""
    team = visible_team(conn, viewer, key)
    if not may_see_private(viewer, team.id):
        raise ProblemError(
            "forbidden", f"Choose a team of yours: you are not a member of {team.name}."
        )
    return team


def may_see_people(conn: Connection, viewer: Viewer, team: Team) -> bool:
    """Whether the viewer may see who the people of a visible team are: the team, hosts of a league
    in which it has played, and administrators."""
    if viewer.is_admin or team.id in viewer.team_ids:
        return True
    played = agents.leagues_of_team(conn, team.id)
    return any(has_scope(viewer.roles.get(league_id), RoleScope.MANAGE) for league_id in played)


def team_for_members_and_admins(conn: Connection, viewer: Viewer, key: str) -> Team:
    """The team with this id or slug, for its members and administrators. 403 for others."""
    team = visible_team(conn, viewer, key)
    if not viewer.is_admin and team.id not in viewer.team_ids:
        raise ProblemError("forbidden", f"You are not a member of {team.name}.")
    return team


def team_merge_of_member(conn: Connection, viewer: Viewer, key: str) -> TeamMerge:
    """The open request for a merge, for members of either team and administrators."""
    merge = team_merges.get_merge(conn, TeamMergeId(key))
    if not viewer.is_admin and viewer.team_ids.isdisjoint((merge.team_id, merge.into_team_id)):
        raise NotFound.of("merge request")
    return merge


def team_to_act_for(conn: Connection, viewer: Viewer, key: str | None) -> Team:
    """The named team, or else the viewer's only team. 403 if the viewer is not a member."""
    mine = users.teams_of(conn, viewer.user_id) if viewer.user_id is not None else []
    if key is not None:
        team = visible_team(conn, viewer, key)
        if team.id not in viewer.team_ids:
            raise ProblemError(
                "forbidden", f"Choose a team of yours: you are not a member of {team.name}."
            )
        return team
    if not mine:
        raise ProblemError("forbidden", "Make a team first: you have none.")
    if len(mine) > 1:
        slugs = ", ".join(team.slug for team in mine)
        raise ProblemError("invalid", f"name one of your teams: {slugs}.", where="team")
    return mine[0]


def visible_agent(conn: Connection, viewer: Viewer, key: str) -> Agent:
    agent = agents.get_agent(conn, AgentId(key))
    if agent.team_id not in viewer.team_ids and not visibility.sees_agent(conn, viewer, agent.id):
        raise NotFound.of("agent")
    return agent


def own_agent(conn: Connection, viewer: Viewer, key: str) -> Agent:
    """The agent with this key, if it belongs to the viewer's team."""
    agent = visible_agent(conn, viewer, key)
    if agent.team_id not in viewer.team_ids:
        raise ProblemError(
            "forbidden", f"Choose an agent of yours: {agent.name} belongs to another team."
        )
    return agent


def visible_submission(conn: Connection, viewer: Viewer, key: str) -> Submission:
    """The submission with this id or number."""
    submission = agents.get_submission(conn, int(key[:18]) if key.isdigit() else SubmissionId(key))
    require_visible(viewer, resources.SubmissionResource(submission.team_id), "submission")
    return submission


def may_see_submissions(viewer: Viewer, team_id: TeamId) -> bool:
    """Whether the viewer may see the uploads of this team."""
    return permissions.may_see(viewer, resources.SubmissionResource(team_id))


def own_submission(conn: Connection, viewer: Viewer, key: str) -> Submission:
    """The submission with this key, if it belongs to the viewer's team."""
    submission = visible_submission(conn, viewer, key)
    if submission.team_id not in viewer.team_ids:
        raise ProblemError("forbidden", "This submission belongs to another team.")
    return submission


def visible_entry(conn: Connection, viewer: Viewer, key: str) -> Entry:
    entry = entries.get_entry(conn, EntryId(key))
    if entry.team_id not in viewer.team_ids and not visibility.sees_entry(conn, viewer, entry.id):
        raise NotFound.of("entry")
    return entry


def own_entry(conn: Connection, viewer: Viewer, key: str) -> Entry:
    """The entry with this key, if it belongs to the viewer's team."""
    entry = visible_entry(conn, viewer, key)
    if not may_see_private(viewer, entry.team_id):
        raise ProblemError("forbidden", "Only the owner of the agent may do this with its entry.")
    return entry


def may_see_private(viewer: Viewer, team_id: TeamId) -> bool:
    """Whether the viewer may see data that only this team sees."""
    return permissions.may_see(viewer, resources.TeamPrivateResource(team_id))


def may_see_requester(viewer: Viewer, team_id: TeamId) -> bool:
    """Whether the viewer, of the team or an administrator, may see which person asked."""
    return viewer.is_admin or team_id in viewer.team_ids


def may_read_logs(viewer: Viewer, team_id: TeamId, league_id: LeagueId) -> bool:
    """Whether the viewer may read logs and reasons of this team's entries in the league."""
    return permissions.may_see(viewer, resources.LogResource(team_id, league_id))


def visible_match(conn: Connection, viewer: Viewer, key: str) -> Match:
    return history.get_match(conn, MatchId(key), viewer)


def void_reason(viewer: Viewer, match: Match) -> str | None:
    """Why a match is void. Only hosts of the league see messages of machines."""
    if viewer.is_admin or has_scope(viewer.roles.get(match.league_id), RoleScope.MANAGE):
        return match.void_reason
    if match.void_cause is VoidCause.ATTEMPTS_USED_UP:
        return f"{match.attempt} attempts used up"
    return None if match.void_cause is None else match.void_reason


def visible_comparison(conn: Connection, viewer: Viewer, key: str) -> Comparison:
    comparison = comparisons.get_comparison(conn, ComparisonId(key))
    require_visible(viewer, comparisons.comparison_resource(comparison), "comparison")
    return comparison


def visible_scrim(conn: Connection, viewer: Viewer, key: str) -> Scrim:
    scrim = scrims.get_scrim(conn, ScrimId(key))
    if not visibility.sees_scrim(conn, viewer, scrim.id):
        raise NotFound.of("scrim")
    return scrim


def own_scrim(conn: Connection, viewer: Viewer, key: str) -> Scrim:
    """The scrim with this id, if the viewer's team requested it."""
    scrim = visible_scrim(conn, viewer, key)
    if not may_see_private(viewer, scrim.team_id):
        raise ProblemError("forbidden", "Only the team that requested a scrim may cancel it.")
    return scrim


def visible_scrim_request(conn: Connection, viewer: Viewer, key: str) -> ScrimRequest:
    """The request for a scrim with this id, for both teams."""
    request = scrim_requests.get_request(conn, ScrimRequestId(key))
    require_visible(viewer, scrim_requests.request_resource(request), "request")
    return request


def own_scrim_request(conn: Connection, viewer: Viewer, key: str) -> ScrimRequest:
    """The request for a scrim with this id, if the viewer's team sent it."""
    request = visible_scrim_request(conn, viewer, key)
    if not may_see_private(viewer, request.team_id):
        raise ProblemError("forbidden", "Only the team that asked may withdraw a request.")
    return request


def visible_batch(conn: Connection, viewer: Viewer, key: str) -> Batch:
    """The batch of scrims with this id."""
    batch = batches.get_batch(conn, ScrimBatchId(key))
    if not visibility.sees_batch(conn, viewer, batch.id):
        raise NotFound.of("batch")
    return batch


def own_batch(conn: Connection, viewer: Viewer, key: str) -> Batch:
    """The batch with this id, if it belongs to the viewer's team."""
    batch = visible_batch(conn, viewer, key)
    if not may_see_private(viewer, batch.team_id):
        raise ProblemError("forbidden", "Only the team that started a batch may cancel it.")
    return batch


def visible_tournament(conn: Connection, viewer: Viewer, key: str) -> Tournament:
    """The tournament with this id. Only hosts see a draft."""
    tournament = tournaments.get_tournament(conn, TournamentId(key))
    resource = records.league_resource(leagues.get_league(conn, tournament.league_id))
    require_visible(viewer, resource, "tournament")
    if tournament.state is TournamentState.DRAFT and not permissions.may_manage(viewer, resource):
        raise NotFound.of("tournament")
    return tournament


def hosted_tournament(conn: Connection, viewer: Viewer, key: str) -> Tournament:
    """The tournament with this id, if the viewer hosts its league."""
    tournament = visible_tournament(conn, viewer, key)
    _require_host(viewer, leagues.get_league(conn, tournament.league_id))
    return tournament


def _require_host(viewer: Viewer, league: League) -> None:
    if not permissions.may_manage(viewer, records.league_resource(league)):
        raise ProblemError(
            "forbidden", "Ask a host of the league or an administrator: only they may do this."
        )


def _season_and_league(conn: Connection, viewer: Viewer, key: str) -> tuple[Season, League]:
    """The season, if the viewer may see it, and its league."""
    if is_id(key, "sea"):
        season, league = seasons.get_season_and_league(conn, SeasonId(key))
        require_visible(viewer, records.league_resource(league), "season")
        return season, league
    league = visible_league(conn, viewer, key)
    current = seasons.current_season(conn, league.id)
    if current is None:
        raise NotFound("this league has no season yet")
    return current, league
