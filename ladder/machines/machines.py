"""Machines that joined: their credentials, what they do, drain and revocation.

A machine has one secret. It is the password of its role in Postgres and of its user in Redis, and
its token at the site. The role may execute the lease functions, which know the machine by its
login and let it act for its own workers alone. Callers let only administrators list, drain,
trust and revoke.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import psycopg
from psycopg import sql
from psycopg.rows import class_row

from ladder import ids
from ladder.database import db
from ladder.database.db import Connection, atomic_function
from ladder.enums import MachineTier
from ladder.errors import Conflict, NotFound
from ladder.ids import MachineId, MatchId, UserId
from ladder.machines.invitations import hash_secret, record_act, use_code
from ladder.people import audit_log
from ladder.people.records import Viewer

MOST_CONNECTIONS: Final = 40
"""Database connections of one machine: two for each slot, and some for the worker itself."""
REVOKED: Final = "the machine was revoked"
QUARANTINED: Final = "the machine is in quarantine"
LESS_TRUSTED: Final = "the machine is less trusted now"
STATEMENT_SECONDS: Final = 20
"""Time for a statement of a machine, and for a pause within a transaction. A machine may raise
both, so `sessions.end_held_sessions` ends what lasts longer."""
TIERS: Final = tuple(MachineTier)
NO_ROLES: Final = (
    "no machine can join: the site's role in Postgres may not create roles; its operator must run"
    " ALTER ROLE ... CREATEROLE"
)
NO_LIMIT: Final = (
    "no machine can join: the site's role in Postgres may not limit temporary files of machines; a"
    " superuser must run grant set on parameter temp_file_limit to ROLE, or set temp_file_limit for"
    " the server"
)
SELECT: Final = """
select m.id, m.name, m.login, m.tier, m.owner_id, u.name as owner_name,
       m.joined_at, m.drained_at, m.revoked_at, m.quarantined_at, m.quarantine_reason,
       (select count(*) from machine_samples s where s.machine_id = m.id
           and s.is_different is not null and s.created_at > m.judged_from)::int as samples,
       (select count(*) from machine_samples s where s.machine_id = m.id and s.is_different
           and s.created_at > m.judged_from)::int as different,
       (select exp(avg(s.log_time_ratio)) from machine_samples s where s.machine_id = m.id
           and s.created_at > m.judged_from) as time_ratio,
       (select avg(w.speed) from workers w where w.machine_id = m.id
           and w.live_until > now()) as speed,
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
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine and what its workers reported last."""

    id: MachineId
    name: str
    login: str
    """Its role in Postgres and its user in Redis."""
    tier: MachineTier
    owner_id: UserId | None
    """Whose it is: it plays no bundle of a season in which this person competes. None: the
    site's own."""
    owner_name: str | None
    joined_at: datetime
    drained_at: datetime | None
    """Since when it claims no matches; None: it claims."""
    revoked_at: datetime | None
    quarantined_at: datetime | None
    """Since when it claims nothing because of what its samples show. None: it may."""
    quarantine_reason: str | None
    samples: int
    """Plays compared with those of trusted machines."""
    different: int
    """Those with other moves."""
    time_ratio: float | None
    """Its charged times beside those of trusted machines, for equal speeds."""
    speed: float | None
    """Work per second that its workers measured."""
    seen_at: datetime | None
    """When a worker of it was last seen; None: not within a day."""
    slots: int
    """Matches that its live workers play at a time."""
    running: int
    """Matches that it plays now."""
    mismatches: int
    """Results that their replays did not give."""
    speed_classes: list[str]
    lacks: list[str]
    """What its nodes cannot provide, in words."""


@atomic_function
def join(conn: Connection, code: str, name: str) -> tuple[Machine, str]:
    """Uses the code up and creates the machine with its database role. Returns it and its secret,
    which is stored nowhere. Raises NotFound for a wrong code, Conflict if the name is taken."""
    invitation = use_code(conn, code)
    secret = secrets.token_urlsafe(32)
    machine_id = ids.new_id("mch")
    login = f"peck_machine_{machine_id.partition('_')[2]}"
    try:
        with conn.transaction():
            conn.execute(
                "insert into machines (id, name, login, secret_hash, invitation_id, tier,"
                " owner_id) select %s, %s, %s, %s, id, tier, owner_id from machine_invitations"
                " where id = %s",
                (machine_id, name, login, hash_secret(secret), invitation),
            )
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
    return _require_machine(conn, MachineId(machine_id)), secret


def list_machines(conn: Connection) -> list[Machine]:
    """All machines that were not revoked, in order of their names."""
    return _select_machines(conn, "where m.revoked_at is null", ())


def get_machine(conn: Connection, key: str) -> Machine:
    """The machine with this id or name. A revoked one is found by its id. Raises NotFound."""
    found = _select_machines(
        conn, "where m.id = %s or lower(m.name) = lower(%s) and m.revoked_at is null", (key, key)
    )
    if not found:
        raise NotFound.of("machine")
    return found[0]


