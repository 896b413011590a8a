"""Policies of agents as pure rules."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ladder.errors import Invalid
from ladder.ids import TeamId
from ladder.scrims.policies import PolicyFacts, ScrimPolicy, Whom, check_policy, judge

ME, OTHER = TeamId("tea_me"), TeamId("tea_other")
NOON = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
FACTS = PolicyFacts(at=NOON, team_id=ME, is_in_league=True, rating=1000.0, team_rating=900.0)
ANYONE = ScrimPolicy(whom=Whom.ANYONE)


@pytest.mark.parametrize(
    ("policy", "facts", "reason"),
    [
        (ANYONE, {}, None),
        (ScrimPolicy(whom=Whom.NOBODY), {}, "no other team"),
        (ScrimPolicy(), {}, None),
        (ScrimPolicy(), {"is_in_league": False}, "only teams with an agent"),
        (ScrimPolicy(whom=Whom.TEAMS, team_ids=frozenset({ME})), {}, None),
        (ScrimPolicy(whom=Whom.TEAMS, team_ids=frozenset({OTHER})), {}, "its team chose"),
        (replace(ANYONE, blocked_team_ids=frozenset({ME})), {}, "does not let your team"),
        (replace(ANYONE, rating_within=100.0), {}, None),
        (replace(ANYONE, rating_within=99.0), {}, "yours is 100 away"),
        (replace(ANYONE, rating_within=99.0), {"is_rated": False}, None),
        (replace(ANYONE, rating_within=99.0), {"team_rating": None}, "your team has no agent"),
        (replace(ANYONE, games_daily=5), {"games_today": 5}, "0 more games"),
        (replace(ANYONE, games_per_team_daily=5), {"games_with_team_today": 4}, None),
        (replace(ANYONE, games_per_team_daily=5), {"games_with_team_today": 6}, "0 more games"),
        (
            replace(ANYONE, cooldown_seconds=60),
            {"last_scrim_at": NOON - timedelta(seconds=59)},
            "again from 2026-11-23 12:00:01 UTC",
        ),
        (
            replace(ANYONE, cooldown_seconds=60),
            {"last_scrim_at": NOON - timedelta(seconds=60)},
            None,
        ),
        (replace(ANYONE, from_minute=720, until_minute=721), {}, None),
        (replace(ANYONE, from_minute=721, until_minute=720), {}, "from 12:01 to 12:00 UTC"),
        (replace(ANYONE, from_minute=1320, until_minute=721), {}, None),
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
    closed = ScrimPolicy(whom=Whom.NOBODY, blocked_team_ids=frozenset({ME}), games_daily=0)
    answer = judge(closed, replace(FACTS, is_reference=True, is_in_league=False))
    assert (answer.is_allowed, answer.is_automatic) == (True, True)


def test_a_reference_agent_sets_no_limit_of_games() -> None:
    facts = replace(FACTS, is_reference=True, games_with_team_today=50, games_today=10_000)
    answer = judge(ScrimPolicy(games_daily=5), facts, games=100)
    assert (answer.is_allowed, answer.games_left) == (True, None)


def test_an_own_agent_plays_whatever_its_policy_says() -> None:
    answer = judge(ScrimPolicy(whom=Whom.NOBODY), replace(FACTS, is_own=True), games=100)
    assert (answer.is_allowed, answer.is_automatic) == (True, True)


def test_no_agent_without_a_version_can_be_asked() -> None:
    for facts in ({"is_own": True}, {"is_reference": True}):
        gone = replace(FACTS, cannot_play="it has no active entry", **facts)  # type: ignore[arg-type]
        assert not judge(replace(ANYONE, accepts_automatically=True), gone).is_allowed


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        (ScrimPolicy(whom=Whom.TEAMS), "teams"),
        (replace(ANYONE, rating_within=0.0), "rating_within"),
        (replace(ANYONE, cooldown_seconds=-1), "cooldown_seconds"),
        (replace(ANYONE, from_minute=5), "hours_until"),
        (replace(ANYONE, from_minute=5, until_minute=5), "hours_until"),
    ],
)
def test_a_policy_that_means_nothing_names_its_field(policy: ScrimPolicy, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_policy(policy)
    assert caught.value.field == field
