"""The ranking measures of one-seat seasons, and the distribution of rounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from games import GAMES
from ladder.ids import AgentId, EntryId, SubmissionId, TeamId
from ladder.leagues.hosting import measures_of
from ladder.leagues.measures import (
    REWARD,
    Measure,
    MeasureKind,
    Totals,
    add_game,
    estimates,
    sort_key,
    student_t_95,
    worst_reward_so_far,
)
from ladder.matches.pairing import Candidate, EntryRound, next_rounds
from ladder.matches.pairing.solo_rounds import CATCH_UP

SNAKE = (
    Measure("won", "Won", MeasureKind.SHARE),
    Measure("length", "Length", MeasureKind.MEAN),
    Measure("steps", "Steps of won games", MeasureKind.MEAN, is_higher_better=False, of="won"),
)


def totals_of(*games: tuple[int, int, int]) -> Totals:
    """Totals after these games: won, length, steps."""
    totals: Totals = {}
    for won, length, steps in games:
        totals = add_game(SNAKE, totals, {"won": won, "length": length, "steps": steps})
    return totals


def runner(name: str, last: int, in_flight: int = 0, weight: float = 1.0) -> EntryRound:
    return EntryRound(
        Candidate(
            EntryId(name),
            SubmissionId(f"s{name}"),
            AgentId(f"a{name}"),
            TeamId(f"t{name}"),
            "digest",
            "numpy",
            600.0,
            200.0,
            0,
            in_flight,
            weight,
        ),
        last,
    )


def rewards(measure: Measure, *paid: float | None) -> Totals:
    """Totals after games with these rewards; None: the entry failed."""
    totals: Totals = {}
    for reward in paid:
        totals = add_game((measure,), totals, {"reward": reward})
    return totals


def test_a_failed_game_counts_as_the_worst_reward() -> None:
    honest, crashing = rewards(REWARD, -4.0, -8.0), rewards(REWARD, -4.0, None)
    worst = worst_reward_so_far((REWARD,), (honest, crashing))
    [one], [two] = (estimates((REWARD,), each, worst) for each in (honest, crashing))
    assert (one.games, one.value) == (two.games, two.value) == (2, -6.0)
    assert (one.low, one.high) == (two.low, two.high)
    [all_failed] = estimates((REWARD,), rewards(REWARD, None, None), worst)
    assert (all_failed.games, all_failed.value) == (2, -8.0)


def test_a_failed_game_counts_as_zero_without_negative_rewards() -> None:
    paid = rewards(REWARD, 3.0, 9.0, None)
    assert worst_reward_so_far((REWARD,), (paid,)) == 0.0
    assert [one.value for one in estimates((REWARD,), paid, 0.0)] == [4.0]
    fewer = replace(REWARD, is_higher_better=False)
    assert (
        worst_reward_so_far((fewer,), (rewards(fewer, 3.0, 9.0, None), rewards(fewer, 5.0))) == 9.0
    )
    assert worst_reward_so_far((replace(fewer, kind=MeasureKind.SHARE),), ()) == 1.0


def test_a_few_lucky_games_rank_below_hundreds_of_good_games() -> None:
    measures = (Measure("won", "Games won", MeasureKind.SHARE),)

    def worth(won: float, games: int) -> tuple[float, ...]:
        return sort_key(measures, estimates(measures, {"won": (games, won, won)}))

    assert worth(270, 300) < worth(5, 5)
    assert worth(300, 300) < worth(270, 300) < worth(269, 300)


def test_equal_results_rank_equally_in_any_order() -> None:
    measures = (Measure("reward", "Reward", MeasureKind.MEAN),)

    def worth(*rewards: float) -> tuple[float, ...]:
        totals: Totals = {}
        for reward in rewards:
            totals = add_game(measures, totals, {"reward": reward})
        return sort_key(measures, estimates(measures, totals))

    assert worth(0.1, 0.2, 0.3) == worth(0.3, 0.2, 0.1)
    assert worth(0.1, 0.2, 0.3001) < worth(0.1, 0.2, 0.3)


def test_only_won_games_count_for_steps() -> None:
    won, length, steps = estimates(SNAKE, totals_of((1, 100, 700), (0, 40, 90), (1, 100, 900)))
    assert won.games == 3
    assert won.value == pytest.approx(2 / 3)
    assert (length.games, length.value) == (3, 80.0)
    assert (steps.games, steps.value) == (2, 800.0)
    assert steps.low == pytest.approx(800 - 12.706 * 100)


def test_an_interval_ends_at_the_bounds_of_the_rules() -> None:
    (bounded,) = measures_of(GAMES["snake"], 1, GAMES["snake"].configure({}))[1:2]
    assert (bounded.name, bounded.least, bounded.most) == ("length", 2, 100)
    totals: Totals = {}
    for length in (100, 100, 70, 100):
        totals = add_game((bounded,), totals, {"length": length})
    (found,) = estimates((bounded,), totals)
    assert (found.value, found.high) == (92.5, 100)
    assert found.low is not None
    assert 2 < found.low < 92.5
    assert Measure.of_json(bounded.to_json()) == bounded


def test_a_measure_without_games_is_unknown() -> None:
    _, length, steps = estimates(SNAKE, totals_of((0, 40, 90)))
    assert (length.value, length.low, length.high) == (40.0, None, None)
    assert (steps.games, steps.value) == (0, None)


def test_the_first_differing_measure_decides_the_rank() -> None:
    fields = {
        "winner": totals_of((1, 100, 900), (1, 100, 900)),
        "quicker": totals_of((1, 100, 800), (1, 100, 800)),
        "long": totals_of((0, 90, 100), (0, 95, 100)),
        "short": totals_of((0, 10, 100), (0, 10, 100)),
    }
    ranked = sorted(fields, key=lambda name: sort_key(SNAKE, estimates(SNAKE, fields[name])))
    assert ranked == ["quicker", "winner", "long", "short"]


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50))
def test_sums_give_the_mean_and_the_interval(values: Sequence[float]) -> None:
    measures = (Measure("reward", "Reward", MeasureKind.MEAN),)
    totals: Totals = {}
    for value in values:
        totals = add_game(measures, totals, {"reward": value})
    [one] = estimates(measures, totals)
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    half = student_t_95(len(values) - 1) * math.sqrt(variance / len(values))
    assert one.value == pytest.approx(mean, abs=1e-6)
    assert one.high is not None
    assert one.value is not None
    assert one.high - one.value == pytest.approx(half, rel=1e-3, abs=10)


@pytest.mark.parametrize(("freedom", "true"), [(1, 12.706), (5, 2.571), (10, 2.228), (100, 1.984)])
def test_students_t_quantiles_match_the_tables(freedom: int, true: float) -> None:
    assert student_t_95(freedom) == pytest.approx(true, rel=2e-3)


def test_a_round_begins_when_every_entry_has_the_previous_round() -> None:
    field = [runner("a", 3), runner("b", 2), runner("c", 3)]
    given_rounds = [(each.entry_id, number) for each, number in next_rounds(field, 3, 5)]
    assert given_rounds == [("b", 3), ("a", 4), ("c", 4), ("b", 4), ("a", 5)]


def test_a_returning_entry_catches_up_a_few_rounds_at_a_time() -> None:
    rounds = next_rounds([runner("a", 9), runner("away", 2)], 9, 8)
    assert [n for each, n in rounds if each.entry_id == "away"] == [3, 4][:CATCH_UP]
    assert [n for each, n in rounds if each.entry_id == "a"] == [10, 11, 12, 13, 14, 15]


def test_entries_without_a_node_or_weight_delay_no_round() -> None:
    unserved = runner("b", 0)
    unserved = replace(
        unserved, candidate=msgspec.structs.replace(unserved.candidate, profile="torch")
    )
    rounds = next_rounds([runner("a", 0), unserved, runner("c", 0, weight=0.0)], 0, 2, {"numpy"})
    assert [(each.entry_id, n) for each, n in rounds] == [("a", 1), ("a", 2)]
    assert next_rounds([runner("away", 2, in_flight=CATCH_UP)], 9, 5) == []


@given(
    st.lists(st.integers(0, 1), min_size=1, max_size=6),
    st.lists(st.integers(1, 5), min_size=1, max_size=20),
)
def test_no_entry_falls_more_than_one_round_behind(
    lasts: Sequence[int], parts: Sequence[int]
) -> None:
    field = [runner(str(n), last) for n, last in enumerate([*lasts, 1])]
    begun = 1
    for part in parts:
        for each, number in next_rounds(field, begun, part):
            n = int(each.entry_id)
            assert number == field[n].round + 1
            field[n] = replace(field[n], round=number)
            begun = max(begun, number)
        assert min(one.round for one in field) >= begun - 1
