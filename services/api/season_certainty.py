"""How well the official standing of a season is known."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from ladder.leagues.medals import Medal
from ladder.standings import board_certainty
from services.http import permissions
from services.http.app_state import AppState, Db
from services.http.auth import Anyone
from services.http.lazy_routes import LazyRoute
from services.http.path_parameters import SeasonKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["leaderboard"], route_class=LazyRoute)


class CertaintyMomentOut(BaseModel):
    """One version of the official standing."""

    model_config = ConfigDict(from_attributes=True)
    version: int
    made_at: datetime
    matches: int = Field(description="results in the season's log by then")
    expected_order: float | None = Field(
        description="expected Spearman correlation of the ranks with the true ones; null in old "
        "versions"
    )
    wrong_medals: float = Field(description="expected number of medals of the wrong class")


class MedalOutlookOut(BaseModel):
    """How sure the medals of one class are."""

    model_config = ConfigDict(from_attributes=True)
    medal: Medal
    given: int = Field(description="teams that have it now")
    sure: int = Field(description="those that have it with the season's confidence")
    sure_at: datetime | None = Field(
        description="when all of them are likely to be sure at the present pace; null if that "
        "cannot be told"
    )


class BoardCertaintyOut(BaseModel):
    """How well the official standing is known, over time."""

    model_config = ConfigDict(from_attributes=True)
    games: int = Field(description="games of the competing entries on the board")
    moments: list[CertaintyMomentOut] = Field(
        description="oldest first; at most a dozen while the log grows by the factor e"
    )
    outlooks: list[MedalOutlookOut] = Field(description="one for each class, best first")


@router.get(
    "/seasons/{season}/certainty",
    summary="Read how well the standing is known",
    responses=problem_responses(404),
)
def read_certainty(
    season: SeasonKey, conn: Db, app_state: AppState, who: Anyone
) -> BoardCertaintyOut:
    """Everybody who sees the season. The expectations come from the official fit itself. A season
    of one seat has no moments."""
    found = permissions.visible_season(conn, who, season)
    board = app_state.boards.board(found.id, found.revision)
    seen = board_certainty.read_certainty(conn, found.id, board, datetime.now(UTC))
    return BoardCertaintyOut.model_validate(seen)
