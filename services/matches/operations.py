"""What people do with matches: find, read and watch them, compare agents, and pin highlights."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Annotated, Any, Literal

from fastapi import Depends, Header, Path, Query, Request, Response
from pydantic import BaseModel, Field

from games import GAMES, kaggle_formats
from games import episode as episodes
from ladder.entries import agents
from ladder.enums import MatchKind, MatchState, VoidCause
from ladder.field_types import RECORD
from ladder.ids import AgentId, LeagueId, MatchId, ScrimId, SeasonId
from ladder.matches import head_to_head, history, match_search
from ladder.matches.head_to_head import Record
from ladder.matches.match_titles import lineup_title, match_title
from ladder.matches.records import Episode, Match, Seat
from ladder.people import users
from ladder.people.records import Viewer
from ladder.reports import highlights
from services.http import etags, match_filters, permissions
from services.http.app_state import AppState, Db
from services.http.auth import Anyone, Credentials, Host, Known
from services.http.live_answers import WatchedMatch, answer_watcher, watched_match, watcher_key
from services.http.live_streams import Watcher
from services.http.match_filters import AgentName, Filters
from services.http.operations import Operations
from services.http.paging import Page, Paging
from services.http.path_parameters import MatchKey
from services.http.problems import ProblemError
from services.http.seat_logs import LogFormat, unpack_stored
from services.http.seat_logs import read_seat_log as read_log
from services.leagues.things import HostedLeague, VisibleLeague
from services.matches.things import VisibleMatch

operations = Operations("matches")
MEETINGS_SHOWN = 50


@dataclass(frozen=True, slots=True)
class ShownMatch:
    __pydantic_config__ = RECORD
    id: Annotated[MatchId, Field(examples=["mat_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    title: Annotated[str, Field(examples=["Lattice beats Drifter in 199 steps"])]
    ending: Annotated[str | None, Field(examples=["lost: timed out"])]
    """How the match ended for the agent or entry of the filter; null without one."""
    kind: MatchKind
    season_id: SeasonId
    league_id: LeagueId
    scrim_id: ScrimId | None
    game: str
    state: MatchState
    attempt: int
    created_at: datetime
    finished_at: datetime | None
    void_cause: VoidCause | None
    void_reason: str | None
    """The cause in words."""
    accepted_no: int | None
    seed: str | None
    """Hex; hidden until the match and its tournament are over."""
    seats: tuple[Seat, ...]
    episodes: tuple[Episode, ...]


@dataclass(frozen=True, slots=True)
class SeatRecord:
    __pydantic_config__ = RECORD
    seat: int
    record: Record


@dataclass(frozen=True, slots=True)
class SeatsRecord:
    __pydantic_config__ = RECORD
    seat: int
    """Seat in which the agent started, from 0."""
    opponent_seat: int
    record: Record


@dataclass(frozen=True, slots=True)
class VersionRecord:
    __pydantic_config__ = RECORD
    version: int
    """`version` of the agent's submission."""
    submission_number: int
    opponent_version: int
    opponent_submission_number: int
    record: Record


@dataclass(frozen=True, slots=True)
class ShownHeadToHead:
    """Results of the agent against the opponent."""

    __pydantic_config__ = RECORD
    agent_id: AgentId
    agent_name: str
    opponent_id: AgentId
    opponent_name: str
    total: Record
    by_seat: list[SeatRecord]
    by_seats: list[SeatsRecord]
    """By the seats in which both started."""
    by_version: list[VersionRecord]
    matches: list[MatchId]
    """Newest matches in which both played."""


@dataclass(frozen=True, slots=True)
class EpisodeLocation:
    """The match and position of an episode number."""

    match_id: MatchId
    number: int
    position: int


@dataclass(frozen=True, slots=True)
class ShownHighlight:
    __pydantic_config__ = RECORD
    match_id: MatchId
    title: str
    """Who met whom, without the result."""
    pinned: bool
    """Whether a host pinned it."""
    reasons: tuple[str, ...] = ()
    """Why it is worth watching, in words."""
    upset: float | None = None
    """Chance before that the others would do better."""
    lead_changes: int | None = None
    closeness: float | None = None
    """1: the best two were equal near the end."""
    score: float | None = None
    """What the list is sorted by."""


@dataclass(frozen=True, slots=True)
class Highlights:
    """Pinned matches first, then the best of the day."""

    items: list[ShownHighlight]


