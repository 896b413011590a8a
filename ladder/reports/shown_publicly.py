"""What a stranger may see of a match, an agent or a league: for pictures, embeds and feeds."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ladder.database.db import Connection
from ladder.entries import agents
from ladder.entries.records import Agent
from ladder.enums import MatchKind, MatchState
from ladder.errors import NotFound
from ladder.ids import AgentId, LeagueId, MatchId
from ladder.leagues import leagues, seasons
from ladder.leagues.records import League, Season, league_resource
from ladder.matches import head_to_head, history
from ladder.matches.head_to_head import Record
from ladder.matches.records import Match
from ladder.people import visibility
from ladder.people.permissions import may_see
from ladder.people.records import STRANGER
from ladder.standings.board_records import BoardRow
from ladder.standings.leaderboard import read_board

LINES: Final = 5
LEAGUES: Final = 3
LOOKED_AT: Final = 20
"""Newest matches among which one with a public replay is sought."""


@dataclass(frozen=True, slots=True)
class PublicMatch:
    """A match whose replay everybody may see."""

    match: Match
    league: League


@dataclass(frozen=True, slots=True)
class PublicPlace:
    """The place of an agent in a league that everybody may see."""

    league: League
    row: BoardRow
    rows: int


@dataclass(frozen=True, slots=True)
class PublicAgent:
    """An agent that played in a league that everybody may see."""

    agent: Agent
    places: Sequence[PublicPlace]
    newest: Match | None


@dataclass(frozen=True, slots=True)
class PublicLeague:
    """A league that everybody may see, with the first rows of its board."""

    league: League
    rows: Sequence[BoardRow]
    newest: Match | None


@dataclass(frozen=True, slots=True)
class PublicComparison:
    """Two agents, and their meetings that everybody may see."""

    agent: Agent
    opponent: Agent
    total: Record
    """Of the first agent."""
    newest: Match | None
    """The newest meeting, if everybody may see its replay."""


def public_match(conn: Connection, match_id: MatchId) -> PublicMatch:
    """Raises NotFound if a stranger may not see the replay of this match."""
    match = history.get_match(conn, match_id, STRANGER)
    if not match.access.has_replay or not match.episodes:
        raise NotFound.of("match")
    return PublicMatch(match, leagues.get_league(conn, match.league_id))


def public_league(conn: Connection, league_id: LeagueId) -> PublicLeague:
    """Raises NotFound if a stranger may not see this league."""
    league = leagues.get_league(conn, league_id)
    if not may_see(STRANGER, league_resource(league)):
        raise NotFound.of("league")
    season = seasons.current_season(conn, league.id)
    if season is None:
        return PublicLeague(league, (), None)
    rows = [row for row in read_board(conn, season.id).rows if row.rank is not None]
    return PublicLeague(league, rows[:LINES], _newest_public(conn, season, None))


def public_agent(conn: Connection, agent_id: AgentId) -> PublicAgent:
    """Raises NotFound if a stranger may not see this agent."""
    agent = _public_agent(conn, agent_id)
    places: list[PublicPlace] = []
    newest = None
    for league_id in agents.leagues_of_agent(conn, agent_id):
        league = leagues.get_league(conn, league_id)
        season = seasons.current_season(conn, league.id)
        if not may_see(STRANGER, league_resource(league)) or season is None:
            continue
        if len(places) == LEAGUES:
            break
        rows = [row for row in read_board(conn, season.id).rows if row.rank is not None]
        own = next((row for row in rows if row.agent_id == agent_id), None)
        if own is not None:
            places.append(PublicPlace(league, own, len(rows)))
        newest = newest or _newest_public(conn, season, agent_id)
    return PublicAgent(agent, places, newest)


def public_comparison(
    conn: Connection, agent_id: AgentId, opponent_id: AgentId
) -> PublicComparison:
    """Raises NotFound if a stranger may not see both agents."""
    agent, opponent = (_public_agent(conn, one) for one in (agent_id, opponent_id))
    found = head_to_head.read_head_to_head(conn, STRANGER, agent.id, opponent.id)
    newest = None
    if found.meetings:
        with contextlib.suppress(NotFound):  # its replay may be hidden
            newest = public_match(conn, found.meetings[0].match_id).match
    return PublicComparison(agent, opponent, found.total, newest)


def _public_agent(conn: Connection, agent_id: AgentId) -> Agent:
    if not visibility.sees_agent(conn, STRANGER, agent_id):
        raise NotFound.of("agent")
    return agents.get_agent(conn, agent_id)


def _newest_public(conn: Connection, season: Season, agent_id: AgentId | None) -> Match | None:
    """The newest rated match of the season whose replay everybody may see."""
    newest = history.list_matches(
        conn,
        viewer=STRANGER,
        season_id=season.id,
        agent_id=agent_id,
        kind=MatchKind.RATED,
        state=MatchState.FINISHED,
        limit=LOOKED_AT,
    )
    return next((match for match in newest if match.episodes and match.access.has_replay), None)
