"""Disqualifies and reinstates entries, agents and teams of a season.

Each act writes an audit entry in its own transaction. Matches and results do not change: the
season's log says from which number on a result counts or no longer counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import ConfigDict, Field

from ladder import ids
from ladder.database.db import Connection, atomic_function, fetch, fetch_one
from ladder.entries import entries, medal_lines
from ladder.enums import VoidCause
from ladder.errors import Conflict, Invalid, NotFound
from ladder.fault_reasons import DISQUALIFIED
from ladder.field_types import RECORD, Key, Reason, RequestModel
from ladder.ids import AgentId, EntryId, MatchId, SeasonId, UserId
from ladder.leagues import medals, seasons
from ladder.matches import matches
from ladder.notices.kinds import EventSubject, NoticeKind, record_events
from ladder.people import audit_log
from ladder.slugs import normal_text

COVERED: Final = "season_id = %(season)s and %(subject)s in (id, agent_id, team_id)"
"""Whether an entry is the subject of an act, or belongs to it."""
SUBJECTS: Final = ("ent_", "age_", "tea_")
SHOWN: Final = 5
"""Most ids listed if a name is not unique."""


@dataclass(frozen=True, slots=True)
class DisqualificationAct:
    """The act and the entries that it changed."""

    __pydantic_config__ = RECORD
    audit_id: Annotated[str, Field(examples=["aud_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    subject: str
    entries: tuple[EntryId, ...]
    """The changed entries."""


class DisqualificationRequest(RequestModel):
    """The subject of a disqualification, and the reason."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"subject": "ent_01j8x6m3c2k4v9q0w7r5t1y8z3", "reason": "It colludes with another."}
            ]
        },
    )
    subject: Key
    """Id of an entry, an agent or a team."""
    reason: Reason


@atomic_function
def disqualify(
    conn: Connection, season_id: SeasonId, subject: str, *, by: UserId | None, reason: str
) -> DisqualificationAct:
    """Disqualifies an entry, or all entries of an agent or a team, in a season.

    A disqualified agent or team cannot enter the season again. Its entries are retired. From the
    next official fit on, their seats are empty, as if they had never played. All sealed
    medals of the season are revoked. Matches and live ratings stay.

    Raises NotFound, LadderError for another kind of id. Raises Conflict if already disqualified,
    and for a reference agent that a medal line names.
    """
    _require_subject(subject)
    season = seasons.get_season(conn, season_id)
    values = {"season": season_id, "subject": subject}
    query = f"""select validation_match_id from entries
        where {COVERED} and state in ('pending', 'paused') and validation_match_id is not null
        order by id"""
    trials = fetch(conn, MatchId, query, values)
    entries.lock_matches_and_seasons(conn, trials, [season_id])
    matches.void_matches(conn, trials, VoidCause.ENTRY_LEFT, "the entry was disqualified")
    query = f"""select id, state, agent_id, disqualified_at is not null
        from entries where {COVERED} order by id for update"""
    rows = conn.execute(query, values).fetchall()
    if not rows:
        raise NotFound(f"{subject} has no entry in this season", field="subject")
    out = [EntryId(entry) for entry, state, _, is_out in rows if state != "rejected" and not is_out]
    medal_lines.refuse_to_lose_agent(conn, season_id, out)
    excluded = _add_exclusion(conn, season_id, subject)
    if (not excluded and not out) or (ids.is_id(subject, "ent") and rows[0][1] == "rejected"):
        raise Conflict("it is already disqualified, or never passed validation", field="subject")
    _append_to_season_log(conn, season_id, "disqualify", out)
    for entry in out:
        conn.execute("select entry_disqualify(%s, %s)", (entry, f"{DISQUALIFIED}{reason}"))
    audit_id = audit_log.record_audit(
        conn,
        season.league_id,
        by=by,
        act="disqualify",
        subject=subject,
        reason=reason,
        season_id=season_id,
        details={"entries": out},
    )
    # Games of the disqualified affected every team.
    medals.unseal_all_medals(conn, season_id, audit_id)
    newest = {agent: EntryId(entry) for entry, _, agent, is_out in rows if not is_out}
    _tell_teams(conn, NoticeKind.AGENT_DISQUALIFIED, newest)
    return DisqualificationAct(audit_id, subject, tuple(out))


