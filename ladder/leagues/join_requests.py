"""Requests to join a league: a person asks, a host approves or declines.

A person agrees to the terms when asking. A request expires after ``LIFE``; the scheduler ends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, Self

from psycopg import errors
from psycopg.rows import dict_row
from pydantic import ConfigDict, Field, model_validator

from ladder import ids
from ladder.database.db import Connection, atomic, atomic_function, fetch, fetch_one
from ladder.enums import LeagueRole, ReplayVisibility, Visibility
from ladder.errors import Conflict, Invalid, NotFound
from ladder.field_types import RECORD, Key, Line, RequestModel, WordsOfPerson
from ladder.ids import JoinRequestId, LeagueId, UserId
from ladder.leagues import leagues, members, terms
from ladder.leagues.records import League, league_resource
from ladder.leagues.terms import Digest
from ladder.notices.kinds import EventSubject, NoticeKind, record_event
from ladder.people import audit_log, quotas, users
from ladder.people.permissions import may_see
from ladder.people.records import Viewer

LIFE: Final = timedelta(days=14)
MOST_ANSWERED: Final = 500
"""Requests that one answer covers at most."""
TERMS_CHANGED: Final = "the terms have changed since; read them and ask again"
REQUEST: Final = """
    select r.id, r.league_id, l.slug, l.title, r.user_id, u.name, r.words, r.state, r.created_at,
      r.expires_at, r.answered_at, r.answer
    from join_requests r join leagues l on l.id = r.league_id join users u on u.id = r.user_id"""


class RequestState(StrEnum):
    WAITING = "waiting"
    """Hosts of the league answer it; the scheduler ends it at its date."""
    APPROVED = "approved"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    """No host answered in time, or the terms changed."""


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """A person's request to join a league."""

    __pydantic_config__ = RECORD
    id: Annotated[JoinRequestId, Field(examples=["jrq_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    league_id: LeagueId
    slug: WordsOfPerson
    title: WordsOfPerson
    user_id: UserId
    name: WordsOfPerson
    words: WordsOfPerson
    state: RequestState
    created_at: datetime
    expires_at: datetime
    answered_at: datetime | None
    answer: WordsOfPerson
    """What the host said."""


class NewJoinRequest(RequestModel):
    terms: Digest
    words: Annotated[Line, Field(title="A word to the hosts")] = ""
    """Who you are, and why you ask. You may leave it empty."""


class JoinAnswer(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"act": "approve", "all": True}]})
    act: Literal["approve", "decline"]
    requests: Annotated[list[Key], Field(default_factory=list, max_length=MOST_ANSWERED)]
    """Ids of requests."""
    all: bool = False
    """All requests that wait, instead of ids."""
    role: Literal["competitor", "viewer"] = "competitor"
    words: Line = ""
    """A word to the people."""

    @model_validator(mode="after")
    def _names_requests(self) -> Self:
        if self.all == bool(self.requests):
            raise ValueError("give the ids of requests, or set all to true")
        return self


NOTICES: Final = {
    RequestState.APPROVED: NoticeKind.JOIN_APPROVED,
    RequestState.DECLINED: NoticeKind.JOIN_DECLINED,
    RequestState.EXPIRED: NoticeKind.JOIN_EXPIRED,
}
"""Kind of the notice about the end of a request; who withdraws it gets none."""


def league_to_ask(conn: Connection, viewer: Viewer, key: str) -> League:
    """Returns a league that this viewer may ask to join. Raises NotFound.

    Whoever knows the name of a league that takes requests may read its title and its terms.
    """
    league = leagues.get_league(conn, key)
    if not league.takes_requests and not may_see(viewer, league_resource(league)):
        raise NotFound.of("league")
    return league


