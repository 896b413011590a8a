"""The page that shows how well the official standing of a season is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from fastapi import APIRouter, Request, Response

from ladder.standings import board_certainty
from ladder.standings.board_certainty import CertaintyMoment
from services.http.app_state import AppState, Db
from services.http.auth import Anyone
from services.leagues.pages import SeasonNumber, pick_season, require_season
from services.leagues.things import VisibleLeague
from services.web.page_rendering import PageRoute, render

router = APIRouter(route_class=PageRoute, include_in_schema=False)
WIDTH: Final = 600
HEIGHT: Final = 160


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of a chart of WIDTH x HEIGHT; ``top`` and ``bottom`` are the ends of its scale."""

    points: str
    """Places for an SVG polyline."""
    last: tuple[float, float]
    top: float
    bottom: float


@router.get("/leagues/{league}/certainty")
def show_certainty(
    request: Request,
    league: VisibleLeague,
    conn: Db,
    app_state: AppState,
    viewer: Anyone,
    season: SeasonNumber = None,
) -> Response:
    """Shows it to everybody who sees the league."""
    chosen = require_season(pick_season(conn, league, season))
    board = app_state.boards.board(chosen.id, chosen.revision)
    known = board_certainty.read_certainty(conn, chosen.id, board, datetime.now(UTC))
    orders = [each for each in known.moments if each.expected_order is not None]
    return render(
        request,
        "certainty.html",
        league=league,
        season=chosen,
        known=known,
        teams=board.rows.ranked,
        order=draw_curve(orders, [each.expected_order or 0.0 for each in orders], 1.0),
        wrong=draw_curve(known.moments, [each.wrong_medals for each in known.moments]),
        width=WIDTH,
        height=HEIGHT,
    )


def draw_curve(
    moments: Sequence[CertaintyMoment], values: Sequence[float], top: float | None = None
) -> Curve | None:
    """The values over the matches played; None if there are fewer than two."""
    if len(moments) < 2:
        return None
    high = max([*values, 1e-9]) if top is None else top
    low = min([0.0, *values])
    first, last = moments[0].matches, moments[-1].matches
    places = [
        (
            WIDTH * (each.matches - first) / max(last - first, 1),
            HEIGHT * (high - value) / max(high - low, 1e-9),
        )
        for each, value in zip(moments, values, strict=True)
    ]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return Curve(points, places[-1], high, low)
