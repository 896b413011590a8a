"""Policies of agents: whom an agent plays in scrims, and how often; and the limits of a day.

The owner of an agent sets its policy. ``judge`` evaluates it before anybody asks, so a form offers
only what is accepted. Reference agents play with everybody, and as often as a team's own limit
allows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final

from psycopg.rows import dict_row
from pydantic import ConfigDict, Field, computed_field

from ladder.database.db import Connection, atomic_function, fetch_one
from ladder.entries.records import Agent, PauseCause
from ladder.enums import VoidCause
from ladder.errors import Invalid, LimitReached
from ladder.field_types import RECORD, Key, RequestModel
from ladder.ids import AgentId, SubmissionId, TeamId
from ladder.leagues.records import Season
from ladder.runtime_profiles import REMOTE

MOST_TEAMS: Final = 200
"""Teams in a list of a policy."""
MOST_GAMES_DAILY: Final = 10_000
PAUSED: Final = {
    PauseCause.UNREACHABLE: "it is paused because its address did not answer; it plays again after"
    " its owner resumes it or a try succeeds",
    # Others need not know that its people are blocked.
    PauseCause.TEAM_BLOCKED: "it is paused by an administrator",
}
NO_ENTRY: Final = "it has no active entry in this season"
NO_REMOTE: Final = "it is a remote agent, and this season takes none"
OF_TEAM: Final = "your team's scrim games a day"
COLUMNS: Final = "p.whom, p.team_ids, p.blocked_team_ids, p.games_daily, p.accepts_automatically"
COUNTED_GAMES: Final = f"""
    (c.games - c.void_games + (
      select count(*) from matches m
      where c.void_games > 0 and m.scrim_id = c.id and m.state = 'void' and m.attempt > 0
        and m.void_cause = '{VoidCause.CALLED_OFF}'
    ))"""
"""Games of a scrim ``c`` that count for limits, in SQL: all but void ones. A game that the team
called off after it began counts, because the team could watch it."""


class Whom(StrEnum):
    """Which other teams may play an agent."""

    NOBODY = "nobody"
    LEAGUE = "league"
    """Teams with an entry that plays in the same season."""
    TEAMS = "teams"
    """The teams that the policy names."""
    ANYONE = "anyone"


class ScrimPolicy(RequestModel):
    """Whom an agent plays in scrims, and how often. Its owner decides."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"whom": "league"}]})
    whom: Whom
    """nobody; league: teams with an agent that plays in the league; teams: those that `teams`
    names; anyone"""
    teams: list[Key] = Field(default_factory=list, max_length=MOST_TEAMS)
    """Ids or slugs of teams. A stored policy has ids."""
    blocked_teams: list[Key] = Field(default_factory=list, max_length=MOST_TEAMS)
    games_daily: Annotated[int, Field(ge=0, le=MOST_GAMES_DAILY)] | None = None
    """Games with all other teams in a UTC day. None: no limit."""
    accepts_automatically: bool = False
    """Whether a scrim starts without an answer of its team."""

    @property
    def accepts_everybody(self) -> bool:
        """Whether every team that is not blocked plays it without asking."""
        return self.whom is Whom.ANYONE and self.accepts_automatically


USUAL: Final = ScrimPolicy(whom=Whom.LEAGUE)
"""The policy of an agent whose owner decided nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFacts:
    """What a policy is judged by: one agent, and one team that wants to play it in a season."""

    is_own: bool = False
    """Whether the agent belongs to the team."""
    is_reference: bool = False
    cannot_play: str | None = None
    """Why no version of the agent can play. None: one can."""
    team_id: TeamId
    former_team_ids: frozenset[TeamId] = frozenset()
    """Teams that became part of the team: a block of one of them holds."""
    is_in_league: bool
    """Whether the team has an entry that plays in the season."""
    games_today: int = 0
    """The agent's scrim games with all other teams in this UTC day."""
    resets_at: datetime
    """When the next UTC day begins."""


@dataclass(frozen=True, slots=True)
class PolicyAnswer:
    """Whether a team may play or ask an agent now."""

    __pydantic_config__ = RECORD
    is_allowed: bool
    is_automatic: bool
    """Whether the scrim starts without an answer of the owner."""
    reason: str | None
    """Why not, as a clause about the agent."""
    games_left: int | None
    """Games that the policy leaves to this team today. None: it sets no limit."""


@dataclass(frozen=True, slots=True)
class Opponent:
    """An agent, seen by a team that wants to play it in a season."""

    __pydantic_config__ = RECORD
    agent_id: AgentId
    agent_name: str
    team_id: TeamId
    team_name: str
    submission_id: SubmissionId | None
    """Its newest version that plays in the season. None: it has none."""
    submission_number: int | None
    version: Annotated[int | None, Field(exclude=True)]
    """Its number among the submissions of its agent."""
    policy: Annotated[ScrimPolicy, Field(exclude=True)]
    """Only its own team reads it."""
    facts: Annotated[PolicyFacts, Field(exclude=True)]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def is_reference(self) -> bool:
        return self.facts.is_reference

    @computed_field  # type: ignore[prop-decorator]
    @property
    def answer(self) -> PolicyAnswer:
        """Whether the team may play it now, in a scrim of one game."""
        return self.answer_to(1)

    def answer_to(self, games: int) -> PolicyAnswer:
        """Whether the team may play it now, in a scrim of this many games."""
        return judge(self.policy, self.facts, games)


