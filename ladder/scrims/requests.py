"""Requests for scrims: a team asks another one, which accepts or declines.

A request is asked, then accepted, declined, withdrawn or expired. An accepted one has a scrim and
shows its state: accepted until the first game begins, then running, finished or cancelled. The
newest active versions are pinned when it is accepted, so a version retired later plays on.

An asked request ends at ``expires_at``; the scheduler ends it. Games of a scrim have the deadlines
of matches. Locks are taken in this order: the team that asks, the request, agents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final

from psycopg import errors
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from pydantic import Field, computed_field

from ladder import ids
from ladder.database.db import Connection, atomic, atomic_function, fetch, fetch_one
from ladder.entries import agents
from ladder.enums import LogAudience, ScrimAudience
from ladder.errors import Conflict, Invalid, NotFound
from ladder.field_types import RECORD, Key, Line, RequestModel, WordsOfPerson
from ladder.ids import (
    AgentId,
    LeagueId,
    ScrimId,
    ScrimRequestId,
    SeasonId,
    SubmissionId,
    TeamId,
    UserId,
    is_id,
)
from ladder.leagues import leagues, seasons
from ladder.leagues.records import Season
from ladder.notices.kinds import EventSubject, NoticeKind, record_event
from ladder.people.resources import ScrimPrivacy, ScrimRequestResource
from ladder.scrims import policies, scrims
from ladder.scrims.scrims import (
    MOST_GAMES,
    MOST_SEATS,
    Asker,
    NewPrivacy,
    ScrimOrder,
    Seed,
    newest_submission,
)

LIFE_HOURS: Final = 48
"""Time in which the other team can answer, unless another is given."""
MOST_HOURS: Final = 14 * 24


REQUESTS: Final = """
    select r.id, r.season_id, s.league_id, l.slug as league_slug, l.title as league_title,
      r.team_id, t.name as team_name, r.asked_team_id, o.name as asked_team_name, r.requested_by,
      r.wanted as keys, r.games, r.seeds, r.result_audience, r.replay_audience, r.log_audience,
      r.is_members_only, r.words, shown.state, r.created_at, r.expires_at, r.answered_at, r.answer,
      r.scrim_id, seated.seats
    from scrim_requests r join seasons s on s.id = r.season_id
    join leagues l on l.id = s.league_id
    join teams t on t.id = r.team_id
    join teams o on o.id = r.asked_team_id
    left join scrims c on c.id = r.scrim_id
    cross join lateral (
      select case
        when r.state = 'asked' and r.expires_at <= now() then 'expired'
        when r.state <> 'accepted' then r.state
        when c.state <> 'running' then c.state
        when exists (
          select 1 from matches m where m.scrim_id = c.id and m.state <> 'queued'
        ) then 'running'
        else 'accepted' end as state
    ) shown
    cross join lateral (
      select jsonb_agg(jsonb_build_array(
          a.id, a.name, a.team_id, b.id, b.number,
          case when b.id is not null then submission_version(b.agent_id, b.number) end
        ) order by w.place) as seats
      from jsonb_array_elements_text(coalesce(c.lineup, r.wanted))
        with ordinality as w(key, place)
      left join submissions b on b.id = w.key
      join agents a on a.id = coalesce(b.agent_id, w.key)
    ) seated"""


class RequestState(StrEnum):
    """Where a request stands."""

    ASKED = "asked"
    """The other team answers; the scheduler ends it at ``expires_at``."""
    ACCEPTED = "accepted"
    """Its games wait for workers, until their deadlines."""
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    """Nobody answered in time, or the season ended."""
    RUNNING = "running"
    """A game has begun; leases and deadlines of matches end it."""
    FINISHED = "finished"
    CANCELLED = "cancelled"


class NewScrimRequest(RequestModel):
    season: Key
    """Season with the game and clock to use."""
    lineup: Annotated[list[Key], Field(min_length=2, max_length=MOST_SEATS)]
    """By seat: agent ids, or ids of own submissions. The newest active version of each agent is
    pinned when the request is accepted."""
    games: Annotated[int, Field(ge=1, le=MOST_GAMES)] = 1
    seeds: list[Seed] = Field(default_factory=list, max_length=MOST_GAMES)
    """32 hex digits for each game; empty: random."""
    privacy: NewPrivacy = Field(default_factory=NewPrivacy)
    words: Annotated[Line, Field(title="Message to the other team")] = ""
    """You may leave it empty."""
    expires_hours: Annotated[int, Field(ge=1, le=MOST_HOURS, title="Hours until it expires")] = (
        LIFE_HOURS
    )
    """Then the request ends."""
    team: Key | None = None
    """Required if you are in several teams."""


class Decline(RequestModel):
    words: Annotated[Line, Field(title="Message to the other team")] = ""
    """It goes with your refusal. You may leave it empty."""


@dataclass(frozen=True, slots=True)
class RequestSeat:
    """A seat of a request: the agent, and its version once it is pinned."""

    __pydantic_config__ = RECORD
    agent_id: AgentId
    agent_name: WordsOfPerson
    team_id: TeamId
    submission_id: SubmissionId | None
    """The pinned version; null until the request is accepted."""
    submission_number: int | None
    version: int | None
    """Place among the submissions of its agent, from 1."""


@dataclass(frozen=True, slots=True)
class ScrimRequest:
    """A request of a team to another one."""

    __pydantic_config__ = RECORD
    id: Annotated[ScrimRequestId, Field(examples=["srq_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    season_id: SeasonId
    league_id: LeagueId
    league_slug: WordsOfPerson
    league_title: WordsOfPerson
    team_id: TeamId
    team_name: WordsOfPerson
    asked_team_id: TeamId
    asked_team_name: WordsOfPerson
    requested_by: Annotated[UserId, Field(exclude=True)]
    keys: Annotated[tuple[str, ...], Field(exclude=True)]
    """By seat: ids of agents, or of submissions of the team that asks."""
    games: int
    seeds: Annotated[tuple[str, ...], Field(exclude=True)]
    """For the team that asks alone."""
    privacy: ScrimPrivacy
    words: WordsOfPerson
    state: RequestState
    created_at: datetime
    expires_at: datetime
    answered_at: datetime | None
    answer: WordsOfPerson
    """A word of the team that was asked."""
    scrim_id: ScrimId | None
    seats: tuple[RequestSeat, ...]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def has_seeds(self) -> bool:
        """Whether the team that asks chose the seeds."""
        return bool(self.seeds)


def request_resource(request: ScrimRequest) -> ScrimRequestResource:
    """Returns the permission resource of a request."""
    return ScrimRequestResource(request.team_id, request.asked_team_id)


def _select_requests(
    conn: Connection, condition: str, values: Mapping[str, Any], limit: int
) -> list[ScrimRequest]:
    """Returns requests ``r`` that meet the condition, newest first."""
    with conn.cursor(row_factory=dict_row) as cur:
        rows = cur.execute(
            f"{REQUESTS} where {condition} order by r.id desc limit %(limit)s",
            {**values, "limit": limit},
        ).fetchall()
    return [_request_of_row(row) for row in rows]


def _request_of_row(row: dict[str, Any]) -> ScrimRequest:
    privacy = ScrimPrivacy(
        ScrimAudience(row.pop("result_audience")),
        ScrimAudience(row.pop("replay_audience")),
        LogAudience(row.pop("log_audience")),
        row.pop("is_members_only"),
    )
    return ScrimRequest(
        **{
            **row,
            "keys": tuple(row["keys"]),
            "seeds": tuple(row["seeds"]),
            "privacy": privacy,
            "state": RequestState(row["state"]),
            "seats": tuple(RequestSeat(*seat) for seat in row["seats"]),
        }
    )


MOST_WAITING: Final = 50
"""Requests of a team that wait for an answer at the same time."""
MOST_ASKED_DAILY: Final = 10
"""Requests of a team to another one in a UTC day that are not accepted."""
WAITS: Final = "r.state = 'asked' and r.expires_at > now()"
"""SQL condition: the request ``r`` waits for an answer."""
MOST_WAITING_WITH_ONE: Final = (
    "you asked this team already: wait for its answer, or withdraw that request"
)


ENDS: Final = {
    RequestState.DECLINED: NoticeKind.SCRIM_DECLINED,
    RequestState.WITHDRAWN: NoticeKind.SCRIM_WITHDRAWN,
}


@atomic_function
def ask_for_scrim(conn: Connection, asker: Asker, request: NewScrimRequest) -> ScrimRequest:
    """Asks another team for a scrim. If all policies accept automatically, the scrim begins.

    Exactly one other team may have to answer. Raises Invalid and NotFound for wrong values,
    Conflict if a policy refuses, the season or league is over, or the team has asked the same team
    already, and LimitReached.
    """
    season, team_id = asker.season, asker.team_id
    _check_numbers(season, request)
    privacy = scrims.narrow_privacy(conn, season, request.privacy)
    scrims.lock_team(conn, team_id)
    _refuse_closed(conn, season.id)
    _refuse_many_waiting(conn, team_id)
    others = _other_agents(conn, asker, request.lineup)
    teams = _teams_to_ask(request.games, privacy, others)
    if len(teams) > 1:
        raise Conflict("ask one team at a time: more than one would have to answer", field="lineup")
    resolve_lineup(conn, season, request.lineup)  # each has a version that can play
    policies.refuse_over_team_limit(conn, season, team_id, request.games)
    if teams:
        _refuse_many_asked(conn, team_id, next(iter(teams)))
    asked_team = next(iter(teams or {opponent.team_id for opponent in others}))
    request_id = _insert(conn, asker, asked_team, request, privacy)
    scrim_request = get_request(conn, request_id)
    if teams:
        _tell(conn, NoticeKind.SCRIM_ASKED, scrim_request, asker.user_id)
        return scrim_request
    # Nobody answered, so the policies count, also if another team used up a limit just now.
    _accept(conn, scrim_request, asker.user_id, frozenset())
    return get_request(conn, request_id)


def get_request(conn: Connection, request_id: ScrimRequestId) -> ScrimRequest:
    """Returns the request with this id. Raises NotFound."""
    for request in _select_requests(conn, "r.id = %(request)s", {"request": request_id}, 1):
        return request
    raise NotFound.of("request")


def list_requests(
    conn: Connection,
    *,
    to_teams: Sequence[TeamId] = (),
    from_teams: Sequence[TeamId] = (),
    state: RequestState | None = None,
    after: ScrimRequestId | None = None,
    limit: int = 50,
) -> list[ScrimRequest]:
    """Returns requests to or from these teams, newest first, older than ``after``."""
    return _select_requests(
        conn,
        """
        (r.asked_team_id = any (%(to)s) or r.team_id = any (%(from)s))
          and (%(after)s::text is null or r.id < %(after)s)
          and (%(state)s::text is null or shown.state = %(state)s)
        """,
        {"to": sorted(to_teams), "from": sorted(from_teams), "after": after, "state": state},
        limit,
    )


def count_waiting(conn: Connection, team_ids: Sequence[TeamId]) -> int:
    """Returns how many requests wait for an answer of these teams."""
    query = f"select count(*) from scrim_requests r where asked_team_id = any (%s) and {WAITS}"
    return fetch_one(conn, int, query, (sorted(team_ids),))


@atomic_function
def accept_request(
    conn: Connection, request_id: ScrimRequestId, user_id: UserId | None
) -> ScrimRequest:
    """Accepts a request: pins the newest active versions and creates the scrim. A repeat is no
    error.

    Raises NotFound. Raises Conflict if the request has ended, the season or league is over, an
    agent has no version that can play, or another team refuses, and ScrimLimitReached. The request
    then still waits.
    """
    request = get_request(conn, request_id)
    conn.execute("select 1 from teams where id = %s for no key update", (request.team_id,))
    if _lock_waiting(conn, request_id, RequestState.ACCEPTED):
        _refuse_closed(conn, request.season_id)
        _accept(conn, request, user_id, _answering_teams(conn, request, user_id))
        _tell(conn, NoticeKind.SCRIM_ACCEPTED, request, user_id)
    return get_request(conn, request_id)


@atomic_function
def decline_request(
    conn: Connection, request_id: ScrimRequestId, user_id: UserId | None, words: str = ""
) -> ScrimRequest:
    """Declines a request with a word; a repeat changes nothing. Raises NotFound and Conflict."""
    return _end(conn, request_id, RequestState.DECLINED, user_id, words)


@atomic_function
def withdraw_request(
    conn: Connection, request_id: ScrimRequestId, user_id: UserId | None
) -> ScrimRequest:
    """Withdraws an own request; a repeat changes nothing. Raises NotFound and Conflict."""
    return _end(conn, request_id, RequestState.WITHDRAWN, user_id)


@atomic_function
def expire_requests(conn: Connection, limit: int = 500) -> int:
    """Ends requests that nobody answered in time, and those of seasons and leagues that are over.

    Returns how many.
    """
    query = """
        update scrim_requests set state = 'expired', answered_at = now()
        where id in (
          select r.id from scrim_requests r join seasons s on s.id = r.season_id
          join leagues l on l.id = s.league_id
          where r.state = 'asked'
            and (r.expires_at <= now() or s.state = 'finished' or l.state = 'closed')
          order by r.expires_at limit %(limit)s for update of r skip locked
        )
        returning id"""
    request_ids = fetch(conn, ScrimRequestId, query, {"limit": limit})
    for request_id in request_ids:
        _tell(conn, NoticeKind.SCRIM_EXPIRED, get_request(conn, request_id), None)
    return len(request_ids)


def resolve_lineup(conn: Connection, season: Season, keys: Sequence[str]) -> list[SubmissionId]:
    """Returns the submissions by seat; of an agent its newest active one. Raises Conflict."""
    return [
        SubmissionId(key)
        if is_id(key, "sub")
        else newest_submission(conn, season, agents.get_agent(conn, AgentId(key)))
        for key in keys
    ]


def _accept(
    conn: Connection, request: ScrimRequest, user_id: UserId | None, agreed: frozenset[TeamId]
) -> None:
    """Creates the scrim of a locked request that waits."""
    season = seasons.get_season(conn, request.season_id)
    order = ScrimOrder(
        asker=Asker(season, request.team_id, request.requested_by),
        lineup=resolve_lineup(conn, season, request.keys),
        games=request.games,
        seeds=[bytes.fromhex(seed) for seed in request.seeds] or None,
        privacy=request.privacy,
        agreed_team_ids=agreed,
    )
    try:
        scrim = scrims.create_scrim(conn, order)
    except NotFound:  # retired since the line before
        raise Conflict("an agent was retired a moment ago: accept again", field="lineup") from None
    conn.execute(
        """
        update scrim_requests
        set state = 'accepted', answered_at = now(), answered_by = %(user)s, scrim_id = %(scrim)s
        where id = %(request)s
        """,
        {"user": user_id, "scrim": scrim.id, "request": request.id},
    )


def _answering_teams(
    conn: Connection, request: ScrimRequest, user_id: UserId | None
) -> frozenset[TeamId]:
    """The team that was asked, and the team that it became part of.

    People of an ended team stay its members. Raises Conflict for one who is not in the other team.
    """
    query = """
        select t.merged_into, o.user_id is not null from teams t
        left join memberships o on o.team_id = t.merged_into and o.user_id = %(user)s
        where t.id = %(team)s"""
    values = {"user": user_id, "team": request.asked_team_id}
    merged_into, is_member = fetch_one(conn, tuple[TeamId | None, bool], query, values)
    if merged_into is None:
        return frozenset({request.asked_team_id})
    if not is_member:
        raise Conflict("its team became part of another one: only people of that one may accept")
    return frozenset({request.asked_team_id, merged_into})


def _lock_waiting(conn: Connection, request_id: ScrimRequestId, answer: RequestState) -> bool:
    """Locks a request. False if it has this answer already. Raises Conflict if it ended."""
    query = """
        select state, expires_at <= clock_timestamp() from scrim_requests
        where id = %s for update"""
    missing = NotFound.of("request")
    state, is_late = fetch_one(conn, tuple[str, bool], query, (request_id,), missing)
    if state == answer:
        return False
    if state != RequestState.ASKED:
        raise Conflict(f"the request is {state} already")
    if is_late:
        raise Conflict("the request has expired")
    return True


def _end(
    conn: Connection,
    request_id: ScrimRequestId,
    state: RequestState,
    user_id: UserId | None,
    words: str = "",
) -> ScrimRequest:
    """Ends a request that waits without a scrim, and tells the other team."""
    request = get_request(conn, request_id)
    if _lock_waiting(conn, request_id, state):
        conn.execute(
            """
            update scrim_requests
            set state = %(state)s, answered_at = now(), answered_by = %(user)s, answer = %(words)s
            where id = %(request)s
            """,
            {"state": state, "user": user_id, "words": words, "request": request_id},
        )
        _tell(conn, ENDS[state], request, user_id)
    return get_request(conn, request_id)


def _check_numbers(season: Season, request: NewScrimRequest) -> None:
    if len(request.lineup) != season.seats:
        raise Invalid(
            "lineup",
            f"give {season.seats} agents, one for each seat; {len(request.lineup)} given",
        )
    if request.seeds and len(request.seeds) != request.games:
        raise Invalid(
            "seeds",
            f"give one seed for each game: {len(request.seeds)} given for {request.games} games",
        )


def _refuse_closed(conn: Connection, season_id: SeasonId) -> None:
    season = seasons.get_season(conn, season_id)
    if season.state == "finished":
        raise Conflict("this season is finished: ask in the current one", field="season")
    if leagues.get_league(conn, season.league_id).state == "closed":
        raise Conflict("this league is closed", field="season")


def _refuse_many_waiting(conn: Connection, team_id: TeamId) -> None:
    query = "select count(*) from scrim_requests where team_id = %s and state = 'asked'"
    if fetch_one(conn, int, query, (team_id,)) >= MOST_WAITING:
        raise Conflict(f"withdraw a request first: {MOST_WAITING} of your team wait for answers")


def _refuse_many_asked(conn: Connection, team_id: TeamId, asked_team_id: TeamId) -> None:
    """Raises ScrimLimitReached: each request sends messages to all people of the other team."""
    query = """
        select count(*), date_trunc('day', now(), 'utc') + interval '1 day' from scrim_requests
        where team_id = %(team)s and asked_team_id = %(asked)s and state <> 'accepted'
          and created_at >= date_trunc('day', now(), 'utc')"""
    values = {"team": team_id, "asked": asked_team_id}
    used, resets_at = fetch_one(conn, tuple[int, datetime], query, values)
    if used >= MOST_ASKED_DAILY:
        name = "your team's requests a day to this team that it did not accept"
        raise policies.ScrimLimitReached(name, used, MOST_ASKED_DAILY, resets_at)


def _other_agents(conn: Connection, asker: Asker, lineup: Sequence[str]) -> list[policies.Opponent]:
    """Returns the agents of other teams in the lineup. Raises Conflict if there is none."""
    owners: dict[str, tuple[str, TeamId]] = {
        row[0]: (row[1], row[2])
        for row in conn.execute(
            """
            select b.id, b.agent_id, a.team_id from submissions b
            join agents a on a.id = b.agent_id where b.id = any (%(keys)s)
            union all select id, id, team_id from agents where id = any (%(keys)s)
            """,
            {"keys": sorted(set(lineup))},
        )
    }
    for key in lineup:
        if key not in owners or (is_id(key, "sub") and owners[key][1] != asker.team_id):
            raise NotFound(f"there is no agent {key} in this season", field="lineup")
    if all(team != asker.team_id for _, team in owners.values()):
        raise Conflict("at least one agent must be your own", field="lineup")
    others = {AgentId(agent) for agent, team in owners.values() if team != asker.team_id}
    if not others:
        raise Conflict("name an agent of another team: your own need no request", field="lineup")
    return policies.read_opponents(conn, asker.season, asker.team_id, others)


def _teams_to_ask(
    games: int, privacy: ScrimPrivacy, others: Sequence[policies.Opponent]
) -> set[TeamId]:
    """Returns the teams that have to answer. Raises Conflict if a policy refuses."""
    teams = set()
    for opponent in others:
        answer = opponent.answer_to(games)
        if not answer.is_allowed:
            raise Conflict(f"{opponent.agent_name}: {answer.reason}", field="lineup")
        if not answer.is_automatic or privacy.logs is not LogAudience.OWN:
            teams.add(opponent.team_id)
    return teams


def _insert(
    conn: Connection,
    asker: Asker,
    asked_team: TeamId,
    request: NewScrimRequest,
    privacy: ScrimPrivacy,
) -> ScrimRequestId:
    request_id = ScrimRequestId(ids.new_id("srq"))
    try:
        with atomic(conn):
            conn.execute(
                """
                insert into scrim_requests (id, season_id, team_id, asked_team_id, requested_by,
                  wanted, games, seeds, result_audience, replay_audience, log_audience,
                  is_members_only, words, expires_at)
                values (%(id)s, %(season)s, %(team)s, %(asked)s, %(user)s, %(wanted)s, %(games)s,
                  %(seeds)s, %(results)s, %(replays)s, %(logs)s, %(is_members_only)s, %(words)s,
                  now() + make_interval(hours => %(hours)s))
                """,
                {
                    "id": request_id,
                    "season": asker.season.id,
                    "team": asker.team_id,
                    "asked": asked_team,
                    "user": asker.user_id,
                    "wanted": Jsonb(request.lineup),
                    "games": request.games,
                    "seeds": request.seeds,
                    "results": privacy.results,
                    "replays": privacy.replays,
                    "logs": privacy.logs,
                    "is_members_only": privacy.is_members_only,
                    "words": request.words,
                    "hours": request.expires_hours,
                },
            )
    except errors.UniqueViolation:
        raise Conflict(MOST_WAITING_WITH_ONE) from None
    return request_id


def _tell(
    conn: Connection, kind: NoticeKind, request: ScrimRequest, user_id: UserId | None
) -> None:
    """Tells the people of the team that did not act."""
    is_to_asked = kind in (NoticeKind.SCRIM_ASKED, NoticeKind.SCRIM_WITHDRAWN)
    about = EventSubject(
        season_id=request.season_id,
        team_id=request.asked_team_id if is_to_asked else request.team_id,
        user_id=user_id,
        details={"request": request.id, "games": request.games},
    )
    record_event(conn, kind, about)
