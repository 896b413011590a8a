"""Previews a rejudgement: its matches, and the official board without their results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ladder.database.db import Connection
from ladder.field_types import RECORD
from ladder.ids import EntryId, SeasonId
from ladder.leagues import seasons
from ladder.leagues.measures import Estimate, Measure
from ladder.leagues.medals import Medal
from ladder.leagues.records import Season
from ladder.moderation import result_search
from ladder.moderation.result_search import Predicate, SuspectResult
from ladder.ratings import fitting as ratings_fitting
from ladder.ratings import solo_seasons, standing_versions
from ladder.standings import leaderboard
from ladder.standings.board_records import BoardRow

LEAST_SCORE_CHANGE: Final = 0.1
"""Points; a smaller change of a score counts as no change."""
MATCHES_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """A team's row on a compared board."""

    __pydantic_config__ = RECORD
    entry_id: EntryId
    agent_name: str
    score: float | None
    """Null if a match has one seat."""
    rank: int | None
    medal: Medal | None
    estimates: tuple[Estimate, ...]
    """Values that decide the rank if a match has one seat; else empty."""


@dataclass(frozen=True, slots=True)
class BoardChange:
    """A team or reference agent whose place would change."""

    __pydantic_config__ = RECORD
    team_name: str
    before: ComparedRow | None
    after: ComparedRow | None


@dataclass(frozen=True, slots=True)
class RejudgementPreview:
    """The matches that would be judged again, and the effect of their results on the standing."""

    __pydantic_config__ = RECORD
    total: int
    """Matches."""
    matches: tuple[SuspectResult, ...]
    """The first 200 of them."""
    version: int | None
    """Version of the official standing compared; null before the first version, and if a match has
    one seat."""
    measures: tuple[Measure, ...]
    """The measures compared if a match has one seat; else empty."""
    changes: tuple[BoardChange, ...]
    """Changes if these results were void, best first."""


def preview_rejudgement(
    conn: Connection, season_id: SeasonId, predicate: Predicate
) -> RejudgementPreview:
    """Returns the matches, and the board without their results. Writes nothing.

    Raises NotFound, LadderError (empty predicate, too many matches).
    """
    season = seasons.get_season(conn, season_id)
    fitting = result_search.find_suspects(conn, season_id, predicate)
    if season.measures:
        now = leaderboard.read_board(conn, season_id).rows
        totals = solo_seasons.totals_without_matches(
            conn, season_id, {result.match_id for result in fitting}
        )
        without = leaderboard.read_board(conn, season_id, totals=totals).rows
        return preview_of(season, fitting, None, _board_changes(now, without))
    latest = standing_versions.latest_version(conn, season_id)
    places = ratings_fitting.standing_without_matches(
        conn, season_id, {result.match_id for result in fitting}
    )
    if latest is None or places is None:
        return preview_of(season, fitting, None, ())
    now_places = None
    if latest[0].fitted_by != ratings_fitting.FITTED_BY:  # compare two fits of one method
        now_places = ratings_fitting.standing_without_matches(conn, season_id, ())
    before = leaderboard.read_board(conn, season_id, now_places).rows
    after = leaderboard.read_board(
        conn, season_id, places, result_search.teams_of_suspects(conn, fitting)
    ).rows
    return preview_of(season, fitting, latest[0].version, _board_changes(before, after))


def preview_of(
    season: Season,
    results: Sequence[SuspectResult],
    version: int | None,
    changes: Iterable[BoardChange],
) -> RejudgementPreview:
    shown = tuple(results[:MATCHES_SHOWN])
    return RejudgementPreview(len(results), shown, version, season.measures, tuple(changes))


def _board_changes(before: Iterable[BoardRow], after: Iterable[BoardRow]) -> list[BoardChange]:
    """Returns the differences between two boards, by team; reference agents separately."""
    old = {_row_key(row): row for row in before}
    new = {_row_key(row): row for row in after}
    changes = []
    for key in dict.fromkeys((*new, *old)):
        earlier, later = old.get(key), new.get(key)
        either = earlier or later
        if either is not None and _rows_differ(earlier, later):
            changes.append(BoardChange(either.team_name, _board_row(earlier), _board_row(later)))
    return changes


def _row_key(row: BoardRow) -> str:
    return row.entry_id if row.is_anchor else row.team_id


def _rows_differ(earlier: BoardRow | None, later: BoardRow | None) -> bool:
    if earlier is None or later is None:
        return True
    if earlier.estimates != later.estimates:
        return True
    return (earlier.entry_id, earlier.rank, earlier.medal) != (
        later.entry_id,
        later.rank,
        later.medal,
    ) or abs(earlier.score_and_sigma[0] - later.score_and_sigma[0]) >= LEAST_SCORE_CHANGE


def _board_row(row: BoardRow | None) -> ComparedRow | None:
    if row is None:
        return None
    score = None if row.estimates else row.score_and_sigma[0]
    return ComparedRow(row.entry_id, row.agent_name, score, row.rank, row.medal, row.estimates)
