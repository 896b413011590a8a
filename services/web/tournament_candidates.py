"""Agents that the page of a tournament offers to enter or to invite."""

from __future__ import annotations

from typing import Final

from ladder.database.db import Connection
from ladder.entries import agent_names
from ladder.entries.agent_names import OfferedName
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


def agents_to_invite(conn: Connection, who: Viewer, view: TournamentView) -> list[OfferedName]:
    """Names that the form of an invitation offers: those of the newest agents of the season."""
    rule, state = view.tournament.entry_rule, view.tournament.state
    if not view.is_host or rule != EntryRule.INVITATION or not state.is_before_lock:
        return []
    found = entrants.agents_to_invite(conn, who, view.tournament, OFFERED)
    return agent_names.offer_names(conn, found)
