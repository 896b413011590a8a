"""Compares two agents by the matches in which they met."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import computed_field

from estimates.intervals import wilson_interval
from ladder.database.db import Connection
from ladder.enums import MatchKind
from ladder.errors import Invalid
from ladder.field_types import RECORD
from ladder.ids import AgentId, MatchId
from ladder.people import visibility
from ladder.people.records import Viewer

MEETINGS: Final = 2000
"""Newest meetings that are counted."""
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Meeting:
    """A finished match in which both agents had a seat."""

    match_id: MatchId
    seat: int
    """Seat of the first agent, from 0."""
    other_seat: int
    number: int
    """Number of the first agent's submission."""
    other_number: int
    won: float
    """1 if the first agent was placed better, 0 if worse, one half for a tie."""


@dataclass(frozen=True, slots=True)
class Record:
    """Results of the first agent against the second, by placement."""

    __pydantic_config__ = RECORD
    games: int
    won: int
    tied: int
    lost: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def share(self) -> float | None:
        """Share of games won; a tie counts half. Null without games."""
        return (self.won + self.tied / 2) / self.games if self.games else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def low(self) -> float | None:
        """Lower end of the share's 95 % interval."""
        return self.interval[0] if self.interval else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def high(self) -> float | None:
        return self.interval[1] if self.interval else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the share. None without games."""
        if not self.games:
            return None
        return wilson_interval(self.won + self.tied / 2, self.games)


@dataclass(frozen=True, slots=True)
class HeadToHead:
    """All meetings of two agents, in total and in parts."""

    total: Record
    by_seat: dict[int, Record]
    """By the seat in which the first agent started."""
    by_seats: dict[tuple[int, int], Record]
    """By the seats in which both started, the first agent's first."""
    by_submission: dict[tuple[int, int], Record]
    """By the numbers of both submissions, newest first."""
    meetings: tuple[Meeting, ...]
    """Newest first."""


def read_head_to_head(
    conn: Connection,
    viewer: Viewer,
    agent_id: AgentId,
    opponent_id: AgentId,
) -> HeadToHead:
    """The newest rated meetings of two agents, as far as the viewer may see them.

    Raises Invalid if both are the same.
    """
    if agent_id == opponent_id:
        raise Invalid("opponent", "choose two different agents")
    seen, values = visibility.visible_matches(viewer)
    rows = conn.execute(
        f"""
        select t.match_id, t.seat, o.seat, a.number, b.number, t.placement, o.placement
        from meetings p join seats t on t.match_id = p.match_id
        join seats o on o.match_id = t.match_id and o.seat <> t.seat
        join matches m on m.id = t.match_id join seasons s on s.id = m.season_id
        left join scrims c on c.id = m.scrim_id
        join submissions a on a.id = t.submission_id join submissions b on b.id = o.submission_id
        where p.pair = pair_of(%s, %s) and t.agent_id = %s and o.agent_id = %s
        and m.kind = '{MatchKind.RATED}'
        and m.state = 'finished' and {seen} and not exists (select 1 from acceptances w
        where w.match_id = t.match_id and w.act = 'withdraw') order by t.match_id desc limit %s
        """,
        (agent_id, opponent_id, agent_id, opponent_id, *values, MEETINGS),
    )
    return compare(
        Meeting(MatchId(match_id), seat, their_seat, number, other, 0.5 + ((b > a) - (b < a)) / 2)
        for match_id, seat, their_seat, number, other, a, b in rows
    )


def compare(meetings: Iterable[Meeting]) -> HeadToHead:
    """Counts meetings. Pure."""
    found = tuple(meetings)
    return HeadToHead(
        _record(found),
        dict(sorted(_by(found, lambda one: one.seat).items())),
        dict(sorted(_by(found, lambda one: (one.seat, one.other_seat)).items())),
        dict(sorted(_by(found, lambda one: (one.number, one.other_number)).items())[::-1]),
        found,
    )


def _by(meetings: Iterable[Meeting], key: Callable[[Meeting], K]) -> dict[K, Record]:
    parts: dict[K, list[Meeting]] = defaultdict(list)
    for one in meetings:
        parts[key(one)].append(one)
    return {part: _record(its) for part, its in parts.items()}


def _record(meetings: Iterable[Meeting]) -> Record:
    won = [one.won for one in meetings]
    return Record(len(won), won.count(1.0), won.count(0.5), won.count(0.0))
