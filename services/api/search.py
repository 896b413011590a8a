"""Search over the names of leagues, agents and teams."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from ladder.reports import site_search
from ladder.reports.site_search import FoundKind
from services.http.app_state import Db
from services.http.auth import Anyone
from services.http.lazy_routes import LazyRoute

router = APIRouter(prefix="/v1", tags=["search"], route_class=LazyRoute)


class FoundOut(BaseModel):
    """A league, an agent or a team."""

    model_config = ConfigDict(from_attributes=True)
    kind: FoundKind
    id: str
    slug: str
    name: str
    about: str = Field(description="game of a league, team of an agent")


class FoundList(BaseModel):
    items: list[FoundOut]


@router.get("/search", summary="Search names")
def search(
    conn: Db,
    who: Anyone,
    q: Annotated[
        str,
        Query(min_length=site_search.SHORTEST, max_length=site_search.LONGEST),
    ],
    limit: Annotated[int, Query(ge=1, le=100, description="most results of each kind")] = 20,
) -> FoundList:
    """Finds leagues, agents and teams whose name contains the text."""
    rows = site_search.search_names(conn, who, q, limit)
    return FoundList(items=[FoundOut.model_validate(row) for row in rows])
