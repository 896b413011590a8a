"""The answer about a running match, the same for the API and the pages."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request, Response

from games import GAMES
from games.protocol import hides_something
from ladder.database.db import Connection
from ladder.enums import MatchState
from ladder.leagues import leagues, seasons
from ladder.matches.live_matches import LiveState, live_resource
from ladder.matches.records import Match
from ladder.people.permissions import may_see
from ladder.people.records import Viewer
from ladder.people.resources import LiveResource
from services.http import permissions
from services.http.app_state import State
from services.http.attempt_limits import NOBODY, network_of
from services.http.live_streams import (
    MEDIA_TYPE,
    LiveStream,
    Watcher,
    end_event,
    ended_document,
    live_document,
    live_events,
    place_after,
    single_event,
)
from services.http.problems import ProblemError


@dataclass(frozen=True, slots=True)
class WatchedMatch:
    """A match that the viewer may see, and its state as the streams need it."""

    match: Match
    state: LiveState
    resource: LiveResource


def game_hides_something(name: str) -> bool:
    """Whether frames of this game show more than an agent sees. True for an unknown game."""
    return name not in GAMES or hides_something(GAMES[name])


def may_watch(conn: Connection, who: Viewer, match: Match) -> bool:
    """Whether the viewer may watch this match while it is played."""
    return may_see(who, _read(conn, match).resource)


def watched_match(conn: Connection, who: Viewer, key: str) -> WatchedMatch:
    """The match, if the viewer may see it and, while it is played, may watch it.

    Raises NotFound, and ProblemError 403.
    """
    found = _read(conn, permissions.visible_match(conn, who, key))
    if found.state.state is MatchState.RUNNING and not may_see(who, found.resource):
        raise ProblemError("forbidden", "This league does not show you this match, or not yet.")
    return found


def _read(conn: Connection, match: Match) -> WatchedMatch:
    season = seasons.get_season(conn, match.season_id)
    league = leagues.get_league(conn, match.league_id)
    resource = live_resource(
        match, league, season.state, hides_something=game_hides_something(match.game)
    )
    state = LiveState(
        match.state,
        match.attempt,
        resource.match.league,
        resource.is_season_finished,
        league.live_delay_seconds,
    )
    return WatchedMatch(match, state, resource)


def watcher_key(request: Request, who: Viewer) -> str:
    """Who counts as one viewer: a person, or a network of people without a session."""
    return who.user_id or network_of(request.client.host if request.client else NOBODY)


async def answer_watcher(
    request: Request,
    app_state: State,
    found: WatchedMatch,
    watcher: Watcher,
    position: int,
    after: str,
) -> Response:
    """A stream for readers who accept one, else the frames after ``after`` or Last-Event-ID."""
    wants_stream = MEDIA_TYPE in request.headers.get("accept", "")
    after = request.headers.get("last-event-id") or after
    if wants_stream:
        app_state.watchers.refuse_more(watcher.key, is_person=watcher.viewer.user_id is not None)
    state = found.state.state
    if state is not MatchState.RUNNING:
        if wants_stream:
            return LiveStream(single_event(end_event(state)))
        return _json(ended_document(state))
    live = await app_state.live.find(found.match.id, found.state, found.resource)
    if live is None:
        raise ProblemError("unavailable", "Try again later: too many matches are watched.")
    if wants_stream:
        return LiveStream(live_events(app_state, live, watcher, position, after))
    return _json(live_document(live, position, place_after(live, position, after)))


def _json(text: str) -> Response:
    headers = {"Cache-Control": "no-store"}
    return Response(text, headers=headers, media_type="application/json")