class ScrimLimitReached(LimitReached):
    """A day's scrim games are used up."""


@dataclass(frozen=True, slots=True)
class GamesToday:
    """How many scrim games a team requested in this UTC day in a season, and how many it may."""

    __pydantic_config__ = RECORD
    used: int
    allowed: int
    resets_at: datetime

    @computed_field  # type: ignore[prop-decorator]
    @property
    def left(self) -> int:
        return max(0, self.allowed - self.used)


def judge(policy: ScrimPolicy, facts: PolicyFacts, games: int = 1) -> PolicyAnswer:
    """Evaluates a policy for a scrim of this many games. Reads no database."""
    left = games_left(policy, facts)
    reason = facts.cannot_play
    if reason is None and not facts.is_own:
        reason = None if facts.is_reference else _refusal(policy, facts)
        if reason is None and left is not None and games > left:
            reason = f"it accepts only {left} more games from your team today (UTC); ask for fewer"
    is_automatic = facts.is_own or facts.is_reference or policy.accepts_automatically
    return PolicyAnswer(reason is None, reason is None and is_automatic, reason, left)


def games_left(policy: ScrimPolicy, facts: PolicyFacts) -> int | None:
    """How many games more the policy leaves to the team today. None: it sets no limit."""
    if facts.is_own or facts.is_reference or policy.games_daily is None:
        return None
    return max(policy.games_daily - facts.games_today, 0)


def agent_limit_reached(opponent: Opponent) -> ScrimLimitReached | None:
    """The error of an agent whose games of the day are used up. None: its policy has no limit."""
    if games_left(opponent.policy, opponent.facts) is None or opponent.policy.games_daily is None:
        return None
    return ScrimLimitReached(
        f"scrim games a day of {opponent.agent_name} with all teams",
        opponent.facts.games_today,
        opponent.policy.games_daily,
        opponent.facts.resets_at,
    )


@atomic_function
def set_policy(conn: Connection, agent: Agent, policy: ScrimPolicy) -> ScrimPolicy:
    """Stores an agent's policy, with ids of teams. Raises Invalid for wrong values and unknown
    teams."""
    if policy.whom is Whom.TEAMS and not policy.teams:
        raise Invalid("teams", "name at least one team, or choose another value of whom")
    for name, teams in (("teams", policy.teams), ("blocked_teams", policy.blocked_teams)):
        rows = conn.execute("select id from teams where id = any (%s)", (teams,))
        if missing := set(teams) - {row[0] for row in rows}:
            raise Invalid(name, f"there is no team {min(missing)}")
        if agent.team_id in teams:
            raise Invalid(name, "leave your own team out: it may always play")
    conn.execute(
        """
        insert into scrim_policies
          (agent_id, whom, team_ids, blocked_team_ids, games_daily, accepts_automatically)
        values (%(agent)s, %(whom)s, %(teams)s, %(blocked_teams)s, %(games_daily)s, %(automatic)s)
        on conflict (agent_id) do update set
          whom = excluded.whom, team_ids = excluded.team_ids,
          blocked_team_ids = excluded.blocked_team_ids, games_daily = excluded.games_daily,
          accepts_automatically = excluded.accepts_automatically, changed_at = now()
        """,
        {
            "agent": agent.id,
            "whom": policy.whom,
            "teams": sorted(set(policy.teams)),
            "blocked_teams": sorted(set(policy.blocked_teams)),
            "games_daily": policy.games_daily,
            "automatic": policy.accepts_automatically,
        },
    )
    return get_policy(conn, agent.id)


def get_policy(conn: Connection, agent_id: AgentId) -> ScrimPolicy:
    """Returns an agent's policy; an agent without one takes requests of teams of its league."""
    with conn.cursor(row_factory=dict_row) as cur:
        row = cur.execute(
            f"select {COLUMNS} from scrim_policies p where agent_id = %s",
            (agent_id,),
        ).fetchone()
    return USUAL if row is None else _policy_of_row(row)


def lock_policy(conn: Connection, agent_id: AgentId) -> ScrimPolicy:
    """Returns an agent's policy, which stays as it is for the caller's transaction."""
    conn.execute("select 1 from agents where id = %s for no key update", (agent_id,))
    return get_policy(conn, agent_id)


def games_today(conn: Connection, season: Season, team_id: TeamId) -> GamesToday:
    """Returns a team's scrim games of this UTC day. Void games do not count, unless the team
    called them off after they began."""
    query = f"""
        select coalesce(sum({COUNTED_GAMES}), 0)::integer,
          date_trunc('day', now(), 'utc') + interval '1 day'
        from scrims c
        where team_id = %(team)s and season_id = %(season)s
          and created_at >= date_trunc('day', now(), 'utc')"""
    values = {"team": team_id, "season": season.id}
    used, resets_at = fetch_one(conn, tuple[int, datetime], query, values)
    return GamesToday(used, season.scrim_games_daily, resets_at)


