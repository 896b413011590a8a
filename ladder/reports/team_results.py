"""Reads a team's recent rated matches, and how it did against other teams.

Every query is bounded: the newest matches of each agent. Only matches that the viewer may see
count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from psycopg.rows import class_row
from pydantic import computed_field

from ladder.database.db import Connection
from ladder.field_types import RECORD
from ladder.ids import MatchId, TeamId
from ladder.matches import history
from ladder.matches.records import Match
from ladder.people import visibility
from ladder.people.records import Viewer

MATCHES: Final = 300
"""Newest matches of each agent that are read."""
OPPONENTS: Final = 20
PLAYED: Final = f"""
    select distinct n.match_id from agents a cross join lateral (
      select v.match_id from seats v where v.agent_id = a.id
      order by v.match_id desc limit {MATCHES}
    ) n
    where a.team_id = %s
    """


@dataclass(frozen=True, slots=True)
class TeamRecord:
    """Results against one other team. Each match counts once, by the best seat of each team."""

    __pydantic_config__ = RECORD
    team_id: TeamId
    team_name: str
    games: int
    wins: int
    losses: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def ties(self) -> int:
        return self.games - self.wins - self.losses


def recent_matches(conn: Connection, viewer: Viewer, team_id: TeamId, limit: int) -> list[Match]:
    """The newest finished rated matches of the team's agents, newest first."""
    seen, values = visibility.visible_matches(viewer)
    rows = conn.execute(
        f"""
        select m.id from ({PLAYED}) p join matches m on m.id = p.match_id
        join seasons s on s.id = m.season_id left join scrims c on c.id = m.scrim_id
        where m.kind = 'rated' and m.state = 'finished' and {seen} order by m.id desc limit %s
        """,
        (team_id, *values, limit),
    )
    return history.get_matches(conn, [MatchId(row[0]) for row in rows.fetchall()], viewer)


def head_to_heads(conn: Connection, viewer: Viewer, team_id: TeamId) -> list[TeamRecord]:
    """Results against the teams that it met most often, over its agents' newest matches."""
    seen, values = visibility.visible_matches(viewer)
    with conn.cursor(row_factory=class_row(TeamRecord)) as cur:
        return cur.execute(
            f"""
            with results as (select p.match_id, v.team_id, min(v.placement) as place,
              bool_or(v.agent_id in (select id from agents where team_id = %s)) as is_own
             from ({PLAYED}) p join matches m on m.id = p.match_id
              join seasons s on s.id = m.season_id left join scrims c on c.id = m.scrim_id
              join seats v on v.match_id = m.id
             where m.kind = 'rated' and m.state = 'finished' and {seen}
              and not exists (select 1 from acceptances w where w.match_id = m.id
                and w.act = 'withdraw') group by 1, 2)
            select t.id as team_id, t.name as team_name, count(*) as games,
            count(*) filter (where own.place < other.place) as wins,
            count(*) filter (where own.place > other.place) as losses
            from results own join results other on other.match_id = own.match_id
              and own.is_own and not other.is_own join teams t on t.id = other.team_id
            group by t.id order by count(*) desc, t.id limit %s
            """,
            (team_id, team_id, *values, OPPONENTS),
        ).fetchall()
