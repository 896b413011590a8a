"""Requests for scrims as records, and how they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from psycopg.rows import dict_row

from ladder.database.db import Connection
from ladder.enums import LogAudience, ScrimAudience
from ladder.ids import (
    AgentId,
    LeagueId,
    ScrimId,
    ScrimRequestId,
    SeasonId,
    SubmissionId,
    TeamId,
    UserId,
)
from ladder.leagues.records import Season
from ladder.people.resources import PRIVATE, ScrimPrivacy, ScrimRequestResource

LIFE_HOURS: Final = 48
"""Time in which the other team can answer, unless another is given."""
MOST_HOURS: Final = 14 * 24


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


@dataclass(frozen=True, slots=True, kw_only=True)
class NewScrimRequest:
    """What a team asks for."""

    season: Season
    team_id: TeamId
    user_id: UserId
    wanted: Sequence[str]
    """By seat: ids of agents, or of submissions of the own team."""
    games: int
    seeds: Sequence[str] = ()
    """32 hex digits a game. Empty: drawn when it is accepted."""
    privacy: ScrimPrivacy = PRIVATE
    words: str = ""
    expires_hours: int = LIFE_HOURS


@dataclass(frozen=True, slots=True)
class RequestSeat:
    """A seat of a request: the agent, and its version once it is pinned."""

    agent_id: AgentId
    agent_name: str
    team_id: TeamId
    submission_id: SubmissionId | None
    """None until the request is accepted."""
    submission_number: int | None
    version: int | None
    """Its number among the submissions of its agent."""


@dataclass(frozen=True, slots=True)
class ScrimRequest:
    """A request of a team to another one."""

    id: ScrimRequestId
    season_id: SeasonId
    league_id: LeagueId
    league_slug: str
    league_title: str
    team_id: TeamId
    team_name: str
    asked_team_id: TeamId
    asked_team_name: str
    requested_by: UserId
    wanted: tuple[str, ...]
    games: int
    seeds: tuple[str, ...]
    """For the team that asks alone."""
    privacy: ScrimPrivacy
    words: str
    state: RequestState
    created_at: datetime
    expires_at: datetime
    answered_at: datetime | None
    answer: str
    """A word of the team that was asked."""
    scrim_id: ScrimId | None
    seats: tuple[RequestSeat, ...]

    @property
    def has_seeds(self) -> bool:
        return bool(self.seeds)


def request_resource(found: ScrimRequest) -> ScrimRequestResource:
    """Returns the permission resource of a request."""
    return ScrimRequestResource(found.team_id, found.asked_team_id)


def select_requests(
    conn: Connection, condition: str, arguments: Sequence[Any], limit: int
) -> list[ScrimRequest]:
    """Returns requests ``r`` that meet the condition, newest first."""
    with conn.cursor(row_factory=dict_row) as cur:
        rows = cur.execute(
            "select r.id, r.season_id, s.league_id, l.slug as league_slug,"  # noqa: S608
            " l.title as league_title, r.team_id, t.name as team_name, r.asked_team_id,"
            " o.name as asked_team_name, r.requested_by, r.wanted, r.games, r.seeds,"
            " r.result_audience, r.replay_audience, r.log_audience, r.is_members_only, r.words,"
            " shown.state, r.created_at, r.expires_at, r.answered_at, r.answer, r.scrim_id,"
            " seated.seats"
            " from scrim_requests r join seasons s on s.id = r.season_id"
            " join leagues l on l.id = s.league_id join teams t on t.id = r.team_id"
            " join teams o on o.id = r.asked_team_id left join scrims c on c.id = r.scrim_id"
            " cross join lateral (select case when r.state = 'asked' and r.expires_at <= now()"
            "   then 'expired' when r.state <> 'accepted' then r.state"
            "   when c.state <> 'running' then c.state"
            "   when exists (select 1 from matches m where m.scrim_id = c.id"
            "     and m.state <> 'queued') then 'running' else 'accepted' end as state) shown"
            " cross join lateral (select jsonb_agg(jsonb_build_array(a.id, a.name, a.team_id, b.id,"
            "   b.number, case when b.id is not null"
            "     then submission_version(b.agent_id, b.number) end) order by w.place) as seats"
            "   from jsonb_array_elements_text(coalesce(c.lineup, r.wanted))"
            "     with ordinality as w(key, place)"
            "   left join submissions b on b.id = w.key"
            "   join agents a on a.id = coalesce(b.agent_id, w.key)) seated"
            f" where {condition} order by r.id desc limit %s",
            (*arguments, limit),
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
            "wanted": tuple(row["wanted"]),
            "seeds": tuple(row["seeds"]),
            "privacy": privacy,
            "state": RequestState(row["state"]),
            "seats": tuple(RequestSeat(*seat) for seat in row["seats"]),
        }
    )
