"""The page for a screen that shows a tournament, at a secret address."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Path, Query, Request, Response

from ladder.database.db import Connection
from ladder.tournaments import shows
from ladder.tournaments.formats.plan import DoubleElimination, SingleElimination, describe_plan
from ladder.tournaments.shows import Direction, SceneKind, Screen
from services.http import etags, permissions
from services.http.app_state import AppState, Db
from services.http.path_parameters import MatchKey
from services.http.problems import ProblemError
from services.tournaments.bracket_svg import draw_bracket
from services.web import forms, matches
from services.web.account import redirect
from services.web.page_rendering import PageRoute, render

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Secret = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{20,60}$")]
Position = Annotated[int, Query(ge=0, le=1000)]
SHOWN: Final = 16
"""Lines of a table or list on the screen."""


@router.get("/shows/{secret}")
def show_screen(
    request: Request,
    secret: Secret,
    conn: Db,
    was: Annotated[int | None, Query(ge=0, le=10**9)] = None,
) -> Response:
    """The scene on the screen; 204 for a page that has the scene ``was``."""
    if was is not None and shows.open_show(conn, secret)[0].scene == was:
        return Response(status_code=204, headers={"Cache-Control": "no-store"})
    screen = shows.read_screen(conn, secret)
    response = render(
        request,
        "tournaments/show.html",
        secret=secret,
        kinds=SceneKind,
        **_values(conn, screen, secret),
    )
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Robots-Tag"] = "noindex"
    return response


@router.post("/shows/{secret}")
def move_screen(secret: Secret, conn: Db, sent: forms.Sent) -> Response:
    """Moves the show, unless another screen moved it from this scene before."""
    try:
        start, direction = int(str(sent.get("from", ""))[:9]), Direction(str(sent.get("go")))
    except ValueError:
        raise ProblemError("not-found") from None
    shows.move_show(conn, secret, start, direction)
    return redirect(f"/shows/{secret}")


@router.get("/shows/{secret}/matches/{match}/episode.json")
def send_shown_episode(
    secret: Secret,
    match: MatchKey,
    conn: Db,
    app_state: AppState,
    position: Position = 0,
    if_none_match: etags.IfNoneMatch = None,
    accept_encoding: Annotated[str, Header()] = "",
) -> Response:
    """The frames of an episode that the show has come to."""
    match_id, maker = shows.shown_game(conn, secret, match, position)
    return matches.send_episode(
        permissions.visible_match(conn, maker, match_id),
        app_state,
        position,
        if_none_match=if_none_match,
        accept_encoding=accept_encoding,
    )


def _values(conn: Connection, screen: Screen, secret: str) -> dict[str, Any]:
    view, scene = screen.view, screen.scene
    values: dict[str, Any] = {
        "screen": screen,
        "view": view,
        "tournament": view.tournament,
        "plan": describe_plan(view.tournament.plan),
        "pairing": screen.pairing,
        "entered": [entrant for entrant in view.entrants if entrant.state == "entered"],
        "shown": SHOWN,
        "match": None,
        "stage": None,
    }
    if scene.kind is SceneKind.GAME and scene.game is not None:
        values |= _player(conn, screen, secret)
    elif scene.kind is SceneKind.RESULT and scene.key is not None:
        stage = view.tournament.plan.stages[scene.key.stage - 1]
        is_bracket = isinstance(stage, SingleElimination | DoubleElimination)
        values |= {
            "stage": scene.key.stage,
            "bracket": draw_bracket(view, scene.key.stage, None) if is_bracket else None,
            "table": [] if is_bracket else view.standings(scene.key.stage),
        }
    return values


def _player(conn: Connection, screen: Screen, secret: str) -> dict[str, Any]:
    """What the player needs, if the maker of the show may see the replay."""
    game = screen.scene.game
    assert game is not None
    match = permissions.visible_match(conn, screen.maker, game.match_id)
    if not match.access.has_replay:
        return {}
    position = screen.scene.position
    seated = sorted(match.seats, key=lambda seat: seat.seat)
    return {
        "match": match,
        "seated": seated[::-1] if len(match.episodes) > 1 and position % 2 else seated,
        "episode_address": f"/shows/{secret}/matches/{match.id}/episode.json?position={position}",
        "position": position,
        "logs": {},
    }
