"""Resolves an agent in a scrim's lineup to its current submission."""

from __future__ import annotations

from ladder.database.db import Connection
from ladder.entries import entries
from ladder.entries.records import Agent, EntryState
from ladder.errors import Conflict
from ladder.ids import SubmissionId
from ladder.leagues.records import Season
from ladder.scrims import agent_policies


def newest_submission(conn: Connection, season: Season, agent: Agent) -> SubmissionId:
    """Returns the submission of the agent's newest active entry in the season. Raises Conflict."""
    active = entries.list_entries(
        conn, season_id=season.id, agent_id=agent.id, state=EntryState.ACTIVE, limit=1
    )
    if active:
        return active[0].submission_id
    paused = entries.list_entries(
        conn, season_id=season.id, agent_id=agent.id, state=EntryState.PAUSED, limit=1
    )
    if paused and paused[0].pause_cause is not None:
        raise Conflict(f"{agent.name}: {agent_policies.PAUSED[paused[0].pause_cause]}")
    raise Conflict(
        f"{agent.name} has no active entry in this season. Name a submission instead;"
        f" `peck submissions --agent {agent.slug}` lists yours."
    )
