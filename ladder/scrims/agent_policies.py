"""Stores the policies of agents, and reads what they are judged by."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from psycopg.rows import dict_row

from ladder.database.db import Connection, atomic_function
from ladder.entries.records import Agent, PauseCause
from ladder.enums import VoidCause
from ladder.errors import Invalid, NotFound
from ladder.ids import AgentId, EntryId, SubmissionId, TeamId
from ladder.leagues.records import Season
from ladder.runtime_profiles import REMOTE
from ladder.scrims.policies import (
    MOST_COOLDOWN_SECONDS,
    PolicyAnswer,
    PolicyFacts,
    ScrimPolicy,
    Whom,
    check_policy,
    judge,
)

COLUMNS: Final = (
    "a.open_for_scrims, a.scrims_per_requester_daily, p.whom, p.team_ids, p.blocked_team_ids,"
    " p.rating_within, p.games_daily, p.cooldown_seconds, p.from_minute, p.until_minute,"
    " p.accepts_automatically"
)
PAUSED: Final = {
    PauseCause.UNREACHABLE: "it is paused because its address did not answer; it plays again after"
    " its owner resumes it or a try succeeds",
    # Others need not know that its people are blocked.
    PauseCause.TEAM_BLOCKED: "it is paused by an administrator",
}
NO_ENTRY: Final = "it has no active entry in this season"
NO_REMOTE: Final = "it is a remote agent, and this season takes none"
COUNTED_GAMES: Final = (
    "(c.games - c.void_games + (select count(*) from matches m where c.void_games > 0"  # noqa: S608
    " and m.scrim_id = c.id and m.state = 'void' and m.attempt > 0"
    f" and m.void_cause = '{VoidCause.CALLED_OFF}'))"
)
"""Games of a scrim ``c`` that count for limits, in SQL: all but void ones. A game that the team
called off after it began counts, because the team could watch it."""


@dataclass(frozen=True, slots=True)
class Opponent:
    """An agent, seen by a team that wants to play it in a season."""

    agent_id: AgentId
    agent_name: str
    team_id: TeamId
    team_name: str
    entry_id: EntryId | None
    submission_id: SubmissionId | None
    """Its newest version that plays in the season. None: it has none."""
    submission_number: int | None
    version: int | None
    """Its number among the submissions of its agent."""
    profile: str | None
    policy: ScrimPolicy
    facts: PolicyFacts

    def answer(self, games: int = 1) -> PolicyAnswer:
        """Whether the team may play it now, in a scrim of this many games."""
        return judge(self.policy, self.facts, games)


@atomic_function
def set_policy(conn: Connection, agent: Agent, policy: ScrimPolicy) -> ScrimPolicy:
    """Stores an agent's policy. Raises Invalid for wrong values and unknown teams."""
    check_policy(policy)
    for name, teams in (("teams", policy.team_ids), ("blocked_teams", policy.blocked_team_ids)):
        known = conn.execute("select id from teams where id = any (%s)", (sorted(teams),))
        if missing := set(teams) - {row[0] for row in known}:
            raise Invalid(name, f"there is no team {min(missing)}")
        if agent.team_id in teams:
            raise Invalid(name, "leave your own team out: it may always play")
    conn.execute(
        "insert into scrim_policies (agent_id, whom, team_ids, blocked_team_ids, rating_within,"
        " games_daily, cooldown_seconds, from_minute, until_minute, accepts_automatically)"
        " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) on conflict (agent_id) do update set"
        " whom = excluded.whom, team_ids = excluded.team_ids,"
        " blocked_team_ids = excluded.blocked_team_ids, rating_within = excluded.rating_within,"
        " games_daily = excluded.games_daily, cooldown_seconds = excluded.cooldown_seconds,"
        " from_minute = excluded.from_minute, until_minute = excluded.until_minute,"
        " accepts_automatically = excluded.accepts_automatically, changed_at = now()",
        (
            *(agent.id, policy.whom, sorted(policy.team_ids), sorted(policy.blocked_team_ids)),
            *(policy.rating_within, policy.games_daily, policy.cooldown_seconds),
            *(policy.from_minute, policy.until_minute, policy.accepts_automatically),
        ),
    )
    # The previous release reads the agent's own columns.
    is_open = policy.whom is Whom.ANYONE and policy.accepts_automatically
    conn.execute(
        "update agents set open_for_scrims = %s, scrims_per_requester_daily = %s where id = %s",
        (is_open, policy.games_per_team_daily, agent.id),
    )
    return get_policy(conn, agent.id)


@atomic_function
def open_or_close_agent(conn: Connection, agent: Agent, *, is_open: bool) -> None:
    """Lets everybody play the agent without asking, or nobody but its own team.

    Its block list and its other limits stay.
    """
    whom = Whom.ANYONE if is_open else Whom.NOBODY
    before = get_policy(conn, agent.id)
    own = {agent.team_id}  # it may have become part of a team that the policy names
    policy = replace(
        before,
        whom=whom,
        team_ids=before.team_ids - own,
        blocked_team_ids=before.blocked_team_ids - own,
        accepts_automatically=is_open,
    )
    set_policy(conn, agent, policy)


