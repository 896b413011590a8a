"""A person's private Atom feeds."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.field_types import Key
from ladder.ids import NoticeFeedId
from ladder.notices import feeds
from services.api.notices import user_of
from services.http import permissions
from services.http.app_state import AppState, Db
from services.http.auth import FullWriter, Known, Writer
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page
from services.http.path_parameters import FeedKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1/me", tags=["notices"], route_class=LazyRoute)


class FeedOut(BaseModel):
    """A private feed, without its secret address."""

    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["nfe_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    agent_id: str | None = Field(description="only notices about this agent")
    agent_name: str | None
    league_id: str | None = Field(description="only notices about this league")
    league_title: str | None
    created_at: datetime


class CreatedFeedOut(FeedOut):
    address: str | None = Field(
        description="secret address of the feed; shown only once, null if the request is repeated",
        examples=["https://ladder.example.org/feeds/8Zk3....atom"],
    )


class NewFeed(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{}]})
    agent: Key | None = Field(default=None, description="agent id: only notices about it")
    league: Key | None = Field(default=None, description="id or slug: only notices about it")


@router.get("/notices/feeds", summary="List your private feeds")
def list_feeds(conn: Db, who: Known) -> Page[FeedOut]:
    """Without their addresses."""
    found = feeds.list_feeds(conn, user_of(who))
    return Page(items=[FeedOut.model_validate(one) for one in found])


@router.post(
    "/notices/feeds",
    status_code=201,
    summary="Make a private feed",
    response_model=CreatedFeedOut,
    responses=problem_responses(403, 404, 409),
)
def create_feed(
    body: NewFeed, conn: Db, app_state: AppState, who: FullWriter, once: Idempotent
) -> Response:
    """An Atom feed of your notices. Whoever knows the address reads it; revoke it to end that.
    Needs a token with all scopes that a password gives and without expiry, because a feed outlives
    the token."""
    agent = permissions.visible_agent(conn, who, body.agent) if body.agent else None
    league = permissions.visible_league(conn, who, body.league) if body.league else None

    def create() -> CreatedFeedOut:
        made, secret = feeds.create_feed(
            conn, user_of(who), agent.id if agent else None, league.id if league else None
        )
        address = f"{app_state.settings.base_url.rstrip('/')}/feeds/{secret}.atom"
        return CreatedFeedOut(**FeedOut.model_validate(made).model_dump(), address=address)

    return once.run(create, keep=lambda made: made.model_copy(update={"address": None}))


@router.delete(
    "/notices/feeds/{feed}",
    status_code=204,
    summary="Revoke a private feed",
    responses=problem_responses(403, 404),
)
def revoke_feed(feed: FeedKey, conn: Db, who: Writer) -> None:
    """Takes effect at once and for good."""
    feeds.revoke_feed(conn, user_of(who), NoticeFeedId(feed))
