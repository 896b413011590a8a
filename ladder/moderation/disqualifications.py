"""What a host does when a season went wrong: disqualify and reinstate.

Every act is written to the audit log in its own transaction. Matches and results stay as they are:
the season's log says from which number on something counts or no longer does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ladder import ids
from ladder.database.db import Connection, atomic_function
from ladder.entries import entries
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import EntryId, SeasonId, UserId
from ladder.leagues import sealed_medals, seasons
from ladder.matches import matches
from ladder.people import audit_log

SUBJECTS: Final = {"ent": "id", "age": "agent_id", "tea": "team_id"}


@dataclass(frozen=True, slots=True)
class DisqualificationAct:
    """What was done to whom."""

    audit_id: str
    subject: str
    entries: tuple[EntryId, ...]
    """Those that it changed."""


@atomic_function
def disqualify(
    conn: Connection, season_id: SeasonId, subject: str, *, by: UserId | None, reason: str
) -> DisqualificationAct:
    """Takes an entry, or all of an agent or a team (they enter nothing more), out of a season.

    Its entries are retired, and from the next official fit on their seats are empty, as if they
    had never played; what medal was sealed for the team no longer is. Matches and live ratings
    stay. Raises NotFound, LadderError (not an id that
    can be disqualified), Conflict (it is already).
    """
    which = _column_of_subject(subject)
    season = seasons.get_season(conn, season_id)
    waiting = conn.execute(
        f"select validation_match_id from entries where season_id = %s and {which} = %s"  # noqa: S608
        " and state in ('pending', 'paused') and validation_match_id is not null order by id",
        (season_id, subject),
    ).fetchall()
    trials = [row[0] for row in waiting]
    entries.lock_matches_and_seasons(conn, trials, [season_id])
    matches.void_matches(conn, trials, "the entry was disqualified")
    rows = conn.execute(
        "select id, state, team_id, disqualified_at is not null from entries"  # noqa: S608
        f" where season_id = %s and {which} = %s order by id for update",
        (season_id, subject),
    ).fetchall()
    if not rows:
        raise NotFound(f"{subject} has no entry in this season", field="subject")
    out = [
        (EntryId(entry), state)
        for entry, state, _, is_out in rows
        if state != "rejected" and not is_out
    ]
    excluded = _add_exclusion(conn, season_id, subject)
    if (not excluded and not out) or (which == "id" and rows[0][1] == "rejected"):
        raise Conflict("it is disqualified already, or never passed validation", field="subject")
    _append_to_season_log(conn, season_id, "disqualify", [entry for entry, _ in out])
    for entry, state in out:
        conn.execute(
            "update entries set state = 'retired', deadline_at = null, next_try_at = null,"
            " paused_at = null, disqualified_at = now(),"
            " disqualified_from = %s, reason = %s where id = %s",
            (state, f"disqualified: {reason}", entry),
        )
    audit_id = audit_log.record_audit(
        conn,
        season.league_id,
        by=by,
        act="disqualify",
        subject=subject,
        reason=reason,
        season_id=season_id,
        details={"entries": [entry for entry, _ in out]},
    )
    _unseal_all_medals(conn, season_id, audit_id)
    return DisqualificationAct(audit_id, subject, tuple(entry for entry, _ in out))


@atomic_function
def reinstate(
    conn: Connection, season_id: SeasonId, subject: str, *, by: UserId | None, reason: str
) -> DisqualificationAct:
    """Undoes a disqualification: the results count again, and what was active plays again.

    Only this act is undone: what another one covers, of the entry itself, its agent or its team,
    stays out. Where its agent has as many active entries as it may by now, the entry stays retired.
    Raises NotFound, LadderError, Conflict (it is not disqualified).
    """
    which = _column_of_subject(subject)
    season = seasons.get_season(conn, season_id)
    _lock_season(conn, season_id)
    undone = conn.execute(
        "delete from exclusions where season_id = %s and subject = %s", (season_id, subject)
    ).rowcount
    if not undone:
        raise Conflict(_why_not_disqualified(conn, season_id, which, subject))
    rows = conn.execute(
        "select id, disqualified_from from entries e"  # noqa: S608
        f" where season_id = %s and {which} = %s and disqualified_at is not null"
        " and not exists (select 1 from exclusions x where x.season_id = e.season_id"
        "   and x.subject in (e.id, e.agent_id, e.team_id)) order by id for update",
        (season_id, subject),
    ).fetchall()
    back = [EntryId(entry) for entry, _ in rows]
    _append_to_season_log(conn, season_id, "reinstate", back)
    for entry, state in rows:
        conn.execute(
            "update entries e set disqualified_at = null, disqualified_from = null, reason = null,"
            " deadline_at = case when %(state)s = 'pending' then now() end,"
            " next_try_at = case when %(state)s = 'paused' then now() end,"
            # A paused one has all its days to answer: it was not tried while it was out.
            " paused_at = case when %(state)s = 'paused' then now() end, tries = 0,"
            " state = case when %(state)s = 'active' and (select count(*) from entries o"
            "     where o.season_id = e.season_id and o.agent_id = e.agent_id"
            "     and o.state = 'active') >= (select active_limit from seasons"
            "     where id = e.season_id) then 'retired' else %(state)s end where id = %(entry)s",
            {"state": state, "entry": entry},
        )
    audit_id = audit_log.record_audit(
        conn,
        season.league_id,
        by=by,
        act="reinstate",
        subject=subject,
        reason=reason,
        season_id=season_id,
        details={"entries": back},
    )
    return DisqualificationAct(audit_id, subject, tuple(back))


def _unseal_all_medals(conn: Connection, season_id: SeasonId, audit_id: str) -> None:
    """Takes back every seal: the games of who is out told of all. The next fit seals anew, and
    counts anew by how many teams medals go."""
    for team in sealed_medals.sealed_medals_of_season(conn, season_id):
        sealed_medals.unseal_medals(conn, season_id, team, audit_id)
    conn.execute("update seasons set medal_teams = null where id = %s", (season_id,))


def _column_of_subject(subject: str) -> str:
    """The column that bears this id."""
    for prefix, column in SUBJECTS.items():
        if ids.is_id(subject, prefix):
            return column
    raise Invalid("subject", "give the id of an entry (ent_), an agent (age_) or a team (tea_)")


def _lock_season(conn: Connection, season_id: SeasonId) -> None:
    """The season before its entries: the lock order of ``lease.sql``."""
    conn.execute("select 1 from seasons where id = %s for no key update", (season_id,))


def _add_exclusion(conn: Connection, season_id: SeasonId, subject: str) -> bool:
    """Whether it was not excluded before."""
    made = conn.execute(
        "insert into exclusions (season_id, subject) values (%s, %s) on conflict do nothing",
        (season_id, subject),
    )
    return made.rowcount == 1


def _why_not_disqualified(conn: Connection, season_id: SeasonId, which: str, subject: str) -> str:
    """Why there is nothing to undo, and what is in force instead."""
    others = conn.execute(
        "select distinct x.subject from entries e join exclusions x on x.season_id = e.season_id"  # noqa: S608
        f" and x.subject in (e.id, e.agent_id, e.team_id) where e.season_id = %s and e.{which} = %s"
        " order by x.subject",
        (season_id, subject),
    ).fetchall()
    if not others:
        return "subject: it is not disqualified in this season"
    names = ", ".join(row[0] for row in others)
    return f"subject: it was not disqualified itself; in force is what was done to {names}"


def _append_to_season_log(
    conn: Connection, season_id: SeasonId, act: str, entries: list[EntryId]
) -> None:
    """Writes the act into the season's log, a number for each entry."""
    row = conn.execute(
        "update seasons set accepted_no = accepted_no + %s, revision = revision + 1,"
        " official_is_stale = true where id = %s returning accepted_no",
        (len(entries), season_id),
    ).fetchone()
    assert row is not None
    with conn.cursor() as cur:
        cur.executemany(
            "insert into acceptances (season_id, no, act, entry_id) values (%s, %s, %s, %s)",
            [
                (season_id, row[0] - len(entries) + n, act, entry)
                for n, entry in enumerate(entries, 1)
            ],
        )
