"""Policies of agents as pure rules."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ladder.ids import TeamId
from ladder.scrims.policies import USUAL, PolicyFacts, ScrimPolicy, Whom, judge

ME, OTHER = TeamId("tea_me"), TeamId("tea_other")
MIDNIGHT = datetime(2026, 11, 24, tzinfo=UTC)
FACTS = PolicyFacts(team_id=ME, is_in_league=True, resets_at=MIDNIGHT)
ANYONE = ScrimPolicy(whom=Whom.ANYONE)
FIVE = ScrimPolicy(whom=Whom.ANYONE, games_daily=5)


@pytest.mark.parametrize(
    ("policy", "facts", "reason"),
    [
        (ANYONE, {}, None),
        (ScrimPolicy(whom=Whom.NOBODY), {}, "no other team"),
        (USUAL, {}, None),
        (USUAL, {"is_in_league": False}, "only teams with an agent"),
        (ScrimPolicy(whom=Whom.TEAMS, teams=[ME]), {}, None),
        (ScrimPolicy(whom=Whom.TEAMS, teams=[OTHER]), {}, "its team chose"),
        (ScrimPolicy(whom=Whom.ANYONE, blocked_teams=[ME]), {}, "does not let your team"),
        (FIVE, {"games_today": 5}, "0 more games"),
        (FIVE, {"games_today": 4}, None),
        (FIVE, {"games_today": 6}, "0 more games"),
        (ANYONE, {"cannot_play": "it has no active entry"}, "no active entry"),
    ],
)
def test_a_policy_refuses_with_its_reason(
    policy: ScrimPolicy, facts: dict[str, object], reason: str | None
) -> None:
    answer = judge(policy, replace(FACTS, **facts))  # type: ignore[arg-type]
    assert answer.is_allowed == (reason is None)
    assert (reason or "") in (answer.reason or "")
    assert not answer.is_automatic


def test_a_reference_agent_plays_with_everybody() -> None:
    closed = ScrimPolicy(whom=Whom.NOBODY, blocked_teams=[ME], games_daily=0)
    answer = judge(closed, replace(FACTS, is_reference=True, is_in_league=False))
    assert (answer.is_allowed, answer.is_automatic) == (True, True)


def test_a_reference_agent_sets_no_limit_of_games() -> None:
    facts = replace(FACTS, is_reference=True, games_today=10_000)
    answer = judge(ScrimPolicy(whom=Whom.LEAGUE, games_daily=5), facts, games=100)
    assert (answer.is_allowed, answer.games_left) == (True, None)


def test_an_own_agent_plays_whatever_its_policy_says() -> None:
    answer = judge(ScrimPolicy(whom=Whom.NOBODY), replace(FACTS, is_own=True), games=100)
    assert (answer.is_allowed, answer.is_automatic) == (True, True)


def test_no_agent_without_a_version_can_be_asked() -> None:
    for facts in ({"is_own": True}, {"is_reference": True}):
        gone = replace(FACTS, cannot_play="it has no active entry", **facts)  # type: ignore[arg-type]
        assert not judge(ScrimPolicy(whom=Whom.ANYONE, accepts_automatically=True), gone).is_allowed
