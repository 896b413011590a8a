"""The page of a season's charts: agents over time, and placements by seat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response

from ladder.field_types import KEY
from ladder.reports import season_charts
from ladder.reports.season_charts import StandingMoment
from ladder.standings.board_records import BoardRow
from services.http.app_state import AppState, Db
from services.http.auth import Anyone
from services.leagues import pages as leagues
from services.leagues.things import VisibleLeague
from services.web import charts
from services.web.charts import ChartLine
from services.web.page_rendering import PageRoute, render

router = APIRouter(route_class=PageRoute, include_in_schema=False)
CHOSEN_AT_FIRST: Final = 4
OFFERED: Final = 20
"""Best agents of the board that the form offers, beside the visitor's own and the chosen ones."""
Agents = Annotated[list[Annotated[str, Query(pattern=KEY)]], Query(max_length=charts.MOST_LINES)]


@router.get("/leagues/{league}/charts")
def show_charts(
    request: Request,
    league: VisibleLeague,
    conn: Db,
    app_state: AppState,
    viewer: Anyone,
    season: leagues.SeasonNumber = None,
    agent: Agents = [],  # noqa: B006 (FastAPI copies it)
) -> Response:
    """Draws the official standings of the chosen agents, by default of the best ones."""
    playing = leagues.require_season(leagues.pick_season(conn, league, season))
    rows = one_row_an_agent(app_state.boards.board(playing.id, playing.revision).rows)
    chosen = [row for row in rows if row.agent_id in agent] or rows[:CHOSEN_AT_FIRST]
    offered = [
        row
        for place, row in enumerate(rows)
        if place < OFFERED or row in chosen or row.team_id in viewer.team_ids
    ]
    history = (
        []
        if playing.measures
        else season_charts.standing_history(conn, playing.id, [row.agent_id for row in chosen])
    )
    history = [moment for moment in history if moment.places]
    seats = season_charts.seat_results(conn, playing.id)
    return render(
        request,
        "season_charts.html",
        league=league,
        season=playing,
        offered=offered,
        chosen=chosen,
        most=charts.MOST_LINES,
        letters=charts.LETTERS,
        history=history[::-1],
        scores=charts.draw_lines(lines_of(chosen, history), "Official score") if history else None,
        ranks=charts.draw_lines(lines_of(chosen, history, is_rank=True), "Rank", is_rank=True)
        if any(place.rank is not None for moment in history for place in moment.places.values())
        else None,
        seats=seats,
        seat_bars=charts.draw_seats(seats) if playing.seats > 1 and seats else None,
    )


def one_row_an_agent(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """The best row of each agent, in the order of the board."""
    return list({row.agent_id: row for row in reversed(rows)}.values())[::-1]


def lines_of(
    chosen: list[BoardRow], history: list[StandingMoment], *, is_rank: bool = False
) -> list[ChartLine]:
    """A line for each agent, oldest point first."""
    lines = []
    for row in chosen:
        points = []
        for moment in history:
            place = moment.places.get(row.agent_id)
            value = None if place is None else place.rank if is_rank else place.score
            if value is not None:
                points.append((moment.at, float(value)))
        lines.append(ChartLine(row.agent_name, tuple(points)))
    return lines
