"""Says how many pairs of a comparison a day still allows, and which limit ends them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ladder.database.db import Connection
from ladder.ids import AgentId, SubmissionId, TeamId
from ladder.leagues import seasons
from ladder.leagues.records import Season
from ladder.scrims import policies
from ladder.scrims.comparison.comparisons import Comparison
from ladder.scrims.policies import ScrimLimitReached


@dataclass(frozen=True, slots=True)
class PairsToday:
    """What a UTC day still allows to a comparison."""

    pairs: int
    """A mean, if there are more opponents than seats for them."""
    limit: str
    """Name of the limit that is reached first, for people."""
    used: int
    """Games that this limit already counts."""
    allowed: int
    resets_at: datetime

    @property
    def sentence(self) -> str:
        """Returns the values as sentences for people."""
        number = "1 more pair" if self.pairs == 1 else f"{self.pairs:,} more pairs"
        return (
            f"You can play about {number} today. The limit is {self.limit}: {self.used:,} of"
            f" {self.allowed:,} are used. It resets at {self.resets_at:%Y-%m-%d %H:%M} UTC."
        )


def pairs_today(
    conn: Connection, season: Season, team_id: TeamId, opponents: Sequence[SubmissionId]
) -> PairsToday:
    """Returns the pairs that a team may still ask for today against these opponents.

    A pair takes two games of the team, and two of each opponent that sits in it.
    """
    today = policies.games_today(conn, season, team_id)
    team = ScrimLimitReached(policies.OF_TEAM, today.used, today.allowed, today.resets_at)
    found = [_pairs_of(team, 1.0)]
    agents = agents_of(conn, opponents)
    seats = Counter(agents.values())
    for agent_id, limit in limits_of_agents(conn, season, team_id, agents.values()).items():
        share = seats[agent_id] * (season.seats - 1) / len(agents)
        found.append(_pairs_of(limit, min(1.0, share)))
    return min(found, key=lambda one: one.pairs)


def pairs_of_running(conn: Connection, comparison: Comparison) -> PairsToday | None:
    """Returns the further pairs that today allows to a comparison; None after its end."""
    if comparison.state != "running":
        return None
    season = seasons.get_season(conn, comparison.season_id)
    return pairs_today(conn, season, comparison.team_id, comparison.opponent_submission_ids)


def agents_of(conn: Connection, submissions: Sequence[SubmissionId]) -> dict[SubmissionId, AgentId]:
    """Returns the agent of each submission."""
    rows = conn.execute(
        "select id, agent_id from submissions where id = any (%s)", (list(submissions),)
    )
    return {SubmissionId(row[0]): AgentId(row[1]) for row in rows}


def limits_of_agents(
    conn: Connection, season: Season, team_id: TeamId, agents: Iterable[AgentId]
) -> dict[AgentId, ScrimLimitReached]:
    """Returns today's limit of each of these agents that has one for this team."""
    limits = {}
    for opponent in policies.read_opponents(conn, season, team_id, set(agents)):
        if limit := policies.agent_limit_reached(opponent):
            limits[opponent.agent_id] = limit
    return limits


def _pairs_of(limit: ScrimLimitReached, share: float) -> PairsToday:
    """The pairs within a limit, if this share of the pairs takes games of it."""
    pairs = int(limit.left / 2 / share) if limit.left >= 2 else 0
    return PairsToday(pairs, limit.limit, limit.used, limit.allowed, limit.resets_at)
