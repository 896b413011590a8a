"""Two teams of a season; one asks the other for scrims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from ladder.database.db import Connection
from ladder.entries import agents
from ladder.ids import AgentId, EntryId, TeamId, UserId
from ladder.leagues import seasons
from ladder.scrims import policies, requests
from ladder.scrims.policies import ScrimPolicy
from ladder.scrims.requests import NewScrimRequest, ScrimRequest
from ladder.scrims.scrims import Asker
from tests.integration.ladder.contest import Contest, make_contest


@dataclass
class Pair:
    """Two teams of a season of two seats; ``asker`` asks ``asked``."""

    contest: Contest
    asker: tuple[UserId, TeamId]
    asked: tuple[UserId, TeamId]
    mine: AgentId
    theirs: AgentId
    entry: EntryId

    def ask(self, **terms: Any) -> ScrimRequest:
        season = seasons.get_season(self.contest.conn, self.contest.season.id)
        defaults: dict[str, Any] = {"games": 2, "lineup": [self.mine, self.theirs]}
        request = NewScrimRequest(season=season.id, **{**defaults, **terms})
        asker = Asker(season, self.asker[1], self.asker[0])
        return requests.ask_for_scrim(self.contest.conn, asker, request)

    def policy(self, policy: ScrimPolicy) -> None:
        agent = agents.get_agent(self.contest.conn, self.theirs)
        policies.set_policy(self.contest.conn, agent, policy)


@pytest.fixture
def pair(conn: Connection) -> Pair:
    return make_pair(conn)


def make_pair(conn: Connection, **terms: Any) -> Pair:
    contest = make_contest(conn, seats=2, **terms)
    asker, asked = contest.team(), contest.team()
    mine, theirs = contest.agent(asker[1]), contest.agent(asked[1])
    contest.active(mine)
    return Pair(contest, asker, asked, mine, theirs, contest.active(theirs))