@atomic_function
def request_to_join(
    conn: Connection, league_id: LeagueId, user_id: UserId, terms_digest: str, words: str
) -> JoinRequest:
    """Asks to join; the person agrees to the terms with this digest.

    Raises Forbidden for a blocked person. Raises Conflict if the league takes no requests or is
    closed, if the person is a member or already asks, or if the digest is not that of the current
    terms. Raises LimitReached.
    """
    terms.share_league(conn, league_id)
    league = leagues.get_league(conn, league_id)
    settings = terms.settings_of_league(league)
    members.refuse_blocked_person(conn, league_id, user_id)
    if not league.takes_requests or league.state == "closed":
        raise Conflict("ask the host for an invitation code: this league takes no requests")
    if members.role_of(conn, league.id, user_id) is not None:
        raise Conflict("you are a member of this league already")
    if terms_digest != terms.terms_digest(settings):
        raise Conflict(
            "read the terms again: this digest is not that of the current terms", field="terms"
        )
    request_id = ids.new_id("jrq")
    try:
        with atomic(conn):
            conn.execute(
                """
                insert into join_requests (id, league_id, user_id, words, agreed_visibility,
                  agreed_replays, agreed_remote, terms_digest, expires_at)
                values (%(id)s, %(league)s, %(user)s, %(words)s, %(visibility)s, %(replays)s,
                  %(remote)s, %(digest)s, now() + %(life)s)
                """,
                {
                    "id": request_id,
                    "league": league_id,
                    "user": user_id,
                    "words": words,
                    **settings._asdict(),
                    "digest": terms_digest,
                    "life": LIFE,
                },
            )
    except errors.UniqueViolation:
        raise Conflict("you asked already: wait for an answer, or withdraw the request") from None
    quotas.check_request_quota(conn, user_id)
    about = EventSubject(league_id=league_id, user_id=user_id)
    record_event(conn, NoticeKind.JOIN_REQUESTED, about)
    return fetch_one(conn, JoinRequest, f"{REQUEST} where r.id = %s", (request_id,))


def list_requests(
    conn: Connection,
    league_id: LeagueId,
    *,
    state: RequestState | None = RequestState.WAITING,
    after: str | None = None,
    limit: int = 50,
) -> list[JoinRequest]:
    """Returns a league's requests, oldest first, after ``after``; with ``state`` only these."""
    query = f"""{REQUEST}
        where r.league_id = %s and r.id > %s and (%s::text is null or r.state = %s)
        order by r.id limit %s"""
    return fetch(conn, JoinRequest, query, (league_id, after or "", state, state, limit))


def count_waiting(conn: Connection, league_id: LeagueId) -> int:
    """Returns how many requests of a league wait for an answer."""
    query = "select count(*) from join_requests where league_id = %s and state = 'waiting'"
    return fetch_one(conn, int, query, (league_id,))


def requests_of_person(
    conn: Connection, user_id: UserId, league_id: LeagueId | None = None, limit: int = 50
) -> list[JoinRequest]:
    """Returns a person's requests, newest first; with ``league_id`` only those for this league."""
    query = f"""{REQUEST} where r.user_id = %s and (%s::text is null or r.league_id = %s)
        order by r.id desc limit %s"""
    return fetch(conn, JoinRequest, query, (user_id, league_id, league_id, limit))


@atomic_function
def withdraw_request(conn: Connection, user_id: UserId, request_id: JoinRequestId) -> JoinRequest:
    """Withdraws a person's own request; a repeat is no error. Raises NotFound, and Conflict."""
    query = """update join_requests set state = 'withdrawn', answered_at = now()
        where id = %s and user_id = %s and state = 'waiting'"""
    conn.execute(query, (request_id, user_id))
    query = f"{REQUEST} where r.id = %s and r.user_id = %s"
    values, missing = (request_id, user_id), NotFound.of("request")
    request = fetch_one(conn, JoinRequest, query, values, missing)
    if request.state is not RequestState.WITHDRAWN:
        raise Conflict(f"the request is {request.state} already")
    return request


