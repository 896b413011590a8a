"""Matches: seats, results, replays and logs."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from games import GAMES, kaggle_formats
from games import episode as episodes
from ladder.entries import agent_lookup, agents
from ladder.enums import MatchKind, MatchState, VoidCause
from ladder.errors import NotFound
from ladder.ids import MatchId
from ladder.matches import head_to_head, history, match_search
from ladder.matches.match_titles import match_title
from ladder.matches.records import Match
from ladder.people.records import Viewer
from services.http import etags, match_filters, permissions
from services.http.app_state import AppState, Db
from services.http.auth import Anyone, Known
from services.http.lazy_routes import LazyRoute
from services.http.match_filters import AgentName, Filters
from services.http.paging import Page, Paging
from services.http.path_parameters import MatchKey
from services.http.problems import ProblemError, problem_responses
from services.http.seat_logs import LogFormat, unpack_stored
from services.http.seat_logs import read_seat_log as read_log

router = APIRouter(prefix="/v1", tags=["matches"], route_class=LazyRoute)
MEETINGS_SHOWN = 50
LOG_READERS = "shown only to its team, to graders, and in a scrim to those who read its output"


class SeatOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    seat: int
    entry_id: str | None
    submission_id: str
    agent_id: str
    agent_name: str
    team_id: str
    team_name: str
    placement: int | None = Field(description="1 is best; ties share a place")
    reward: float | None
    statistics: dict[str, float] | None = Field(
        description="more numbers of the game, if a match has one seat"
    )
    verdict: str | None = Field(examples=["DONE"])
    remote: bool = Field(description="whether the agent played at its owner's address")
    mu_before: float | None
    mu_after: float | None
    charged_seconds: float | None = Field(default=None, description="with the replay")
    max_move_seconds: float | None = Field(default=None, description=LOG_READERS)
    failed_step: int | None = Field(default=None, description=LOG_READERS)
    reason: str | None = Field(
        default=None,
        description="why it failed, or a warning that it answered None; " + LOG_READERS,
    )


class EpisodeOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str
    number: int = Field(description="the integer id in Kaggle's formats; gives no access")
    position: int
    steps: int


class MatchOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["mat_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    title: str = Field(examples=["Lattice beats Drifter in 199 steps"])
    ending: str | None = Field(
        description="how the match ended for the agent or entry of the filter; null without one",
        examples=["lost: timed out"],
    )
    kind: MatchKind
    season_id: str
    league_id: str
    scrim_id: str | None
    game: str
    state: MatchState
    attempt: int
    created_at: datetime
    finished_at: datetime | None
    void_cause: VoidCause | None
    void_reason: str | None = Field(description="the cause in words")
    accepted_no: int | None
    seed: str | None = Field(
        default=None, description="hex; hidden until the match and its tournament are over"
    )
    seats: list[SeatOut]
    episodes: list[EpisodeOut]


class RecordOut(BaseModel):
    """Results of the agent against the opponent, by placement."""

    games: int
    won: int
    tied: int
    lost: int
    share: float | None = Field(description="share of games won; a tie counts half")
    low: float | None = Field(description="lower end of the share's 95 % interval")
    high: float | None


class SeatRecordOut(BaseModel):
    seat: int
    record: RecordOut


class SeatsRecordOut(BaseModel):
    seat: int = Field(description="seat in which the agent started, from 0")
    opponent_seat: int
    record: RecordOut


class VersionRecordOut(BaseModel):
    version: int = Field(description="`version` of the agent's submission")
    submission_number: int
    opponent_version: int
    opponent_submission_number: int
    record: RecordOut


class HeadToHeadOut(BaseModel):
    agent_id: str
    agent_name: str
    opponent_id: str
    opponent_name: str
    total: RecordOut
    by_seat: list[SeatRecordOut]
    by_seats: list[SeatsRecordOut] = Field(description="by the seats in which both started")
    by_version: list[VersionRecordOut]
    matches: list[str] = Field(description="newest matches in which both played")


class EpisodeLocation(BaseModel):
    """The match and position of an episode number."""

    match_id: str
    number: int
    position: int


def match_out(who: Viewer, match: Match, *, replay: bool, ending: str | None = None) -> MatchOut:
    """The part of a match that the viewer may see. The caller checks that the viewer may see the
    match."""
    seats = []
    for seat in match.seats:
        out = SeatOut.model_validate(seat)
        if not permissions.may_read_seat(who, match, seat.team_id):
            out.reason = out.max_move_seconds = out.failed_step = None
            if not replay:
                out.charged_seconds = None
        seats.append(out)
    return MatchOut(
        id=match.id,
        title=match_title(match),
        ending=ending,
        kind=match.kind,
        season_id=match.season_id,
        league_id=match.league_id,
        scrim_id=match.scrim_id,
        game=match.game,
        state=match.state,
        attempt=match.attempt,
        created_at=match.created_at,
        finished_at=match.finished_at,
        void_cause=match.void_cause,
        void_reason=permissions.void_reason(who, match),
        accepted_no=match.accepted_no,
        seed=None if match.shown_seed is None else match.shown_seed.hex(),
        seats=seats,
        episodes=[EpisodeOut.model_validate(one) for one in match.episodes],
    )


@router.get("/matches", summary="List matches", responses=problem_responses(404))
def list_matches(conn: Db, who: Anyone, span: Paging, filters: Filters) -> Page[MatchOut]:
    """Lists matches that meet all filters, newest first.

    `opponent`, `version`, `outcome`, `verdict` and `seat` are about the named agent or entry.
    Without a season, an agent, an entry or a scrim, these are the rated matches of all leagues.
    """
    wanted = match_filters.resolve_filters(conn, who, filters)
    before = MatchId(span.after) if span.after else None
    found = match_search.search_page(conn, who, wanted, before, span.limit)
    sees_replay = permissions.visible_replay_filter(conn, who)
    return span.page_before(
        found.matches,
        found.following,
        lambda row: match_out(
            who,
            row,
            replay=sees_replay(row),
            ending=match_filters.ending_of(who, wanted, row),
        ),
    )


@router.get("/head-to-head", summary="Compare two agents", responses=problem_responses(404))
def read_head_to_head(
    conn: Db,
    who: Anyone,
    agent: Annotated[AgentName, Query(description="id, slug or name")],
    opponent: Annotated[AgentName, Query(description="id, slug or name")],
) -> HeadToHeadOut:
    """Counts the newest rated matches in which both played: in total, by seat and by version."""
    one = agent_lookup.find_visible_agent(conn, who, agent)
    other = agent_lookup.find_visible_agent(conn, who, opponent, "opponent")
    found = head_to_head.read_head_to_head(conn, who, one.id, other.id)
    numbers = {number for pair in found.by_submission for number in pair}
    versions = agents.versions_of_numbers(conn, numbers)
    return HeadToHeadOut(
        agent_id=one.id,
        agent_name=one.name,
        opponent_id=other.id,
        opponent_name=other.name,
        total=record_out(found.total),
        by_seat=[
            SeatRecordOut(seat=seat, record=record_out(row)) for seat, row in found.by_seat.items()
        ],
        by_seats=[
            SeatsRecordOut(seat=mine, opponent_seat=theirs, record=record_out(row))
            for (mine, theirs), row in found.by_seats.items()
        ],
        by_version=[
            VersionRecordOut(
                version=versions[mine],
                submission_number=mine,
                opponent_version=versions[theirs],
                opponent_submission_number=theirs,
                record=record_out(row),
            )
            for (mine, theirs), row in found.by_submission.items()
        ],
        matches=[meeting.match_id for meeting in found.meetings[:MEETINGS_SHOWN]],
    )


def record_out(row: head_to_head.Record) -> RecordOut:
    low, high = row.interval or (None, None)
    return RecordOut(
        games=row.games,
        won=row.won,
        tied=row.tied,
        lost=row.lost,
        share=row.share,
        low=low,
        high=high,
    )


@router.get("/matches/{match}", summary="Read a match", responses=problem_responses(404))
def read_match(match: MatchKey, conn: Db, who: Anyone) -> MatchOut:
    """The seats and their results. The seed is shown after the match and its
    tournament."""
    found = permissions.visible_match(conn, who, match)
    return match_out(who, found, replay=permissions.visible_replay_filter(conn, who)(found))


@router.get(
    "/episodes/{number}", summary="Find an episode by its number", responses=problem_responses(404)
)
def find_episode(
    number: Annotated[int, Path(ge=1, le=2**62)], conn: Db, who: Anyone
) -> EpisodeLocation:
    """Finds the match of the integer id in Kaggle's formats."""
    match = history.match_of_episode(conn, number)
    if not permissions.visible_match_filter(conn, who)(match):
        raise NotFound.of("episode")
    one = next(one for one in match.episodes if one.number == number)
    return EpisodeLocation(match_id=match.id, number=number, position=one.position)


