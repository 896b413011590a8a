"""Who sits in a scrim: an agent in a lineup stands for what it plays with now."""

from __future__ import annotations

from ladder.database.db import Connection
from ladder.entries import entries
from ladder.entries.records import Agent, EntryState
from ladder.errors import Conflict
from ladder.ids import SubmissionId
from ladder.leagues.records import Season


def newest_submission(conn: Connection, season: Season, agent: Agent) -> SubmissionId:
    """That of the agent's newest active entry in the season. Raises Conflict."""
    active = entries.list_entries(
        conn, season_id=season.id, agent_id=agent.id, state=EntryState.ACTIVE, limit=1
    )
    if active:
        return active[0].submission_id
    paused = entries.list_entries(
        conn, season_id=season.id, agent_id=agent.id, state=EntryState.PAUSED, limit=1
    )
    if paused:
        raise Conflict(
            f"{agent.name} is paused: its address was away; it plays again once its owner resumes"
            " it or it is found there."
        )
    raise Conflict(f"{agent.name} has no active entry in this season.")
