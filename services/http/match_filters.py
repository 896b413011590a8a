"""The filters of match lists, as people write them: the same words in pages, API and commands."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Query
from pydantic import BaseModel, Field, StringConstraints

from ladder.database.db import Connection
from ladder.entries import agents
from ladder.enums import MatchKind, MatchState
from ladder.field_types import LINE, Key
from ladder.ids import AgentId, SubmissionId
from ladder.matches import match_search
from ladder.matches.match_search import MatchFilter, Outcome, SeatVerdict
from ladder.people.records import Viewer
from services.http import permissions

LARGEST_VERSION: Final = 2**31 - 1
NO_SUBMISSION: Final = SubmissionId("none")
"""An id that no submission has."""
AgentName = Annotated[str, StringConstraints(pattern=LINE, max_length=120)]
"""An agent as people write it: id, slug or name; ``team/agent`` names the team too."""
Moment = Annotated[str, StringConstraints(pattern=LINE, max_length=40)]


class MatchQuery(BaseModel):
    """Filters as text: agents by name, a version by its place among those of its agent."""

    season: Annotated[Key | None, Field(description="season id or a league's slug")] = None
    agent: Annotated[
        AgentName | None, Field(description="id, slug or name; TEAM/AGENT also works")
    ] = None
    entry: Key | None = None
    scrim: Key | None = None
    opponent: Annotated[AgentName | None, Field(description="another agent of the match")] = None
    version: Annotated[
        int | None,
        Field(ge=1, le=LARGEST_VERSION, description="`version` of a submission of the agent"),
    ] = None
    outcome: Annotated[
        Outcome | None,
        Field(description="how the match ended for the agent, or against the opponent"),
    ] = None
    verdict: Annotated[SeatVerdict | None, Field(description="verdict of the agent")] = None
    seat: Annotated[int | None, Field(ge=0, le=15, description="seat of the agent, from 0")] = None
    kind: MatchKind | None = None
    state: MatchState | None = None
    since: Annotated[Moment | None, Field(description="a date, or an age such as 12h or 2d")] = None


Filters = Annotated[MatchQuery, Query()]


def resolve_filters(conn: Connection, who: Viewer, given: MatchQuery) -> MatchFilter:
    """The filter, with things that the viewer may see. Raises NotFound, Invalid."""
    agent_id = _named_agent(conn, who, given.agent, "agent")
    entry = permissions.visible_entry(conn, who, given.entry) if given.entry else None
    of_agent = agent_id or (entry.agent_id if entry else None)
    return MatchFilter(
        season_id=permissions.visible_season(conn, who, given.season).id if given.season else None,
        agent_id=agent_id,
        entry_id=entry.id if entry else None,
        scrim_id=permissions.visible_scrim(conn, who, given.scrim).id if given.scrim else None,
        opponent_id=_named_agent(conn, who, given.opponent, "opponent"),
        submission_id=_submission_of(conn, of_agent, given.version) if given.version else None,
        outcome=given.outcome,
        verdict=given.verdict,
        seat=given.seat,
        kind=given.kind,
        state=given.state,
        since=match_search.parse_since(given.since) if given.since else None,
    )


def _submission_of(conn: Connection, agent_id: AgentId | None, version: int) -> SubmissionId:
    """The agent's submission with this version; NO_SUBMISSION if there is none."""
    found = agents.submission_of_version(conn, agent_id, version) if agent_id else None
    return found or NO_SUBMISSION


def _named_agent(conn: Connection, who: Viewer, name: str | None, field: str) -> AgentId | None:
    return agents.find_visible_agent(conn, who, name, field).id if name else None
