"""Forks: unrated games that continue a recorded match from one of its steps."""

from __future__ import annotations

from fastapi import APIRouter, Response

from services.api.scrims import ScrimOut, scrim_out
from services.http import forks
from services.http.app_state import AppState, Db
from services.http.auth import Scrimmer
from services.http.forks import NewFork
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.path_parameters import MatchKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["scrims"], route_class=LazyRoute)


@router.post(
    "/matches/{match}/forks",
    status_code=201,
    summary="Fork a match",
    response_model=ScrimOut,
    responses=problem_responses(403, 404, 409, 429),
)
def create_fork(
    match: MatchKey, body: NewFork, conn: Db, app_state: AppState, who: Scrimmer, once: Idempotent
) -> Response:
    """Requests a scrim whose games continue the match after a step.

    Each agent is first asked what its seat was asked in the record. Allowed are your own
    submissions, your team's agents, and agents that accept scrims automatically. Your team sees the
    games, as far as it may see the replay of the match.
    """
    found = forks.forkable_match(conn, who, match)

    def create() -> ScrimOut:
        return scrim_out(conn, who, forks.request_fork(conn, app_state, who, found, body))

    return once.run(create)
