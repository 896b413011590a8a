"""Agents that the page of a tournament offers to enter or to invite."""

from __future__ import annotations

from typing import Final

from ladder.database.db import Connection
from ladder.entries import agent_lookup
from ladder.entries.agent_names import AgentName
from ladder.entries.records import Agent
from ladder.people.records import Viewer
from ladder.tournaments import entrants
from ladder.tournaments.records import EntryRule, TournamentState
from ladder.tournaments.views import TournamentView

OFFERED: Final = 200
"""Most names that the form of an invitation offers."""


def agents_to_enter(conn: Connection, who: Viewer, view: TournamentView) -> list[Agent]:
    """The visitor's agents that could enter now."""
    found = view.tournament
    if found.state not in (TournamentState.REGISTRATION, TournamentState.CHECK_IN):
        return []
    return entrants.agents_to_enter(conn, found, who.team_ids)


def anchors_to_add(conn: Connection, view: TournamentView) -> list[Agent]:
    """Reference agents of the season that a host could enter."""
    if not view.is_host or not view.tournament.state.is_before_lock:
        return []
    return entrants.anchors_to_enter(conn, view.tournament)


def agents_to_invite(conn: Connection, who: Viewer, view: TournamentView) -> list[AgentName]:
    """Agents whose names the form of an invitation offers: the newest of the season."""
    rule, state = view.tournament.entry_rule, view.tournament.state
    if not view.is_host or rule != EntryRule.INVITATION or not state.is_before_lock:
        return []
    present = {one.agent_id for one in view.entrants if one.state in ("entered", "invited")}
    seen = agent_lookup.list_season_agents(conn, who, view.tournament.season_id)
    return [one for one in reversed(seen) if one.id not in present][:OFFERED]