class LiveFrames(BaseModel):
    """Frames of a running match, as in a frames document."""

    state: MatchState
    id: str = Field(description="send it as `after` to get only later frames")
    position: int = Field(description="which episode: 0 is the first")
    episodes: int = Field(description="episodes that began")
    first: int = Field(description="number of the first of these frames; 0 is the start")
    frames: list[dict[str, Any]]
    steps: list[dict[str, Any]] = Field(description="the steps that led to these frames")


def shown_match(viewer: Viewer, match: Match, ending: str | None = None) -> ShownMatch:
    """A match that was read for this viewer."""
    return ShownMatch(
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
        void_reason=permissions.void_reason(viewer, match),
        accepted_no=match.accepted_no,
        seed=None if match.shown_seed is None else match.shown_seed.hex(),
        seats=match.seats,
        episodes=match.episodes,
    )


@operations("GET", "/matches", "List matches", problems=(404,))
def list_matches(conn: Db, viewer: Anyone, span: Paging, filters: Filters) -> Page[ShownMatch]:
    """Lists matches that meet all filters, newest first.

    `opponent`, `version`, `outcome`, `verdict` and `seat` are about the named agent or entry.
    Without a season, an agent, an entry or a scrim, these are the rated matches of all leagues.
    """
    wanted = match_filters.resolve_filters(conn, viewer, filters)
    before = MatchId(span.after) if span.after else None
    page = match_search.search_page(conn, viewer, wanted, before, span.limit)
    return span.page_before(
        page.matches,
        page.following,
        lambda match: shown_match(viewer, match, wanted.ending(match)),
    )


@operations("GET", "/head-to-head", "Compare two agents", problems=(404,))
def read_head_to_head(
    conn: Db,
    viewer: Anyone,
    agent: Annotated[AgentName, Query(description="id, slug or name")],
    opponent: Annotated[AgentName, Query(description="id, slug or name")],
) -> ShownHeadToHead:
    """Counts the newest rated matches in which both played: in total, by seat and by version."""
    first = agents.find_visible_agent(conn, viewer, agent)
    other = agents.find_visible_agent(conn, viewer, opponent, "opponent")
    results = head_to_head.read_head_to_head(conn, viewer, first.id, other.id)
    numbers = {number for pair in results.by_submission for number in pair}
    versions = agents.versions_of_numbers(conn, numbers)
    return ShownHeadToHead(
        agent_id=first.id,
        agent_name=first.name,
        opponent_id=other.id,
        opponent_name=other.name,
        total=results.total,
        by_seat=[SeatRecord(seat, record) for seat, record in results.by_seat.items()],
        by_seats=[SeatsRecord(*seats, record) for seats, record in results.by_seats.items()],
        by_version=[
            VersionRecord(versions[mine], mine, versions[theirs], theirs, record)
            for (mine, theirs), record in results.by_submission.items()
        ],
        matches=[meeting.match_id for meeting in results.meetings[:MEETINGS_SHOWN]],
    )


@operations("GET", "/matches/{match}", "Read a match", problems=(404,))
def read_match(match: VisibleMatch, viewer: Anyone) -> ShownMatch:
    """The seats and their results. The seed is shown after the match and its
    tournament."""
    return shown_match(viewer, match)


@operations("GET", "/episodes/{number}", "Find an episode by its number", problems=(404,))
def find_episode(
    number: Annotated[int, Path(ge=1, le=2**62)], conn: Db, viewer: Anyone
) -> EpisodeLocation:
    """Finds the match of the integer id in Kaggle's formats."""
    match = history.match_of_episode(conn, number, viewer)
    position = next(one.position for one in match.episodes if one.number == number)
    return EpisodeLocation(match.id, number, position)