@atomic_function
def answer_requests(
    conn: Connection,
    by: Viewer,
    league: League,
    request_ids: Sequence[str] | None,
    *,
    role: LeagueRole | None,
    words: str = "",
) -> list[JoinRequest]:
    """Approves requests with a role, or declines them (None); returns those that it answered.

    ``request_ids`` None means all that wait, at most MOST_ANSWERED. Requests that do not wait any
    more are left out. If the league's terms became wider since, a request expires instead of being
    approved. Writes an audit entry for each. Raises Invalid for another role.
    """
    if role is not None and role not in members.PLAIN:
        raise Invalid("role", "a request makes competitors or viewers")
    terms.share_league(conn, league.id)
    league = leagues.get_league(conn, league.id)
    now = terms.settings_of_league(league)
    chosen = None if request_ids is None else list(request_ids)
    query = """select * from join_requests where league_id = %s and state = 'waiting'
        and (%s::text[] is null or id = any (%s)) order by id limit %s for update"""
    with conn.cursor(row_factory=dict_row) as cur:
        rows = cur.execute(query, (league.id, chosen, chosen, MOST_ANSWERED)).fetchall()
    for row in rows:
        agreed = terms.TermsSettings(
            Visibility(row["agreed_visibility"]),
            ReplayVisibility(row["agreed_replays"]),
            row["agreed_remote"],
        )
        state, said = RequestState.DECLINED, words
        if role is not None and not terms.is_covered_by(agreed, now):
            state, said = RequestState.EXPIRED, TERMS_CHANGED
        elif role is not None:
            state = RequestState.APPROVED
            _admit(conn, league, row, role)
        query = """update join_requests
            set state = %s, answered_at = now(), answered_by = %s, answer = %s where id = %s"""
        conn.execute(query, (state, by.user_id, said, row["id"]))
        audit_log.record_audit(
            conn,
            league.id,
            by=by.user_id,
            act="request",
            subject=row["user_id"],
            reason=f"{state}: {said}" if said else state.value,
        )
        _tell(conn, NOTICES[state], league.id, UserId(row["user_id"]), "terms")
    query = f"{REQUEST} where r.id = any (%s) order by r.id"
    return fetch(conn, JoinRequest, query, ([row["id"] for row in rows],))


@atomic_function
def expire_requests(conn: Connection, limit: int = 500) -> int:
    """Ends requests that no host answered in time; returns how many. Their people get a notice."""
    query = """
        update join_requests set state = 'expired', answered_at = now()
        where id in (select id from join_requests where state = 'waiting'
          and expires_at <= now() order by expires_at limit %s for update skip locked)
        returning league_id, user_id"""
    rows = fetch(conn, tuple[LeagueId, UserId], query, (limit,))
    for league_id, user_id in rows:
        _tell(conn, NoticeKind.JOIN_EXPIRED, league_id, user_id, "time")
    return len(rows)


def _tell(
    conn: Connection,
    kind: NoticeKind,
    league_id: LeagueId,
    user_id: UserId,
    why_expired: Literal["terms", "time"],
) -> None:
    """Records how a request ended; only a notice of an expired one says why."""
    details = {"why": why_expired} if kind is NoticeKind.JOIN_EXPIRED else None
    record_event(conn, kind, EventSubject(league_id=league_id, user_id=user_id, details=details))


def _admit(conn: Connection, league: League, row: dict[str, Any], role: LeagueRole) -> None:
    """Makes the person a member who agreed to what the request says. A member keeps the role."""
    user_id = UserId(row["user_id"])
    if members.role_of(conn, league.id, user_id) is not None:
        return
    leagues.set_member_role(conn, league.id, user_id, role)
    conn.execute(
        """
        update league_members
        set agreed_visibility = %(agreed_visibility)s, agreed_replays = %(agreed_replays)s,
          agreed_remote = %(agreed_remote)s, terms_digest = %(terms_digest)s,
          agreed_at = %(created_at)s
        where league_id = %(league_id)s and user_id = %(user_id)s
        """,
        row,
    )
    terms.record_role_agreement(conn, league.id, user_id)
    if role is LeagueRole.COMPETITOR and not users.teams_of(conn, user_id):
        users.create_own_team(conn, users.get_user(conn, user_id).name, user_id)
