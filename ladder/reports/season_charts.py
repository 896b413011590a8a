"""Reads what charts draw: standings over time, results by seat, slowest moves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg.rows import class_row

from estimates.intervals import wilson_interval
from ladder.database.db import Connection
from ladder.ids import AgentId, EntryId, MatchId, SeasonId
from ladder.ratings import standing_versions
from ladder.ratings.official.standing import OfficialPlace

MOMENTS: Final = 40
"""Most official standings that a chart draws."""
RESULTS: Final = 2000
"""Newest results of a season whose seats are counted."""
MATCHES: Final = 200
"""Newest matches whose slowest moves a chart draws."""


@dataclass(frozen=True, slots=True)
class StandingMoment:
    """An official standing and the places of the chosen agents in it."""

    version: int
    at: datetime
    places: dict[AgentId, OfficialPlace]
    """The place of the entry that stands for the team, else of the agent's best entry."""


@dataclass(frozen=True, slots=True)
class SeatResults:
    """How the agents in one seat were placed."""

    seat: int
    placements: tuple[int, ...]
    """Number of first places, second places and so on."""

    @property
    def games(self) -> int:
        return sum(self.placements)

    @property
    def mean_placement(self) -> float:
        return sum(place * count for place, count in enumerate(self.placements, 1)) / self.games

    @property
    def wins(self) -> tuple[float, float, float]:
        """Share of first places with its 95 % interval."""
        won = self.placements[0]
        return (won / self.games, *wilson_interval(won, self.games))


@dataclass(frozen=True, slots=True)
class MoveTime:
    """The slowest move of one rated match."""

    match_id: MatchId
    at: datetime
    verdict: str
    slowest_seconds: float
    charged_seconds: float
    """Seconds charged for all moves of the match."""


def standing_history(
    conn: Connection, season_id: SeasonId, agents: Collection[AgentId], most: int = MOMENTS
) -> list[StandingMoment]:
    """The places of these agents in official standings, oldest first, evenly over time."""
    rows = conn.execute(
        """
        select version, made_at from standings where season_id = %s and content is not null
        order by version
        """,
        (season_id,),
    ).fetchall()
    chosen = evenly_in_time([(row[0], row[1]) for row in rows], most)
    owners = {
        EntryId(row[0]): AgentId(row[1])
        for row in conn.execute(
            "select id, agent_id from entries where season_id = %s and agent_id = any (%s)",
            (season_id, list(agents)),
        )
    }
    contents = conn.execute(
        """
        select version, made_at, content from standings where season_id = %s
        and version = any (%s) and content is not null order by version
        """,
        (season_id, chosen),
    )
    found = []
    for version, made_at, content in contents:
        places = standing_versions.places_of_content(content)
        found.append(StandingMoment(version, made_at, _places_of_agents(places, owners)))
    return found


def evenly_in_time(versions: Sequence[tuple[int, datetime]], most: int) -> list[int]:
    """At most ``most`` of these versions, oldest first, with the first and the last. Pure."""
    if len(versions) <= most:
        return [version for version, _ in versions]
    first, last = versions[0][1], versions[-1][1]
    kept = {versions[0][0], versions[-1][0]}
    place = 0
    for step in range(1, most - 1):
        moment = first + (last - first) * step / (most - 1)
        while versions[place + 1][1] <= moment:
            place += 1
        kept.add(versions[place][0])
    return sorted(kept)


def _places_of_agents(
    places: dict[EntryId, OfficialPlace], owners: dict[EntryId, AgentId]
) -> dict[AgentId, OfficialPlace]:
    found: dict[AgentId, OfficialPlace] = {}
    for entry, agent in owners.items():
        place = places.get(entry)
        if place is None:
            continue
        before = found.get(agent)
        if before is None or (place.rank is not None, place.score) > (
            before.rank is not None,
            before.score,
        ):
            found[agent] = place
    return found


def seat_results(conn: Connection, season_id: SeasonId) -> list[SeatResults]:
    """Placements by seat in the newest rated results that stand."""
    counts: dict[int, dict[int, int]] = defaultdict(dict)
    rows = conn.execute(
        """
        select t.seat, t.placement, count(*) from (select match_id from acceptances
          where season_id = %s and act = 'accept' order by no desc limit %s) a
        join seats t on t.match_id = a.match_id where t.placement is not null
        and not exists (select 1 from acceptances w where w.match_id = a.match_id
          and w.act = 'withdraw') group by 1, 2
        """,
        (season_id, RESULTS),
    )
    for seat, placement, count in rows:
        counts[seat][placement] = count
    worst = max((place for places in counts.values() for place in places), default=0)
    return [
        SeatResults(seat, tuple(counts[seat].get(place, 0) for place in range(1, worst + 1)))
        for seat in sorted(counts)
    ]


def move_times(conn: Connection, entry_id: EntryId, most: int = MATCHES) -> list[MoveTime]:
    """The slowest moves of an entry's newest rated matches, oldest first. For its team alone."""
    with conn.cursor(row_factory=class_row(MoveTime)) as cur:
        rows = cur.execute(
            """
            select r.match_id, max(r.created_at) as at, max(t.verdict) as verdict,
            max(t.max_move_seconds) as slowest_seconds,
            sum(t.charged_seconds) as charged_seconds
            from (select match_id, no, created_at from ratings where entry_id = %s
              order by no desc limit %s) r
            join seats t on t.match_id = r.match_id and t.entry_id = %s
            where t.max_move_seconds is not null group by r.match_id order by max(r.no)
            """,
            (entry_id, most, entry_id),
        ).fetchall()
    return rows
