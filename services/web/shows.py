"""Shows of tournaments: the page for a screen at a secret address, and making such addresses."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Path, Query, Request, Response
from pydantic import ValidationError

from ladder.database.db import Connection
from ladder.errors import LadderError
from ladder.ids import TournamentShowId, UserId
from ladder.tournaments import shows
from ladder.tournaments.formats.plan import DoubleElimination, SingleElimination, describe_plan
from ladder.tournaments.records import NewShow
from ladder.tournaments.shows import Direction, SceneKind, Screen
from services.http import auth, etags, permissions
from services.http.app_state import AppState, Db
from services.http.path_parameters import MatchKey, ShowKey, TournamentKey
from services.http.problems import ProblemError
from services.web import forms, matches, tournaments
from services.web.account import redirect
from services.web.bracket_svg import draw_bracket
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor
from services.web.sharing import site_address

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
        request, "show.html", secret=secret, kinds=SceneKind, **_values(conn, screen, secret)
    )
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Robots-Tag"] = "noindex"
    return response


@router.post("/shows/{secret}")
def move_screen(secret: Secret, conn: Db, given: forms.Sent) -> Response:
    """Moves the show, unless another screen moved it from this scene before."""
    try:
        start, direction = int(str(given.get("from", ""))[:9]), Direction(str(given.get("go")))
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
    found, maker = shows.shown_game(conn, secret, match, position)
    return matches.send_episode(
        found, conn, app_state, maker, position, False, if_none_match, accept_encoding
    )


@router.post("/tournaments/{tournament}/shows")
def create_show(
    request: Request, tournament: TournamentKey, conn: Db, who: Visitor, given: forms.Sent
) -> Response:
    """Makes a show and names its address, this once."""
    auth.check_scopes(who, ("leagues:write",))
    found = permissions.hosted_tournament(conn, who, tournament)
    form = Form.of(given, tournaments.SHOW_FIELDS)
    address = ""
    try:
        wanted = NewShow.model_validate({k: v for k, v in form.values.items() if v})
        _, secret = shows.create_show(conn, found.id, UserId(str(who.user_id)), wanted)
        address = f"{site_address(request)}/shows/{secret}"
    except (ValidationError, LadderError) as error:
        form.add_errors(error)
    page = Form({**tournaments.ACTS, **form.values}, wrong=form.wrong)
    response = tournaments.render_tournament(request, conn, who, found, page, address)
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/tournaments/{tournament}/shows/{show}/revoke")
def revoke_show(
    tournament: TournamentKey, show: ShowKey, conn: Db, who: Visitor, given: forms.Sent
) -> Response:
    """Ends a show."""
    auth.check_scopes(who, ("leagues:write",))
    found = permissions.hosted_tournament(conn, who, tournament)
    shows.revoke_show(conn, found.id, TournamentShowId(show), who.user_id)
    return redirect(f"/tournaments/{found.id}#shows")


def _values(conn: Connection, screen: Screen, secret: str) -> dict[str, Any]:
    view, scene = screen.view, screen.scene
    values: dict[str, Any] = {
        "screen": screen,
        "view": view,
        "found": view.tournament,
        "plan": describe_plan(view.tournament.plan),
        "pairing": screen.pairing,
        "entered": [one for one in view.entrants if one.state == "entered"],
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
    if not permissions.visible_replay_filter(conn, screen.maker)(match):
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
