"""Moderation of a season by its hosts, and the log of audited acts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.ids import RejudgementId
from ladder.leagues.medals import Medal
from ladder.moderation import disqualifications, rejudgement_preview, rejudgements
from ladder.moderation.request_models import (
    Cancellation,
    DisqualificationRequest,
    NewRejudgement,
    PreviewRequest,
)
from ladder.people import audit_log
from services.api.leaderboard import EstimateOut
from services.api.seasons import MeasureOut
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Host, Known
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.path_parameters import LeagueKey, RejudgementKey, SeasonKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["moderation"], route_class=LazyRoute)
MATCHES_SHOWN: Final = 200


class DisqualificationOut(BaseModel):
    """The act and the entries it changed."""

    model_config = ConfigDict(from_attributes=True)
    audit_id: str = Field(examples=["aud_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    subject: str
    entries: list[str] = Field(description="the changed entries")


class SuspectResultOut(BaseModel):
    """A result that counts, and the worker that reported it."""

    model_config = ConfigDict(from_attributes=True)
    match_id: str = Field(examples=["mat_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    no: int = Field(description="number in the season's log")
    finished_at: datetime
    worker: str
    node: str
    image_digest: str
    rules_digest: str


class BoardRowOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    entry_id: str
    agent_name: str
    score: float | None = Field(description="null if a match has one seat")
    rank: int | None
    medal: Medal | None
    estimates: list[EstimateOut] = Field(description="empty if entries are rated")


class BoardChangeOut(BaseModel):
    """A team or reference agent whose place would change."""

    model_config = ConfigDict(from_attributes=True)
    team_name: str
    before: BoardRowOut | None
    after: BoardRowOut | None


class RejudgementPreviewOut(BaseModel):
    """The matches that would be judged again, and the effect of their results on the standing."""

    total: int = Field(description="matches")
    matches: list[SuspectResultOut] = Field(description=f"the first {MATCHES_SHOWN} of them")
    version: int | None = Field(
        description="version of the official standing compared; null before the first version, and "
        "if a match has one seat"
    )
    measures: list[MeasureOut] = Field(
        description="the measures compared if a match has one seat; else empty"
    )
    changes: list[BoardChangeOut] = Field(
        description="changes if these results were void, best first"
    )


class RejudgementOut(BaseModel):
    """Matches that one act judges again, and the progress."""

    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["rej_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    season_id: str
    predicate: dict[str, Any]
    reason: str
    created_at: datetime
    state: rejudgements.RejudgementState = Field(
        description="`judging` until it ends; `done`; `void`: no match could be played again; "
        "`cancelled`"
    )
    ended_at: datetime | None
    total: int
    waiting: int = Field(description="not queued yet")
    under_way: int
    done: int = Field(description="matches with a new result")
    void: int = Field(description="matches that could not be played; the old result counts")
    refused: int = Field(
        description="matches never queued: another act judged them, this one was cancelled, or no"
        " node served a profile of theirs for an hour"
    )


class AuditEntryOut(BaseModel):
    """One act of a host, an administrator or the operator."""

    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["aud_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    season_id: str | None
    by_user: str | None = Field(description="null: the operator, on the server")
    by_name: str | None
    act: str = Field(examples=["disqualify"])
    subject: str
    reason: str
    details: dict[str, Any]
    created_at: datetime


@router.get(
    "/leagues/{league}/audits", summary="List audited acts", responses=problem_responses(403, 404)
)
def list_audits(league: LeagueKey, conn: Db, who: Known, span: Paging) -> Page[AuditEntryOut]:
    """Hosts and administrators only: who changed what, when and why. Newest first."""
    found = permissions.hosted_league(conn, who, league)
    rows = audit_log.list_audits(conn, found.id, after=span.after, limit=span.limit)
    return span.page(rows, lambda row: row.id, AuditEntryOut.model_validate)


@router.post(
    "/seasons/{season}/disqualifications",
    status_code=201,
    summary="Disqualify",
    response_model=DisqualificationOut,
    responses=problem_responses(403, 404, 409),
)
def disqualify(
    season: SeasonKey, body: DisqualificationRequest, conn: Db, who: Host, once: Idempotent
) -> Response:
    """Hosts and administrators only. Takes an entry, or all of an agent or a team, out of the
    season. The official standing is fitted without its results. Matches and the live ratings of
    others do not change. A disqualified agent or team can enter nothing more in the season."""
    return _change_disqualification(disqualifications.disqualify, season, body, conn, who, once)


@router.post(
    "/seasons/{season}/reinstatements",
    status_code=201,
    summary="Undo a disqualification",
    response_model=DisqualificationOut,
    responses=problem_responses(403, 404, 409),
)
def reinstate(
    season: SeasonKey, body: DisqualificationRequest, conn: Db, who: Host, once: Idempotent
) -> Response:
    """Hosts and administrators only. The results count again, and active entries play again.
    Entries under another disqualification stay out."""
    return _change_disqualification(disqualifications.reinstate, season, body, conn, who, once)


@router.post(
    "/seasons/{season}/rejudgements/preview",
    summary="Preview a rejudgement",
    responses=problem_responses(403, 404),
)
def preview_rejudgement(
    season: SeasonKey, body: PreviewRequest, conn: Db, who: Host
) -> RejudgementPreviewOut:
    """Hosts and administrators only. Lists the results that the predicate matches. Shows how
    official scores, ranks and medals would differ without them. Changes nothing."""
    found = permissions.hosted_season(conn, who, season)[0]
    predicate = body.predicate.to_domain_predicate()
    seen = rejudgement_preview.preview_rejudgement(conn, found.id, predicate)
    return RejudgementPreviewOut(
        total=len(seen.suspects),
        matches=[SuspectResultOut.model_validate(one) for one in seen.suspects[:MATCHES_SHOWN]],
        version=seen.version,
        measures=[MeasureOut.model_validate(each) for each in found.measures],
        changes=[BoardChangeOut.model_validate(one) for one in seen.changes],
    )


@router.post(
    "/seasons/{season}/rejudgements",
    status_code=201,
    summary="Judge matches again",
    response_model=RejudgementOut,
    responses=problem_responses(403, 404, 409),
)
def create_rejudgement(
    season: SeasonKey, body: NewRejudgement, conn: Db, who: Host, once: Idempotent
) -> Response:
    """Hosts and administrators only. The matches are played again with their lineups and seeds, a
    few at a time. Each new result replaces the old one. A finished season plays only these matches,
    and its final standing is fitted again."""
    found = permissions.hosted_season(conn, who, season)[0]

    def create() -> RejudgementOut:
        made = rejudgements.create_rejudgement(
            conn, found.id, body.predicate.to_domain_predicate(), by=who.user_id, reason=body.reason
        )
        return RejudgementOut.model_validate(made)

    return once.run(create)


@router.get(
    "/rejudgements/{rejudgement}",
    summary="Read a rejudgement",
    responses=problem_responses(403, 404),
)
def read_rejudgement(rejudgement: RejudgementKey, conn: Db, who: Known) -> RejudgementOut:
    """Hosts and administrators only: how many of the matches are done."""
    found = rejudgements.get_rejudgement(conn, RejudgementId(rejudgement))
    permissions.hosted_league(conn, who, found.league_id)
    return RejudgementOut.model_validate(found)


@router.post(
    "/rejudgements/{rejudgement}/cancellations",
    status_code=201,
    summary="Cancel a rejudgement",
    response_model=RejudgementOut,
    responses=problem_responses(403, 404, 409),
)
def cancel_rejudgement(
    rejudgement: RejudgementKey, body: Cancellation, conn: Db, who: Host, once: Idempotent
) -> Response:
    """Hosts and administrators only. Matches not finished keep their old results. Accepted new
    results stay. Medals can be sealed again."""
    found = rejudgements.get_rejudgement(conn, RejudgementId(rejudgement))
    permissions.hosted_league(conn, who, found.league_id)

    def create() -> RejudgementOut:
        ended = rejudgements.cancel_rejudgement(conn, found.id, by=who.user_id, reason=body.reason)
        return RejudgementOut.model_validate(ended)

    return once.run(create)


def _change_disqualification(
    act: Callable[..., disqualifications.DisqualificationAct],
    season: str,
    body: DisqualificationRequest,
    conn: Db,
    who: Host,
    once: Idempotent,
) -> Response:
    found = permissions.hosted_season(conn, who, season)[0]

    def create() -> DisqualificationOut:
        done = act(conn, found.id, body.subject, by=who.user_id, reason=body.reason)
        return DisqualificationOut.model_validate(done)

    return once.run(create)
