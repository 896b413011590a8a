"""Machines that joined: codes to join with, credentials, what they do, drain and revocation.

A code acts once. A machine has one secret. It is the password of its role in Postgres and of its
user in Redis, and its token at the site. The rows hold the SHA-256 of codes and secrets. The role
may execute the lease functions, which know the machine by its login and let it act for its own
workers alone. Callers let only administrators invite, list, drain, trust and revoke.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final

import psycopg
from psycopg import sql
from pydantic import ConfigDict, Field, StringConstraints

from ladder import ids
from ladder.database import db
from ladder.database.db import Connection, atomic_function, fetch
from ladder.enums import MachineTier
from ladder.errors import Conflict, NotFound
from ladder.field_types import RECORD, RequestModel, ShownOnce, WordsOfPerson
from ladder.ids import MachineId, MachineInvitationId, MatchId, UserId
from ladder.machines.connections import code_text, split_code
from ladder.people import audit_log, users
from ladder.people.records import Viewer

LIFE: Final = timedelta(hours=24)
WRONG_CODE: Final = "this code was used already, has expired or is not complete; ask for a new one"
MOST_CONNECTIONS: Final = 40
"""Database connections of one machine: two for each slot, and some for the worker itself."""
REVOKED: Final = "the machine was revoked"
QUARANTINED: Final = "the machine is in quarantine"
LESS_TRUSTED: Final = "the machine is less trusted now"
STATEMENT_SECONDS: Final = 20
"""Time for a statement of a machine, and for a pause within a transaction. A machine may raise
both, so `end_held_sessions` ends what lasts longer."""
LONGEST_SECONDS: Final = 20.0
"""Longest transaction of a machine. A report may wait this long for the lock of a season."""
NO_ROLES: Final = (
    "no machine can join: the site's role in Postgres may not create roles; its operator must run"
    " ALTER ROLE ... CREATEROLE"
)
NO_LIMIT: Final = (
    "no machine can join: the site's role in Postgres may not limit temporary files of machines; a"
    " superuser must run grant set on parameter temp_file_limit to ROLE, or set temp_file_limit for"
    " the server"
)
SELECT_INVITATIONS: Final = """
select i.id, i.created_at, i.expires_at, i.tier, i.owner_id,
       u.name as owner_name
  from machine_invitations i left join users u on u.id = i.owner_id
 where i.used_at is null and i.revoked_at is null and i.expires_at > now()
   and i.id = coalesce(%(id)s, i.id)
 order by i.id desc
"""
SELECT_MACHINES: Final = """
select m.id, m.name, m.tier, m.owner_id, u.name as owner_name,
       m.joined_at, m.drained_at, m.revoked_at, m.quarantined_at, m.quarantine_reason,
       (select count(*) from machine_samples s where s.machine_id = m.id
           and s.is_different is not null and s.created_at > m.judged_from)::int as samples,
       (select count(*) from machine_samples s where s.machine_id = m.id and s.is_different
           and s.created_at > m.judged_from)::int as different,
       max(w.seen_at) as seen_at, coalesce(sum(w.slots) filter (where live), 0)::int as slots,
       (select count(*) from matches r where r.state = 'running' and r.machine_id = m.id)::int
           as running,
       (select count(*) from machine_mismatches where machine_id = m.id)::int as mismatches,
       coalesce(array_agg(distinct w.speed_class) filter (where live), '{}') as speed_classes,
       coalesce(array_agg(distinct lacking) filter (where live and lacking <> ''), '{}') as lacks
  from machines m left join users u on u.id = m.owner_id
  left join lateral (
       select w.*, w.live_until > now() as live,
              array_to_string(w.lacks, '; ') as lacking
         from workers w where w.machine_id = m.id) w on true
 where (%(key)s::text is null or m.id = %(key)s or lower(m.name) = lower(%(key)s))
   and (%(secret_hash)s::text is null or m.secret_hash = %(secret_hash)s)
   and (m.revoked_at is null or m.id = %(key)s)
 group by m.id, u.id
 order by lower(m.name), m.id
"""


@dataclass(frozen=True, slots=True)
class MachineInvitation:
    """A code that was not used yet, without its text."""

    __pydantic_config__ = RECORD
    id: Annotated[MachineInvitationId, Field(examples=["min_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    created_at: datetime
    expires_at: datetime
    tier: MachineTier
    """of the machine that joins with it"""
    owner_id: UserId | None
    owner_name: WordsOfPerson | None
    """null: the machine is the site's own"""


