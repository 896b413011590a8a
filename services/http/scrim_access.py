"""Finds what a request about scrims names, for the API and the pages."""

from __future__ import annotations

from ladder.database.db import Connection
from ladder.entries import entries
from ladder.entries.records import EntryState
from ladder.errors import NotFound
from ladder.ids import AgentId, TeamId, UserId, is_id
from ladder.leagues import seasons
from ladder.leagues.records import Season
from ladder.people.records import Viewer
from ladder.scrims.batches import NewBatch
from ladder.scrims.policies import ScrimPolicy
from ladder.scrims.request_models import NewBatchBody, NewScrimRequestBody, ScrimPolicyBody
from ladder.scrims.requests import NewScrimRequest, ScrimRequest
from services.http import permissions
from services.http.problems import ProblemError


def policy_of_body(conn: Connection, who: Viewer, body: ScrimPolicyBody) -> ScrimPolicy:
    """The policy with ids of teams that the viewer sees. Raises ProblemError for others."""
    return body.to_policy(
        team_ids(conn, who, "teams", body.teams),
        team_ids(conn, who, "blocked_teams", body.blocked_teams),
    )


def new_request(conn: Connection, who: Viewer, body: NewScrimRequestBody) -> NewScrimRequest:
    """The request that a body describes. Raises NotFound and ProblemError."""
    season, team_id, user_id = find_asker(conn, who, body, body.lineup)
    return NewScrimRequest(
        season=season,
        team_id=team_id,
        user_id=user_id,
        wanted=body.lineup,
        games=body.games,
        seeds=body.seeds,
        privacy=body.privacy.to_privacy(),
        words=body.words,
        expires_hours=body.expires_hours,
    )


def new_batch(conn: Connection, who: Viewer, body: NewBatchBody) -> NewBatch:
    """The batch that a body describes. Raises NotFound and ProblemError."""
    season, team_id, user_id = find_asker(conn, who, body, body.agents)
    return NewBatch(
        season=season,
        team_id=team_id,
        user_id=user_id,
        kind=body.kind,
        keys=body.agents,
        games_each=body.games,
        privacy=body.privacy.to_privacy(),
    )


def find_asker(
    conn: Connection, who: Viewer, body: NewScrimRequestBody | NewBatchBody, keys: list[str]
) -> tuple[Season, TeamId, UserId]:
    """The season, team and person of a body that names these agents. Raises NotFound and
    ProblemError."""
    season = permissions.visible_season(conn, who, body.season)
    team = permissions.team_to_act_for(conn, who, body.team)
    check_agents(conn, who, keys)
    assert who.user_id is not None
    return season, team.id, who.user_id


def check_agents(conn: Connection, who: Viewer, keys: list[str]) -> None:
    """Raises NotFound for an agent that the viewer does not see, or another team's submission."""
    for key in keys:
        if is_id(key, "sub"):
            permissions.visible_submission(conn, who, key)
        else:
            permissions.visible_agent(conn, who, key)


def asked_request(conn: Connection, who: Viewer, key: str) -> ScrimRequest:
    """The request with this id, if the viewer may answer it."""
    found = permissions.visible_scrim_request(conn, who, key)
    if not permissions.may_see_private(who, found.asked_team_id):
        raise ProblemError("forbidden", "Only the team that was asked may answer a request.")
    return found


def season_of_agent(conn: Connection, who: Viewer, agent_id: AgentId, key: str | None) -> Season:
    """The named season, or the newest one in which the agent plays and that the viewer sees."""
    if key is not None:
        return permissions.visible_season(conn, who, key)
    for state in (EntryState.ACTIVE, EntryState.PAUSED, None):
        newest = entries.list_entries(conn, viewer=who, agent_id=agent_id, state=state, limit=1)
        if newest:
            return seasons.get_season(conn, newest[0].season_id)
    raise NotFound("this agent has entered no season")


def team_ids(conn: Connection, who: Viewer, field: str, keys: list[str]) -> frozenset[TeamId]:
    """Ids of visible teams. Raises ProblemError that names the field."""
    found = set()
    for key in keys:
        try:
            found.add(permissions.visible_team(conn, who, key).id)
        except NotFound:
            raise ProblemError("invalid", f"there is no team {key}.", where=field) from None
    return frozenset(found)
