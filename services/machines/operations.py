"""What administrators do with machines that join, and how a machine joins."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import Any, Final

from fastapi import Request
from redis import Redis
from redis.exceptions import RedisError

from ladder.database.db import Connection
from ladder.enums import MachineTier
from ladder.errors import Conflict
from ladder.ids import MachineInvitationId
from ladder.machines import connections, machines
from ladder.machines.connections import MachineAddresses
from ladder.machines.machines import (
    JoinedMachine,
    Machine,
    MachineInvitation,
    MachineJoin,
    MachineTrust,
    MadeMachineInvitation,
    RevokedMachine,
)
from ladder.settings import Settings
from services.http.app_state import AppState, Db, transaction
from services.http.attempt_limits import Limits
from services.http.auth import Admin, FullAdmin
from services.http.operations import Form, Operations
from services.http.paging import Page
from services.http.path_parameters import MachineInvitationKey, MachineKey
from services.http.problems import ProblemError
from services.machines.pages import machines_page
from workers import redis_clients

operations = Operations("machines")
LIST: Final = "/admin/machines"
REDIS_SECONDS: Final = 2.0
OPEN_REDIS: Final = (
    "no machine can join: Redis would be open to strangers; its operator must set requirepass, and"
    " add the password to PECK_REDIS_URL"
)


def form_of(act: str) -> Form:
    """A form of the page. A person who has not just signed in confirms first."""
    address = f"{LIST}/{{machine}}/{act}"
    return Form(page=machines_page, address=address, then=LIST, confirms=True, repeats=True)


@operations(
    "POST",
    "/machines/invitations",
    "Invite a machine",
    status=201,
    problems=(403, 409),
)
def invite_machine(
    conn: Db, viewer: FullAdmin, app_state: AppState, invitation: MachineTrust | None = None
) -> MadeMachineInvitation:
    """Administrators only, with a token that never expires. The code acts once, in the next 24
    hours. Without a body the machine joins as a checked one. A site without addresses for machines
    answers 409."""
    settings = app_state.settings
    require_addresses(settings)
    authorities = connections.read_certificates(settings.machine_certificates)
    return machines.invite(
        conn,
        viewer,
        invitation or machines.CHECKED,
        fingerprint=connections.site_fingerprint(settings.base_url, authorities),
        address=settings.base_url,
    )


@operations("GET", "/machines/invitations", "List invitations of machines", problems=(403,))
def list_machine_invitations(conn: Db, viewer: Admin) -> Page[MachineInvitation]:
    """Administrators only. Those that may still be used, newest first."""
    return Page(items=machines.list_invitations(conn))


@operations(
    "DELETE",
    "/machines/invitations/{machine_invitation}",
    "Revoke an invitation of a machine",
    problems=(403, 404),
)
def revoke_machine_invitation(
    machine_invitation: MachineInvitationKey, conn: Db, viewer: FullAdmin
) -> None:
    """Administrators only, with a token that never expires."""
    machines.revoke_invitation(conn, viewer, MachineInvitationId(machine_invitation))


@operations(
    "POST",
    "/machines/join",
    "Join as a machine",
    status=201,
    takes_key=False,
    problems=(404, 409, 429),
)
def join_machine(join: MachineJoin, request: Request, app_state: AppState) -> JoinedMachine:
    """Uses the code of an administrator up. `peck machine join` calls it on the new machine. The
    credentials allow the machine to claim matches and to report their results, and nothing else."""
    settings = app_state.settings
    app_state.attempts.count(request, Limits.MACHINE)
    addresses = require_addresses(settings)
    certificates = connections.read_certificates(settings.machine_certificates)
    with transaction(app_state) as conn:
        machine, secret = machines.join(conn, join.code, join.name)
        change_redis_user(conn, settings.redis_url, machine.login)
    return JoinedMachine(
        machine=machine,
        database_url=connections.with_login(addresses.database_url, machine.login, secret),
        redis_url=connections.with_login(addresses.redis_url, machine.login, secret),
        secret=secret,
        queues=list(redis_clients.queues_of(trusted=machine.tier == MachineTier.TRUSTED)),
        certificates=certificates,
    )


@operations("GET", "/machines", "List machines", problems=(403,))
def list_machines(conn: Db, viewer: Admin) -> Page[Machine]:
    """Administrators only. All that joined and were not revoked, by name."""
    return Page(items=machines.list_machines(conn))


@operations("GET", "/machines/{machine}", "Read a machine", problems=(403, 404))
def read_machine(machine: MachineKey, conn: Db, viewer: Admin) -> Machine:
    """Administrators only. A revoked machine is found by its id."""
    return machines.get_machine(conn, machine)


@operations(
    "DELETE",
    "/machines/{machine}",
    "Revoke a machine",
    forms=form_of("revoke"),
    confirms="The machine needs a new invitation to join again.",
)
def revoke_machine(
    machine: MachineKey, conn: Db, viewer: FullAdmin, app_state: AppState
) -> RevokedMachine:
    """Administrators only, with a token that never expires. Its credentials and connections end at
    once. Its matches are queued again."""
    revoked = machines.revoke(conn, viewer, machine)
    delete_redis_user(app_state.settings.redis_url, revoked.machine.login)
    return revoked


@operations("PUT", "/machines/{machine}/drain", "Drain a machine", forms=form_of("drain"))
def drain_machine(machine: MachineKey, conn: Db, viewer: Admin) -> Machine:
    """Administrators only. The machine claims no more matches; `running` says how many it still
    plays. Repeating it changes nothing."""
    return machines.drain(conn, viewer, machine, is_drained=True)


@operations("DELETE", "/machines/{machine}/drain", "Resume a machine", forms=form_of("resume"))
def resume_machine(machine: MachineKey, conn: Db, viewer: Admin) -> Machine:
    """Administrators only. The machine claims matches again."""
    return machines.drain(conn, viewer, machine, is_drained=False)


@operations("PUT", "/machines/{machine}/trust", "Trust a machine", forms=form_of("trust"))
def trust_machine(
    machine: MachineKey, trust: MachineTrust, conn: Db, viewer: FullAdmin, app_state: AppState
) -> Machine:
    """Administrators only, with a token that never expires. Sets the tier and the owner. If the
    machine is less trusted now, its matches are queued again."""
    trusted = machines.trust(conn, viewer, machine, trust)
    change_redis_user(conn, app_state.settings.redis_url, trusted.login)
    return trusted


def require_addresses(settings: Settings) -> MachineAddresses:
    """The addresses for machines. Raises Conflict or Invalid if no machine can join this site."""
    addresses = connections.machine_addresses(settings)
    if not connections.is_local_redis(addresses.redis_url):
        require_redis_password(settings.redis_url)
    return addresses


def require_redis_password(redis_url: str) -> None:
    """Raises Conflict if strangers could use Redis: its first user has no password. Raises
    ProblemError while Redis does not answer."""
    try:
        with closing(_client(redis_url)) as client:
            first: Any = client.acl_getuser("default")
    except (RedisError, OSError):
        raise ProblemError("unavailable", "Try again shortly: Redis does not answer.") from None
    if {"on", "nopass"} <= set(first["flags"]):
        raise Conflict(OPEN_REDIS)


def change_redis_user(conn: Connection, redis_url: str, login: str) -> None:
    """Gives the machine's user the queues of its tier, and creates it if it is missing. While Redis
    does not answer the scheduler does it later."""
    if not redis_url:
        return
    secret_hash, is_trusted = machines.redis_logins(conn)[login]
    with suppress(RedisError, OSError), closing(_client(redis_url)) as client:
        redis_clients.set_user(client, login, secret_hash, trusted=is_trusted)


def delete_redis_user(redis_url: str, login: str) -> None:
    """Deletes the machine's user. While Redis does not answer the scheduler does it later."""
    if not redis_url:
        return
    with suppress(RedisError, OSError), closing(_client(redis_url)) as client:
        redis_clients.delete_user(client, login)


def _client(redis_url: str) -> Redis:
    return Redis.from_url(
        redis_url, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS
    )
