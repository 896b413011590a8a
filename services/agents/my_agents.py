"""The visitor's agents, with every entry by league: state, standing, and what it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ladder.database.db import Connection
from ladder.entries import agents, entries, validations
from ladder.entries.records import Agent, Entry, EntryState
from ladder.ids import SeasonId, TeamId
from ladder.leagues import seasons
from ladder.leagues.records import League, Season
from ladder.people.records import Team, Viewer
from ladder.standings.board_ranking import BoardRows
from ladder.standings.board_records import BoardRow
from ladder.standings.rank_reasons import RankReason, row_of_team, why_no_rank
from services.http.app_state import State

ENTRIES_READ: Final = 100
OLDER_SHOWN: Final = 3
"""Retired and rejected entries of a league that are listed; others are counted."""
OVER: Final = (EntryState.RETIRED, EntryState.REJECTED)


@dataclass(frozen=True, slots=True)
class EntryLine:
    """One entry of an agent in a season."""

    entry: Entry
    row: BoardRow | None
    """Its row on the board, if it stands for its team."""
    reason: RankReason | None
    """Why it has no rank; None if it has one."""
    place: validations.QueuePlace | None
    """Its place in the queue, while it waits for validation."""
    score: float | None
    """Live score. None if a match has one seat, or before the first match."""


@dataclass(frozen=True, slots=True)
class LeagueLines:
    """Entries of an agent in one season, newest first."""

    season: Season
    league: League
    ranked: int
    """Number of ranked teams."""
    standing: BoardRow | None
    """The row of the entry that stands for the team."""
    lines: list[EntryLine]
    older: int
    """Number of further entries that are over."""
    names_other: bool
    """Whether it names the agent with the team's rank: the newest other one that is not over."""


@dataclass(frozen=True, slots=True)
class AgentCard:
    """An agent with its entries by league."""

    agent: Agent
    leagues: list[LeagueLines]


def agent_cards(
    conn: Connection, app_state: State, viewer: Viewer, teams: Sequence[Team]
) -> list[AgentCard]:
    """All agents of the teams with their entries. The agent with the newest upload comes first."""
    own = [
        (agent, entries.list_entries(conn, agent_id=agent.id, limit=ENTRIES_READ))
        for team in teams
        for agent in agents.list_agents(conn, viewer=viewer, team_id=team.id, limit=ENTRIES_READ)
    ]
    own.sort(key=lambda pair: (pair[1][0] if pair[1] else pair[0]).created_at, reverse=True)
    named = set[tuple[SeasonId, TeamId]]()
    return [AgentCard(agent, _lines_by_league(conn, app_state, rows, named)) for agent, rows in own]


def _lines_by_league(
    conn: Connection,
    app_state: State,
    rows: Sequence[Entry],
    named: set[tuple[SeasonId, TeamId]],
) -> list[LeagueLines]:
    """``named`` has the teams whose agent with the rank was named before, by season."""
    entered = seasons.seasons_with_leagues(conn, {entry.season_id for entry in rows})
    leagues = []
    for season, league in sorted(entered, key=lambda pair: pair[0].id, reverse=True):
        its = [entry for entry in rows if entry.season_id == season.id]
        over = [entry for entry in its if entry.state in OVER]
        hidden = {entry.id for entry in over[OLDER_SHOWN:]}
        board = app_state.boards.board(season.id, season.revision)
        standing = row_of_team(board.rows, its[0].team_id)
        key = (season.id, its[0].team_id)
        is_other = standing is not None and standing.agent_id != its[0].agent_id
        is_ranked = standing is not None and standing.rank is not None
        names_other = is_other and is_ranked and len(over) < len(its) and key not in named
        if names_other:
            named.add(key)
        leagues.append(
            LeagueLines(
                season=season,
                league=league,
                ranked=board.rows.ranked,
                standing=standing,
                lines=[
                    _line(conn, entry, season, board.rows)
                    for entry in its
                    if entry.id not in hidden
                ],
                older=len(hidden),
                names_other=names_other,
            )
        )
    return leagues


def _line(conn: Connection, entry: Entry, season: Season, rows: BoardRows) -> EntryLine:
    waits = entry.state in entries.VALIDATED
    return EntryLine(
        entry=entry,
        row=rows.row_of(entry.id),
        reason=why_no_rank(entry, rows),
        place=validations.queue_place_of(conn, entry.id) if waits else None,
        score=entry.mu + season.score_offset if entry.has_score else None,
    )