@router.get(
    "/matches/{match}/replay",
    summary="Read a replay",
    response_model=dict[str, Any],
    responses={304: {"description": "A replay never changes"}, **problem_responses(403, 404)},
)
def read_replay(
    match: MatchKey,
    conn: Db,
    who: Anyone,
    app_state: AppState,
    format: Annotated[
        Literal["peck", "kaggle"],
        Query(description="peck: our format; kaggle: JSON that kaggle_environments loads"),
    ] = "peck",
    episode: Annotated[int, Query(ge=0, le=1000)] = 0,
    if_none_match: etags.IfNoneMatch = None,
    accept_encoding: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Moves, chance, verdicts and charged times. The league's setting says who may read a
    replay."""
    found = permissions.visible_match(conn, who, match)
    if found.state is not MatchState.FINISHED:
        raise ProblemError("not-found", f"There is no replay; the match is {found.state}.")
    if not permissions.visible_replay_filter(conn, who)(found):
        raise ProblemError("forbidden", "This league does not show you this replay, or not yet.")
    if format == "kaggle" and found.game not in kaggle_formats.GAME_NAMES:
        title = GAMES[found.game].title if found.game in GAMES else found.game
        raise ProblemError(
            "invalid", f"use peck; Kaggle has no format for {title}.", where="format"
        )
    one = next((one for one in found.episodes if one.position == episode), None)
    if one is None or not app_state.blobs.exists(one.replay_digest):
        raise ProblemError("not-found", f"There is no such replay; the match is {found.state}.")
    names = [seat.team_name for seat in found.seats]
    form = f"kaggle.{etags.names_tag(names)}" if format == "kaggle" else format
    headers = {
        "ETag": f'W/"{one.id}.{form}"',
        "Cache-Control": "private, no-cache",
        "Vary": "Accept-Encoding, Authorization",
    }
    if etags.matches(if_none_match, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    if format == "kaggle":
        content = b"".join(app_state.blobs.open(one.replay_digest))
        exported = kaggle_formats.episode_json(
            episodes.from_bytes(content), episode_id=one.number, team_names=names
        )
        content = json.dumps(exported).encode()
    elif "gzip" in accept_encoding:
        content = b"".join(app_state.blobs.open(one.replay_digest))
        headers["Content-Encoding"] = "gzip"
    else:
        content = unpack_stored(app_state.blobs, one.replay_digest)
    return Response(content, headers=headers, media_type="application/json")


@router.get(
    "/matches/{match}/seats/{seat}/log",
    summary="Read a seat's log",
    response_model=Any,
    responses=problem_responses(403, 404),
)
def read_seat_log(
    match: MatchKey,
    seat: Annotated[int, Path(ge=0, le=15)],
    conn: Db,
    who: Known,
    app_state: AppState,
    format: LogFormat = "raw",
) -> Response:
    """Output, times and traceback. The owner of the seat's agent may read them, and graders of the
    league to whom its team agreed."""
    found = permissions.visible_match(conn, who, match)
    return read_log(app_state.blobs, who, found, seat, format)