@dataclass(frozen=True, slots=True)
class MadeMachineInvitation(MachineInvitation):
    """A new code. A repeated Idempotency-Key gets null instead of the code."""

    __pydantic_config__ = RECORD
    code: ShownOnce
    """shown only now; it lets one machine join. After its dot stands the SHA-256 of the site's
    certificate"""
    address: Annotated[str, Field(examples=["https://peck.example.org"])]
    """of the site, for the machine"""


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine and what its workers reported last."""

    __pydantic_config__ = RECORD
    id: Annotated[MachineId, Field(examples=["mch_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    name: str
    tier: MachineTier
    owner_id: UserId | None
    """Whose it is: it plays no bundle of a season in which this person competes."""
    owner_name: str | None
    """null: the site's own"""
    joined_at: datetime
    seen_at: datetime | None
    """null: no worker of it was seen in the last day"""
    drained_at: datetime | None
    """null: it claims matches"""
    revoked_at: datetime | None
    quarantined_at: datetime | None
    """null: its matches look honest"""
    quarantine_reason: str | None
    samples: int
    """matches compared with plays of trusted machines"""
    different: int
    """those with other moves"""
    slots: int
    """matches that its live workers play at a time"""
    running: int
    """matches that it plays now"""
    mismatches: int
    """results that their replays did not give"""
    speed_classes: list[str]
    lacks: list[str]
    """what its node cannot provide"""

    @property
    def login(self) -> str:
        """Its role in Postgres and its user in Redis."""
        return f"peck_machine_{self.id.partition('_')[2]}"


@dataclass(frozen=True, slots=True)
class RevokedMachine:
    """The revoked machine, and its matches that are queued again."""

    machine: Machine
    matches: list[MatchId]


@dataclass(frozen=True, slots=True)
class JoinedMachine:
    """The credentials of the machine, shown only now."""

    __pydantic_config__ = RECORD
    machine: Machine
    database_url: str
    redis_url: str
    secret: str
    """its token for the blobs of its matches"""
    queues: list[str]
    """queues that it may serve"""
    certificates: str
    """PEM; trust them besides public authorities for site, Postgres and Redis"""


class MachineTrust(RequestModel):
    """How far a machine is trusted, and whose it is."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"tier": "checked"}]})
    tier: Annotated[MachineTier, Field(title="Tier")]
    owner: Annotated[str, StringConstraints(min_length=1, max_length=60)] | None = None
    """Name or id of a person. It plays in no season in which this person competes. Without one a
    trusted machine is the site's own, and another one keeps its owner, or belongs to the caller."""


CHECKED: Final = MachineTrust(tier=MachineTier.CHECKED)
"""How far a machine is trusted that joins without a choice."""


class MachineJoin(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"code": "x", "name": "pond"}]})
    code: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,80}(\.[A-Za-z0-9_-]{43})?$")]
    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]{0,59}$")]
    """letters, digits, dots and hyphens"""


@atomic_function
def invite(
    conn: Connection,
    by: Viewer,
    trust: MachineTrust = CHECKED,
    *,
    fingerprint: str = "",
    address: str = "",
) -> MadeMachineInvitation:
    """Creates a code that carries the fingerprint of the site's certificate; empty: a site without
    TLS. Its text is stored nowhere. Raises Invalid for an unknown owner."""
    secret = secrets.token_urlsafe(24)
    owner = users.find_owner(conn, trust.owner)
    if owner is None and trust.tier is not MachineTier.TRUSTED:
        owner = by.user_id
    invitation_id = ids.new_id("min")
    conn.execute(
        """
        insert into machine_invitations (id, code_hash, created_by, expires_at, tier, owner_id)
        values (%(id)s, %(hash)s, %(by)s, now() + %(life)s, %(tier)s, %(owner)s)
        """,
        {
            "id": invitation_id,
            "hash": hash_secret(secret),
            "by": by.user_id,
            "life": LIFE,
            "tier": trust.tier,
            "owner": owner,
        },
    )
    _record_act(conn, by, "invite-machine", invitation_id)
    (invitation,) = _select_invitations(conn, invitation_id)
    return MadeMachineInvitation(
        **asdict(invitation), code=code_text(secret, fingerprint), address=address
    )


def list_invitations(conn: Connection) -> list[MachineInvitation]:
    """Codes that may still be used, newest first."""
    return _select_invitations(conn, None)


