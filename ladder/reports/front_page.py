"""What the home page shows: the best match of today, and what just happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg.rows import class_row

from ladder.database.db import Connection
from ladder.ids import AgentId, EntryId, LeagueId, MatchId, SeasonId
from ladder.people import visibility
from ladder.people.records import Viewer

RECENT: Final = 40
"""Newest matches of each season that are compared."""
UPSET: Final = 1.0
"""Beta: a winner with a live score this far below a loser's is an upset."""
TODAY_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True)
class PlayedMatch:
    """A recent rated match with what makes it worth watching."""

    match_id: MatchId
    season_id: SeasonId
    league: str
    at: datetime
    strength: float
    """Mean live score of its agents before it, in sigma of a newcomer above a newcomer."""
    faults: int
    upset: float
    """How far the winner was below the best loser, in beta; below 0 if it was above."""
    winner_id: AgentId | None
    winner: str | None
    loser_id: AgentId | None
    loser: str | None
    """The strongest agent behind the winner."""


@dataclass(frozen=True, slots=True)
class Newcomer:
    """An entry that passed its validation."""

    entry_id: EntryId
    agent_id: AgentId
    agent_name: str
    team_name: str
    league_id: LeagueId
    league: str
    slug: str
    at: datetime


def recent_matches(conn: Connection, season_ids: Sequence[SeasonId]) -> list[PlayedMatch]:
    """The newest finished rated matches of these seasons. The caller has checked who sees them."""
    with conn.cursor(row_factory=class_row(PlayedMatch)) as cur:
        return cur.execute(
            """
            select m.id as match_id, m.season_id, l.title as league, m.finished_at as at,
            coalesce((r.mean - s.mu0) / s.sigma0, 0) as strength, r.faults::int,
            coalesce((b.mu_before - w.mu_before) / s.beta, -9) as upset,
            w.agent_id as winner_id, w.name as winner, b.agent_id as loser_id, b.name as loser
            from unnest(%s::text[]) as one(id) join seasons s on s.id = one.id
            join leagues l on l.id = s.league_id, lateral (
              select x.id, x.season_id, x.finished_at, x.accepted_no from matches x
               where x.season_id = one.id and x.kind = 'rated' and x.state = 'finished'
               order by x.id desc limit %s) m, lateral (
              select avg(t.mu_before) as mean,
                count(*) filter (where p.verdict <> 'DONE') as faults
                from seats p left join ratings t on t.match_id = m.id and t.no = m.accepted_no
                 and t.entry_id = p.entry_id where p.match_id = m.id) r
            left join lateral (select p.agent_id, a.name, t.mu_before from seats p
              join agents a on a.id = p.agent_id join ratings t on t.match_id = m.id
               and t.no = m.accepted_no and t.entry_id = p.entry_id
              where p.match_id = m.id and p.placement = 1 order by p.seat limit 1) w on true
            left join lateral (select p.agent_id, a.name, t.mu_before from seats p
              join agents a on a.id = p.agent_id join ratings t on t.match_id = m.id
               and t.no = m.accepted_no and t.entry_id = p.entry_id
              where p.match_id = m.id and p.placement > 1 order by t.mu_before desc limit 1) b
              on true order by m.finished_at desc
            """,
            (list(season_ids), RECENT),
        ).fetchall()


def best_match(matches: Sequence[PlayedMatch], now: datetime) -> PlayedMatch | None:
    """The match to watch: of today if there is one, without faults, between strong agents."""
    today = [one for one in matches if (now - one.at).total_seconds() < TODAY_SECONDS]
    return max(
        today or matches,
        key=lambda one: (one.loser is not None, -one.faults, one.strength, one.match_id),
        default=None,
    )


def upsets(matches: Sequence[PlayedMatch], most: int) -> list[PlayedMatch]:
    """The newest matches whose winner had a much lower live score than a loser.

    At most one for each winner and loser.
    """
    found: dict[tuple[AgentId | None, AgentId | None], PlayedMatch] = {}
    for one in matches:
        if one.upset >= UPSET and not one.faults:
            found.setdefault((one.winner_id, one.loser_id), one)
    return list(found.values())[:most]


def newcomers(conn: Connection, viewer: Viewer, most: int) -> list[Newcomer]:
    """Entries of visible leagues that passed their validation last, newest first."""
    seen, values = visibility.visible_leagues(viewer)
    with conn.cursor(row_factory=class_row(Newcomer)) as cur:
        return cur.execute(
            f"""
            select e.id as entry_id, e.agent_id, a.name as agent_name, t.name as team_name,
            l.id as league_id, l.title as league, l.slug, e.activated_at as at
            from entries e join seasons s on s.id = e.season_id
            join leagues l on l.id = s.league_id join agents a on a.id = e.agent_id
            join teams t on t.id = e.team_id
            where e.state = 'active' and not e.is_anchor and {seen}
            and e.activated_at > now() - interval '7 days'
            order by e.activated_at desc limit %s
            """,
            (*values, most),
        ).fetchall()
