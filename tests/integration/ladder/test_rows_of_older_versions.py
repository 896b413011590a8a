"""What an earlier version stored, and an update changes: scrim policies, news of medals, a list."""

from __future__ import annotations

import pytest

from ladder.database import migrate
from ladder.entries import agents
from ladder.scrims import policies
from ladder.scrims.policies import ScrimPolicy, Whom
from ladder.standings import medal_notices
from tests.integration.ladder.contest import Contest

FILL = "0083_fill_policies_without_their_limits.sql"


def update(contest: Contest, migration: str = FILL) -> None:
    contest.conn.execute(dict(migrate.migration_files())[migration].encode())


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


def test_medals_of_finished_one_seat_seasons_are_no_news(contest: Contest) -> None:
    contest.conn.execute(
        "update seasons set measures = '[]', state = 'finished', official_version = 2"
    )
    assert medal_notices.seasons_with_news(contest.conn) == [contest.season.id]
    update(contest)
    assert medal_notices.seasons_with_news(contest.conn) == []


def test_expected_people_without_an_account_are_forgotten(contest: Contest) -> None:
    contest.conn.execute(
        "insert into expected_people (id, name, hash, user_id) values"
        " ('exp_1', 'Grace', 'a', null), ('exp_2', 'Ada', 'b', %s)",
        (contest.host,),
    )
    update(contest, "0084_after_forget_expected_people.sql")
    left = contest.conn.execute("select id from expected_people").fetchall()
    assert left == [("exp_2",)]
