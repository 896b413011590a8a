"""The policies of agents decide who may ask for a scrim."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ladder.entries import entries
from ladder.errors import Conflict, Invalid, LadderError
from ladder.ids import AgentId, TeamId
from ladder.matches import history
from ladder.scrims import forks, policies, requests
from ladder.scrims.policies import ScrimPolicy, Whom
from tests.integration.ladder.scrim_pairs import Pair
from tests.integration.ladder.scrim_pairs import pair as pair
from tests.sizes import sized

POLICIES = st.builds(
    ScrimPolicy,
    whom=st.sampled_from(Whom),
    games_daily=st.sampled_from([None, 0, 3]),
    accepts_automatically=st.booleans(),
)
FACTS = st.fixed_dictionaries(
    {
        "lists": st.sampled_from(["", "named", "blocked"]),
        "is_entered": st.booleans(),
        "has_version": st.sampled_from([True, True, True, False]),
        "is_reference": st.sampled_from([False, False, False, True]),
        "played": st.booleans(),
        "games": st.sampled_from([1, 4]),
    }
)


@given(policy=POLICIES, facts=FACTS)
@settings(
    max_examples=sized(20, 1000),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_agent_whose_policy_refuses_cannot_be_asked(
    pair: Pair, policy: ScrimPolicy, facts: dict[str, Any]
) -> None:
    """And what it accepts is queued with a version for every seat."""
    conn, me = pair.contest.conn, pair.asker[1]
    teams = {me} if facts["lists"] == "named" else {TeamId(pair.contest.team()[1])}
    with conn.transaction(force_rollback=True):
        pair.policy(
            policy.model_copy(
                update={
                    "teams": sorted(teams),
                    "blocked_teams": [me] if facts["lists"] == "blocked" else [],
                }
            )
        )
        conn.execute(
            "update entries set is_anchor = %s, state = case when %s then state else 'retired' end"
            " where id = %s",
            (facts["is_reference"], facts["has_version"], pair.entry),
        )
        own = entries.list_entries(conn, agent_id=pair.mine)[0]
        if facts["played"]:
            conn.execute(
                "insert into scrims (id, season_id, team_id, requested_by, lineup, games, state)"
                " select 'scr_played', %s, %s, %s, jsonb_build_array(%s::text, submission_id), 2,"
                " 'finished' from entries where id = %s",
                (*(pair.contest.season.id, me, pair.asker[0], own.submission_id), pair.entry),
            )
        if not facts["is_entered"]:
            conn.execute("update entries set state = 'retired' where agent_id = %s", (pair.mine,))
        (one,) = policies.read_opponents(conn, pair.contest.season, me, [pair.theirs])
        answer = one.answer_to(facts["games"])
        if not answer.is_allowed:
            with pytest.raises(LadderError, match=re.escape(str(answer.reason))):
                pair.ask(games=facts["games"], lineup=[own.submission_id, pair.theirs])
            return
        made = pair.ask(games=facts["games"], lineup=[own.submission_id, pair.theirs])
        assert (made.state == "accepted") == answer.is_automatic
        if made.state == "asked":
            made = requests.accept_request(conn, made.id, pair.asked[0])
        assert all(seat.submission_id for seat in made.seats)
        assert made.scrim_id is not None
        assert len(history.list_matches(conn, scrim_id=made.scrim_id)) == facts["games"]


def test_policies_count_again_when_nobody_has_to_answer(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when another team used up the games of the day a moment ago."""
    monkeypatch.setattr(requests, "_teams_to_ask", lambda *_: set())
    pair.policy(ScrimPolicy(whom=Whom.ANYONE, games_daily=1, accepts_automatically=True))
    with pytest.raises(policies.ScrimLimitReached, match="a day of"):
        pair.ask()


def test_an_agent_of_a_deleted_account_cannot_be_asked(pair: Pair) -> None:
    conn = pair.contest.conn
    pair.policy(ScrimPolicy(whom=Whom.ANYONE, accepts_automatically=True))
    conn.execute("update teams set erased_at = now() where id = %s", (pair.asked[1],))
    (one,) = policies.read_opponents(conn, pair.contest.season, pair.asker[1], [pair.theirs])
    assert one.answer.reason == "it has no active entry in this season"
    with pytest.raises(Conflict, match="no active entry"):
        pair.ask()


def test_forks_offer_agents_whose_policies_accept_them(pair: Pair) -> None:
    conn, season, me = pair.contest.conn, pair.contest.season, pair.asker[1]

    def offered() -> list[AgentId]:
        return [one.agent_id for one in forks.agents_for_forks(conn, season, [me])]

    pair.policy(ScrimPolicy(whom=Whom.ANYONE))
    assert offered() == [pair.mine]
    pair.policy(ScrimPolicy(whom=Whom.LEAGUE, accepts_automatically=True))
    assert offered() == [pair.mine, pair.theirs]
    pair.policy(ScrimPolicy(whom=Whom.ANYONE, blocked_teams=[me], accepts_automatically=True))
    assert offered() == [pair.mine]


def test_policy_that_names_no_team_is_refused(pair: Pair) -> None:
    with pytest.raises(Invalid) as caught:
        pair.policy(ScrimPolicy(whom=Whom.TEAMS))
    assert caught.value.field == "teams"