@atomic_function
def reinstate(
    conn: Connection, season_id: SeasonId, subject: str, *, by: UserId | None, reason: str
) -> DisqualificationAct:
    """Undoes a disqualification: the results count again, and active entries play again.

    An entry that another disqualification covers stays out: its own, its agent's or its team's. An
    entry above its agent's or team's limit stays retired, and so does one whose team has ended
    during the season. Raises NotFound, LadderError, Conflict if not disqualified.
    """
    _require_subject(subject)
    season = seasons.get_season(conn, season_id)
    values = {"season": season_id, "subject": subject}
    conn.execute(  # so none of the teams ends meanwhile
        f"""select 1 from teams where id in (select team_id from entries where {COVERED})
        order by id for share""",
        values,
    )
    # The season before its entries, the lock order of lease.sql.
    conn.execute("select 1 from seasons where id = %s for no key update", (season_id,))
    undone = conn.execute(
        "delete from exclusions where season_id = %s and subject = %s", (season_id, subject)
    ).rowcount
    if not undone:
        raise Conflict(_why_not_disqualified(conn, season_id, subject))
    query = f"""select id, agent_id from entries e
        where {COVERED} and disqualified_at is not null
          and not exists (select 1 from exclusions x
            where x.season_id = e.season_id and x.subject in (e.id, e.agent_id, e.team_id))
        order by id for update"""
    rows = conn.execute(query, values).fetchall()
    back = [EntryId(entry) for entry, _ in rows]
    _append_to_season_log(conn, season_id, "reinstate", back)
    for entry in back:
        conn.execute("select entry_reinstate(%s)", (entry,))
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
    _tell_teams(conn, NoticeKind.AGENT_REINSTATED, {agent: EntryId(entry) for entry, agent in rows})
    return DisqualificationAct(audit_id, subject, tuple(back))


def _tell_teams(conn: Connection, kind: NoticeKind, newest: Mapping[AgentId, EntryId]) -> None:
    """Sends a notice to the team of each agent; ``newest`` gives the newest entry of each."""
    record_events(conn, [(kind, EventSubject(entry_id=entry)) for entry in newest.values()])


def _require_subject(subject: str) -> None:
    if not any(ids.is_id(subject, prefix.rstrip("_")) for prefix in SUBJECTS):
        raise Invalid("subject", "give the id of an entry (ent_), an agent (age_) or a team (tea_)")


def _add_exclusion(conn: Connection, season_id: SeasonId, subject: str) -> bool:
    """Adds a row; whether it is new."""
    inserted = conn.execute(
        "insert into exclusions (season_id, subject) values (%s, %s) on conflict do nothing",
        (season_id, subject),
    )
    return inserted.rowcount == 1


def _why_not_disqualified(conn: Connection, season_id: SeasonId, subject: str) -> str:
    """Returns why there is nothing to undo, and which disqualifications apply instead."""
    query = """select distinct x.subject from entries e
        join exclusions x on x.season_id = e.season_id
          and x.subject in (e.id, e.agent_id, e.team_id)
        where e.season_id = %(season)s and %(subject)s in (e.id, e.agent_id, e.team_id)
        order by x.subject"""
    others = fetch(conn, str, query, {"season": season_id, "subject": subject})
    if not others:
        return "subject: it is not disqualified in this season"
    names = ", ".join(others)
    return f"subject: undo what was done to {names} instead; this one was not disqualified itself"


def _append_to_season_log(
    conn: Connection, season_id: SeasonId, act: str, entries: list[EntryId]
) -> None:
    """Writes the act to the season's log, one number for each entry."""
    query = """update seasons
        set accepted_no = accepted_no + %(accepted_no)s, revision = revision + 1,
          official_is_stale = true
        where id = %(season_id)s returning accepted_no"""
    last_no = fetch_one(conn, int, query, {"accepted_no": len(entries), "season_id": season_id})
    with conn.cursor() as cur:
        cur.executemany(
            "insert into acceptances (season_id, no, act, entry_id) values (%s, %s, %s, %s)",
            [
                (season_id, last_no - len(entries) + n, act, entry)
                for n, entry in enumerate(entries, 1)
            ],
        )


def find_subject(conn: Connection, season_id: SeasonId, text: str, field: str = "subject") -> str:
    """The id of the agent or team in this season with this exact name or slug, in any case.

    An id and an empty text stay as they are. Raises Invalid for ``field`` if there is none, or
    several.
    """
    return _find_id(conn, season_id, text, field, teams=True)


def find_agent_id(conn: Connection, season_id: SeasonId, text: str, field: str) -> str:
    """As ``find_subject``, for agents alone."""
    return _find_id(conn, season_id, text, field, teams=False)


def _find_id(conn: Connection, season_id: SeasonId, text: str, field: str, *, teams: bool) -> str:
    if not text or text.startswith(SUBJECTS):
        return text
    matching = fetch(
        conn,
        str,
        """select a.id from agents a
        where lower(%(text)s) in (lower(a.name), a.slug)
          and exists (select 1 from entries e where e.season_id = %(season)s and e.agent_id = a.id)
        union
        select t.id from teams t
        where %(teams)s and lower(%(text)s) in (lower(t.name), t.slug)
          and exists (select 1 from entries e where e.season_id = %(season)s and e.team_id = t.id)
        order by 1""",
        {"text": normal_text(text).replace("\0", ""), "season": season_id, "teams": teams},
    )
    if len(matching) == 1:
        return matching[0]
    kinds = "agent or team" if teams else "agent"
    if not matching:
        raise Invalid(field, f"give an exact name or an id: the season has no {kinds} {text!r}.")
    choices = ", ".join(matching[:SHOWN])
    raise Invalid(field, f"give one of these ids: several have the name {text!r}: {choices}")