@atomic_function
def revoke_invitation(conn: Connection, by: Viewer, invitation: MachineInvitationId) -> None:
    """Ends a code that was not used. Raises NotFound."""
    query = """
        update machine_invitations set revoked_at = now()
         where id = %(id)s and used_at is null and revoked_at is null and expires_at > now()
        """
    revoked = conn.execute(query, {"id": invitation})
    if not revoked.rowcount:
        raise NotFound.of("invitation")
    _record_act(conn, by, "revoke-machine-invitation", invitation)


@atomic_function
def join(conn: Connection, code: str, name: str) -> tuple[Machine, str]:
    """Uses the code up and creates the machine with its database role. Returns it and its secret,
    which is stored nowhere. Raises NotFound for a wrong code, Conflict if the name is taken."""
    query = """
        update machine_invitations set used_at = now()
         where code_hash = %(hash)s and used_at is null and revoked_at is null
           and expires_at > now()
        returning id, tier, owner_id
        """
    invitation = conn.execute(query, {"hash": hash_secret(split_code(code)[0])}).fetchone()
    if invitation is None:
        raise NotFound(WRONG_CODE)
    secret = secrets.token_urlsafe(32)
    machine_id = MachineId(ids.new_id("mch"))
    login = f"peck_machine_{machine_id.partition('_')[2]}"
    try:
        with conn.transaction():
            query = """
                insert into machines (id, name, login, secret_hash, invitation_id, tier, owner_id)
                values (%s, %s, %s, %s, %s, %s, %s)
                """
            conn.execute(query, (machine_id, name, login, hash_secret(secret), *invitation))
    except psycopg.errors.UniqueViolation:
        raise Conflict("a machine has this name; choose another one", field="name") from None
    try:
        conn.execute(
            sql.SQL("create role {} in role {} connection limit {}").format(
                *(sql.Identifier(login), sql.Identifier(db.MACHINE_ROLE)),
                sql.Literal(MOST_CONNECTIONS),
            )
        )
    except psycopg.errors.InsufficientPrivilege:
        raise Conflict(NO_ROLES) from None
    for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
        conn.execute(
            sql.SQL("alter role {} set {} = {}").format(
                *(sql.Identifier(login), sql.Identifier(limit)),
                sql.Literal(f"{STATEMENT_SECONDS}s"),
            )
        )
    db.set_login(conn, login, secret)
    if not db.has_file_limit(conn, login):
        raise Conflict(NO_LIMIT)
    return get_machine(conn, machine_id), secret


def list_machines(conn: Connection) -> list[Machine]:
    """All machines that were not revoked, in order of their names."""
    return _select_machines(conn)


def get_machine(conn: Connection, key: str) -> Machine:
    """The machine with this id or name. A revoked one is found by its id. Raises NotFound."""
    machines = _select_machines(conn, key=key)
    if not machines:
        raise NotFound.of("machine")
    return machines[0]


@atomic_function
def drain(conn: Connection, by: Viewer, key: str, *, is_drained: bool) -> Machine:
    """Lets the machine claim no more matches, or claim again. Running matches end as usual. Raises
    NotFound, Conflict for a revoked one."""
    machine = _require_valid(conn, key)
    query = """
        update machines
           set drained_at = case when %(is_drained)s then coalesce(drained_at, now()) end
         where id = %(id)s
        """
    conn.execute(query, {"is_drained": is_drained, "id": machine.id})
    _record_act(conn, by, "drain-machine" if is_drained else "resume-machine", machine.id)
    return get_machine(conn, machine.id)


@atomic_function
def revoke(conn: Connection, by: Viewer, key: str) -> RevokedMachine:
    """Ends the machine's credentials, connections and leases at once. Its matches are queued again.
    The caller deletes its user in Redis. Raises NotFound, Conflict for a revoked one."""
    machine = _require_valid(conn, key)
    conn.execute("update machines set revoked_at = now() where id = %s", (machine.id,))
    conn.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = %s",
        (machine.login,),
    )
    conn.execute(sql.SQL("drop role if exists {}").format(sql.Identifier(machine.login)))
    held = _end_leases(conn, machine.id, REVOKED)
    conn.execute(
        "update workers set seen_at = to_timestamp(0), live_until = now() where machine_id = %s",
        (machine.id,),
    )
    _record_act(conn, by, "revoke-machine", machine.id)
    return RevokedMachine(get_machine(conn, machine.id), held)


