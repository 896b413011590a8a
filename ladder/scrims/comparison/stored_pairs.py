"""Reads the played pairs of a comparison from the database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from estimates.comparison import Picture, picture_after
from estimates.comparison_report import (
    GameOfPair,
    PairPlan,
    PlayedPair,
    Report,
    plan_pair,
    report_of,
)
from ladder.database.db import Connection
from ladder.ids import ComparisonId, MatchId
from ladder.scrims.comparison.comparisons import Comparison

COURSE_POINTS: Final = 100


@dataclass(frozen=True, slots=True)
class IssuedPair:
    """A pair whose matches exist. Ended matches are finished or void."""

    number: int
    old_match_id: MatchId
    new_match_id: MatchId
    replays: int
    difference: float | None
    """None until the pair counts."""
    low: float | None
    high: float | None
    old_state: str
    new_state: str

    @property
    def is_void(self) -> bool:
        """Whether a match of it was voided, so that it must be played again."""
        return "void" in (self.old_state, self.new_state)

    @property
    def is_finished(self) -> bool:
        """Whether both matches have results."""
        return self.old_state == self.new_state == "finished"


def pair_plan(comparison: Comparison, number: int) -> PairPlan:
    """Returns how the pair with this number is played."""
    opponents = len(comparison.opponent_submission_ids)
    return plan_pair(comparison.seed, number, comparison.seats, opponents)


def issued_pairs(conn: Connection, comparison_id: ComparisonId) -> list[IssuedPair]:
    """Returns the comparison's pairs in their order."""
    rows = conn.execute(
        "select p.number, p.old_match_id, p.new_match_id, p.replays, p.difference, p.low, p.high,"
        " o.state, n.state from comparison_pairs p"
        " join matches o on o.id = p.old_match_id join matches n on n.id = p.new_match_id"
        " where p.comparison_id = %s order by p.number",
        (comparison_id,),
    )
    return [IssuedPair(*row) for row in rows]


def unfinished_pairs(conn: Connection, comparison_id: ComparisonId) -> int:
    """Returns the number of pairs with a game that waits or is played."""
    states = {"queued", "running"}
    return sum(
        not states.isdisjoint({pair.old_state, pair.new_state})
        for pair in issued_pairs(conn, comparison_id)
    )


def played_pairs(
    conn: Connection, comparison: Comparison, *, uncounted: bool = False
) -> list[PlayedPair]:
    """Returns the pairs that count, in their order.

    With ``uncounted`` the pairs that do not yet count, although both matches are finished.
    """
    rows = conn.execute(
        "select p.number, t.match_id = p.new_match_id, t.seat, t.placement, t.verdict,"
        " t.charged_seconds, t.max_move_seconds, t.submission_id, a.name"
        " from comparison_pairs p join matches o on o.id = p.old_match_id and o.state = 'finished'"
        " join matches n on n.id = p.new_match_id and n.state = 'finished'"
        " join seats t on t.match_id in (p.old_match_id, p.new_match_id)"
        " join agents a on a.id = t.agent_id"
        " where p.comparison_id = %s and (p.difference is null) = %s"
        " order by p.number, 2, t.seat",
        (comparison.id, uncounted),
    )
    seats = defaultdict(list)
    for number, is_new, *rest in rows:
        seats[number, is_new].append(rest)
    pairs = []
    for number in sorted({number for number, _ in seats}):
        plan = pair_plan(comparison, number)
        games = [
            GameOfPair(
                placements=tuple(row[1] for row in both),
                fault=both[plan.seat][2] != "DONE",
                charged_seconds=both[plan.seat][3] or 0.0,
                max_move_seconds=both[plan.seat][4] or 0.0,
            )
            for both in (seats[number, False], seats[number, True])
        ]
        names = tuple(row[6] for row in seats[number, False] if row[0] != plan.seat)
        pairs.append(PlayedPair(number, plan.seat, names, games[0], games[1]))
    return pairs


def stored_report(comparison: Comparison, pairs: Sequence[PlayedPair]) -> Report:
    """Returns the report of the counted pairs, with the stored verdict."""
    picture = picture_after([pair.difference for pair in pairs], comparison.rule)
    picture = replace(picture, verdict=comparison.verdict)
    return report_of(pairs, picture, comparison.rule, comparison.replayed_pairs)


def course(
    conn: Connection, comparison_id: ComparisonId, most: int = COURSE_POINTS
) -> list[Picture]:
    """Returns the pictures after about ``most`` of the counted pairs, with the first and last."""
    rows = conn.execute(
        "select number, avg(difference) over (order by number), low, high,"
        " count(*) over () from comparison_pairs"
        " where comparison_id = %s and difference is not null order by number",
        (comparison_id,),
    ).fetchall()
    every = max(1, -(-len(rows) // most))
    return [
        Picture(number, mean, low, high, None)
        for number, mean, low, high, count in rows
        if number in (1, count) or number % every == 0
    ]
