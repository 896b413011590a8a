"""Scrim policies that an earlier version stored, with limits that are gone."""

from __future__ import annotations

import pytest

from ladder.database import migrate
from ladder.entries import agents
from ladder.scrims import policies
from ladder.scrims.policies import ScrimPolicy, Whom
from tests.integration.ladder.contest import Contest


def update(contest: Contest) -> None:
    files = dict(migrate.migration_files())
    contest.conn.execute(files["0083_fill_policies_without_their_limits.sql"].encode())


@pytest.mark.parametrize(
    "limit",
    ["rating_within = 50", "cooldown_seconds = 60", "from_minute = 0, until_minute = 60"],
)
def test_agent_with_a_limit_that_is_gone_is_asked(contest: Contest, limit: str) -> None:
    agent = agents.get_agent(contest.conn, contest.agent())
    open_to_all = ScrimPolicy(whom=Whom.ANYONE, accepts_automatically=True)
    policies.set_policy(contest.conn, agent, open_to_all)
    contest.conn.execute(f"update scrim_policies set {limit}".encode())
    update(contest)
    policy = policies.get_policy(contest.conn, agent.id)
    assert (policy.accepts_automatically, policy.games_daily) == (False, 50)


def test_open_agent_without_a_policy_stays_open(contest: Contest) -> None:
    agent = contest.agent()
    contest.conn.execute("update agents set open_for_scrims = true where id = %s", (agent,))
    update(contest)
    policy = policies.get_policy(contest.conn, agent)
    assert (policy.whom, policy.accepts_automatically) == (Whom.ANYONE, True)
