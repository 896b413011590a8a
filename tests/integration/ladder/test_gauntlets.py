"""Gauntlets in the database: their rule is fixed at the lock."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ladder.database.db import Connection
from ladder.tournaments import course_acts
from ladder.tournaments.exports import export
from ladder.tournaments.formats import describe_plan
from ladder.tournaments.records import TournamentGame, TournamentState
from tests.integration.ladder.contest import Contest, make_contest
from tests.integration.ladder.cup import Cup, make_cup

GAUNTLET = {"stages": [{"format": "gauntlet", "series": {"pairs": 1}}]}
WITH_FINAL = {
    "stages": [
        {"format": "gauntlet", "advance": 2, "tie_breaks": ["more games"]},
        {"format": "single_elimination"},
    ]
}


@pytest.fixture
def duels(conn: Connection) -> Contest:
    """An open season of a two-seat game."""
    return make_contest(conn, seats=2)


def head_loses_to_all_but_the_last(game: TournamentGame) -> list[int]:
    """Entrants 2, 3 and 4 win against the head, and 5 loses."""
    if set(game.entrants) == {1, 5}:
        return [1 + (number != 1) for number in game.entrants]
    return [1 + (number == min(game.entrants)) for number in game.entrants]


def start(duels: Contest, plan: dict[str, Any], *, by_older_version: bool) -> Cup:
    """A running gauntlet of five that this version or an older one locked."""
    cup = make_cup(duels, plan)
    cup.enter(5)
    cup.start()
    if by_older_version:
        duels.conn.execute("update tournaments set ranks_by_mean = default")
    return cup


@pytest.mark.parametrize(("older", "ranking"), [(True, (1, 2, 3, 4, 5)), (False, (2, 3, 4, 1, 5))])
def test_gauntlet_keeps_the_rule_of_its_lock(
    duels: Contest, older: bool, ranking: tuple[int, ...]
) -> None:
    cup = start(duels, GAUNTLET, by_older_version=older)
    cup.play_on(head_loses_to_all_but_the_last)
    assert (cup.row.state, cup.row.champion) == (TournamentState.FINISHED, ranking[0])
    assert cup.course().ranking == ranking
    assert tuple(line.entrant for line in cup.view().standings(1)) == ranking
    exported = json.loads(export(cup.view(), "json", 1).content)
    assert tuple(exported["ranking"]) == ranking
    assert exported["plan"]["stages"][0].get("by_mean") is (None if older else True)


@pytest.mark.parametrize(("older", "tied"), [(True, {1, 2, 3, 4}), (False, {2, 3, 4})])
def test_play_off_before_a_final_follows_the_rule_of_the_lock(
    duels: Contest, older: bool, tied: set[int]
) -> None:
    cup = start(duels, WITH_FINAL, by_older_version=older)
    cup.play_on(head_loses_to_all_but_the_last)
    off = [one for one in cup.course().stage(1) if one.section == "play-off"]
    assert {number for one in off for number in one.entrants} == tied
    assert cup.row.state is TournamentState.FINISHED
    assert cup.row.champion == cup.course().champion


def test_rule_is_shown_before_the_lock_and_is_not_in_the_stored_plan(duels: Contest) -> None:
    chosen = {"stages": [{"format": "gauntlet", "by_mean": False}]}
    cup = make_cup(duels, chosen)
    cup.enter(3)
    shown = describe_plan(cup.row.plan)
    assert "score and tie-breaks are divided by the number of pairings" in shown[0]
    cup.start()
    assert describe_plan(cup.row.plan) == shown
    row = duels.conn.execute("select plan, ranks_by_mean from tournaments").fetchone()
    assert row is not None
    assert "by_mean" not in row[0]["stages"][0]
    assert row[1] is True


def test_gauntlet_cancelled_before_its_lock_keeps_its_shown_rule(
    duels: Contest,
) -> None:
    cup = make_cup(duels, GAUNTLET)
    shown = describe_plan(cup.row.plan)
    course_acts.cancel_tournament(duels.conn, cup.id, None, "rain")
    assert cup.row.state is TournamentState.CANCELLED
    assert describe_plan(cup.row.plan) == shown


def test_cancelled_gauntlet_of_an_older_version_ranks_by_sums(
    duels: Contest,
) -> None:
    cup = start(duels, GAUNTLET, by_older_version=True)
    shown = describe_plan(cup.row.plan)
    course_acts.cancel_tournament(duels.conn, cup.id, None, "rain")
    assert describe_plan(cup.row.plan) == shown
