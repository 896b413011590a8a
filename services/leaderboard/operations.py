"""What people read of a season's leaderboard, of entries on it, and of names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from ladder.database.db import Connection
from ladder.entries.records import Entry
from ladder.leagues import medals, seasons
from ladder.leagues.measures import Estimate, Measure
from ladder.leagues.medals import Medal, MedalStatus, SealedMedal
from ladder.leagues.records import Season
from ladder.leagues.settings import Medals
from ladder.ratings.official.standing import OfficialPlace
from ladder.reports import insights, site_search
from ladder.reports.insights import Insights
from ladder.reports.site_search import Found
from ladder.standings import board_certainty, leaderboard
from ladder.standings.board_certainty import BoardCertainty
from ladder.standings.board_ranking import Board
from ladder.standings.board_records import BoardRow, OfficialVersion, StandsBy
from ladder.standings.leaderboard import BoardHead
from ladder.standings.medal_lines import MedalLines, medal_lines
from services.http import etags, paging, permissions
from services.http.app_state import AppState, Db, read_rows
from services.http.auth import Anyone, Credentials, viewer_of_request
from services.http.leaderboard_cache import BoardRequest
from services.http.operations import Operations
from services.http.paging import Page
from services.http.path_parameters import EntryKey, SeasonKey
from services.http.problems import ProblemError

operations = Operations("leaderboard")


def visible_season(season: SeasonKey, conn: Db, viewer: Anyone) -> Season:
    return permissions.visible_season(conn, viewer, season)


def visible_entry(entry: EntryKey, conn: Db, viewer: Anyone) -> Entry:
    return permissions.visible_entry(conn, viewer, entry)


VisibleSeason = Annotated[Season, Depends(visible_season)]
VisibleEntry = Annotated[Entry, Depends(visible_entry)]


class ShownStanding(BaseModel):
    """One team's row. Anchors have a row without a rank.

    ``score``, ``mu`` and ``sigma`` are live: they move with each match. Rank and medal use the
    official score, or the live score until there is one. If a match has one seat, these numbers are
    null. Then ``estimates`` decide rank and medal: the first one, and between equals the next.
    """

    model_config = ConfigDict(from_attributes=True)
    rank: int | None = Field(
        description="equal scores share a rank, place and medal; the next team has the next rank",
        examples=[1],
    )
    team_id: str
    team_name: str
    agent_id: str
    agent_name: str
    entry_id: str
    score: float | None = Field(description="null where a match has one seat", examples=[842.5])
    mu: float | None
    sigma: float | None
    games: int
    last_match_at: datetime | None
    medal: Medal | None = Field(examples=["gold"])
    chance: float | None = Field(
        description="probability that the team deserves this medal or better", examples=[0.81]
    )
    status: MedalStatus | None = Field(
        description="likely: as of now; sealed: no game changes the medal; awarded: given at the "
        "end without a seal",
        examples=["likely"],
    )
    sealed: Medal | None = Field(
        description="the team keeps this medal or a better one, whatever its later results"
    )
    is_declared: bool = Field(description="whether the team's owner declared this entry")
    stands_by: StandsBy | None = Field(
        description="why this entry represents its team; null if the team has no other"
    )
    is_anchor: bool
    remote: bool = Field(description="whether the agent runs at its owner's address")
    paused: bool = Field(
        description="whether the entry is paused: it keeps its rank and is not paired"
    )
    official: OfficialPlace | None
    estimates: list[Estimate] = Field(
        description="in the order of the board's measures; empty if entries are rated"
    )


class Leaderboard(BaseModel):
    season_id: str
    revision: int
    accepted_no: int = Field(description="results in the season's log")
    fitted: OfficialVersion | None = Field(description="null before the first match was rated")
    measures: list[Measure] = Field(
        description="the measures that rank the season, if a match has one seat; else empty"
    )
    medals: Medals = Field(description="the season's medal rules")
    medal_lines: MedalLines | None = Field(
        description="where the medal lines are now; null if ranks decide"
    )
    medal_confidence: float = Field(
        description="a medal is sealed after the upload lock if its probability reaches this "
        "number in three standings; each standing must have a twentieth more results "
        "than the one before"
    )
    is_final: bool = Field(
        description="the season is over; only an act of a host changes the board"
    )
    total: int = Field(description="number of rows of the whole leaderboard")
    items: list[ShownStanding]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class FoundNames:
    items: list[Found]


BOARD = TypeAdapter(Leaderboard)
RULES = TypeAdapter[Medals](Medals)


@operations(
    "GET",
    "/seasons/{season}/leaderboard",
    "Read the leaderboard",
    problems=(404,),
    answer=Leaderboard,
    responses={304: {"description": "Not modified"}},
)
def read_leaderboard(
    season: SeasonKey,
    request: Request,
    app_state: AppState,
    credentials: Credentials,
    if_none_match: etags.IfNoneMatch = None,
    cursor: Annotated[str | None, Query(max_length=120)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    accept_encoding: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Best first. The ETag is the season's revision: poll with If-None-Match at little cost."""

    def look(conn: Connection) -> BoardHead:
        head = leaderboard.board_head(conn, season)
        permissions.require_visible(
            viewer_of_request(request, conn, credentials), head.league, "season"
        )
        return head

    head, wanted = read_rows(app_state.reads, look), BoardRequest.of(request.scope)
    after = "0" if cursor is None else paging.decode_cursor(cursor)
    if not after.isdigit():
        raise ProblemError(
            "invalid",
            "take it from this leaderboard's `next` link; this one belongs to another list.",
            where="cursor",
        )
    start = int(after)
    part = f"{start}.{limit}"
    answer = app_state.boards.present_answer(head, part, wanted)
    if answer is None:
        board = app_state.boards.board(head.season_id, head.revision)
        answer = app_state.boards.make_answer(
            board,
            wanted,
            part,
            lambda: board_json(board, start, limit),
        )
    return answer.response(wanted)


