"""The answer about a running match, the same for the API and the pages."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request, Response

from ladder.database.db import Connection
from ladder.enums import MatchState
from ladder.ids import MatchId
from ladder.matches import history
from ladder.matches.live_matches import LiveState, live_states
from ladder.people.records import Viewer
from services.http import permissions
from services.http.app_state import State
from services.http.attempt_limits import NOBODY, network_of
from services.http.live_matches import open_games
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

    id: MatchId
    state: LiveState


def may_watch(conn: Connection, who: Viewer, match_id: MatchId) -> bool:
    """Whether the viewer may watch this match while it is played."""
    return history.may_watch(conn, who, match_id, open_games())


def watched_match(conn: Connection, who: Viewer, key: str) -> WatchedMatch:
    """The match, if the viewer may see it and, while it is played, may watch it.

    Raises NotFound, and ProblemError 403.
    """
    match = permissions.visible_match(conn, who, key)
    state = live_states(conn, [match.id], open_games())[match.id]
    if state.state is MatchState.RUNNING and not may_watch(conn, who, match.id):
        raise ProblemError("forbidden", "This league does not show you this match, or not yet.")
    return WatchedMatch(match.id, state)


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
    live = await app_state.live.find(found.id, found.state)
    if live is None:
        raise ProblemError("unavailable", "Try again later: too many matches are watched.")
    if wants_stream:
        return LiveStream(live_events(app_state, live, watcher, position, after))
    return _json(live_document(live, position, place_after(live, position, after)))


def _json(text: str) -> Response:
    headers = {"Cache-Control": "no-store"}
    return Response(text, headers=headers, media_type="application/json")
