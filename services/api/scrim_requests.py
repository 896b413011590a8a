"""Requests for scrims: a team asks another one, which accepts or declines."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.ids import ScrimRequestId, TeamId
from ladder.scrims import requests
from ladder.scrims.request_models import Decline, NewScrimRequestBody
from ladder.scrims.requests import RequestState
from services.api.scrims import PrivacyOut
from services.http import permissions, scrim_access
from services.http.app_state import Db
from services.http.auth import Known, Scrimmer
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.path_parameters import Filter, ScrimRequestKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["scrims"], route_class=LazyRoute)


class RequestSeatOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    agent_id: str
    agent_name: str
    team_id: str
    submission_id: str | None = Field(description="the pinned version; null until it is accepted")
    submission_number: int | None
    version: int | None = Field(description="place among the submissions of its agent, from 1")


class ScrimRequestOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["srq_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    season_id: str
    league_id: str
    league_slug: str
    league_title: str
    team_id: str
    team_name: str
    asked_team_id: str
    asked_team_name: str
    seats: list[RequestSeatOut]
    games: int
    has_seeds: bool = Field(description="whether the team that asks chose the seeds")
    privacy: PrivacyOut
    words: str
    state: RequestState
    created_at: datetime
    expires_at: datetime
    answered_at: datetime | None
    answer: str = Field(description="a word of the team that was asked")
    scrim_id: str | None


def without_texts(out: ScrimRequestOut) -> ScrimRequestOut:
    """The answer that is stored for a repeated request: without texts of people."""
    names = ("league_slug", "league_title", "team_name", "asked_team_name", "words", "answer")
    seats = [seat.model_copy(update={"agent_name": ""}) for seat in out.seats]
    return out.model_copy(update={**dict.fromkeys(names, ""), "seats": seats})


@router.post(
    "/scrim-requests",
    status_code=201,
    summary="Ask another team for a scrim",
    response_model=ScrimRequestOut,
    responses=problem_responses(403, 404, 409, 429),
)
def ask_for_scrim(body: NewScrimRequestBody, conn: Db, who: Scrimmer, once: Idempotent) -> Response:
    """The agents' policies are judged first. If all accept automatically, the scrim begins at
    once."""
    asked = scrim_access.new_request(conn, who, body)

    def create() -> ScrimRequestOut:
        return ScrimRequestOut.model_validate(requests.ask_for_scrim(conn, asked))

    return once.run(create, keep=without_texts)


@router.get(
    "/scrim-requests", summary="List requests for scrims", responses=problem_responses(403, 404)
)
def list_scrim_requests(
    conn: Db,
    who: Known,
    span: Paging,
    box: Annotated[
        Literal["inbox", "outbox", "both"], Query(description="to your teams, or from them")
    ] = "both",
    state: Annotated[RequestState | None, Query()] = None,
    team: Filter = None,
) -> Page[ScrimRequestOut]:
    """Lists requests to and from your teams, newest first."""
    teams = [permissions.team_to_act_for(conn, who, team).id] if team else sorted(who.team_ids)
    nobody: list[TeamId] = []
    rows = requests.list_requests(
        conn,
        to_teams=nobody if box == "outbox" else teams,
        from_teams=nobody if box == "inbox" else teams,
        state=state,
        after=ScrimRequestId(span.after) if span.after else None,
        limit=span.limit,
    )
    return span.page(rows, lambda row: row.id, ScrimRequestOut.model_validate)


@router.get(
    "/scrim-requests/{request}",
    summary="Read a request for a scrim",
    responses=problem_responses(404),
)
def read_scrim_request(request: ScrimRequestKey, conn: Db, who: Known) -> ScrimRequestOut:
    """For both teams."""
    return ScrimRequestOut.model_validate(permissions.visible_scrim_request(conn, who, request))


@router.post(
    "/scrim-requests/{request}/accept",
    summary="Accept a request for a scrim",
    responses=problem_responses(403, 404, 409, 429),
)
def accept_scrim_request(request: ScrimRequestKey, conn: Db, who: Scrimmer) -> ScrimRequestOut:
    """Pins the newest active versions and queues the games. Repeating it changes nothing."""
    found = scrim_access.asked_request(conn, who, request)
    return ScrimRequestOut.model_validate(requests.accept_request(conn, found.id, who.user_id))


@router.post(
    "/scrim-requests/{request}/decline",
    summary="Decline a request for a scrim",
    responses=problem_responses(403, 404, 409),
)
def decline_scrim_request(
    request: ScrimRequestKey, body: Decline, conn: Db, who: Scrimmer
) -> ScrimRequestOut:
    """Repeating it changes nothing."""
    found = scrim_access.asked_request(conn, who, request)
    done = requests.decline_request(conn, found.id, who.user_id, body.words)
    return ScrimRequestOut.model_validate(done)


@router.post(
    "/scrim-requests/{request}/withdraw",
    summary="Withdraw a request for a scrim",
    responses=problem_responses(403, 404, 409),
)
def withdraw_scrim_request(request: ScrimRequestKey, conn: Db, who: Scrimmer) -> ScrimRequestOut:
    """Repeating it changes nothing."""
    found = permissions.own_scrim_request(conn, who, request)
    return ScrimRequestOut.model_validate(requests.withdraw_request(conn, found.id, who.user_id))