def get_policy(conn: Connection, agent_id: AgentId) -> ScrimPolicy:
    """Returns an agent's policy. Raises NotFound."""
    with conn.cursor(row_factory=dict_row) as cur:
        row = cur.execute(
            f"select {COLUMNS} from agents a left join scrim_policies p on p.agent_id = a.id"  # noqa: S608
            " where a.id = %s",
            (agent_id,),
        ).fetchone()
    if row is None:
        raise NotFound.of("agent")
    return _policy_of_row(row)


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
            "with team as (select max(mu) as rating, count(*) > 0 as is_in_league,"  # noqa: S608
            "   array(select m.id from teams m where m.merged_into = %(team)s) as former_team_ids"
            "   from entries where season_id = %(season)s and team_id = %(team)s"
            "   and state in ('active', 'paused')),"
            " played as ("
            f"   select b.agent_id, c.team_id, c.created_at, max({COUNTED_GAMES}) as games,"
            "   c.created_at >= date_trunc('day', now(), 'utc') as is_today"
            "   from scrims c cross join lateral jsonb_array_elements_text(c.lineup) x(id)"
            "   join submissions b on b.id = x.id"
            "   where (c.created_at >= date_trunc('day', now(), 'utc') or (c.team_id = %(team)s"
            "     and c.created_at >= now() - make_interval(secs => %(cooldown)s)))"
            "   and (%(agents)s::text[] is null or b.agent_id = any (%(agents)s))"
            "   group by b.agent_id, c.id),"
            " used as (select y.agent_id,"
            "   sum(y.games) filter (where y.is_today and y.team_id <> z.team_id) as games,"
            "   sum(y.games) filter (where y.is_today and y.team_id = %(team)s) as games_with_team,"
            "   max(y.created_at) filter (where y.team_id = %(team)s) as last_at"
            "   from played y join agents z on z.id = y.agent_id group by y.agent_id)"
            f" select {COLUMNS}, a.id, a.name, a.team_id, t.name as team_name, e.id as entry_id,"
            " e.submission_id, b.number, submission_version(b.agent_id, b.number) as version,"
            " e.profile, e.pause_cause, e.mu,"
            " coalesce(e.is_anchor, false) as is_reference, t.erased_at is not null as is_erased,"
            " o.rating as team_rating, o.is_in_league, o.former_team_ids, now() as at,"
            " coalesce(u.games, 0) as games, coalesce(u.games_with_team, 0) as games_with_team,"
            " u.last_at"
            " from agents a join teams t on t.id = a.team_id cross join team o"
            " left join scrim_policies p on p.agent_id = a.id"
            " left join lateral (select * from entries e where e.season_id = %(season)s"
            "   and e.agent_id = a.id and e.state in ('active', 'paused')"
            "   order by e.state, e.id desc limit 1) e on true"
            " left join submissions b on b.id = e.submission_id"
            " left join used u on u.agent_id = a.id"
            " where a.id = any (%(agents)s) or (%(agents)s is null and t.erased_at is null"
            "   and a.id in (select agent_id from entries where season_id = %(season)s"
            "   and state in ('active', 'paused')))"
            " order by a.name, a.id",
            {
                "season": season.id,
                "team": team_id,
                "agents": None if agent_ids is None else sorted(agent_ids),
                "cooldown": MOST_COOLDOWN_SECONDS,
            },
        ).fetchall()
    return [_opponent_of_row(row, season, team_id) for row in rows]


def _opponent_of_row(row: dict[str, Any], season: Season, team_id: TeamId) -> Opponent:
    is_own = row["team_id"] == team_id
    return Opponent(
        row["id"],
        row["name"],
        row["team_id"],
        row["team_name"],
        row["entry_id"],
        row["submission_id"],
        row["number"],
        row["version"],
        row["profile"],
        _policy_of_row(row),
        PolicyFacts(
            at=_in_utc(row["at"]),
            is_own=is_own,
            is_reference=row["is_reference"],
            cannot_play=_why_no_version(row, season),
            team_id=team_id,
            former_team_ids=frozenset(row["former_team_ids"]),
            is_in_league=row["is_in_league"],
            is_rated=not season.measures,
            rating=row["mu"],
            team_rating=row["team_rating"],
            games_today=int(row["games"]),
            games_with_team_today=int(row["games_with_team"]),
            last_scrim_at=row["last_at"] and _in_utc(row["last_at"]),
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


def _policy_of_row(row: dict[str, Any]) -> ScrimPolicy:
    """The policy; an agent without one has what its older columns say."""
    daily = row["scrims_per_requester_daily"]
    if row["whom"] is None:
        if row["open_for_scrims"]:
            return ScrimPolicy(
                whom=Whom.ANYONE, games_per_team_daily=daily, accepts_automatically=True
            )
        return ScrimPolicy(games_per_team_daily=daily)
    return ScrimPolicy(
        whom=Whom(row["whom"]),
        team_ids=frozenset(row["team_ids"]),
        blocked_team_ids=frozenset(row["blocked_team_ids"]),
        rating_within=row["rating_within"],
        games_daily=row["games_daily"],
        games_per_team_daily=daily,
        cooldown_seconds=row["cooldown_seconds"],
        from_minute=row["from_minute"],
        until_minute=row["until_minute"],
        accepts_automatically=row["accepts_automatically"],
    )


def _in_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)
