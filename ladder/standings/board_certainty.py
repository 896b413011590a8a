"""Tells how well the official standing is known, over time, and when medals are likely sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import NormalDist
from typing import Final

from psycopg.rows import class_row

from ladder.database.db import Connection
from ladder.field_types import RECORD
from ladder.ids import SeasonId
from ladder.leagues.medals import Medal
from ladder.standings.board_ranking import Board
from ladder.standings.board_records import BoardRow

STEPS: Final = 12
"""Moments shown while the log grows by the factor e."""
LONGEST: Final = timedelta(days=3650)
"""A later moment is not told."""
LEAST_CHANCE: Final = 0.55
"""A medal of a smaller chance has no moment: too many games would be needed to guess it."""


@dataclass(frozen=True, slots=True)
class CertaintyMoment:
    """One version of the official standing."""

    __pydantic_config__ = RECORD
    version: int
    made_at: datetime
    matches: int
    """Results in the season's log by then."""
    expected_order: float | None
    """Expected Spearman correlation of the ranks with the true ones; None in old versions."""
    wrong_medals: float
    """Expected number of medals of the wrong class."""


@dataclass(frozen=True, slots=True)
class MedalOutlook:
    """How sure the medals of one class are."""

    __pydantic_config__ = RECORD
    medal: Medal
    given: int
    """Teams that have it now."""
    sure: int
    """Those that have it with the season's confidence."""
    sure_at: datetime | None
    """When all of them are likely to be sure at the present pace; None: that cannot be told."""


@dataclass(frozen=True, slots=True)
class BoardCertainty:
    """How well the official standing is known, over time."""

    __pydantic_config__ = RECORD
    moments: tuple[CertaintyMoment, ...]
    """Oldest first; at most a dozen while the log grows by the factor e."""
    outlooks: tuple[MedalOutlook, ...]
    """One for each class of which medals are given, best first."""
    games: int
    """Games of the competing entries on the board."""


def read_certainty(
    conn: Connection, season_id: SeasonId, board: Board, now: datetime
) -> BoardCertainty:
    """Returns the certainty of this board of the season, which ``leaderboard.read_board`` read."""
    with conn.cursor(row_factory=class_row(CertaintyMoment)) as cur:
        found = cur.execute(
            f"""
            select distinct on (floor(ln(log_no) * {STEPS})) version, made_at,
            log_no as matches, expected_order, wrong_medals from standings
            where season_id = %s and log_no > 0
            order by floor(ln(log_no) * {STEPS}), version desc
            """,
            (season_id,),
        ).fetchall()
    moments = tuple(sorted(found, key=lambda each: each.version))
    games = sum(row.games for row in board.rows if not row.is_anchor)
    pace = matches_per_second(moments)
    outlooks = [
        outlook
        for medal in Medal
        if (outlook := medal_outlook(board, medal, moments, pace, now)) is not None
    ]
    return BoardCertainty(moments, tuple(outlooks), games)


def matches_per_second(moments: Sequence[CertaintyMoment]) -> float:
    """Returns the pace of the log since about half of its results; 0 if that is unknown."""
    if len(moments) < 2:
        return 0.0
    last = moments[-1]
    first = next(each for each in moments if 2 * each.matches >= last.matches or each is last)
    first = moments[max(0, moments.index(first) - 1)] if first is last else first
    seconds = (last.made_at - first.made_at).total_seconds()
    return (last.matches - first.matches) / seconds if seconds > 0 else 0.0


def medal_outlook(
    board: Board,
    medal: Medal,
    moments: Sequence[CertaintyMoment],
    pace: float,
    now: datetime,
) -> MedalOutlook | None:
    """Returns the outlook of one class; None if no team has it.

    The distance to a boundary in standard deviations grows with the root of the games. So a medal
    with the chance p needs (z(confidence) / z(p))^2 times the games so far.
    """
    rows = [row for row in board.rows if row.medal is medal]
    if not rows:
        return None
    confidence = board.terms.confidence
    unsure = [row for row in rows if not _is_sure(row, confidence)]
    sure = len(rows) - len(unsure)
    if not unsure:
        return MedalOutlook(medal, len(rows), sure, now)
    least = min(row.chance or 0.0 for row in unsure)
    if not moments or pace <= 0.0 or least < LEAST_CHANCE or board.terms.is_final:
        return MedalOutlook(medal, len(rows), sure, None)
    normal = NormalDist()
    times = (normal.inv_cdf(confidence) / normal.inv_cdf(least)) ** 2
    seconds = moments[-1].matches * (times - 1.0) / pace
    if seconds > LONGEST.total_seconds():
        return MedalOutlook(medal, len(rows), sure, None)
    return MedalOutlook(medal, len(rows), sure, now + timedelta(seconds=seconds))


def _is_sure(row: BoardRow, confidence: float) -> bool:
    return row.sealed is row.medal or (row.chance or 0.0) >= confidence
