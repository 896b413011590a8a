"""Scrims: unrated matches that a team requests. The scrim says who sees it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.enums import LogAudience, ScrimAudience
from ladder.field_types import Key
from ladder.ids import ScrimId, SubmissionId, is_id
from ladder.leagues.records import Season
from ladder.people.records import Viewer
from ladder.scrims import forks, scrims
from ladder.scrims.forks import Draws
from ladder.scrims.request_models import NewPrivacy, Seed
from ladder.scrims.scrims import Scrim, newest_submission
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Known, Scrimmer
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.path_parameters import Filter, ScrimKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["scrims"], route_class=LazyRoute)


class PrivacyOut(BaseModel):
    """Who sees what."""

    model_config = ConfigDict(from_attributes=True)
    results: ScrimAudience
    replays: ScrimAudience
    logs: LogAudience
    is_members_only: bool = Field(
        description="whether `league` means its members: it was not public when this was asked"
    )


class ForkOut(BaseModel):
    """The step of a recorded match that the games of a fork continue."""

    match_id: str
    episode: int = Field(description="position in the match")
    step: int = Field(description="recorded steps before the fork")
    draws: Draws
    moves: dict[str, list[Any]] = Field(description="moves by hand, by seat")


class SeatOutcomeOut(BaseModel):
    """How one seat of a fork ended."""

    model_config = ConfigDict(from_attributes=True)
    seat: int
    submission_id: str
    agent_name: str
    recorded_placement: int | None = Field(description="null if the match had several episodes")
    games: int
    wins: float
    mean_placement: float | None
    faults: int


class ScrimOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["scr_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    season_id: str
    league_id: str
    team_id: str
    side_team_ids: list[str] = Field(description="all teams with an agent in it")
    requested_by: str | None = Field(description="null for people of other teams")
    lineup: list[str] = Field(description="submission ids by seat, before seats rotate")
    games: int
    state: str = Field(examples=["running"])
    finished_games: int
    void_games: int
    created_at: datetime
    finished_at: datetime | None
    privacy: PrivacyOut
    batch_id: str | None
    request_id: str | None = Field(description="the request that the other side accepted")
    fork: ForkOut | None = Field(default=None, description="what the games continue, if a fork")


class ScoreOut(BaseModel):
    """How one submission of the lineup did. The interval is Wilson's, 95 %."""

    model_config = ConfigDict(from_attributes=True)
    submission_id: str
    games: int
    agent_name: str
    wins: float = Field(description="first places; a place shared by k seats counts 1/k")
    mean_placement: float | None
    win_rate: float | None
    low: float
    high: float
    faults: int


class ScrimDetail(ScrimOut):
    summary: list[ScoreOut]
    seats: list[SeatOutcomeOut] = Field(description="outcome by seat; empty if it is no fork")


class NewScrim(BaseModel):
    model_config = ConfigDict(extra="forbid")
    season: Annotated[
        Key, Field(description="season with the game, configuration and clock to use")
    ]
    lineup: Annotated[
        list[Key],
        Field(
            min_length=1,
            max_length=16,
            description="by seat: a submission id, or an agent id for its newest active entry",
        ),
    ]
    games: Annotated[int, Field(ge=1, le=100)] = 1
    seeds: Annotated[
        list[Seed] | None,
        Field(max_length=100, description="32 hex digits for each game; default: random"),
    ] = None
    team: Annotated[Key | None, Field(description="required if you are in several teams")] = None
    privacy: NewPrivacy = Field(default_factory=NewPrivacy)


def lineup_of_keys(conn: Db, who: Viewer, season: Season, keys: list[str]) -> list[SubmissionId]:
    """The submissions by seat. An agent id means its newest active entry in the season."""
    return [
        SubmissionId(key)
        if is_id(key, "sub")
        else newest_submission(conn, season, permissions.visible_agent(conn, who, key))
        for key in keys
    ]


@router.post(
    "/scrims",
    status_code=201,
    summary="Request a scrim",
    response_model=ScrimOut,
    responses=problem_responses(403, 404, 409, 429),
)
def create_scrim(body: NewScrim, conn: Db, who: Scrimmer, once: Idempotent) -> Response:
    """Allows your own submissions, your team's agents, and agents that accept scrims
    automatically. Send a request for others."""
    season = permissions.visible_season(conn, who, body.season)
    team = permissions.team_to_act_for(conn, who, body.team)
    seats = lineup_of_keys(conn, who, season, body.lineup)

    def create() -> ScrimOut:
        assert who.user_id is not None
        scrim = scrims.request_scrim(
            conn,
            season=season,
            team_id=team.id,
            user_id=who.user_id,
            lineup=seats,
            games=body.games,
            seeds=[bytes.fromhex(seed) for seed in body.seeds] if body.seeds else None,
            privacy=body.privacy.to_privacy(),
        )
        return ScrimOut.model_validate(scrim)

    return once.run(create)


@router.get("/scrims", summary="List scrims", responses=problem_responses(403, 404))
def list_scrims(conn: Db, who: Known, span: Paging, team: Filter = None) -> Page[ScrimOut]:
    """Lists the scrims that your teams requested, and those of others in which they play and whose
    results they see, newest first. Scrims of batches are left out."""
    team_ids = [permissions.team_to_act_for(conn, who, team).id] if team else sorted(who.team_ids)
    rows = scrims.list_scrims(
        conn, who, team_ids, ScrimId(span.after) if span.after else None, span.limit
    )
    return span.page(rows, lambda row: row.id, lambda row: scrim_out(conn, who, row))


def scrim_out(conn: Db, who: Viewer, scrim: Scrim) -> ScrimOut:
    out, row = ScrimOut.model_validate(scrim), forks.read_fork(conn, scrim.id)
    if not permissions.may_see_requester(who, scrim.team_id):
        out.requested_by = None
    if row is not None:
        out.fork = ForkOut(
            match_id=row.match_id,
            episode=row.position,
            step=row.step,
            draws=row.draws,
            moves={seat: list(moves) for seat, moves in row.moves.items()},
        )
    return out


def scrim_detail(conn: Db, who: Viewer, scrim: Scrim) -> ScrimDetail:
    scores = [ScoreOut.model_validate(score) for score in scrims.scrim_summary(conn, scrim.id)]
    row = forks.read_fork(conn, scrim.id)
    seats = forks.seat_outcomes(conn, scrim, row) if row else []
    return ScrimDetail(
        **scrim_out(conn, who, scrim).model_dump(),
        summary=scores,
        seats=[SeatOutcomeOut.model_validate(seat) for seat in seats],
    )


@router.get("/scrims/{scrim}", summary="Read a scrim", responses=problem_responses(404))
def read_scrim(scrim: ScrimKey, conn: Db, who: Known) -> ScrimDetail:
    """The scrim with wins, win rates and intervals so far."""
    return scrim_detail(conn, who, permissions.visible_scrim(conn, who, scrim))


@router.post(
    "/scrims/{scrim}/cancel", summary="Cancel a scrim", responses=problem_responses(403, 404, 409)
)
def cancel_scrim(scrim: ScrimKey, conn: Db, who: Scrimmer) -> ScrimDetail:
    """Stops unfinished games and keeps finished ones."""
    found = permissions.own_scrim(conn, who, scrim)
    return scrim_detail(conn, who, scrims.cancel_scrim(conn, found.id))
