"""Requests to join a league, and people whom hosts block from it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from ladder.enums import LeagueRole
from ladder.field_types import Key, Line
from ladder.ids import JoinRequestId, UserId
from ladder.leagues import join_requests, league_blocks, terms
from ladder.leagues.join_requests import RequestState
from ladder.people import users
from services.api.invitations_and_terms import Digest, TermsOut, terms_out
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Host, Known, Writer
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.path_parameters import LeagueKey, PersonKey, RequestKey, UserKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["members"], route_class=LazyRoute)


class LeagueToJoinOut(BaseModel):
    """What a person reads before asking to join."""

    league_id: str
    slug: str
    title: str
    takes_requests: bool
    terms: TermsOut


class NewJoinRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")
    terms: Digest
    words: Annotated[Line, Field(description="a word to the hosts")] = ""


class JoinRequestOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["jrq_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    league_id: str
    slug: str
    title: str
    user_id: str
    name: str
    words: str
    state: RequestState
    created_at: datetime
    expires_at: datetime
    answered_at: datetime | None
    answer: str = Field(description="what the host said")


class JoinAnswer(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"act": "approve", "all": True}]}
    )
    act: Literal["approve", "decline"]
    requests: Annotated[list[Key], Field(max_length=join_requests.MOST_ANSWERED)] = Field(
        default_factory=list, description="ids of requests"
    )
    all: bool = Field(default=False, description="all requests that wait, instead of ids")
    role: Literal["competitor", "viewer"] = "competitor"
    words: Annotated[Line, Field(description="a word to the people")] = ""

    @model_validator(mode="after")
    def _names_requests(self) -> JoinAnswer:
        if self.all == bool(self.requests):
            raise ValueError("give the ids of requests, or set all to true")
        return self


class LeagueBlockOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    user_id: str
    name: str
    reason: str
    created_at: datetime


class NewBlock(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"reason": "spam"}]})
    reason: Annotated[Line, Field(min_length=1, description="the person reads it")]


def without_texts(out: JoinRequestOut) -> JoinRequestOut:
    """The answer that is stored for a repeated request: without texts of people."""
    blank = dict.fromkeys(("slug", "title", "name", "words", "answer"), "")
    return out.model_copy(update=blank)


@router.get(
    "/leagues/{league}/requests/terms",
    summary="Read what joining a league means",
    responses=problem_responses(404),
)
def read_league_to_join(league: LeagueKey, conn: Db, who: Known) -> LeagueToJoinOut:
    """Title and terms of a league that takes requests to join, also for people who do not see the
    league."""
    found = join_requests.league_to_ask(conn, who, league)
    return LeagueToJoinOut(
        league_id=found.id,
        slug=found.slug,
        title=found.title,
        takes_requests=found.takes_requests,
        terms=terms_out(conn, who, found, terms.settings_of_league(found)),
    )


@router.post(
    "/leagues/{league}/requests",
    status_code=201,
    summary="Ask to join a league",
    response_model=JoinRequestOut,
    responses=problem_responses(403, 404, 409, 429),
)
def request_to_join(
    league: LeagueKey, body: NewJoinRequest, conn: Db, who: Writer, once: Idempotent
) -> Response:
    """Agrees to the terms with this digest. A host approves or declines; after 14 days the request
    expires."""
    assert who.user_id is not None
    user_id = who.user_id
    found = join_requests.league_to_ask(conn, who, league)

    def create() -> JoinRequestOut:
        made = join_requests.request_to_join(conn, found.id, user_id, body.terms, body.words)
        return JoinRequestOut.model_validate(made)

    return once.run(create, keep=without_texts)


@router.get(
    "/leagues/{league}/requests",
    summary="List requests to join",
    responses=problem_responses(403, 404),
)
def list_join_requests(
    league: LeagueKey,
    conn: Db,
    who: Known,
    span: Paging,
    state: Annotated[RequestState | None, Query()] = RequestState.WAITING,
) -> Page[JoinRequestOut]:
    """Hosts and administrators only. The oldest first."""
    found = permissions.hosted_league(conn, who, league)
    rows = join_requests.list_requests(
        conn, found.id, state=state, after=span.after, limit=span.limit
    )
    return span.page(rows, lambda row: row.id, JoinRequestOut.model_validate)


@router.post(
    "/leagues/{league}/requests/answers",
    summary="Approve or decline requests to join",
    response_model=Page[JoinRequestOut],
    responses=problem_responses(403, 404, 409),
)
def answer_join_requests(
    league: LeagueKey, body: JoinAnswer, conn: Db, who: Host, once: Idempotent
) -> Response:
    """Hosts and administrators only. Answers the named requests, or all that wait. Returns those
    that it answered. A request expires if the terms became wider after it: the person must ask
    again."""
    found = permissions.hosted_league(conn, who, league)

    def answer() -> tuple[Page[JoinRequestOut], int]:
        answered = join_requests.answer_requests(
            conn,
            who,
            found,
            None if body.all else body.requests,
            role=LeagueRole(body.role) if body.act == "approve" else None,
            words=body.words,
        )
        return Page(items=[JoinRequestOut.model_validate(row) for row in answered]), 200

    return once.run(
        answer,
        keep=lambda page: page.model_copy(
            update={"items": [without_texts(row) for row in page.items]}
        ),
    )


@router.get("/me/requests", summary="List your requests to join")
def list_own_requests(conn: Db, who: Known) -> Page[JoinRequestOut]:
    """The newest first, with the answers of hosts."""
    assert who.user_id is not None
    rows = join_requests.requests_of_person(conn, who.user_id)
    return Page(items=[JoinRequestOut.model_validate(row) for row in rows])


@router.delete(
    "/me/requests/{request}",
    summary="Withdraw a request to join",
    responses=problem_responses(403, 404, 409),
)
def withdraw_join_request(request: RequestKey, conn: Db, who: Writer) -> JoinRequestOut:
    """Repeating it changes nothing."""
    assert who.user_id is not None
    done = join_requests.withdraw_request(conn, who.user_id, JoinRequestId(request))
    return JoinRequestOut.model_validate(done)


@router.get(
    "/leagues/{league}/blocks",
    summary="List blocked people",
    responses=problem_responses(403, 404),
)
def list_league_blocks(
    league: LeagueKey, conn: Db, who: Known, span: Paging
) -> Page[LeagueBlockOut]:
    """Hosts and administrators only."""
    found = permissions.hosted_league(conn, who, league)
    rows = league_blocks.list_blocks(
        conn, found.id, UserId(span.after) if span.after else None, span.limit
    )
    return span.page(rows, lambda row: row.user_id, LeagueBlockOut.model_validate)


@router.put(
    "/leagues/{league}/blocks/{user}",
    status_code=204,
    summary="Block a person from a league",
    responses=problem_responses(403, 404, 409),
)
def block_from_league(
    league: LeagueKey, user: PersonKey, body: NewBlock, conn: Db, who: Host
) -> None:
    """Hosts and administrators only. Ends the person's role. The person cannot join, ask to join or
    enter agents, and reads the reason. Entries play on: disqualify them if they must go."""
    found = permissions.hosted_league(conn, who, league)
    person = users.require_user(conn, user)
    league_blocks.block_person(conn, who, found, person, body.reason)


@router.delete(
    "/leagues/{league}/blocks/{user}",
    status_code=204,
    summary="Unblock a person",
    responses=problem_responses(403, 404),
)
def unblock_from_league(league: LeagueKey, user: UserKey, conn: Db, who: Host) -> None:
    """Hosts and administrators only. The person may join again, but gets no role by
    this. Repeating it changes nothing."""
    found = permissions.hosted_league(conn, who, league)
    league_blocks.unblock_person(conn, who, found, UserId(user), "unblocked")
