"""Policies of agents: whom an agent plays in scrims, when, and how often. Pure: no database.

The owner sets a policy. ``judge`` evaluates it before anybody asks, so a form offers only what is
accepted. Reference agents play with everybody, and as often as a team's own limit allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from ladder.errors import Invalid
from ladder.ids import TeamId

MOST_TEAMS: Final = 200
"""Teams in a list of a policy."""
MOST_COOLDOWN_SECONDS: Final = 30 * 24 * 3600
MOST_GAMES_DAILY: Final = 10_000
MINUTES: Final = 24 * 60


class Whom(StrEnum):
    """Which other teams may play an agent."""

    NOBODY = "nobody"
    LEAGUE = "league"
    """Teams with an entry that plays in the same season."""
    TEAMS = "teams"
    """The teams that the policy names."""
    ANYONE = "anyone"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrimPolicy:
    """What the owner of an agent decided."""

    whom: Whom = Whom.LEAGUE
    team_ids: frozenset[TeamId] = frozenset()
    """Teams that may play it, for ``Whom.TEAMS``."""
    blocked_team_ids: frozenset[TeamId] = frozenset()
    rating_within: float | None = None
    """Most points between its rating and that of the other team's best agent. None: any."""
    games_daily: int | None = None
    """Games with all other teams in a UTC day. None: no limit."""
    games_per_team_daily: int = 50
    """Games with one other team in a UTC day."""
    cooldown_seconds: int = 0
    """Time between two scrims with the same team."""
    from_minute: int | None = None
    """Minutes after midnight in UTC at which its hours begin. None: all day."""
    until_minute: int | None = None
    accepts_automatically: bool = False
    """Whether a scrim starts without an answer of its owner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFacts:
    """What a policy is judged by: one agent, and one team that wants to play it in a season."""

    at: datetime
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
    is_rated: bool = True
    """Whether the season has ratings."""
    rating: float | None = None
    team_rating: float | None = None
    """Rating of the team's best entry in the season."""
    games_today: int = 0
    """The agent's scrim games with all other teams."""
    games_with_team_today: int = 0
    last_scrim_at: datetime | None = None
    """When the last scrim of the team with the agent began."""


@dataclass(frozen=True, slots=True)
class PolicyAnswer:
    """Whether a team may play or ask an agent now."""

    is_allowed: bool
    is_automatic: bool
    """Whether the scrim starts without an answer of the owner."""
    reason: str | None
    """Why not, as a clause about the agent."""
    games_left: int | None
    """Games that the policy leaves to this team today. None: it sets no limit."""


def judge(policy: ScrimPolicy, facts: PolicyFacts, games: int = 1) -> PolicyAnswer:
    """Evaluates a policy for a scrim of this many games."""
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
    if facts.is_own or facts.is_reference:
        return None
    left = policy.games_per_team_daily - facts.games_with_team_today
    if policy.games_daily is not None:
        left = min(left, policy.games_daily - facts.games_today)
    return max(left, 0)


def check_policy(policy: ScrimPolicy) -> None:
    """Raises Invalid for values that mean nothing."""
    if policy.whom is Whom.TEAMS and not policy.team_ids:
        raise Invalid("teams", "name at least one team, or choose another value of whom")
    for name, teams in (("teams", policy.team_ids), ("blocked_teams", policy.blocked_team_ids)):
        if len(teams) > MOST_TEAMS:
            raise Invalid(name, f"name at most {MOST_TEAMS} teams")
    if policy.rating_within is not None and not 0 < policy.rating_within <= 100_000:
        raise Invalid("rating_within", "give a number of points above 0, up to 100,000")
    if not 0 <= policy.cooldown_seconds <= MOST_COOLDOWN_SECONDS:
        raise Invalid("cooldown_seconds", f"give 0 to {MOST_COOLDOWN_SECONDS} seconds")
    if (policy.from_minute is None) != (policy.until_minute is None):
        raise Invalid("hours_until", "give both ends of the hours, or none")
    if policy.from_minute is not None and policy.from_minute == policy.until_minute:
        raise Invalid("hours_until", "give another moment than the beginning, or leave both empty")


def clock_text(minute: int) -> str:
    """Minutes after midnight as ``06:30``."""
    return f"{minute // 60:02}:{minute % 60:02}"


def _refusal(policy: ScrimPolicy, facts: PolicyFacts) -> str | None:
    """Why the policy refuses the team; None: it does not. Counts are left out."""
    if policy.whom is Whom.NOBODY:
        return "its team lets no other team play it"
    if not policy.blocked_team_ids.isdisjoint({facts.team_id, *facts.former_team_ids}):
        return "its team does not let your team play it"
    if policy.whom is Whom.LEAGUE and not facts.is_in_league:
        return "it plays only teams with an agent that plays in this league"
    if policy.whom is Whom.TEAMS and facts.team_id not in policy.team_ids:
        return "it plays only teams that its team chose"
    return _distance_refusal(policy, facts) or _time_refusal(policy, facts)


def _distance_refusal(policy: ScrimPolicy, facts: PolicyFacts) -> str | None:
    if policy.rating_within is None or not facts.is_rated or facts.rating is None:
        return None
    points = f"{policy.rating_within:g} points"
    within = f"it plays teams whose best rating is within {points} of its own"
    if facts.team_rating is None:
        return f"{within}; your team has no agent that plays in this league"
    distance = abs(facts.team_rating - facts.rating)
    if distance > policy.rating_within:
        return f"{within}; yours is {distance:.0f} away"
    return None


def _time_refusal(policy: ScrimPolicy, facts: PolicyFacts) -> str | None:
    if policy.from_minute is not None and policy.until_minute is not None:
        passed = (_minute(facts.at) - policy.from_minute) % MINUTES
        if passed >= (policy.until_minute - policy.from_minute) % MINUTES:
            begin, end = clock_text(policy.from_minute), clock_text(policy.until_minute)
            return f"it plays scrims from {begin} to {end} UTC"
    if policy.cooldown_seconds and facts.last_scrim_at is not None:
        again = facts.last_scrim_at + timedelta(seconds=policy.cooldown_seconds)
        if facts.at < again:
            return f"it plays your team again from {again:%Y-%m-%d %H:%M:%S} UTC"
    return None


def _minute(at: datetime) -> int:
    """Minutes after midnight; ``at`` is in UTC."""
    return at.hour * 60 + at.minute
