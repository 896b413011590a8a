"""Machines that join with a code and play matches."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ladder.enums import MachineTier
from ladder.ids import MachineInvitationId
from ladder.machines import addresses, certificates, invitations, machines
from ladder.machines.invitations import hash_secret
from ladder.people import users
from services.http.app_state import AppState, Db, transaction
from services.http.attempt_limits import Limits
from services.http.auth import Admin, FullAdmin
from services.http.lazy_routes import LazyRoute
from services.http.machines import (
    change_redis_user,
    delete_redis_user,
    require_addresses,
    set_redis_user,
)
from services.http.paging import Page
from services.http.path_parameters import MachineInvitationKey, MachineKey
from services.http.problems import problem_responses
from workers import redis_users

router = APIRouter(prefix="/v1/machines", tags=["machines"], route_class=LazyRoute)
Code = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,80}(\.[A-Za-z0-9_-]{43})?$")]
Owner = Annotated[str, StringConstraints(min_length=1, max_length=60)]
MachineName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]{0,59}$")]


class MachineInvitationOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["min_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    created_at: datetime
    expires_at: datetime
    tier: MachineTier = Field(description="of the machine that joins with it")
    owner_id: str | None
    owner_name: str | None = Field(description="null: the machine is the site's own")


class NewMachineInvitationOut(MachineInvitationOut):
    code: str = Field(
        description="shown only now; it lets one machine join. After its dot stands the SHA-256 of"
        " the site's certificate"
    )
    address: str = Field(
        description="of the site, for the machine", examples=["https://peck.example.org"]
    )


class MachineOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["mch_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    name: str
    tier: MachineTier
    owner_id: str | None
    owner_name: str | None = Field(description="null: the site's own")
    joined_at: datetime
    seen_at: datetime | None = Field(description="null: no worker of it was seen in the last day")
    drained_at: datetime | None = Field(description="null: it claims matches")
    revoked_at: datetime | None
    quarantined_at: datetime | None = Field(description="null: its samples look honest")
    quarantine_reason: str | None
    samples: int = Field(description="plays compared with those of trusted machines")
    different: int = Field(description="those with other moves")
    time_ratio: float | None = Field(
        description="charged times beside those of trusted machines, for equal speeds"
    )
    speed: float | None = Field(description="thousands of rounds per second that it measured")
    slots: int = Field(description="matches that its live workers play at a time")
    running: int = Field(description="matches that it plays now")
    mismatches: int = Field(description="results that their replays did not give")
    speed_classes: list[str]
    lacks: list[str] = Field(description="what its node cannot provide")


class MachineRevokedOut(BaseModel):
    """The revoked machine, and its matches that are queued again."""

    machine: MachineOut
    matches: list[str]


class MachineTrust(BaseModel):
    """How far a machine is trusted, and whose it is."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"tier": "member"}]})
    tier: MachineTier
    owner: Owner | None = Field(
        default=None,
        description="name or id of a person; without one a trusted machine is the site's own, and"
        " another one keeps its owner, or belongs to the caller",
    )


class MachineJoin(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"code": "x", "name": "pond"}]}
    )
    code: Code
    name: MachineName = Field(description="letters, digits, dots and hyphens")


class MachineJoinedOut(BaseModel):
    """The credentials of the machine, shown only now."""

    machine: MachineOut
    database_url: str
    redis_url: str
    secret: str = Field(description="its token for the blobs of its matches")
    queues: list[str] = Field(description="queues that it may serve")
    certificates: str = Field(
        description="PEM; trust them besides public authorities for site, Postgres and Redis"
    )


@router.post(
    "/invitations",
    status_code=201,
    summary="Invite a machine",
    responses=problem_responses(403, 409),
)
def invite_machine(
    conn: Db, who: FullAdmin, app_state: AppState, body: MachineTrust | None = None
) -> NewMachineInvitationOut:
    """Administrators only, with a token that never expires. The code acts once, in the next 24
    hours. Without a body the machine joins as a member. A site without addresses for machines
    answers 409."""
    asked = body or MachineTrust(tier=MachineTier.MEMBER)
    settings = app_state.settings
    require_addresses(settings)
    trusted = certificates.read_certificates(settings.machine_certificates)
    found = certificates.site_fingerprint(settings.base_url, trusted)
    owner = users.find_owner(conn, asked.owner)
    made, code = invitations.invite_machine(conn, who, found, tier=asked.tier, owner=owner)
    invitation = MachineInvitationOut.model_validate(made)
    return NewMachineInvitationOut(**invitation.model_dump(), code=code, address=settings.base_url)