@operations("GET", "/seasons/{season}/seals", "List sealed medals", problems=(404,))
def list_sealed_medals(conn: Db, season: VisibleSeason) -> Page[SealedMedal]:
    """Lists all medals ever sealed, newest first. Only an audited act takes a medal back."""
    return Page(items=medals.list_sealed_medals(conn, season.id))


@operations(
    "GET", "/seasons/{season}/certainty", "Read how well the standing is known", problems=(404,)
)
def read_certainty(conn: Db, app_state: AppState, season: VisibleSeason) -> BoardCertainty:
    """Everybody who sees the season. The expectations come from the official fit itself. A season
    of one seat has no moments."""
    board = app_state.boards.board(season.id, season.revision)
    return board_certainty.read_certainty(conn, season.id, board, datetime.now(UTC))


@operations(
    "GET", "/entries/{entry}/insights", "Read an entry's insights", problems=(404,), tag="entries"
)
def read_insights(
    conn: Db,
    viewer: Anyone,
    entry: VisibleEntry,
    within: Annotated[
        float, Query(ge=1, le=1000, description="wanted precision of the score, in points")
    ] = insights.WITHIN,
) -> Insights:
    """Opponents, strengths, seats, upsets and prospects, from the last rated games."""
    permissions.visible_league(conn, viewer, entry.league_id)
    season = seasons.get_season(conn, entry.season_id)
    return insights.read_insights_for(conn, viewer, entry, season, within)


@operations("GET", "/search", "Search names", problems=(), tag="search")
def search(
    conn: Db,
    viewer: Anyone,
    q: Annotated[
        str,
        Query(min_length=site_search.SHORTEST, max_length=site_search.LONGEST),
    ],
    limit: Annotated[int, Query(ge=1, le=100, description="most results of each kind")] = 20,
) -> FoundNames:
    """Finds leagues, agents and teams whose name contains the text."""
    return FoundNames(site_search.search_names(conn, viewer, q, limit))


def board_json(board: Board, start: int, limit: int) -> bytes:
    """One part of the leaderboard as JSON."""
    rows = board.rows[start : start + limit]
    end = start + len(rows)
    following = None
    if end < len(board.rows):
        cursor = paging.encode_cursor(str(end))
        following = f"/v1/seasons/{board.season_id}/leaderboard?cursor={cursor}&limit={limit}"
    return BOARD.dump_json(
        Leaderboard(
            season_id=board.season_id,
            revision=board.revision,
            accepted_no=board.accepted_no,
            fitted=board.fitted,
            measures=[*board.measures],
            medals=RULES.validate_python(board.terms.stated.to_json()),
            medal_lines=medal_lines(board),
            medal_confidence=board.terms.confidence,
            is_final=board.terms.is_final,
            total=len(board.rows),
            items=[shown_standing(row) for row in rows],
            next=following,
        )
    )


def shown_standing(row: BoardRow) -> ShownStanding:
    """A row of the leaderboard. Leaves out ratings if a match has one seat."""
    shown = ShownStanding.model_validate(row)
    if row.estimates:
        shown.score = shown.mu = shown.sigma = None
    return shown
