"""How often each entry plays, and how soon."""

from __future__ import annotations

from collections import Counter
from statistics import mean

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ladder.matches.pairing import (
    LONGEST_WAIT,
)
from tests.unit.ladder.matches.pairing.candidate_fields import (
    WHOLE_PATH,
    candidate,
    counted,
    ladder,
    pair,
    players,
    season,
)


# One season of the real length; the drawn ones have a quarter of it.
@pytest.mark.parametrize("sampled", [False, True])
@settings(max_examples=10, deadline=None)
@example(size=13, seats=4, at_once=9, clear=3, seed=1, longest=LONGEST_WAIT)
@given(
    size=st.integers(4, 24),
    seats=st.integers(2, 4),
    at_once=st.integers(1, 9),
    clear=st.integers(1, 5),
    seed=st.integers(0, 99),
    longest=st.just(LONGEST_WAIT // 4),
)
def test_no_entry_waits_longer_than_the_limit(
    sampled: bool, size: int, seats: int, at_once: int, clear: int, seed: int, longest: int
) -> None:
    # Only a few entries are worth a game, and they stay so: the others have no loss.
    field = [
        replace(c, loss=0.1 if n < clear else 0.0, sigma=200.0 if n < clear else 1.0)
        for n, c in enumerate(ladder(size))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ladder.matches.pairing.lineups.LONGEST_WAIT", longest)
        if sampled:
            patch.setattr(WHOLE_PATH, 0)
        length = 2 * longest * size // seats
        lineups = list(season(field, length, at_once=at_once, seats=seats, seed=seed))
    window = -(-longest * size // seats)
    for first in range(len(lineups) - window + 1):
        seen = {entry for lineup in lineups[first : first + window] for entry in lineup}
        assert len(seen) == size


def test_equal_entries_play_equally_often() -> None:
    field = [candidate(n, games=0, mu=400.0 + 40 * n, sigma=200.0) for n in range(12)]
    load = Counter(entry for lineup in season(field, 300) for entry in lineup)
    assert min(load.values()) >= 0.6 * max(load.values())


def test_a_low_weight_entry_plays_early_and_then_rarely() -> None:
    field = [candidate(n, games=0) for n in range(8)] + [candidate(9, games=0, weight=0.1)]
    load = Counter(entry for lineup in season(field, 150) for entry in lineup)
    assert load["ent_00009"] >= 5
    assert load["ent_00009"] < 0.5 * min(load[c.entry_id] for c in field[:8])


def test_a_high_weight_entry_plays_in_proportion_to_weight() -> None:
    field = [candidate(n, weight=2.0 if n < 3 else 1.0) for n in range(12)]
    load = Counter(entry for lineup in season(field, 600) for entry in lineup)
    heavy = mean(load[c.entry_id] for c in field[:3])
    light = mean(load[c.entry_id] for c in field[3:])
    assert 1.5 < heavy / light < 2.5


def test_entry_without_games_leads_first() -> None:
    field = [*ladder(30), candidate(99, games=0, sigma=0.1)]
    for seed in range(5):
        assert "ent_00099" in players(pair(field, seed=seed))[0]


def test_a_newcomer_is_paired_first() -> None:
    field = [*ladder(20), candidate(99, games=0, sigma=200.0)]
    for seed in range(10):
        assert "ent_00099" in players(pair(field, 1, seed))[0]


def test_every_newcomer_of_a_large_field_is_in_one_of_the_first_lineups() -> None:
    newcomers = [candidate(2000 + n, games=0, sigma=200.0) for n in range(25)]
    found = players(pair([*ladder(1500), *newcomers], 25))
    seated = {entry for lineup in found[:12] for entry in lineup}
    assert {str(each.entry_id) for each in newcomers} <= seated


def test_each_lineup_of_a_large_field_has_a_competitor_if_most_are_anchors() -> None:
    competitors = {"ent_02000", "ent_02001", "ent_02002"}
    field = [*ladder(1500, is_anchor=True), *(candidate(2000 + n) for n in range(3))]
    found = players(pair(field, 20))
    assert len(found) == 20
    assert all(competitors.intersection(lineup) for lineup in found)


def test_two_valuable_entries_of_a_large_field_lead_most_lineups() -> None:
    valuable = [candidate(2000 + n, loss=0.05, mu=500.0 + 200 * n) for n in range(2)]
    games = counted(pair([*ladder(1500, loss=0.00001), *valuable], 60))
    assert sum(games[str(each.entry_id)] for each in valuable) > 56


@pytest.mark.parametrize("loss", [None, 0.0001])
def test_a_newcomer_without_a_known_loss_is_paired_first(loss: float | None) -> None:
    field = [*ladder(20, loss=0.01), candidate(99, games=1, sigma=200.0, loss=loss)]
    leads = sum("ent_00099" in players(pair(field, 1, seed))[0] for seed in range(20))
    assert (leads == 20) == (loss is None)


def test_a_newcomer_does_not_take_every_match_at_once() -> None:
    field = [candidate(n) for n in range(40)] + [candidate(99, games=0)]
    assert counted(pair(field, 30))["ent_00099"] <= 8


def test_games_in_flight_count_as_played() -> None:
    field = [candidate(n, in_flight=20 if n < 10 else 0) for n in range(20)]
    load: Counter[str] = Counter()
    for seed in range(30):
        load += counted(pair(field, 2, seed))
    busy = sum(load[c.entry_id] for c in field[:10])
    assert busy < 0.3 * load.total()


def test_every_entry_plays_each_seat_about_equally_often() -> None:
    field = [candidate(n) for n in range(10)]
    had = {str(c.entry_id): [0] * 4 for c in field}
    for lineup in season(field, 200, at_once=5):
        for seat, entry in enumerate(lineup):
            had[entry][seat] += 1
    assert all(max(counts) - min(counts) <= 4 for counts in had.values())


@pytest.mark.parametrize("sampled", [False, True])
def test_slow_entries_stop_at_their_share_of_the_games(
    sampled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sampled:
        monkeypatch.setattr(WHOLE_PATH, 0)
    field = [
        replace(each, games=0, pace=0.1 if n % 2 else 1.0) for n, each in enumerate(ladder(40))
    ]
    games = counted(pair(field, 400))
    fast = mean(games[str(each.entry_id)] for each in field if each.pace == 1.0)
    slow = [games[str(each.entry_id)] for each in field if each.pace < 1.0]
    assert mean(slow) < 5 + 0.1 * fast + 6  # random partners and turns to lead come on top
    assert min(slow) >= 1


def test_slow_entries_of_a_large_field_stop_at_their_share_of_the_games() -> None:
    """Each slow entry may have one more game."""
    slow = [candidate(2000 + n, games=9, pace=0.25, loss=0.02, mu=600.0 + n) for n in range(20)]
    games = counted(pair([*ladder(1500, loss=0.0001), *slow], 30))
    assert mean(games[str(each.entry_id)] for each in slow) < 1.1


def test_a_field_of_slow_entries_plays_on() -> None:
    assert len(pair([replace(each, pace=0.1) for each in ladder(12)], 50).lineups) == 50