@router.get(
    "/invitations", summary="List invitations of machines", responses=problem_responses(403)
)
def list_machine_invitations(conn: Db, who: Admin) -> Page[MachineInvitationOut]:
    """Administrators only. Those that may still be used, newest first."""
    rows = invitations.list_invitations(conn)
    return Page(items=[MachineInvitationOut.model_validate(row) for row in rows])


@router.delete(
    "/invitations/{machine_invitation}",
    status_code=204,
    summary="Revoke an invitation of a machine",
    responses=problem_responses(403, 404),
)
def revoke_machine_invitation(
    machine_invitation: MachineInvitationKey, conn: Db, who: FullAdmin
) -> Response:
    """Administrators only, with a token that never expires."""
    invitations.revoke_invitation(conn, who, MachineInvitationId(machine_invitation))
    return Response(status_code=204)


@router.post(
    "/join",
    status_code=201,
    summary="Join as a machine",
    responses=problem_responses(404, 409, 429),
)
def join_machine(body: MachineJoin, request: Request, app_state: AppState) -> MachineJoinedOut:
    """Uses the code of an administrator up. `peck machine join` calls it on the new machine. The
    credentials allow the machine to claim matches and to report their results, and nothing else."""
    app_state.attempts.count(request, Limits.MACHINE)
    found = require_addresses(app_state.settings)
    trusted = certificates.read_certificates(app_state.settings.machine_certificates)
    with transaction(app_state) as conn:
        machine, secret = machines.join(conn, body.code, body.name)
    set_redis_user(
        app_state.settings.redis_url,
        machine.login,
        hash_secret(secret),
        trusted=machine.tier == MachineTier.TRUSTED,
    )
    return MachineJoinedOut(
        machine=MachineOut.model_validate(machine),
        database_url=addresses.with_login(found.database_url, machine.login, secret),
        redis_url=addresses.with_login(found.redis_url, machine.login, secret),
        secret=secret,
        queues=list(redis_users.queues_of(trusted=machine.tier == MachineTier.TRUSTED)),
        certificates=trusted,
    )


@router.get("", summary="List machines", responses=problem_responses(403))
def list_machines(conn: Db, who: Admin) -> Page[MachineOut]:
    """Administrators only. All that joined and were not revoked, by name."""
    return Page(items=[MachineOut.model_validate(row) for row in machines.list_machines(conn)])


@router.get("/{machine}", summary="Read a machine", responses=problem_responses(403, 404))
def read_machine(machine: MachineKey, conn: Db, who: Admin) -> MachineOut:
    """Administrators only. A revoked machine is found by its id."""
    return MachineOut.model_validate(machines.get_machine(conn, machine))


@router.delete("/{machine}", summary="Revoke a machine", responses=problem_responses(403, 404, 409))
def revoke_machine(
    machine: MachineKey, conn: Db, who: FullAdmin, app_state: AppState
) -> MachineRevokedOut:
    """Administrators only, with a token that never expires. Its credentials and connections end at
    once. Its matches are queued again."""
    revoked, held = machines.revoke(conn, who, machine)
    delete_redis_user(app_state.settings.redis_url, revoked.login)
    return MachineRevokedOut(machine=MachineOut.model_validate(revoked), matches=list(held))


@router.put(
    "/{machine}/drain", summary="Drain a machine", responses=problem_responses(403, 404, 409)
)
def drain_machine(machine: MachineKey, conn: Db, who: Admin) -> MachineOut:
    """Administrators only. The machine claims no more matches; `running` says how many it still
    plays. Repeating it changes nothing."""
    return MachineOut.model_validate(machines.drain(conn, who, machine, is_drained=True))


@router.delete(
    "/{machine}/drain", summary="Resume a machine", responses=problem_responses(403, 404, 409)
)
def resume_machine(machine: MachineKey, conn: Db, who: Admin) -> MachineOut:
    """Administrators only. The machine claims matches again."""
    return MachineOut.model_validate(machines.drain(conn, who, machine, is_drained=False))


@router.put(
    "/{machine}/trust", summary="Trust a machine", responses=problem_responses(403, 404, 409)
)
def trust_machine(
    machine: MachineKey, body: MachineTrust, conn: Db, who: FullAdmin, app_state: AppState
) -> MachineOut:
    """Administrators only, with a token that never expires. Sets the tier and the owner. If the
    machine is less trusted now, its matches are queued again."""
    changed = machines.trust(conn, who, machine, body.tier, users.find_owner(conn, body.owner))
    change_redis_user(conn, app_state.settings.redis_url, changed.login)
    return MachineOut.model_validate(changed)
