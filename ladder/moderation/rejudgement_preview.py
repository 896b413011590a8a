"""Previews a rejudgement: its matches, and the official board without their results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ladder.database.db import Connection
from ladder.ids import EntryId, SeasonId
from ladder.leagues import seasons
from ladder.leagues.measures import Estimate
from ladder.leagues.medals import Medal
from ladder.moderation import result_search
from ladder.moderation.result_search import Predicate, SuspectResult
from ladder.ratings import fitting as ratings_fitting
from ladder.ratings import solo_seasons, standing_versions
from ladder.standings import leaderboard
from ladder.standings.board_records import BoardRow

LEAST_SCORE_CHANGE: Final = 0.1
"""Points; a smaller change of a score counts as no change."""


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """A team's row on a compared board."""

    entry_id: EntryId
    agent_name: str
    score: float | None
    """None if matches have one seat."""
    rank: int | None
    medal: Medal | None
    estimates: tuple[Estimate, ...]
    """Values that decide the rank if matches have one seat."""


@dataclass(frozen=True, slots=True)
class BoardChange:
    """A team or reference agent whose place would change."""

    team_name: str
    before: ComparedRow | None
    after: ComparedRow | None


@dataclass(frozen=True, slots=True)
class RejudgementPreview:
    """The matches of an act, and how their results affect the board."""

    suspects: tuple[SuspectResult, ...]
    version: int | None
    """Version of the official standing that is compared. None before the first fit, and if matches
    have one seat.
    """
    changes: tuple[BoardChange, ...]
    """Changes if the results were void; best first."""


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
            conn, season_id, {one.match_id for one in fitting}
        )
        without = leaderboard.read_board(conn, season_id, totals=totals).rows
        return RejudgementPreview(tuple(fitting), None, tuple(_board_changes(now, without)))
    found = standing_versions.latest_version(conn, season_id)
    places = ratings_fitting.standing_without_matches(
        conn, season_id, {one.match_id for one in fitting}
    )
    if found is None or places is None:
        return RejudgementPreview(tuple(fitting), None, ())
    now_places = None
    if found[0].fitted_by != ratings_fitting.FITTED_BY:  # compare two fits of one method
        now_places = ratings_fitting.standing_without_matches(conn, season_id, ())
    before = leaderboard.read_board(conn, season_id, now_places).rows
    after = leaderboard.read_board(
        conn, season_id, places, result_search.teams_of_suspects(conn, fitting)
    ).rows
    return RejudgementPreview(
        tuple(fitting), found[0].version, tuple(_board_changes(before, after))
    )


def _board_changes(before: Iterable[BoardRow], after: Iterable[BoardRow]) -> list[BoardChange]:
    """Returns the differences between two boards, by team; reference agents separately."""
    old = {_row_key(row): row for row in before}
    new = {_row_key(row): row for row in after}
    changes = []
    for key in dict.fromkeys((*new, *old)):
        one, two = old.get(key), new.get(key)
        known = one or two
        if known is not None and _rows_differ(one, two):
            changes.append(BoardChange(known.team_name, _board_row(one), _board_row(two)))
    return changes


def _row_key(row: BoardRow) -> str:
    return row.entry_id if row.is_anchor else row.team_id


def _rows_differ(one: BoardRow | None, two: BoardRow | None) -> bool:
    if one is None or two is None:
        return True
    if one.estimates != two.estimates:
        return True
    return (one.entry_id, one.rank, one.medal) != (two.entry_id, two.rank, two.medal) or abs(
        one.score_and_sigma[0] - two.score_and_sigma[0]
    ) >= LEAST_SCORE_CHANGE


def _board_row(row: BoardRow | None) -> ComparedRow | None:
    if row is None:
        return None
    score = None if row.estimates else row.score_and_sigma[0]
    return ComparedRow(row.entry_id, row.agent_name, score, row.rank, row.medal, row.estimates)
