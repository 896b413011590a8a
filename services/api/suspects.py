"""Suspects of a season for its hosts, and the places that teams share."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.ids import TeamId
from ladder.moderation import shared_places, suspects
from ladder.moderation.request_models import SeparationRequest, SharedPlaceRequest
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Host, Known
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.path_parameters import PlaceKey, SeasonKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1/seasons/{season}", tags=["moderation"], route_class=LazyRoute)


class SuspectEntryOut(BaseModel):
    """An entry with its official score."""

    model_config = ConfigDict(from_attributes=True)
    entry_id: str = Field(examples=["ent_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    agent_id: str
    agent_name: str
    team_id: str
    team_name: str
    score: float
    sigma: float = Field(description="points")
    games: int


class NearEqualGroupOut(BaseModel):
    """Entries whose scores lie together more closely than the rest of the field explains. Honest
    entries of this strength are among them."""

    model_config = ConfigDict(from_attributes=True)
    score: float = Field(description="middle of the group")
    expected: float = Field(description="number of such entries that the other entries explain")
    members: list[SuspectEntryOut] = Field(description="the likeliest member first")


class ThrowerOut(BaseModel):
    """An entry that loses to the favourite more often than both scores say."""

    model_config = ConfigDict(from_attributes=True)
    entry: SuspectEntryOut
    meetings: int = Field(description="without a fault or a tie")
    lost: int
    expected: float = Field(description="expected number of losses")
    last: int = Field(
        description="games with the favourite in which it came last, behind at least two others"
    )
    expected_last: float = Field(
        description="expected number of these; 0 if it came last fewer than two times"
    )
    chance: float = Field(
        description="twice the smaller probability: of so many losses, or of so many last places. "
        "With two seats, the probability of the losses"
    )


class FavouriteOut(BaseModel):
    """An entry to whom several others lose against expectation."""

    model_config = ConfigDict(from_attributes=True)
    entry: SuspectEntryOut
    chance: float = Field(
        description="expected number of such favourites in a season without thrown games"
    )
    throwers: list[ThrowerOut] = Field(description="the least likely first")


class SharedPlaceOut(BaseModel):
    """Teams that share one score, rank and medal by an act of a host."""

    id: str = Field(examples=["aud_01j8x6m3c2k4v9q0w7r5t1y8z3"], description="id in the audit log")
    reason: str
    created_at: datetime
    teams: list[str] = Field(description="ids of the teams")
    separated: bool = Field(description="whether a later act separated them")

    @classmethod
    def of(cls, found: shared_places.SharedPlace) -> SharedPlaceOut:
        return cls(
            id=found.id,
            reason=found.reason,
            created_at=found.created_at,
            teams=[team for team, _ in found.teams],
            separated=found.separated,
        )


class SuspectsOut(BaseModel):
    """What looks like copies of one agent or like thrown games. It proves nothing."""

    version: int | None = Field(
        description="version of the official standing; null before the first one, and if a match "
        "has one seat"
    )
    groups: list[NearEqualGroupOut]
    favourites: list[FavouriteOut]
    shared_places: list[SharedPlaceOut] = Field(description="places that teams share now")


@router.get("/suspects", summary="List suspects", responses=problem_responses(403, 404))
def list_suspects(season: SeasonKey, conn: Db, who: Known) -> SuspectsOut:
    """Hosts and administrators only. Lists groups of entries that games cannot tell apart, and
    entries that lose to one favourite against expectation. Both follow from results alone. Nothing
    happens to anybody on this list without an act of a host."""
    found = permissions.hosted_season(conn, who, season)[0]
    seen = suspects.list_suspects(conn, found.id)
    return SuspectsOut(
        version=seen.version,
        groups=[NearEqualGroupOut.model_validate(each) for each in seen.groups],
        favourites=[FavouriteOut.model_validate(each) for each in seen.favourites],
        shared_places=[
            SharedPlaceOut.of(each) for each in shared_places.list_shared_places(conn, found.id)
        ],
    )


@router.post(
    "/shared-places",
    status_code=201,
    summary="Let teams share one place",
    response_model=SharedPlaceOut,
    responses=problem_responses(403, 404, 409),
)
def share_place(
    season: SeasonKey, body: SharedPlaceRequest, conn: Db, who: Host, once: Idempotent
) -> Response:
    """Hosts and administrators only. From the next version of the standings on, these teams have
    one score, one rank and one medal, and count as one team. All sealed medals are decided again.
    Matches and ratings do not change. A separation undoes it."""
    found = permissions.hosted_season(conn, who, season)[0]
    teams = [TeamId(team) for team in body.teams]

    def create() -> SharedPlaceOut:
        made = shared_places.share_place(conn, found.id, teams, by=who.user_id, reason=body.reason)
        return SharedPlaceOut.of(made)

    return once.run(create)


@router.post(
    "/shared-places/{place}/separations",
    status_code=201,
    summary="Separate teams that share a place",
    response_model=SharedPlaceOut,
    responses=problem_responses(403, 404, 409),
)
def separate(
    season: SeasonKey,
    place: PlaceKey,
    body: SeparationRequest,
    conn: Db,
    who: Host,
    once: Idempotent,
) -> Response:
    """Hosts and administrators only. Each of the teams has its own place again. All sealed medals
    are decided again."""
    found = permissions.hosted_season(conn, who, season)[0]

    def create() -> SharedPlaceOut:
        ended = shared_places.separate(conn, found.id, place, by=who.user_id, reason=body.reason)
        return SharedPlaceOut.of(ended)

    return once.run(create)
