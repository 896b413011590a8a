"""The leaderboard of a season, sent from memory until its revision changes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from ladder.database.db import Connection
from ladder.leagues import sealed_medals
from ladder.leagues.measures import Estimate, Measure
from ladder.leagues.medals import Medal, MedalStatus
from ladder.leagues.settings import Medals
from ladder.standings import board_ranking, board_records, leaderboard, medal_lines
from ladder.standings.board_records import StandsBy
from services.http import etags, paging, permissions
from services.http.app_state import AppState, Db, read_rows
from services.http.auth import Anyone, Credentials, viewer_of_request
from services.http.lazy_routes import LazyRoute
from services.http.leaderboard_cache import BoardPage
from services.http.paging import Page
from services.http.path_parameters import SeasonKey
from services.http.problems import ProblemError, problem_responses

router = APIRouter(prefix="/v1", tags=["leaderboard"], route_class=LazyRoute)


class OfficialPlaceOut(BaseModel):
    """The result of the fit over all results of the season for one entry."""

    model_config = ConfigDict(from_attributes=True)
    score: float = Field(examples=[851.2])
    sigma: float = Field(
        description="the 95 % interval of the score is +-1.96 sigma", examples=[14.0]
    )
    rank_low: int = Field(description="best rank of the 95 % interval", examples=[1])
    rank_high: int = Field(description="worst rank of the 95 % interval", examples=[3])
    chances: tuple[float, float, float] = Field(
        description="probability of gold, of silver or better, of any medal",
        examples=[[0.81, 1.0, 1.0]],
    )


class StandingOut(BaseModel):
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
    official: OfficialPlaceOut | None
    estimates: list[Estimate] = Field(
        description="in the order of the board's measures; empty if entries are rated"
    )


class OfficialVersionOut(BaseModel):
    """The version of the official standing on the leaderboard."""

    model_config = ConfigDict(from_attributes=True)
    version: int
    log_no: int = Field(description="it includes every result up to this number")
    made_at: datetime
    wrong_medals: float = Field(
        description="expected number of medals of a class that is not deserved"
    )


class SealedMedalOut(BaseModel):
    """A sealed medal, and the act that took it back, if any."""

    model_config = ConfigDict(from_attributes=True)
    team_id: str
    team_name: str
    medal: Medal
    chance: float = Field(
        description="probability of this class or better, by the version that sealed"
    )
    version: int = Field(description="version of the official standing that sealed it")
    sealed_at: datetime
    unsealed_at: datetime | None
    audit_id: str | None


class MedalLineOut(BaseModel):
    """The least score of a medal now."""

    model_config = ConfigDict(from_attributes=True)
    medal: Medal
    score: float = Field(examples=[812.4])
    agent: str = Field(
        description="the reference agent that names the line, and the distance from its score;"
        " empty if the line is a number",
        examples=["survivor+100"],
    )


class MedalLinesOut(BaseModel):
    """The medal lines, best first."""

    model_config = ConfigDict(from_attributes=True)
    lines: list[MedalLineOut]
    best_score: float | None = Field(
        description="score of the best team; null while no team has a rank"
    )
    is_out_of_reach: bool = Field(
        description="whether teams have ranks and the 95 % interval of none reaches the lowest line"
    )


class LeaderboardOut(BaseModel):
    season_id: str
    revision: int
    accepted_no: int = Field(description="results in the season's log")
    fitted: OfficialVersionOut | None = Field(description="null before the first match was rated")
    measures: list[Measure] = Field(
        description="the measures that rank the season, if a match has one seat; else empty"
    )
    medals: Medals = Field(description="the season's medal rules")
    medal_lines: MedalLinesOut | None = Field(
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
    items: list[StandingOut]
    next: str | None = None


BOARD = TypeAdapter(LeaderboardOut)
RULES = TypeAdapter[Medals](Medals)


@router.get(
    "/seasons/{season}/leaderboard",
    summary="Read the leaderboard",
    response_model=LeaderboardOut,
    responses={304: {"description": "Not modified"}, **problem_responses(404)},
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

    def look(conn: Connection) -> leaderboard.BoardHead:
        head = leaderboard.board_head(conn, season)
        permissions.require_visible(
            viewer_of_request(request, conn, credentials), head.league, "season"
        )
        return head

    found = read_rows(app_state.reads, look)
    start = 0
    if cursor is not None:
        after = paging.decode_cursor(cursor)
        if not after.isdigit():
            raise ProblemError(
                "invalid",
                "take it from this leaderboard's `next` link; this one belongs to another list.",
                where="cursor",
            )
        start = int(after)
    part = f"{start}.{limit}"
    app_state.quick_boards.learn(request, season, part)
    page = BoardPage(found.season_id, found.revision, part, "gzip" in accept_encoding)
    answer = app_state.boards.answer(page, if_none_match)
    if answer is not None:
        return answer
    board = app_state.boards.board(found.season_id, found.revision)
    page = replace(page, revision=board.revision)
    kept = app_state.boards.stored(page, if_none_match)
    if kept is not None:
        return kept
    return app_state.boards.store_page(page, board_json(board, found.season_id, start, limit))


@router.get(
    "/seasons/{season}/seals", summary="List sealed medals", responses=problem_responses(404)
)
def list_sealed_medals(season: SeasonKey, conn: Db, who: Anyone) -> Page[SealedMedalOut]:
    """Lists all medals ever sealed, newest first. Only an audited act takes a medal back."""
    found = permissions.visible_season(conn, who, season)
    rows = sealed_medals.list_sealed_medals(conn, found.id)
    return Page(items=[SealedMedalOut.model_validate(row) for row in rows])


def board_json(board: board_ranking.Board, season_id: str, start: int, limit: int) -> bytes:
    """One part of the leaderboard as JSON."""
    rows, lines = board.rows[start : start + limit], medal_lines.medal_lines(board)
    end = start + len(rows)
    following = None
    if end < len(board.rows):
        cursor = paging.encode_cursor(str(end))
        following = f"/v1/seasons/{season_id}/leaderboard?cursor={cursor}&limit={limit}"
    return BOARD.dump_json(
        LeaderboardOut(
            season_id=season_id,
            revision=board.revision,
            accepted_no=board.accepted_no,
            fitted=None
            if board.fitted is None
            else OfficialVersionOut.model_validate(board.fitted),
            measures=[*board.measures],
            medals=RULES.validate_python(board.terms.stated.to_json()),
            medal_lines=None if lines is None else MedalLinesOut.model_validate(lines),
            medal_confidence=board.terms.confidence,
            is_final=board.terms.is_final,
            total=len(board.rows),
            items=[standing_out(row) for row in rows],
            next=following,
        )
    )


def standing_out(row: board_records.BoardRow) -> StandingOut:
    """A row of the leaderboard. Leaves out ratings if a match has one seat."""
    out = StandingOut.model_validate(row)
    if row.estimates:
        out.score = out.mu = out.sigma = None
    return out
