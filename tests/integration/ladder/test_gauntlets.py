"""Gauntlets in the database: their rule is fixed at the lock."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ladder.database.db import Connection
from ladder.tournaments import course_acts
from ladder.tournaments.formats.plan import describe_plan
from ladder.tournaments.records import TournamentGame, TournamentState
from ladder.tournaments.views import export
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


def start(duels: Contest, plan: dict[str, Any]) -> Cup:
    """A running gauntlet of five."""
    cup = make_cup(duels, plan)
    cup.enter(5)
    cup.start()
    return cup


def test_gauntlet_ranks_by_means(duels: Contest) -> None:
    ranking = (2, 3, 4, 1, 5)
    cup = start(duels, GAUNTLET)
    cup.play_on(head_loses_to_all_but_the_last)
    assert (cup.row.state, cup.row.champion) == (TournamentState.FINISHED, ranking[0])
    assert cup.course().ranking == ranking
    assert tuple(line.entrant for line in cup.view().standings(1)) == ranking
    exported = json.loads(export(cup.view(), "json", 1).content)
    assert tuple(exported["ranking"]) == ranking


def test_play_off_before_a_final_follows_the_means(duels: Contest) -> None:
    cup = start(duels, WITH_FINAL)
    cup.play_on(head_loses_to_all_but_the_last)
    off = [one for one in cup.course().stage(1) if one.section == "play-off"]
    assert {number for one in off for number in one.entrants} == {2, 3, 4}
    assert cup.row.state is TournamentState.FINISHED
    assert cup.row.champion == cup.course().champion


def test_rule_is_shown_before_the_lock_and_after_it(duels: Contest) -> None:
    cup = make_cup(duels, GAUNTLET)
    cup.enter(3)
    shown = describe_plan(cup.row.plan)
    assert "score and tie-breaks are divided by the number of pairings" in shown[0]
    cup.start()
    assert describe_plan(cup.row.plan) == shown


def test_gauntlet_cancelled_before_its_lock_keeps_its_shown_rule(
    duels: Contest,
) -> None:
    cup = make_cup(duels, GAUNTLET)
    shown = describe_plan(cup.row.plan)
    course_acts.cancel_tournament(duels.conn, cup.id, None, "rain")
    assert cup.row.state is TournamentState.CANCELLED
    assert describe_plan(cup.row.plan) == shown