@operations(
    "GET",
    "/matches/{match}/replay",
    "Read a replay",
    problems=(403, 404),
    answer=dict[str, Any],
    responses={304: {"description": "A replay never changes"}},
)
def read_replay(
    match: VisibleMatch,
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
    if match.state is not MatchState.FINISHED:
        raise ProblemError("not-found", f"There is no replay; the match is {match.state}.")
    if not match.access.has_replay:
        raise ProblemError("forbidden", "This league does not show you this replay, or not yet.")
    if format == "kaggle" and match.game not in kaggle_formats.GAME_NAMES:
        title = GAMES[match.game].title if match.game in GAMES else match.game
        raise ProblemError(
            "invalid", f"use peck; Kaggle has no format for {title}.", where="format"
        )
    record = next((one for one in match.episodes if one.position == episode), None)
    if record is None or not app_state.blobs.exists(record.replay_digest):
        raise ProblemError("not-found", f"There is no such replay; the match is {match.state}.")
    names = [seat.team_name for seat in match.seats]
    form = f"kaggle.{etags.names_tag(names)}" if format == "kaggle" else format
    headers = {
        "ETag": f'W/"{record.id}.{form}"',
        "Cache-Control": "private, no-cache",
        "Vary": "Accept-Encoding, Authorization",
    }
    if etags.matches(if_none_match, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    if format == "kaggle":
        content = b"".join(app_state.blobs.open(record.replay_digest))
        exported = kaggle_formats.episode_json(
            episodes.from_bytes(content), episode_id=record.number, team_names=names
        )
        content = json.dumps(exported).encode()
    elif "gzip" in accept_encoding:
        content = b"".join(app_state.blobs.open(record.replay_digest))
        headers["Content-Encoding"] = "gzip"
    else:
        content = unpack_stored(app_state.blobs, record.replay_digest)
    return Response(content, headers=headers, media_type="application/json")


@operations(
    "GET",
    "/matches/{match}/seats/{seat}/log",
    "Read a seat's log",
    problems=(403, 404),
    answer=Any,
)
def read_seat_log(
    viewer: Known,
    match: VisibleMatch,
    seat: Annotated[int, Path(ge=0, le=15)],
    app_state: AppState,
    format: LogFormat = "raw",
) -> Response:
    """Output, times and traceback. The owner of the seat's agent may read them, and graders of the
    league to whom its team agreed."""
    return read_log(app_state.blobs, match, seat, format)


def watched_by_token(
    match: MatchKey, request: Request, conn: Db, viewer: Anyone, credentials: Credentials
) -> tuple[WatchedMatch, Watcher]:
    """The match that the token's owner watches."""
    token = credentials.credentials if credentials else None
    again = (lambda conn: users.viewer_of_token(conn, token)) if token else None
    watcher = Watcher(watcher_key(request, viewer), viewer, again)
    return watched_match(conn, viewer, match), watcher


@operations(
    "GET",
    "/matches/{match}/live",
    "Watch a running match",
    problems=(403, 404, 503),
    answer=LiveFrames,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def watch_match(
    request: Request,
    app_state: AppState,
    watched: Annotated[tuple[WatchedMatch, Watcher], Depends(watched_by_token)],
    episode: Annotated[int, Query(ge=0, le=1000)] = 0,
    after: Annotated[str, Query(max_length=30, description="`id` of the last answer")] = "",
) -> Response:
    """The frames so far; with `Accept: text/event-stream` a stream of new ones.

    The stream resumes from `Last-Event-ID`. Its events are `frames`, `next` (another episode began)
    and `end`. A match that is not being played has no frames here: read its replay.
    """
    return await answer_watcher(request, app_state, *watched, episode, after)


@operations("GET", "/leagues/{league}/highlights", "List games worth watching", problems=(404,))
def list_highlights(
    conn: Db,
    viewer: Anyone,
    league: VisibleLeague,
    day: Annotated[
        date | None,
        Query(
            description="a day in UTC; default: the last 24 hours",
            ge=date(2020, 1, 1),
            le=date(9000, 1, 1),
        ),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Highlights:
    """Finished rated matches whose replay you may see, by upset, lead changes, closeness and
    length."""
    rows = highlights.list_highlights(conn, viewer, league=league, day=day, limit=limit)
    return Highlights([shown_highlight(row) for row in rows])


def shown_highlight(row: highlights.Highlight) -> ShownHighlight:
    shown = ShownHighlight(row.match.id, lineup_title(row.match), row.is_pinned)
    names = ("reasons", "upset", "lead_changes", "closeness", "score")
    return replace(shown, **{name: getattr(row.interest, name) for name in names if row.interest})


@operations("PUT", "/leagues/{league}/pins/{match}", "Pin a match")
def pin_match(conn: Db, viewer: Host, league: HostedLeague, match: VisibleMatch) -> None:
    """Shows a finished rated match first. Pinning it again changes nothing."""
    highlights.pin_match(conn, league.id, match.id, viewer.user_id)


@operations("DELETE", "/leagues/{league}/pins/{match}", "Unpin a match", problems=(403, 404))
def unpin_match(conn: Db, viewer: Host, league: HostedLeague, match: VisibleMatch) -> None:
    """Repeating it changes nothing."""
    highlights.unpin_match(conn, league.id, match.id, viewer.user_id)
