"""The page of a match with result, player and downloads; and a seat's log for its owner."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request, Response

from games import GAMES, external, frames, kaggle_formats
from games import episode as episodes
from games.protocol import GameError
from ladder.database.db import Connection
from ladder.enums import MatchKind, MatchState
from ladder.errors import NotFound
from ladder.field_types import KEY
from ladder.leagues import leagues, seasons
from ladder.leagues.records import league_resource
from ladder.matches.match_titles import lineup_title, match_title
from ladder.matches.records import Episode, Match, Seat
from ladder.people.permissions import may_manage
from ladder.people.records import Viewer
from ladder.reports import highlights, next_match
from ladder.scrims.forks import FORKABLE
from ladder.tournaments import views
from services.http import etags, permissions
from services.http.app_state import AppState, Db, State
from services.http.auth import Anyone
from services.http.live_answers import may_watch
from services.http.problems import ProblemError
from services.http.seat_logs import unpack_stored
from services.matches.things import VisibleMatch
from services.tournaments.pages import PageChoice
from services.web import form_texts, formatting
from services.web.page_rendering import HEADERS, PageRoute, not_modified, render
from services.web.sharing import match_sharing

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Position = Annotated[int, Query(ge=0, le=1000)]
MOVES_SHOWN = 60
OVER = (MatchState.FINISHED, MatchState.VOID)


@dataclass(frozen=True, slots=True)
class SeatRow:
    """A seat, as far as this visitor may see it."""

    seat: Seat
    owner: bool
    log: bool
    times: bool
    change: float | None
    after: float | None


@router.get("/matches/{match}")
def show_match(
    request: Request,
    match: VisibleMatch,
    conn: Db,
    app_state: AppState,
    viewer: Anyone,
    episode: Position = 0,
    agent: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows result, player and downloads. Marks the agent from whose list the reader comes."""
    season = seasons.get_season(conn, match.season_id)
    is_mirrored = match.game in GAMES and GAMES[match.game].mirrored
    is_live = match.state is MatchState.RUNNING and may_watch(conn, viewer, match.id)
    known_episodes = int(is_mirrored) + 1 if is_live else len(match.episodes)
    position = min(episode, max(0, known_episodes - 1))
    is_open = match.access.has_replay
    is_kept = bool(match.episodes) and app_state.blobs.exists(
        match.episodes[position].replay_digest
    )
    rows = [seat_row(match, seat, season.score_offset) for seat in match.seats]
    seated = sorted(match.seats, key=lambda seat: seat.seat)
    rows.sort(key=lambda row: (row.seat.placement or 99, row.seat.seat))
    league = leagues.get_league(conn, match.league_id)
    has_replay = is_open and is_kept
    place = views.find_place(conn, viewer, match)
    following = None
    if has_replay:
        following = (
            place.following if place else next_match.match_after(conn, viewer, match, league)
        )
    return render(
        request,
        "match.html",
        match=match,
        place=place,
        round_address=PageChoice(place.tournament.id).address_of_pairing(place.key)
        if place and place.key
        else "",
        following=following,
        title=match_title(match),
        neutral=lineup_title(match),
        pinned=_pinned(conn, viewer, match),
        episode_address=f"/matches/{match.id}/episode.json?position={position}",
        live_address=f"/matches/{match.id}/live?episode={position}" if is_live else "",
        sharing=match_sharing(request, conn, match) if has_replay else None,
        logs={
            row.seat.seat: f"/logs/{match.id}/{row.seat.seat}?download=1" for row in rows if row.log
        },
        league=league,
        seats=rows,
        copies=copies_by_end(rows) if match.kind is MatchKind.VALIDATION else None,
        replay=has_replay,
        fork_address=f"/matches/{match.id}/fork?episode={position}"
        if viewer.team_ids and not match.is_fork and match.kind in FORKABLE
        else "",
        form=formatting.episode_format(match.game in kaggle_formats.GAME_NAMES),
        is_open=is_open,
        asked_agent=agent,
        measures=season.measures,
        void_reason=permissions.void_reason(viewer, match),
        position=position,
        is_mirrored=is_mirrored,
        seated=seated[::-1] if is_mirrored and position % 2 else seated,
    )


@router.get("/matches/{match}/state")
def show_state(
    request: Request, match: VisibleMatch, conn: Db, viewer: Anyone, was: MatchState | None = None
) -> Response:
    """The state alone, for live updates. Asks the page to reload once the match is over, or when
    it begins and the visitor may watch it."""
    begins = was is MatchState.QUEUED and match.state is MatchState.RUNNING
    if match.state in OVER or (begins and may_watch(conn, viewer, match.id)):
        return Response(status_code=205)
    return render(request, "parts/match_state.html", match=match)


