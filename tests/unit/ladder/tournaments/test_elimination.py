from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise
from random import Random

from ladder.tournaments.formats.course import standings
from ladder.tournaments.formats.drawing import bracket
from ladder.tournaments.formats.elimination import bracket_nodes, seed_order
from ladder.tournaments.formats.plan import DoubleElimination, Series, SingleElimination
from ladder.tournaments.formats.records import By, Course, Game, Key, State, Takes, WantedGame
from tests.unit.ladder.tournaments.simulated import play_out

SIZES = (*range(2, 21), 24, 31, 32, 33, 48, 63, 64)
"""Every number of byes up to 16 entrants; around the next powers of two; between them."""
SOME = (*range(2, 10), 16, 17, 33)


@cache
def double_elimination(size: int) -> Course:
    return play_out(DoubleElimination(reset=True), size, size).course


def losses(course: Course) -> Counter[int]:
    return Counter(
        loser for each in course.pairings if each.outcome for loser in each.outcome.order[1:]
    )


def test_all_but_the_winner_lose_twice_with_reset() -> None:
    withdrawn = [play_out(DoubleElimination(), n, n, withdrawing=0.05).course for n in SOME]
    for course in [*map(double_elimination, SIZES), *withdrawn]:
        lost = losses(course)
        assert lost.pop(course.ranking[0], 0) < 2
        assert lost == dict.fromkeys(course.ranking[1:], 2)


def test_without_reset_only_the_winner_of_the_losers_bracket_may_lose_once() -> None:
    for size in SOME:
        course = play_out(DoubleElimination(reset=False), size, size).course
        lost = losses(course)
        second = course.ranking[1]
        assert {lost[each] for each in course.ranking[2:]} <= {2}
        assert lost[second] in (1, 2)


def test_the_losing_finalist_is_second() -> None:
    for size in SIZES:
        single = play_out(SingleElimination(), size, size).course
        for course in (double_elimination(size), single):
            final = [each for each in course.pairings if each.section == "final" and each.outcome]
            assert final[-1].outcome is not None
            assert course.ranking[:2] == final[-1].outcome.order


def test_no_pairing_joins_two_byes_in_the_winners_bracket() -> None:
    for size in SIZES:
        course = double_elimination(size)
        winners = [each for each in course.pairings if each.section == "winners"]
        assert all(each.state is State.FINISHED for each in winners)
        byes = [each for each in winners if each.outcome and each.outcome.by is By.BYE]
        assert all(each.key.round == 1 for each in byes)
        assert sorted(each.entrants[0] or 0 for each in byes) == list(range(1, len(byes) + 1))


def test_the_best_two_seeds_meet_only_in_the_final() -> None:
    assert seed_order(8) == [1, 8, 4, 5, 2, 7, 3, 6]


def test_third_place_is_played_by_the_losers_of_the_semi_finals() -> None:
    played = play_out(SingleElimination(third_place=True), 8, 3)
    third = next(each for each in played.course.pairings if each.section == "third place")
    assert third.outcome is not None
    assert played.course.ranking[2:4] == third.outcome.order
    table = standings(played.event, played.progress, played.course, 1)
    assert [each.rank for each in table] == [1, 2, 3, 4, 5, 5, 5, 5]


def test_level_series_go_to_the_better_seed_after_more_pairs() -> None:
    def level(wanted: WantedGame, rng: Random) -> Game:
        return Game(wanted.number, wanted.entrants, (1, 1))

    format = SingleElimination(series=Series(pairs=2, more_pairs=3))
    played = play_out(format, 4, result=level)
    assert played.course.ranking[0] == 1
    assert {len(games) for games in played.results.values()} == {10}
    assert {each.outcome.by for each in played.course.pairings if each.outcome} == {By.SEED}


def test_boxes_of_a_bracket_do_not_overlap() -> None:
    for size in (2, 3, 8, 13, 64):
        played = play_out(DoubleElimination(), size, size)
        drawn = bracket(played.course, 1)
        for column in range(len(drawn.columns)):
            rows = sorted(each.y for each in drawn.boxes if each.column == column)
            assert all(b - a >= 1 for a, b in pairwise(rows))
            assert all(0.5 <= y <= drawn.height - 0.5 for y in rows)


def rematches(size: int, trials: int = 1000) -> float:
    """Pairs that meet again before the final, on average, if each pairing is won by chance."""
    nodes = bracket_nodes(DoubleElimination(reset=False), 1, size)[:-1]
    rng, again = Random(1), 0
    for _ in range(trials):
        order: dict[Key, list[int]] = {}
        met: Counter[frozenset[int]] = Counter()
        for node in nodes:
            pair = [
                order[origin.key][origin.takes is Takes.LOSER] if origin.key else origin.number
                for origin in node.origins
            ]
            met[frozenset(pair)] += 1
            order[node.key] = rng.sample(pair, 2)
        again += sum(count > 1 for count in met.values())
    return again / trials


def test_few_entrants_of_a_double_elimination_meet_twice() -> None:
    assert rematches(16) < 0.85
    assert rematches(32) < 0.85
    assert rematches(64) < 1.0
