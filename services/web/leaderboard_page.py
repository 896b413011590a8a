"""One page of a leaderboard, with the numbers that the table needs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from estimates.intervals import half_width
from ladder.database.db import Connection
from ladder.ids import TeamId
from ladder.leagues.medals import Medal
from ladder.moderation import suspects
from ladder.standings.board_ranking import Board
from ladder.standings.board_records import BoardRow, MedalTerms, OfficialVersion
from ladder.standings.medal_lines import MedalLine, MedalLines, medal_lines
from ladder.standings.rank_reasons import has_same_scores

PAGE_ROWS: Final = 100


@dataclass(frozen=True, slots=True)
class BoardPage:
    """Rows of one page. ``low`` and ``high`` are the ends of the range that the whiskers cover."""

    rows: tuple[BoardRow, ...]
    page: int
    pages: int
    first: int
    last: int
    total: int
    ranked: int
    low: float
    high: float
    accepted_no: int
    fitted: OfficialVersion | None
    medals: list[tuple[str, int]]
    """Number of teams with each medal on the whole leaderboard, best medal first."""
    sealed: int
    """Number of sealed medals."""
    terms: MedalTerms
    has_same_scores: bool
    """Whether rows of the page have exactly the same official score."""
    lines: MedalLines | None
    """Where the medal lines lie; None if ranks decide."""

    def lines_before(self, place: int) -> tuple[MedalLine, ...]:
        """The lines above the row at this place of the page, or below its last row."""
        shown = self.first - 1 + place
        is_end = place == len(self.rows) and self.page < self.pages
        lines = () if self.lines is None or is_end else self.lines.lines
        return tuple(line for line in lines if line.place == shown)


def cut_page(conn: Connection, board: Board, page: int) -> BoardPage:
    """The page with this number, or the nearest one that exists."""
    pages = max(1, -(-len(board.rows) // PAGE_ROWS))
    number = min(max(1, page), pages)
    start = (number - 1) * PAGE_ROWS
    rows = board.rows[start : start + PAGE_ROWS]
    played = [row for row in rows if row.games > 0] or list(rows)
    spans = [row.score_and_sigma for row in played]
    counted = Counter(board.rows.medals.values())
    return BoardPage(
        rows=rows,
        page=number,
        pages=pages,
        first=start + 1,
        last=start + len(rows),
        total=len(board.rows),
        ranked=board.rows.ranked,
        low=min((score - half_width(sigma) for score, sigma in spans), default=0.0),
        high=max((score + half_width(sigma) for score, sigma in spans), default=1.0),
        accepted_no=board.accepted_no,
        fitted=board.fitted,
        medals=[(str(kind), counted[kind]) for kind in Medal if counted[kind]],
        sealed=board.rows.sealed,
        terms=board.terms,
        has_same_scores=has_same_scores(rows, teams_sharing(conn, board)),
        lines=medal_lines(board),
    )


def teams_sharing(conn: Connection, board: Board) -> frozenset[TeamId]:
    """Teams that share a place on this leaderboard by an act of a host."""
    version = board.fitted.version if board.fitted else 0
    return suspects.teams_sharing(conn, board.season_id, version)
