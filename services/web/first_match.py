"""The first rated match of a new entry, as the list of submissions shows it to its team."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from ladder.database.db import Connection
from ladder.entries.records import Entry, EntryState
from ladder.enums import MatchState
from ladder.leagues.records import Season
from ladder.matches import history
from ladder.matches.match_search import MatchFilter
from ladder.matches.records import Match
from ladder.people.records import Viewer
from services.http import match_filters, permissions
from services.http.app_state import State
from services.http.live_answers import may_watch

NEW_FOR: Final = timedelta(hours=1)
"""How long after its validation an entry counts as new."""


@dataclass(frozen=True, slots=True)
class FirstMatch:
    """An entry's first rated match, and the rank that follows from it."""

    match: Match
    ending: str | None
    """How it ended for the entry; None while it is not finished."""
    is_live: bool
    """Whether the visitor may watch it now."""
    rank: int | None
    ranked: int
    """Number of teams with a rank."""
    is_on_board: bool
    """Whether the leaderboard counts it. The one of a large league may be older for some time."""

    @property
    def waits_for_rank(self) -> bool:
        """Whether the match has ended and its rank follows."""
        return self.ending is not None and self.rank is None and not self.is_on_board


def is_new(entry: Entry) -> bool:
    """Whether the entry passed its validation a short time ago and plays."""
    is_recent = entry.activated_at and datetime.now(UTC) - entry.activated_at < NEW_FOR
    return entry.state is EntryState.ACTIVE and bool(is_recent)


def read_first_match(
    conn: Connection, app_state: State, who: Viewer, entry: Entry, season: Season
) -> FirstMatch | None:
    """The first rated match of a new entry; None for older entries, and while it is hidden."""
    match = history.first_rated_match(conn, entry.id) if is_new(entry) else None
    if match is None or not permissions.visible_match_filter(conn, who)(match):
        return None
    board = app_state.boards.board(season.id, season.revision)
    own = board.rows.row_of(entry.id)
    known = board.rows.order.entries.get(entry.id)
    return FirstMatch(
        match=match,
        ending=match_filters.ending_of(who, MatchFilter(entry_id=entry.id), match),
        is_live=match.state is MatchState.RUNNING and may_watch(conn, who, match),
        rank=own.rank if own else None,
        ranked=board.rows.ranked,
        is_on_board=board.revision >= season.revision or (known is not None and known.games > 0),
    )
