from __future__ import annotations

from random import Random

import numpy as np

from ladder.ids import EntryId
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.standing import OfficialPlace
from ladder.scheduling.season_field import LEAST_PACE, PairingTerms, SeasonField
from tests.unit.ladder.matches.pairing.candidate_fields import candidate

TERMS = PairingTerms(seats=2, beta=150.0)


def games_with_faults(faults: list[bool]) -> GameTable:
    """Games of contenders 0 and 1; 0 fails in some of them."""
    count = len(faults)
    return GameTable(
        np.tile(np.array([0, 1], np.int32), (count, 1)),
        np.tile(np.array([2, 1], np.int16), (count, 1)),
        np.array([[fault, False] for fault in faults]),
    )


def entry(number: int) -> EntryId:
    return EntryId(f"ent_{number}")


def place(score: float, sigma: float = 20.0) -> OfficialPlace:
    return OfficialPlace(score, sigma, 1, 1, 1, (0.0, 0.0, 0.0), 0.0)


def test_an_entry_that_always_fails_gets_a_slow_pace() -> None:
    field = SeasonField()
    numbers = {entry(n): n for n in range(2)}
    field.count_games(numbers, games_with_faults([True]))
    assert field.pace(entry(0)) == 1.0
    field.count_games(numbers, games_with_faults([True] * 200))
    assert field.pace(entry(0)) == LEAST_PACE
    assert field.pace(entry(1)) == field.pace(entry(2)) == 1.0


def test_an_entry_that_works_again_plays_like_others() -> None:
    field = SeasonField()
    numbers = {entry(n): n for n in range(2)}
    field.count_games(numbers, games_with_faults([True] * 10))
    slow = field.pace(entry(0))
    field.count_games(numbers, games_with_faults([True] * 10 + [False] * 10))
    assert slow < 0.5
    assert field.pace(entry(0)) == 1.0


def test_a_group_of_equals_gets_a_slow_pace_unless_its_bundles_are_equal() -> None:
    rng = np.random.default_rng(1)
    honest = 600.0 + 150.0 * rng.standard_normal(100)
    copies = 750.0 + 20.0 * rng.standard_normal(60)
    places = {entry(n): place(score) for n, score in enumerate([*honest, *copies])}
    count = len(places)
    one_game = GameTable(
        np.array([[0, 1]], np.int32), np.array([[1, 2]], np.int16), np.zeros((1, 2), np.bool_)
    )
    for equal, slow in ((False, True), (True, False)):
        field = SeasonField()
        field.count_games({e: min(n, 100) if equal else n for n, e in enumerate(places)}, one_game)
        field.set_places(places)
        field.propose_lineups([], TERMS, lineups=0, rng=Random(1))
        paces = [field.pace(entry(n)) for n in range(100, count)]
        assert (float(np.mean(paces)) < 0.4) == slow
        assert max(paces) == 1.0 or slow


def test_a_favourite_seldom_meets_those_who_lose_to_it_against_expectation() -> None:
    rng, count, favourite = np.random.default_rng(3), 24, 12
    skill = np.linspace(1.5, -1.5, count)
    lineups = np.array([rng.permutation(count)[:2] for _ in range(2000)], np.int32)
    shown = skill[lineups] + rng.standard_normal(lineups.shape)
    thrown = (lineups == favourite).any(axis=1)[:, None] & (lineups < 4)
    shown[thrown] -= 20.0
    ranks = (1 + (shown[:, ::-1] > shown)).astype(np.int16)
    games = GameTable(lineups, ranks, np.zeros(lineups.shape, np.bool_))
    field, numbers = SeasonField(), {entry(n): n for n in range(count)}
    field.count_games(numbers, games)
    field.set_places({entry(n): place(600.0 + 150.0 * skill[n], 15.0) for n in range(count)})
    candidates = [candidate(n, entry_id=entry(n)) for n in range(count)]
    made = field.propose_lineups(candidates, TERMS, lineups=600, rng=Random(1)).lineups
    met = [{seat.entry_id for seat in lineup} for lineup in made]
    own = [each for each in met if entry(favourite) in each]
    assert len(own) > 20
    assert sum(1 for each in own for n in range(4) if entry(n) in each) < len(own) / 15