@router.get("/matches/{match}/episode.json")
def send_episode(
    match: VisibleMatch,
    app_state: AppState,
    position: Position = 0,
    download: bool = False,
    if_none_match: etags.IfNoneMatch = None,
    accept_encoding: Annotated[str, Header()] = "",
) -> Response:
    """Sends the episode as frames of its game, or as a download in Kaggle's format if it has one.

    A replay never changes, but its readers do. So browsers ask each time and get 304. The tag
    includes the rules, because the rules compute the frames.
    """
    one = kept_episode(app_state, match, position)
    is_kaggle = download and match.game in kaggle_formats.GAME_NAMES
    form = "kaggle" if is_kaggle else "frames"
    rules = external.rules_digest(match.game)[:16] if match.game in GAMES else "none"
    names = tuple(seat.team_name for seat in match.seats)
    tag = f'W/"{one.id}.{form}.{rules}.{etags.names_tag(names)}"'
    if etags.matches(if_none_match, tag):
        return not_modified(tag)

    def made() -> bytes:
        record = episodes.from_bytes(b"".join(app_state.blobs.open(one.replay_digest)))
        content = (
            kaggle_formats.episode_json(record, episode_id=one.number, team_names=names)
            if is_kaggle
            else frames_json(record)
        )
        return json.dumps(content, separators=(",", ":")).encode()

    content = app_state.replays.get_or_compress((tag, names), made)
    headers = {**HEADERS, "ETag": tag, "Vary": f"{HEADERS['Vary']}, Accept-Encoding"}
    if "gzip" in accept_encoding:
        headers["Content-Encoding"] = "gzip"
    else:
        content = gzip.decompress(content)
    if download:
        end = "replay" if is_kaggle else form
        headers["Content-Disposition"] = f'attachment; filename="episode-{one.number}-{end}.json"'
    return Response(content, headers=headers, media_type="application/json")


def frames_json(record: episodes.Episode) -> Any:
    """The frames of the game. 404 if the rules are missing or have changed."""
    try:
        return frames.frames_json(record)
    except GameError as error:
        raise ProblemError("not-found", form_texts.REPLAY_GONE.format(error)) from None


@router.get("/matches/{match}/replay")
def send_replay(match: VisibleMatch, app_state: AppState, position: Position = 0) -> Response:
    """Sends the stored replay in our own format."""
    one = kept_episode(app_state, match, position)
    name = f'attachment; filename="episode-{one.number}.peck.json.gz"'
    return Response(
        b"".join(app_state.blobs.open(one.replay_digest)),
        headers={**HEADERS, "Content-Disposition": name},
        media_type="application/gzip",
    )


@router.get("/logs/{match}/{seat}")
def show_log(
    request: Request,
    match: VisibleMatch,
    seat: Annotated[int, Path(ge=0, le=15)],
    conn: Db,
    app_state: AppState,
    viewer: Anyone,
    download: bool = False,
    page: Annotated[int, Query(ge=1, le=100_000)] = 1,
) -> Response:
    """Shows an agent's output for each move, some moves a page.

    404 for everybody but its owner and graders.
    """
    one = next((row for row in match.seats if row.seat == seat), None)
    if one is None or one.log_digest is None or seat not in match.access.log_seats:
        raise NotFound.of("log")
    text = unpack_stored(app_state.blobs, one.log_digest)
    log: dict[str, Any] = json.loads(text)
    if download:
        name = f'attachment; filename="match-{match.id}-seat-{seat}-log.json"'
        headers = {**HEADERS, "Content-Disposition": name}
        return Response(text, headers=headers, media_type="application/json")
    moves = log["moves"]
    spent = [move.get("charged_seconds") or 0.0 for move in moves]
    pages = max(1, -(-len(moves) // MOVES_SHOWN))
    first = (min(page, pages) - 1) * MOVES_SHOWN
    return render(
        request,
        "log.html",
        match=match,
        seat=one,
        league=leagues.get_league(conn, match.league_id),
        log=log,
        moves=moves[first : first + MOVES_SHOWN],
        page=min(page, pages),
        pages=pages,
        total=sum(spent),
        slowest=max(spent, default=0.0),
        slowest_at=spent.index(max(spent)) // MOVES_SHOWN + 1 if spent else 1,
        failed_at=page_of_step(moves, log.get("failed_step")),
    )


def page_of_step(moves: list[dict[str, Any]], step: int | None) -> int | None:
    """The page of the log with this step, or None."""
    places = [place for place, move in enumerate(moves) if move["step"] == step]
    return None if step is None or not places else places[-1] // MOVES_SHOWN + 1


def kept_episode(app_state: State, match: Match, position: int) -> Episode:
    """The episode at this position, if the visitor may see its replay."""
    if not match.access.has_replay:
        raise ProblemError("forbidden", form_texts.REPLAY_HIDDEN)
    episode = next((row for row in match.episodes if row.position == position), None)
    if episode is None or not app_state.blobs.exists(episode.replay_digest):
        raise NotFound.of("replay")
    return episode


def _pinned(conn: Connection, viewer: Viewer, match: Match) -> bool | None:
    """Whether the match is pinned, for a host who may pin it; None for others."""
    league = leagues.get_league(conn, match.league_id)
    is_pinnable = match.kind is MatchKind.RATED and match.state is MatchState.FINISHED
    if not is_pinnable or not may_manage(viewer, league_resource(league)):
        return None
    return match.id in highlights.pinned_matches(conn, league.id)


def copies_by_end(rows: Sequence[SeatRow]) -> list[list[SeatRow]]:
    """The copies of a validation, those that ended alike together. The first failure is first."""
    groups: dict[tuple[str | None, int | None, str | None], list[SeatRow]] = {}
    for row in rows:
        seat = row.seat
        told = (seat.failed_step, seat.reason) if row.owner else (None, None)
        groups.setdefault((seat.verdict, *told), []).append(row)
    return sorted(
        groups.values(),
        key=lambda group: (group[0].seat.verdict in (None, "DONE"), group[0].seat.failed_step or 0),
    )


def seat_row(match: Match, seat: Seat, score_offset: float) -> SeatRow:
    rated = seat.mu_after is not None and seat.mu_before is not None
    owner = seat.seat in match.access.log_seats
    return SeatRow(
        seat=seat,
        owner=owner,
        log=owner and seat.log_digest is not None,
        times=owner or match.access.has_replay,
        change=(seat.mu_after or 0.0) - (seat.mu_before or 0.0) if rated else None,
        after=(seat.mu_after or 0.0) + score_offset if rated else None,
    )
