"""Members of a league: invitation codes, joining, and the terms a member agreed to."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.enums import LeagueRole, ReplayVisibility, Visibility
from ladder.field_types import AwareDatetime, Line
from ladder.ids import InvitationId
from ladder.leagues import invitations, terms
from ladder.leagues.records import League
from ladder.people.records import Viewer
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Anyone, Host, Known, Writer
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.path_parameters import InvitationKey, LeagueKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["members"], route_class=LazyRoute)
Code = Annotated[str, Field(max_length=100, examples=["join_8Zk3..."])]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="`digest` of the terms")]


class InvitationOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["inv_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    role: LeagueRole
    label: str
    max_uses: int | None
    uses: int = Field(description="number of people who joined with the code")
    expires_at: datetime | None
    revoked_at: datetime | None
    created_at: datetime


class CreatedInvitationOut(InvitationOut):
    code: str | None = Field(
        description="shown only once; null if the request is repeated", examples=["join_8Zk3..."]
    )


class NewInvitation(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"role": "competitor", "max_uses": 30}]}
    )
    role: Literal["competitor", "viewer"] = "competitor"
    label: Line = ""
    max_uses: Annotated[int, Field(ge=1, le=100_000)] | None = None
    expires_at: AwareDatetime | None = None


class TermsOut(BaseModel):
    """What joining means. ``digest`` names this text in a consent."""

    text: str
    digest: str
    agreed: bool = Field(
        description="whether the caller is a member and agreed to exactly this text"
    )
    agreed_at: datetime | None = None


class InvitationTermsOut(BaseModel):
    """The league and role that a code gives."""

    league_id: str
    slug: str
    title: str
    role: LeagueRole
    terms: TermsOut


class JoinedOut(BaseModel):
    league_id: str
    slug: str
    title: str
    role: LeagueRole


class InvitationCode(BaseModel):
    model_config = ConfigDict(extra="forbid")
    code: Code


class JoinRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")
    code: Code
    terms: Digest


class ConsentRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")
    terms: Digest


def terms_out(conn: Db, who: Viewer, league: League, settings: terms.TermsSettings) -> TermsOut:
    """The terms of these settings, and whether the viewer agreed to them."""
    digest = terms.terms_digest(settings)
    agreement = terms.agreement_of_member(conn, league.id, who.user_id) if who.user_id else None
    agreed = agreement is not None and agreement.terms_digest == digest
    return TermsOut(
        text=terms.terms_text(settings),
        digest=digest,
        agreed=agreed,
        agreed_at=agreement.at if agreement is not None and agreed else None,
    )


@router.post(
    "/leagues/{league}/invitations",
    status_code=201,
    summary="Make an invitation code",
    response_model=CreatedInvitationOut,
    responses=problem_responses(403, 404, 409, 429),
)
def create_invitation(
    league: LeagueKey, body: NewInvitation, conn: Db, who: Host, once: Idempotent
) -> Response:
    """Hosts and administrators only. The code is shown only once. A private league has no codes."""
    found = permissions.hosted_league(conn, who, league)

    def create() -> CreatedInvitationOut:
        made, code = invitations.create_invitation(
            conn, found.id, created_by=who.user_id, **body.model_dump()
        )
        return CreatedInvitationOut(**InvitationOut.model_validate(made).model_dump(), code=code)

    return once.run(create, keep=lambda made: made.model_copy(update={"code": None}))


@router.get(
    "/leagues/{league}/invitations",
    summary="List invitation codes",
    responses=problem_responses(403, 404),
)
def list_invitations(league: LeagueKey, conn: Db, who: Known, span: Paging) -> Page[InvitationOut]:
    """Hosts and administrators only. Newest first, without the codes themselves."""
    found = permissions.hosted_league(conn, who, league)
    after = InvitationId(span.after) if span.after else None
    rows = invitations.list_invitations(conn, found.id, after, span.limit)
    return span.page(rows, lambda row: row.id, InvitationOut.model_validate)


@router.delete(
    "/leagues/{league}/invitations/{invitation}",
    summary="Revoke an invitation code",
    responses=problem_responses(403, 404),
)
def revoke_invitation(
    league: LeagueKey, invitation: InvitationKey, conn: Db, who: Host
) -> InvitationOut:
    """Takes effect at once and for good. People who joined with the code stay members."""
    found = permissions.hosted_league(conn, who, league)
    revoked = invitations.revoke_invitation(conn, found.id, InvitationId(invitation))
    return InvitationOut.model_validate(revoked)


@router.post("/join/terms", summary="Read the terms of a code", responses=problem_responses(404))
def read_invitation_terms(body: InvitationCode, conn: Db, who: Known) -> InvitationTermsOut:
    """The league, the role and the terms of a code. Does not use the code up."""
    assert who.user_id is not None
    invitation, league = invitations.read_code(conn, who.user_id, body.code)
    return InvitationTermsOut(
        league_id=league.id,
        slug=league.slug,
        title=league.title,
        role=invitation.role,
        terms=terms_out(conn, who, league, terms.settings_of_league(league)),
    )


@router.post(
    "/join", summary="Join a league with a code", responses=problem_responses(403, 404, 409)
)
def join_league(body: JoinRequest, conn: Db, who: Writer) -> JoinedOut:
    """Agrees to the terms with this digest. Joining again with the same code changes no role."""
    assert who.user_id is not None
    _, league, role = invitations.join_league(conn, who.user_id, body.code, body.terms)
    return JoinedOut(league_id=league.id, slug=league.slug, title=league.title, role=role)


@router.get(
    "/leagues/{league}/terms",
    summary="Read the terms of a league",
    responses=problem_responses(404),
)
def read_terms(
    league: LeagueKey,
    conn: Db,
    who: Anyone,
    visibility: Annotated[Visibility | None, Query()] = None,
    replay_visibility: Annotated[ReplayVisibility | None, Query()] = None,
    remote_agents: Annotated[bool, Query()] = False,
) -> TermsOut:
    """What joining means. With other settings: what joining would mean under them."""
    found = permissions.visible_league(conn, who, league)
    now = terms.settings_of_league(found)
    settings = terms.TermsSettings(
        visibility or now.visibility, replay_visibility or now.replays, remote_agents or now.remote
    )
    return terms_out(conn, who, found, settings)


@router.put(
    "/leagues/{league}/consent",
    summary="Agree to the terms",
    responses=problem_responses(403, 404, 409),
)
def give_consent(league: LeagueKey, body: ConsentRequest, conn: Db, who: Writer) -> TermsOut:
    """Agrees to the present terms, or to wider terms that a host asks for. In a public league the
    caller becomes a competitor."""
    assert who.user_id is not None
    found = permissions.visible_league(conn, who, league)
    settings = terms.record_consent(conn, found, who.user_id, body.terms)
    return terms_out(conn, who, found, settings)