@atomic_function
def trust(conn: Connection, by: Viewer, key: str, change: MachineTrust) -> Machine:
    """Changes the tier and the owner. Ends a quarantine, and forgets its evidence.

    If the machine is less trusted now, its matches are queued again. The caller changes its user in
    Redis. Raises NotFound, Conflict for a revoked one, Invalid for an unknown owner.
    """
    machine = _require_valid(conn, key)
    conn.execute(
        """
        update machines
           set tier = %(tier)s, quarantined_at = null, quarantine_reason = null,
               judged_from = now(), owner_id = case when %(is_trusted)s then %(owner)s::text
                   else coalesce(%(owner)s, owner_id, %(by)s) end
         where id = %(id)s
        """,
        {
            "tier": change.tier,
            "is_trusted": change.tier is MachineTier.TRUSTED,
            "owner": users.find_owner(conn, change.owner),
            "by": by.user_id,
            "id": machine.id,
        },
    )
    if machine.tier == MachineTier.TRUSTED and change.tier is not MachineTier.TRUSTED:
        _end_leases(conn, machine.id, LESS_TRUSTED)
    _record_act(conn, by, f"trust-machine-{change.tier}", machine.id)
    return get_machine(conn, machine.id)


@atomic_function
def quarantine(conn: Connection, machine: MachineId, reason: str) -> None:
    """Lets the machine claim nothing until `trust`, and queues its matches again. Its results stay
    until they are rejudged."""
    conn.execute(
        "update machines set quarantined_at = now(), quarantine_reason = %s where id = %s",
        (reason, machine),
    )
    _end_leases(conn, machine, QUARANTINED)
    audit_log.record_audit(
        conn, None, by=None, act="quarantine-machine", subject=machine, reason=reason
    )


def _end_leases(conn: Connection, machine: MachineId, reason: str) -> list[MatchId]:
    """Queues the running matches of a machine again; returns them."""
    query = """select id from matches
        where machine_id = %(machine)s and state = 'running' order by id for update"""
    held = fetch(conn, MatchId, query, {"machine": machine})
    conn.execute(
        "select lease_requeue_or_void(%s, 'fault', 'host', null, %s, null)", (held, reason)
    )
    return held


def machine_of_secret(conn: Connection, secret: str) -> Machine | None:
    """The machine with this secret; None if it is wrong or revoked."""
    return next(iter(_select_machines(conn, secret=secret)), None)


def redis_logins(conn: Connection) -> dict[str, tuple[str, bool]]:
    """SHA-256 of the secret, and whether it is trusted, of each valid machine by login."""
    rows = conn.execute(
        "select login, secret_hash, tier = 'trusted' from machines where revoked_at is null"
    )
    return {str(login): (str(digest), bool(trusted)) for login, digest, trusted in rows}


def end_held_sessions(conn: Connection, longest_seconds: float = LONGEST_SECONDS) -> list[str]:
    """Ends machines' sessions with a longer transaction or an advisory lock. Returns their logins.

    A lease function takes milliseconds. A machine that keeps a transaction open keeps the locks of
    its calls, the old rows of all tables and all notifications. A machine whose worker was stopped
    meanwhile connects again.
    """
    query = """
        select a.usename, pg_terminate_backend(a.pid)
          from pg_stat_activity a
         where a.usename in (select login from machines) and pg_has_role(a.usename, 'usage')
           and (a.xact_start < clock_timestamp() - make_interval(secs => %(longest)s)
                or exists (select 1 from pg_locks l
                            where l.pid = a.pid and l.locktype = 'advisory'))
        """
    logins = fetch(conn, tuple[str, bool], query, {"longest": longest_seconds})
    return [login for login, _ in logins]


def hash_secret(secret: str) -> str:
    """SHA-256 in hex. Codes and secrets have at least 192 random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _record_act(conn: Connection, by: Viewer, act: str, subject: str) -> None:
    """Writes an act on machines into the audit log of the instance."""
    audit_log.record_audit(conn, None, by=by.user_id, act=act, subject=subject, reason="")


def _require_valid(conn: Connection, key: str) -> Machine:
    machine = get_machine(conn, key)
    conn.execute("select 1 from machines where id = %s for update", (machine.id,))
    machine = get_machine(conn, machine.id)
    if machine.revoked_at is not None:
        raise Conflict("this machine was revoked already")
    return machine


def _select_machines(
    conn: Connection, *, key: str | None = None, secret: str | None = None
) -> list[Machine]:
    """Machines that were not revoked, by their names; with a key or a secret at most one. A revoked
    one is found by its id."""
    secret_hash = None if secret is None else hash_secret(secret)
    return fetch(conn, Machine, SELECT_MACHINES, {"key": key, "secret_hash": secret_hash})


def _select_invitations(conn: Connection, invitation_id: str | None) -> list[MachineInvitation]:
    return fetch(conn, MachineInvitation, SELECT_INVITATIONS, {"id": invitation_id})
