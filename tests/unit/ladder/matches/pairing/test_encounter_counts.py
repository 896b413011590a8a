from __future__ import annotations

from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ladder.ids import EntryId
from ladder.matches.pairing import EncounterCounts
from ladder.matches.pairing.encounter_counts import UNKNOWN

NUMBERS = {EntryId(f"ent_{n}"): n for n in range(8)}
games_of_three = st.lists(
    st.lists(st.integers(0, 7), min_size=3, max_size=3, unique=True), max_size=30
)


@given(games_of_three, st.integers(1, 5))
def test_meeting_counts_do_not_depend_on_log_batches(games: list[list[int]], parts: int) -> None:
    met = EncounterCounts(NUMBERS)
    for part in range(parts):
        met = met.plus(NUMBERS, games[part::parts])
    expected = np.zeros((8, 8), int)
    for game in games:
        for a, b in permutations(game, 2):
            expected[a, b] += 1
    everybody = np.arange(8)
    for lead in range(8):
        assert met.between(lead, everybody).tolist() == expected[lead].tolist()


def test_empty_seats_and_unknown_entries_have_no_meetings() -> None:
    met = EncounterCounts(NUMBERS, [[0, 1, -1], [1, 2, 0]])
    stranger = np.array([UNKNOWN, 1])
    assert met.between(0, stranger).tolist() == [0, 2]
    assert met.between(UNKNOWN, stranger).tolist() == [0, 0]
    assert not EncounterCounts()


def test_games_may_count_several_times() -> None:
    met = EncounterCounts(NUMBERS, [[0, 1]]).plus(NUMBERS, [[1, 2], [0, 1]], times=100)
    assert met.between(1, np.arange(3)).tolist() == [101, 0, 100]


def test_a_large_and_a_small_batch_of_the_same_pair_add_up() -> None:
    everybody = [list(pair) for pair in permutations(range(8), 2)]
    met = EncounterCounts(NUMBERS, everybody).plus(NUMBERS, [[0, 1]])
    assert met.between(0, np.arange(8)).tolist() == [0, 3, *[2] * 6]
    assert met.between(2, np.arange(3)).tolist() == [2, 2, 0]