def refuse_over_team_limit(conn: Connection, season: Season, team_id: TeamId, games: int) -> None:
    """Raises ScrimLimitReached above today's limit. Lock the team's row before games are added."""
    today = games_today(conn, season, team_id)
    if games > today.left:
        raise ScrimLimitReached(OF_TEAM, today.used, today.allowed, today.resets_at)


def read_opponents(
    conn: Connection,
    season: Season,
    team_id: TeamId,
    agent_ids: Collection[AgentId] | None = None,
) -> list[Opponent]:
    """Returns agents as opponents of a team in a season, by name.

    Without ``agent_ids`` these are all agents that play in the season, but none whose account was
    deleted. One of those cannot play.
    """
    with conn.cursor(row_factory=dict_row) as cur:
        rows = cur.execute(
            f"""
            with team as (
              select count(*) > 0 as is_in_league,
                array(select m.id from teams m where m.merged_into = %(team)s) as former_team_ids
              from entries
              where season_id = %(season)s and team_id = %(team)s and state in ('active', 'paused')
            ), played as (
              select b.agent_id, c.team_id, max({COUNTED_GAMES}) as games
              from scrims c cross join lateral jsonb_array_elements_text(c.lineup) x(id)
              join submissions b on b.id = x.id
              where c.created_at >= date_trunc('day', now(), 'utc')
                and (%(agents)s::text[] is null or b.agent_id = any (%(agents)s))
              group by b.agent_id, c.id
            ), used as (
              select y.agent_id, sum(y.games) as games
              from played y join agents z on z.id = y.agent_id and z.team_id <> y.team_id
              group by y.agent_id
            )
            select {COLUMNS}, a.id, a.name, a.team_id, t.name as team_name, e.id as entry_id,
              e.submission_id, b.number, submission_version(b.agent_id, b.number) as version,
              e.profile, e.pause_cause, coalesce(e.is_anchor, false) as is_reference,
              t.erased_at is not null as is_erased, o.is_in_league, o.former_team_ids,
              coalesce(u.games, 0) as games,
              date_trunc('day', now(), 'utc') + interval '1 day' as resets_at
            from agents a join teams t on t.id = a.team_id cross join team o
            left join scrim_policies p on p.agent_id = a.id
            left join lateral (
              select * from entries e
              where e.season_id = %(season)s and e.agent_id = a.id
                and e.state in ('active', 'paused')
              order by e.state, e.id desc limit 1
            ) e on true
            left join submissions b on b.id = e.submission_id
            left join used u on u.agent_id = a.id
            where a.id = any (%(agents)s)
              or (%(agents)s is null and t.erased_at is null and a.id in (
                select agent_id from entries
                where season_id = %(season)s and state in ('active', 'paused')
              ))
            order by a.name, a.id
            """,
            {
                "season": season.id,
                "team": team_id,
                "agents": None if agent_ids is None else sorted(agent_ids),
            },
        ).fetchall()
    return [_opponent_of_row(row, season, team_id) for row in rows]


def _opponent_of_row(row: dict[str, Any], season: Season, team_id: TeamId) -> Opponent:
    return Opponent(
        row["id"],
        row["name"],
        row["team_id"],
        row["team_name"],
        row["submission_id"],
        row["number"],
        row["version"],
        USUAL if row["whom"] is None else _policy_of_row(row),
        PolicyFacts(
            is_own=row["team_id"] == team_id,
            is_reference=row["is_reference"],
            cannot_play=_why_no_version(row, season),
            team_id=team_id,
            former_team_ids=frozenset(row["former_team_ids"]),
            is_in_league=row["is_in_league"],
            games_today=int(row["games"]),
            resets_at=row["resets_at"],
        ),
    )


def _why_no_version(row: dict[str, Any], season: Season) -> str | None:
    if row["entry_id"] is None or row["is_erased"]:
        return NO_ENTRY
    if row["pause_cause"] is not None:
        return PAUSED[PauseCause(row["pause_cause"])]
    if row["profile"] == REMOTE and not season.remote_agents:
        return NO_REMOTE
    return None


def _refusal(policy: ScrimPolicy, facts: PolicyFacts) -> str | None:
    """Why the policy refuses the team; None: it does not. Counts are left out."""
    if policy.whom is Whom.NOBODY:
        return "its team lets no other team play it"
    if not {facts.team_id, *facts.former_team_ids}.isdisjoint(policy.blocked_teams):
        return "its team does not let your team play it"
    if policy.whom is Whom.LEAGUE and not facts.is_in_league:
        return "it plays only teams with an agent that plays in this league"
    if policy.whom is Whom.TEAMS and facts.team_id not in policy.teams:
        return "it plays only teams that its team chose"
    return None


def _policy_of_row(row: dict[str, Any]) -> ScrimPolicy:
    return ScrimPolicy(
        whom=Whom(row["whom"]),
        teams=row["team_ids"],
        blocked_teams=row["blocked_team_ids"],
        games_daily=row["games_daily"],
        accepts_automatically=row["accepts_automatically"],
    )