@atomic_function
def drain(conn: Connection, by: Viewer, key: str, *, is_drained: bool) -> Machine:
    """Lets the machine claim no more matches, or claim again. Running matches end as usual. Raises
    NotFound, Conflict for a revoked one."""
    machine = _require_valid(conn, key)
    conn.execute(
        "update machines set drained_at = case when %s then coalesce(drained_at, now()) end"
        " where id = %s",
        (is_drained, machine.id),
    )
    record_act(conn, by, "drain-machine" if is_drained else "resume-machine", machine.id)
    return _require_machine(conn, machine.id)


@atomic_function
def revoke(conn: Connection, by: Viewer, key: str) -> tuple[Machine, list[MatchId]]:
    """Ends the machine's credentials, connections and leases at once. Returns it and its matches,
    which are queued again. The caller deletes its user in Redis. Raises NotFound, Conflict for a
    revoked one."""
    machine = _require_valid(conn, key)
    conn.execute("update machines set revoked_at = now() where id = %s", (machine.id,))
    conn.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = %s",
        (machine.login,),
    )
    conn.execute(sql.SQL("drop role if exists {}").format(sql.Identifier(machine.login)))
    held = end_leases(conn, machine.id, REVOKED)
    conn.execute(
        "update workers set seen_at = to_timestamp(0), live_until = now() where machine_id = %s",
        (machine.id,),
    )
    record_act(conn, by, "revoke-machine", machine.id)
    return _require_machine(conn, machine.id), held


@atomic_function
def trust(
    conn: Connection, by: Viewer, key: str, tier: MachineTier, owner: UserId | None = None
) -> Machine:
    """Changes the tier and the owner. Ends a quarantine, and forgets its evidence.

    Without an owner a trusted machine is the site's own; another one keeps its owner, or belongs to
    the person who acts. If the machine is less trusted now, its matches are queued again. The
    caller changes its user in Redis. Raises NotFound, Conflict for a revoked one.
    """
    machine = _require_valid(conn, key)
    conn.execute(
        "update machines set tier = %(tier)s, owner_id = case when %(tier)s = 'trusted'"
        " then %(owner)s::text else coalesce(%(owner)s, owner_id, %(by)s) end,"
        " quarantined_at = null, quarantine_reason = null, judged_from = now() where id = %(id)s",
        {"tier": tier, "owner": owner, "by": by.user_id, "id": machine.id},
    )
    if TIERS.index(tier) > TIERS.index(MachineTier(machine.tier)):
        end_leases(conn, machine.id, LESS_TRUSTED)
    record_act(conn, by, f"trust-machine-{tier}", machine.id)
    return _require_machine(conn, machine.id)


@atomic_function
def quarantine(conn: Connection, machine: MachineId, reason: str) -> None:
    """Lets the machine claim nothing until `trust`, and queues its matches again. Its results stay
    until they are rejudged."""
    conn.execute(
        "update machines set quarantined_at = now(), quarantine_reason = %s where id = %s",
        (reason, machine),
    )
    end_leases(conn, machine, QUARANTINED)
    audit_log.record_audit(
        conn, None, by=None, act="quarantine-machine", subject=machine, reason=reason
    )


def end_leases(conn: Connection, machine: MachineId, reason: str) -> list[MatchId]:
    """Queues the running matches of a machine again; returns them."""
    held = [
        MatchId(row[0])
        for row in conn.execute(
            "select id from matches where machine_id = %s and state = 'running'"
            " order by id for update",
            (machine,),
        )
    ]
    conn.execute(
        "select lease_requeue_or_void(%s, 'fault', 'host', null, %s, null)", (held, reason)
    )
    return held


def machine_of_secret(conn: Connection, secret: str) -> Machine | None:
    """The machine with this secret; None if it is wrong or revoked."""
    found = _select_machines(
        conn, "where m.secret_hash = %s and m.revoked_at is null", (hash_secret(secret),)
    )
    return found[0] if found else None


def redis_logins(conn: Connection) -> dict[str, tuple[str, bool]]:
    """SHA-256 of the secret, and whether it is trusted, of each valid machine by login."""
    rows = conn.execute(
        "select login, secret_hash, tier = 'trusted' from machines where revoked_at is null"
    )
    return {str(login): (str(digest), bool(trusted)) for login, digest, trusted in rows}


def _require_valid(conn: Connection, key: str) -> Machine:
    machine = get_machine(conn, key)
    conn.execute("select 1 from machines where id = %s for update", (machine.id,))
    machine = _require_machine(conn, machine.id)
    if machine.revoked_at is not None:
        raise Conflict("this machine was revoked already")
    return machine


def _require_machine(conn: Connection, machine: MachineId) -> Machine:
    return _select_machines(conn, "where m.id = %s", (machine,))[0]


def _select_machines(conn: Connection, where: str, values: tuple[object, ...]) -> list[Machine]:
    with conn.cursor(row_factory=class_row(Machine)) as cur:
        return cur.execute(
            f"{SELECT} {where} group by m.id, u.id order by lower(m.name), m.id",
            values,
        ).fetchall()
