"""The scrims, requests and batches in addresses, and what a request about scrims names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends

from ladder.database.db import Connection
from ladder.entries.records import Agent
from ladder.enums import MatchState
from ladder.errors import NotFound
from ladder.ids import SubmissionId, TeamId, is_id
from ladder.leagues.records import Season
from ladder.matches.records import Match
from ladder.people.records import Viewer
from ladder.scrims.batches import Batch
from ladder.scrims.requests import ScrimRequest
from ladder.scrims.scrims import Asker, Scrim, newest_submission
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Anyone
from services.http.path_parameters import (
    AgentKey,
    BatchKey,
    MatchKey,
    ScrimKey,
    ScrimRequestKey,
    SeasonKey,
)
from services.http.problems import ProblemError


def visible_scrim(scrim: ScrimKey, conn: Db, viewer: Anyone) -> Scrim:
    return permissions.visible_scrim(conn, viewer, scrim)


def own_scrim(scrim: ScrimKey, conn: Db, viewer: Anyone) -> Scrim:
    return permissions.own_scrim(conn, viewer, scrim)


def visible_request(request: ScrimRequestKey, conn: Db, viewer: Anyone) -> ScrimRequest:
    return permissions.visible_scrim_request(conn, viewer, request)


def own_request(request: ScrimRequestKey, conn: Db, viewer: Anyone) -> ScrimRequest:
    return permissions.own_scrim_request(conn, viewer, request)


def asked_request(request: ScrimRequestKey, conn: Db, viewer: Anyone) -> ScrimRequest:
    scrim_request = permissions.visible_scrim_request(conn, viewer, request)
    if not permissions.may_see_private(viewer, scrim_request.asked_team_id):
        raise ProblemError("forbidden", "Only the team that was asked may answer a request.")
    return scrim_request


def visible_batch(batch: BatchKey, conn: Db, viewer: Anyone) -> Batch:
    return permissions.visible_batch(conn, viewer, batch)


def own_batch(batch: BatchKey, conn: Db, viewer: Anyone) -> Batch:
    return permissions.own_batch(conn, viewer, batch)


def own_agent(agent: AgentKey, conn: Db, viewer: Anyone) -> Agent:
    return permissions.own_agent(conn, viewer, agent)


def visible_season(season: SeasonKey, conn: Db, viewer: Anyone) -> Season:
    return permissions.visible_season(conn, viewer, season)


def forkable_match(match: MatchKey, conn: Db, viewer: Anyone) -> Match:
    recorded = permissions.visible_match(conn, viewer, match)
    if not recorded.access.has_replay:
        if recorded.state is not MatchState.FINISHED:
            raise ProblemError(
                "conflict", f"Wait for the end of the match; it is {recorded.state}."
            )
        raise ProblemError("forbidden", "This league does not show you this replay, or not yet.")
    permissions.visible_season(conn, viewer, recorded.season_id)  # whose open agents may be used
    return recorded


VisibleScrim = Annotated[Scrim, Depends(visible_scrim)]
OwnScrim = Annotated[Scrim, Depends(own_scrim)]
"""A scrim that the viewer's team requested."""
VisibleRequest = Annotated[ScrimRequest, Depends(visible_request)]
OwnRequest = Annotated[ScrimRequest, Depends(own_request)]
"""A request that the viewer's team sent."""
AskedRequest = Annotated[ScrimRequest, Depends(asked_request)]
"""A request that the viewer may answer."""
VisibleBatch = Annotated[Batch, Depends(visible_batch)]
OwnBatch = Annotated[Batch, Depends(own_batch)]
"""A batch that the viewer's team started."""
OwnAgent = Annotated[Agent, Depends(own_agent)]
VisibleSeason = Annotated[Season, Depends(visible_season)]
ForkableMatch = Annotated[Match, Depends(forkable_match)]
"""A finished match whose replay the viewer may see."""


def find_asker(conn: Connection, viewer: Viewer, season: str, team: str | None) -> Asker:
    """The season and the team that a request names. Raises NotFound and ProblemError."""
    assert viewer.user_id is not None
    return Asker(
        permissions.visible_season(conn, viewer, season),
        permissions.team_to_act_for(conn, viewer, team).id,
        viewer.user_id,
    )


def teams_of_filter(conn: Connection, viewer: Viewer, team: str | None) -> list[TeamId]:
    """The named team of the viewer, or all of them."""
    if team is None:
        return sorted(viewer.team_ids)
    return [permissions.team_to_act_for(conn, viewer, team).id]


def submission_of_key(conn: Connection, viewer: Viewer, season: Season, key: str) -> SubmissionId:
    """A submission by its id. An agent id means its newest active entry in the season."""
    if is_id(key, "sub"):
        return SubmissionId(key)
    return newest_submission(conn, season, permissions.visible_agent(conn, viewer, key))


def check_agents(conn: Connection, viewer: Viewer, keys: Sequence[str]) -> None:
    """Raises NotFound for an agent that the viewer does not see, or another team's submission."""
    for key in keys:
        if is_id(key, "sub"):
            permissions.visible_submission(conn, viewer, key)
        else:
            permissions.visible_agent(conn, viewer, key)


def ids_of_teams(conn: Connection, viewer: Viewer, field: str, keys: Sequence[str]) -> list[str]:
    """Ids of visible teams. Raises ProblemError that names the field."""
    team_ids = set()
    for key in keys:
        try:
            team_ids.add(permissions.visible_team(conn, viewer, key).id)
        except NotFound:
            raise ProblemError("invalid", f"there is no team {key}.", where=field) from None
    return sorted(team_ids)
