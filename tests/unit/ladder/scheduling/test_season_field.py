from __future__ import annotations

from random import Random

import numpy as np
from msgspec.structs import replace

from ladder.ids import EntryId, TeamId
from ladder.matches.pairing import Candidate
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.season_suspects import LEAST_PACE, SeasonSuspects
from ladder.ratings.official.standing import PairingPlaces
from ladder.scheduling.season_field import PairingTerms, SeasonField
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


def test_slow_members_of_a_group_of_equals_get_a_slow_pace() -> None:
    field = SeasonField()
    field.set_places(PairingPlaces.none(), SeasonSuspects(paces={entry(1): 0.2, entry(2): 0.2}))
    assert [field.pace(entry(n)) for n in range(3)] == [1.0, 0.2, 0.2]


def test_a_favourite_seldom_meets_those_who_lose_to_it_against_expectation() -> None:
    count, favourite = 24, 12
    skill = np.linspace(1.5, -1.5, count)
    numbers = {entry(n): n for n in range(count)}
    field = SeasonField()
    field.count_games(numbers, games_with_faults([False]))
    values = np.array([600.0 + 150.0 * skill, np.full(count, 15.0), np.full(count, 0.01)])
    places = PairingPlaces([entry(n) for n in range(count)], values)
    apart = tuple((entry(favourite), entry(n)) for n in range(4))
    field.set_places(places, SeasonSuspects(apart=apart))
    field.set_entries([candidate(n, entry_id=entry(n)) for n in range(count)])
    made = field.propose_lineups(TERMS, lineups=600, rng=Random(1)).lineups
    met = [{seat.entry_id for seat in lineup} for lineup in made]
    own = [each for each in met if entry(favourite) in each]
    assert len(own) > 20
    assert sum(1 for each in own for n in range(4) if entry(n) in each) < len(own) / 15


def changed(each: Candidate, rng: Random) -> Candidate:
    """The candidate after a match, or with another weight, team or profile."""
    return replace(
        each,
        mu=each.mu + rng.gauss(0, 30),
        games=each.games + 1,
        in_flight=rng.randrange(3),
        weight=rng.choice([1.0, 1.0, 0.5, 0.0]),
        team_id=TeamId(f"tea_{rng.randrange(40)}"),
        profile=rng.choice(["numpy", "numpy", "torch"]),
    )


def test_a_field_that_learns_of_changes_chooses_like_a_new_one() -> None:
    rng, terms = Random(4), PairingTerms(4, 150.0, score_offset=10.0)
    entries = {entry(n): candidate(n, entry_id=entry(n), games=n % 3) for n in range(40)}
    numbers, lineups = dict[EntryId, int](), list[list[int]]()
    places = PairingPlaces.none()
    kept = SeasonField()
    kept.set_entries(entries.values())
    for turn in range(12):
        new = [entry(n) for n in rng.sample(range(60), 5)]
        some = {each: changed(candidate(0, entry_id=each), rng) for each in new}
        some |= {
            each: replace(entries[each], games=entries[each].games + 1)
            for each in rng.sample(sorted(entries), 8)
        }
        left = rng.sample(sorted(entries.keys() - some), 3)
        entries = {each: one for each, one in (entries | some).items() if each not in left}
        kept.change_entries(some.values(), left)
        lineups += [rng.sample(range(50), 4) for _ in range(6)]
        numbers |= {entry(n): n for lineup in lineups for n in lineup}
        games = GameTable(
            np.array(lineups, np.int32),
            np.tile(np.arange(1, 5, dtype=np.int16), (len(lineups), 1)),
            np.array(lineups) < 3,
        )
        kept.count_games(numbers, games)
        if turn % 3 == 0:
            slow = tuple(entry(n) for n in rng.sample(range(50), 9))
            values = [(rng.gauss(600, 150), 30.0, rng.random() / 50) for _ in range(30)]
            places = PairingPlaces([entry(n) for n in range(30)], np.array(values).T)
            suspects = SeasonSuspects(
                paces=dict.fromkeys(slow, 0.36), apart=((entry(5), entry(9)),)
            )
            kept.set_places(places, suspects)
        fresh = SeasonField()
        fresh.set_places(places, suspects)
        fresh.count_games(numbers, games)
        fresh.set_entries(rng.sample(sorted(entries.values(), key=str), len(entries)))
        made = [
            field.propose_lineups(terms, lineups=9, rng=Random(turn), admissible={"numpy"})
            for field in (kept, fresh)
        ]
        assert made[0] == made[1]
        assert len(made[0].lineups) == 9
