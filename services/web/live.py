"""Watching running matches: streams for the player, lists of what is played now, and TV."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Query, Request, Response

from games import GAMES
from ladder.database.db import Connection
from ladder.enums import MatchState
from ladder.ids import AgentId, LeagueId, MatchId
from ladder.leagues import leagues, seasons
from ladder.leagues.records import League
from ladder.matches import history, live_matches
from ladder.matches.match_titles import lineup_title, match_title
from ladder.matches.records import Match
from ladder.people import sessions
from ladder.people.records import STRANGER, Viewer
from ladder.reports import highlights, next_match
from services.http import etags, permissions
from services.http.app_state import AppState, Db, State
from services.http.auth import Anyone
from services.http.live_answers import (
    WatchedMatch,
    answer_watcher,
    watched_match,
    watcher_key,
)
from services.http.live_matches import open_games
from services.http.live_streams import Watcher
from services.http.path_parameters import AgentKey, MatchKey
from services.leagues.things import VisibleLeague
from services.web.page_rendering import HEADERS, PageRoute, not_modified, render
from services.web.session import SESSION, cookie_of_request

router = APIRouter(route_class=PageRoute, include_in_schema=False)
SHOWN: Final = 6
TV_SEEN: Final = 12
"""Matches that TV does not show again at once."""
Seen = Annotated[str, Query(max_length=41 * TV_SEEN, pattern=r"^[A-Za-z0-9_.]*$")]
"""The matches that were shown, newest last, with dots between."""
Stopped = Literal["", "paused", "closed", "finished"]
Position = Annotated[int, Query(ge=0, le=1000)]


@dataclass(frozen=True, slots=True)
class PlayingNow:
    """What a list of running matches shows."""

    matches: list[Match]
    waiting: int = 0
    """Number of queued matches, if no match is shown."""
    is_busy: bool = False
    """Whether they wait because all slots play something that the list does not show."""
    stopped: Stopped = ""
    """Why a league makes no new rated matches."""


def watched_by_visitor(
    match: MatchKey, request: Request, conn: Db, viewer: Anyone
) -> tuple[WatchedMatch, Watcher]:
    """The match that the visitor watches."""
    key = cookie_of_request(request, SESSION)

    def read_again(conn: Connection) -> Viewer | None:
        session = sessions.viewer_of_session(conn, key) if key else None
        return session[1] if session else None

    again = read_again if viewer.user_id is not None else None
    return watched_match(conn, viewer, match), Watcher(watcher_key(request, viewer), viewer, again)


@router.get("/matches/{match}/live")
async def watch_match(
    request: Request,
    app_state: AppState,
    watched: Annotated[tuple[WatchedMatch, Watcher], Depends(watched_by_visitor)],
    episode: Position = 0,
    after: Annotated[str, Query(max_length=30)] = "",
) -> Response:
    """The frames of a running match for the player, as a stream or as JSON."""
    return await answer_watcher(request, app_state, *watched, episode, after)


@router.get("/playing")
def show_playing(
    request: Request, conn: Db, viewer: Anyone, if_none_match: etags.IfNoneMatch = None
) -> Response:
    """The list of matches that are played now, for live updates."""
    return _playing(request, playing_now(conn, viewer), if_none_match)


@router.get("/leagues/{league}/playing")
def show_playing_in_league(
    request: Request,
    league: VisibleLeague,
    conn: Db,
    viewer: Anyone,
    if_none_match: etags.IfNoneMatch = None,
) -> Response:
    """The same for a league."""
    return _playing(request, playing_in_league(conn, viewer, league), if_none_match)


@router.get("/agents/{agent}/playing")
def show_playing_of_agent(
    request: Request,
    agent: AgentKey,
    conn: Db,
    viewer: Anyone,
    if_none_match: etags.IfNoneMatch = None,
) -> Response:
    """The same for an agent."""
    agent_id = permissions.visible_agent(conn, viewer, agent).id
    return _playing(request, playing_now(conn, viewer, agent_id=agent_id), if_none_match)


def playing_now(
    conn: Connection,
    viewer: Viewer,
    *,
    league_id: LeagueId | None = None,
    agent_id: AgentId | None = None,
) -> PlayingNow:
    """The newest running matches that the visitor may watch; if there are none, what waits."""
    running = live_matches.list_running(
        conn, viewer, open_games(), league_id=league_id, agent_id=agent_id, limit=SHOWN
    )
    if running:
        return PlayingNow(running)
    waiting = live_matches.count_waiting(conn, viewer, league_id=league_id, agent_id=agent_id)
    is_busy = waiting > 0 and live_matches.is_every_slot_busy(conn)
    return PlayingNow(running, waiting, is_busy)


def playing_in_league(conn: Connection, viewer: Viewer, league: League) -> PlayingNow:
    """The same for a league, and why its current season makes no new rated matches."""
    season = seasons.current_season(conn, league.id)
    stopped: Stopped = ""
    if season is not None and season.state == "finished":
        stopped = "finished"
    elif league.state != "open":
        stopped = "paused" if league.state == "paused" else "closed"
    return replace(playing_now(conn, viewer, league_id=league.id), stopped=stopped)


def _playing(request: Request, playing: PlayingNow, if_none_match: str | None) -> Response:
    content = ",".join(
        [
            *(one.id for one in playing.matches),
            f"{playing.waiting}{playing.is_busy}{playing.stopped}",
        ]
    )
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    tag = f'W/"playing.{digest}"'
    if etags.matches(if_none_match, tag):
        return not_modified(tag)
    return render(request, "parts/playing.html", etag=tag, playing=playing)


@router.get("/tv")
def show_tv(
    request: Request,
    conn: Db,
    app_state: AppState,
    viewer: Anyone,
    seen: Seen = "",
    live: bool = False,
) -> Response:
    """One public match after another: running ones first, then replays.

    With ``live`` the answer is empty unless a match that is not in ``seen`` is being played.
    """
    past = seen_before(seen)
    if live and all(one.id in past for one in _running_on_tv(conn, viewer)):
        return Response(status_code=204, headers=HEADERS)
    match = next_on_tv(conn, app_state, past, viewer)
    is_live = match is not None and match.state is MatchState.RUNNING
    values: dict[str, Any] = {"match": match, "past": ".".join(past)}
    if match is not None:
        values |= {
            "neutral": lineup_title(match),
            "title": match_title(match),
            "league": leagues.get_league(conn, match.league_id),
            "seated": sorted(match.seats, key=lambda seat: seat.seat),
            "episode_address": f"/matches/{match.id}/episode.json?position=0",
            "live_address": f"/matches/{match.id}/live?episode=0" if is_live else "",
            "position": 0,
            "logs": {},
            "past": past_with(past, match.id),
        }
    return render(request, "tv.html", **values)


def seen_before(seen: str) -> list[str]:
    """The ids in ``Seen``."""
    return seen.split(".")[-TV_SEEN:] if seen else []


def past_with(past: Sequence[str], match: MatchId) -> str:
    """``Seen`` after one more match."""
    return ".".join([*(one for one in past if one != match), match][-TV_SEEN:])


def next_on_tv(
    conn: Connection, app_state: State, past: Sequence[str], viewer: Viewer
) -> Match | None:
    """The public match that comes after those of ``past``, if the visitor may see it too.

    Running matches come first, then games worth watching, then the newest replays. Games of a
    single player are the dullest to watch: they come last.
    """
    running = _running_for(conn, viewer)
    best = [one.match for one in highlights.list_highlights(conn, STRANGER)]
    newest = list(next_match.newest_replays(conn, STRANGER))
    groups = (
        _of_several(running),
        _kept(app_state, _of_several(best)),
        _kept(app_state, _of_several(newest)),
        [one for one in running if len(one.seats) == 1],
        _kept(app_state, (one for one in (*best, *newest) if len(one.seats) == 1)),
    )
    return next_match.choose_next(groups, past, next_match.last_league(conn, past))


def _of_several(matches: Iterable[Match]) -> list[Match]:
    return [match for match in matches if len(match.seats) > 1]


def _running_on_tv(conn: Connection, viewer: Viewer) -> list[Match]:
    return _of_several(_running_for(conn, viewer))


def _running_for(conn: Connection, viewer: Viewer) -> list[Match]:
    """Public running matches that the visitor may see: not the own ones of a remote agent."""
    public = live_matches.list_running(conn, STRANGER, open_games(), limit=40)
    return history.get_matches(conn, [match.id for match in public], viewer)


def _kept(app_state: State, matches: Iterable[Match]) -> Iterator[Match]:
    return (match for match in matches if match.game in GAMES and is_kept(app_state, match))


def is_kept(app_state: State, match: Match) -> bool:
    """Whether the replay of a finished match is there."""
    return bool(match.episodes) and app_state.blobs.exists(match.episodes[0].replay_digest)
