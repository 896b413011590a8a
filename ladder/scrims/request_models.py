"""Bodies of requests about scrims, for the API and the pages."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ladder.enums import LogAudience, ScrimAudience
from ladder.field_types import Key, Line
from ladder.ids import TeamId
from ladder.people.resources import ScrimPrivacy
from ladder.scrims import batches
from ladder.scrims.batches import BatchKind
from ladder.scrims.policies import MOST_GAMES_DAILY, MOST_TEAMS, ScrimPolicy, Whom
from ladder.scrims.requests import LIFE_HOURS, MOST_HOURS

Seed = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]


class NewPrivacy(BaseModel):
    """Who sees what. It never changes later. Nobody sees replays or logs of hidden results."""

    model_config = ConfigDict(extra="forbid")
    results: ScrimAudience = Field(
        default=ScrimAudience.ASKER,
        description="asker: your team; sides: all teams that play; league: everybody who sees the"
        " league",
    )
    replays: ScrimAudience = ScrimAudience.ASKER
    logs: LogAudience = Field(
        default=LogAudience.OWN,
        description="own: each team what its agents print; sides, league: all output, if the other"
        " team accepts",
    )

    def to_privacy(self) -> ScrimPrivacy:
        return ScrimPrivacy(self.results, self.replays, self.logs)


class ScrimPolicyBody(BaseModel):
    """Whom an agent plays in scrims, and how often."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"whom": "league"}]})
    whom: Whom = Field(
        description="nobody; league: teams with an agent that plays in the league; teams: those"
        " that `teams` names; anyone"
    )
    teams: Annotated[list[Key], Field(max_length=MOST_TEAMS)] = Field(
        default_factory=list, description="ids or slugs of teams"
    )
    blocked_teams: Annotated[list[Key], Field(max_length=MOST_TEAMS)] = Field(default_factory=list)
    games_daily: Annotated[int, Field(ge=0, le=MOST_GAMES_DAILY)] | None = Field(
        default=None, description="games with all other teams in a UTC day"
    )
    accepts_automatically: bool = Field(
        default=False, description="whether a scrim starts without an answer of its team"
    )

    def to_policy(self, teams: frozenset[TeamId], blocked: frozenset[TeamId]) -> ScrimPolicy:
        return ScrimPolicy(
            whom=self.whom,
            team_ids=teams,
            blocked_team_ids=blocked,
            games_daily=self.games_daily,
            accepts_automatically=self.accepts_automatically,
        )


class NewScrimRequestBody(BaseModel):
    model_config = ConfigDict(extra="forbid")
    season: Annotated[Key, Field(description="season with the game and clock to use")]
    lineup: Annotated[
        list[Key],
        Field(
            min_length=2,
            max_length=16,
            description="by seat: agent ids, or ids of own submissions. The newest active version"
            " of each agent is pinned when the request is accepted",
        ),
    ]
    games: Annotated[int, Field(ge=1, le=100)] = 1
    seeds: Annotated[
        list[Seed], Field(max_length=100, description="32 hex digits for each game; empty: random")
    ] = Field(default_factory=list)
    privacy: NewPrivacy = Field(default_factory=NewPrivacy)
    words: Annotated[Line, Field(description="a word to the other team")] = ""
    expires_hours: Annotated[int, Field(ge=1, le=MOST_HOURS)] = LIFE_HOURS
    team: Annotated[Key | None, Field(description="required if you are in several teams")] = None


class Decline(BaseModel):
    model_config = ConfigDict(extra="forbid")
    words: Annotated[Line, Field(description="a word to the team that asked")] = ""


class NewBatchBody(BaseModel):
    model_config = ConfigDict(extra="forbid")
    season: Annotated[Key, Field(description="season with the game and clock to use")]
    kind: BatchKind = Field(
        description="gauntlet: the first agent against each other one; versions: own submissions"
        " against each other"
    )
    agents: Annotated[
        list[Key],
        Field(
            min_length=2,
            max_length=batches.MOST_PAIRINGS + 1,
            description="agent ids, or ids of own submissions",
        ),
    ]
    games: Annotated[int, Field(ge=1, le=batches.MOST_GAMES, description="of each pairing")] = 10
    privacy: NewPrivacy = Field(default_factory=NewPrivacy)
    team: Annotated[Key | None, Field(description="required if you are in several teams")] = None


def policy_body(policy: ScrimPolicy) -> ScrimPolicyBody:
    return ScrimPolicyBody(
        whom=policy.whom,
        teams=sorted(policy.team_ids),
        blocked_teams=sorted(policy.blocked_team_ids),
        games_daily=policy.games_daily,
        accepts_automatically=policy.accepts_automatically,
    )
