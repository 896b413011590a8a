"""Running matches: which ones are played now, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.rows import dict_row

from ladder.database.db import Connection
from ladder.enums import MatchState
from ladder.ids import AgentId, LeagueId, MatchId
from ladder.matches import history
from ladder.matches.records import Match
from ladder.people import visibility
from ladder.people.records import STRANGER, Viewer


@dataclass(frozen=True, slots=True)
class LiveState:
    """What may change of a match while people watch it."""

    state: MatchState
    attempt: int
    delay_seconds: int
    is_public: bool
    """Whether everybody may watch it."""


def live_states(
    conn: Connection, match_ids: Sequence[MatchId], open_games: Sequence[str]
) -> dict[MatchId, LiveState]:
    """The present state of these matches. Unknown ids are left out.

    ``open_games`` are the games whose frames show no more than an agent sees.
    """
    seen, values = visibility.watchable_matches(STRANGER, open_games)
    with conn.cursor(row_factory=dict_row) as cur:
        rows = cur.execute(
            f"""
            select m.id, m.state, m.attempt, l.live_delay_seconds as delay_seconds,
              {seen} as is_public {history.ACCESS} true
            """,
            (*values, list(match_ids)),
        ).fetchall()
    return {
        MatchId(row.pop("id")): LiveState(**row | {"state": MatchState(row["state"])})
        for row in rows
    }


def list_running(
    conn: Connection,
    viewer: Viewer,
    open_games: Sequence[str],
    *,
    league_id: LeagueId | None = None,
    agent_id: AgentId | None = None,
    limit: int = 6,
) -> list[Match]:
    """The newest matches of leagues that are played now and that the viewer may watch."""
    seen, values = visibility.watchable_matches(viewer, open_games)
    rows = conn.execute(
        f"""
        select m.id from matches m
          join seasons s on s.id = m.season_id join leagues l on l.id = s.league_id
          left join scrims c on c.id = m.scrim_id
        where m.state = 'running' and m.kind in ('rated', 'tournament')
          and (%s::text is null or s.league_id = %s)
          and (%s::text is null or exists (
            select 1 from seats t where t.match_id = m.id and t.agent_id = %s
          ))
          and {seen}
        order by m.claimed_at desc limit %s
        """,
        (league_id, league_id, agent_id, agent_id, *values, limit),
    ).fetchall()
    found = history.get_matches(conn, [row[0] for row in rows], viewer)
    return [match for match in found if match.state is MatchState.RUNNING]


def count_waiting(
    conn: Connection,
    viewer: Viewer,
    *,
    league_id: LeagueId | None = None,
    agent_id: AgentId | None = None,
) -> int:
    """Number of queued matches of leagues and tournaments that the viewer may see.

    Rated matches of an agent count only for its team: others must not learn who plays next.
    """
    seen, values = visibility.visible_matches(viewer)
    open_to, open_values = visibility.visible_leagues(viewer)
    row = conn.execute(
        f"""
        select count(*) from matches m join seasons s on s.id = m.season_id
        join leagues l on l.id = s.league_id left join scrims c on c.id = m.scrim_id
        where m.state = 'queued' and (%s::text is null or s.league_id = %s)
        and (%s::text is null or exists (select 1 from seats t where t.match_id = m.id
          and t.agent_id = %s and (m.kind <> 'rated' or t.team_id = any (%s))))
        and (m.kind = 'rated' and {open_to} or m.kind = 'tournament' and {seen})
        """,
        (
            *(league_id, league_id, agent_id, agent_id, list(viewer.team_ids)),
            *(*open_values, *values),
        ),
    ).fetchone()
    assert row is not None
    return int(row[0])


def is_every_slot_busy(conn: Connection) -> bool:
    """Whether matches of all kinds play in all slots of the live workers."""
    row = conn.execute(
        """
        select (select count(*) from matches where state = 'running') >=
        (select sum(slots) from workers where live_until > now())
        """
    ).fetchone()
    assert row is not None
    return bool(row[0])
