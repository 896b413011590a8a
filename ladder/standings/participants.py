"""Lists the people of a season for its hosts: who passed validation, and where everybody stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg.rows import class_row

from ladder.database.db import Connection
from ladder.ids import AgentId, LeagueId, SeasonId, TeamId, UserId
from ladder.standings import leaderboard
from ladder.standings.board_records import BoardRow

PEOPLE: Final = """
    with people as (
      select m.user_id from league_members m where m.league_id = %(league)s
        and coalesce(m.duty, m.role) = 'competitor'
      union select c.user_id from season_competitors c where c.season_id = %(season)s),
    listed as (select * from roster where league_id = %(league)s and role = 'competitor')
    select r.external_id, coalesce(r.name, u.name) as name, u.id as user_id, u.name as account,
    t.id as team_id, t.name as team, coalesce(s.submissions, 0) as submissions,
    s.passed_at is not null as has_passed, s.passed_at, s.state, s.games
    from people p full join listed r on r.user_id = p.user_id
    left join users u on u.id = coalesce(p.user_id, r.user_id)
    left join season_competitors c on c.season_id = %(season)s and c.user_id = u.id
    left join teams t on t.id = c.team_id
    left join lateral (select count(*) as submissions, min(e.activated_at) as passed_at,
        (array_agg(case when exists (select 1 from exclusions x where x.season_id = e.season_id
          and x.subject in (e.id, e.agent_id, e.team_id)) then 'disqualified' else e.state end
          order by e.id desc))[1] as state,
        (array_agg(e.games order by e.id desc))[1] as games from entries e
      where e.season_id = %(season)s and e.team_id = c.team_id and not e.is_anchor) s on true
    where %(people)s::text[] is null or u.id = any(%(people)s)
    order by r.external_id nulls last, lower(coalesce(r.name, u.name)), u.id
    """


@dataclass(frozen=True, slots=True)
class _Person:
    external_id: str | None
    name: str
    user_id: UserId | None
    account: str | None
    team_id: TeamId | None
    team: str | None
    submissions: int
    has_passed: bool
    passed_at: datetime | None
    state: str | None
    games: int | None


@dataclass(frozen=True, slots=True)
class Participant:
    """A person whom the roster expects, or who competes. The place is that of the team."""

    external_id: str | None
    """Id from the roster; None for a person who is not in it."""
    name: str
    """Name in the roster, else the account's."""
    user_id: UserId | None
    """None: has not joined yet."""
    account: str | None
    team_id: TeamId | None
    """Team for which the person competes; None before its first entry."""
    team: str | None
    submissions: int
    has_passed: bool
    """Whether a submission of the team passed validation."""
    passed_at: datetime | None
    """When the first one passed."""
    latest_state: str | None
    """State of the newest submission's entry, or ``disqualified``."""
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    score: float | None
    """Official, or live before the first fit; None without a place, or if a match has one seat."""
    medal: str | None
    games: int
    """Games of the entry with the place, else of the newest submission's entry."""


@dataclass(frozen=True, slots=True)
class DisqualifiedTeam:
    """A team without a place, and its newest disqualified entry."""

    team_id: TeamId
    team_name: str
    agent_id: AgentId
    agent_name: str
    games: int


def list_participants(
    conn: Connection,
    league_id: LeagueId,
    season_id: SeasonId,
    people: Sequence[UserId] | None = None,
    rows: Iterable[BoardRow] | None = None,
) -> list[Participant]:
    """Returns people of the roster by external id, then all others by name.

    ``people`` are the only ones to return; None for all. ``rows`` are the rows of the leaderboard
    if the caller has read it.
    """
    if rows is None:
        rows = leaderboard.read_board(conn, season_id).rows
    board = {row.team_id: row for row in rows}
    found = []
    with conn.cursor(row_factory=class_row(_Person)) as cur:
        values = {"league": league_id, "season": season_id, "people": people and list(people)}
        found_people = cur.execute(PEOPLE, values).fetchall()
    for one in found_people:
        row = board.get(one.team_id) if one.team_id is not None else None
        place = row.official if row is not None and row.rank is not None else None
        scored = row if row is not None and row.rank is not None and not row.estimates else None
        found.append(
            Participant(
                external_id=one.external_id,
                name=one.name,
                user_id=one.user_id,
                account=one.account,
                team_id=one.team_id,
                team=one.team,
                submissions=one.submissions,
                has_passed=one.has_passed,
                passed_at=one.passed_at,
                latest_state=one.state,
                rank=row.rank if row else None,
                rank_low=place.rank_low if place else None,
                rank_high=place.rank_high if place else None,
                score=round(scored.score_and_sigma[0], 3) if scored else None,
                medal=row.medal if row else None,
                games=row.games if row else one.games or 0,
            )
        )
    return found


def list_disqualified(
    conn: Connection, season_id: SeasonId, rows: Iterable[BoardRow]
) -> list[DisqualifiedTeam]:
    """Returns the disqualified teams that have none of these rows of the board, by name.

    A team with a later entry, or with one that may still play, is not disqualified.
    """
    with conn.cursor(row_factory=class_row(DisqualifiedTeam)) as cur:
        found = cur.execute(
            """
            select distinct on (e.team_id) e.team_id, t.name as team_name, e.agent_id,
            a.name as agent_name, e.games from entries e join teams t on t.id = e.team_id
            join agents a on a.id = e.agent_id where e.season_id = %s
            and e.disqualified_at is not null and not e.is_anchor and e.team_id <> all (%s)
            and not exists (select 1 from entries o where o.season_id = e.season_id
              and o.team_id = e.team_id and not o.is_anchor and o.disqualified_at is null
              and (o.state in ('pending', 'active', 'paused')
                or o.state = 'retired' and o.id > e.id))
            order by e.team_id, e.id desc
            """,
            (season_id, [row.team_id for row in rows]),
        ).fetchall()
    return sorted(found, key=lambda one: (one.team_name, one.team_id))
