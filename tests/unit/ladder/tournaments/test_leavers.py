"""Entrants that withdrew or were disqualified stand behind all others, whatever the format."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import pytest

from ladder.tournaments.formats.course import play, standings
from ladder.tournaments.formats.export import export_trf
from ladder.tournaments.formats.plan import (
    DoubleElimination,
    Gauntlet,
    Groups,
    Heats,
    RoundRobin,
    SingleElimination,
    Solo,
    Stage,
    Swiss,
    TieBreak,
)
from ladder.tournaments.formats.records import (
    By,
    Course,
    Game,
    Key,
    Progress,
    WantedGame,
    decimal_text,
)
from tests.unit.ladder.tournaments.simulated import Played, play_out

FORMATS: list[tuple[Stage, ...]] = [
    (RoundRobin(),),
    (Swiss(rounds=3),),
    (Gauntlet(),),
    (SingleElimination(third_place=True),),
    (DoubleElimination(),),
    (Heats(rounds=3),),
    (Solo(cuts=(4,)),),
    (Groups(groups=2, advance=2), SingleElimination()),
]


def better_seed_wins(wanted: WantedGame, rng: Random) -> Game:
    order = sorted(wanted.entrants)
    places = tuple(1 + order.index(each) for each in wanted.entrants)
    return Game(wanted.number, wanted.entrants, places, tuple(-float(n) for n in places))


def after_the_end(course: Course) -> tuple[int, int]:
    stage, round = course.position
    return stage, round + 1


def left(played: Played, *entrants: int, at: tuple[int, int] | None = None) -> Course:
    """The course if these entrants left too, by default after the end."""
    when = at or after_the_end(played.course)
    gone = {**played.withdrawn, **dict.fromkeys(entrants, when)}
    return play(played.event, Progress(played.results, gone))


@pytest.mark.parametrize("stages", FORMATS)
def test_champion_that_is_disqualified_after_the_end_stands_last(stages: tuple[Stage, ...]) -> None:
    played = play_out(stages, 9, 4)
    first, *others = played.course.ranking
    course = left(played, first)
    assert course.pairings == played.course.pairings
    assert course.finished
    assert course.ranking == (*others, first)
    assert course.champion == others[0]
    progress = Progress(played.results, {first: after_the_end(played.course)})
    table = standings(played.event, progress, course, len(stages))
    assert (table[-1].entrant, table[-1].rank) == (first, len(table))
    assert table[-2].explanation.endswith("the next withdrew or was disqualified")


@pytest.mark.parametrize("stages", FORMATS)
def test_there_is_no_champion_if_all_left(stages: tuple[Stage, ...]) -> None:
    played = play_out(stages, 9, 4)
    course = left(played, *range(1, 10))
    assert (course.finished, course.champion, course.drawn_winners) == (True, None, ())
    assert course.ranking == played.course.ranking


@pytest.mark.parametrize("stages", FORMATS)
def test_the_champion_is_an_entrant_that_stayed(stages: tuple[Stage, ...]) -> None:
    for seed in range(20):
        played = play_out(stages, 9, seed, withdrawing=0.15)
        stayed = set(range(1, 10)) - set(played.withdrawn)
        ranking = played.course.ranking
        assert set(ranking[: len(stayed)]) == stayed
        assert played.course.champion == (ranking[0] if stayed else None)


def test_winner_that_is_disqualified_during_its_bye_is_not_champion() -> None:
    def second_seed_wins(wanted: WantedGame, rng: Random) -> Game:
        return Game(wanted.number, wanted.entrants, tuple(1 + (n != 2) for n in wanted.entrants))

    played = play_out(RoundRobin(), 3, result=second_seed_wins)
    assert played.course.champion == 2
    (last,) = [each for each in played.course.pairings if each.key.round == 3]
    assert 2 not in last.entrants
    assert left(played, 2, at=(1, 3)).champion == 1


def test_best_of_an_earlier_stage_is_champion_if_all_finalists_left() -> None:
    played = play_out((RoundRobin(advance=2), SingleElimination()), 4, result=better_seed_wins)
    course = left(played, 1, 2, at=(2, 1))
    assert course.ranking == (3, 4, 1, 2)
    assert course.champion == 3


def test_entrant_that_leaves_in_the_next_stage_keeps_its_place_in_this_one() -> None:
    played = play_out((RoundRobin(advance=2), SingleElimination()), 4, result=better_seed_wins)
    progress = Progress(played.results, {1: (2, 1)})
    course = play(played.event, progress)
    assert standings(played.event, progress, course, 1)[0].entrant == 1
    assert standings(played.event, progress, course, 2)[0].entrant == 2


def test_ranks_of_those_who_lost_in_one_round_are_shared_by_those_who_stayed() -> None:
    played = play_out(SingleElimination(), 8, result=better_seed_wins)
    progress = Progress(played.results, {3: (1, 2), 5: (1, 1), 6: (1, 1)})
    table = standings(played.event, progress, play(played.event, progress), 1)
    ranks = [(line.entrant, line.rank) for line in table]
    assert ranks == [(1, 1), (2, 2), (4, 3), (7, 4), (8, 4), (3, 6), (5, 7), (6, 7)]


def test_entrant_that_leaves_during_a_play_off_loses_it_by_walk_over() -> None:
    def level(wanted: WantedGame, rng: Random) -> Game:
        return Game(wanted.number, wanted.entrants, (1, 1))

    played = play_out(RoundRobin(tie_breaks=(TieBreak.MORE_GAMES,)), 3, result=level)
    off = [each.key for each in played.course.pairings if each.section == "play-off"]
    assert len(off) == 3
    results = {key: games for key, games in played.results.items() if key not in off}
    course = play(played.event, Progress(results, {1: (off[0].stage, off[0].round)}))
    assert [each.key for each in course.pairings if each.section == "play-off"] == off
    walked = [each for each in course.pairings if each.outcome and each.outcome.by is By.WALK_OVER]
    assert len(walked) == 2


def test_walk_over_stays_when_its_winner_leaves_in_a_later_round() -> None:
    event = play_out(Swiss(rounds=3), 8, result=better_seed_wins).event
    results: dict[Key, Sequence[Game]] = {}
    course = play(event, Progress(results))
    gone, other = course.pairings[0].entrants
    assert gone is not None
    assert other is not None
    left = {gone: (1, 1)}
    while course.position != (1, 3):
        course = play(event, Progress(results, left))
        for pairing in course.pairings:
            if pairing.wanted:
                results[pairing.key] = [better_seed_wins(one, Random(0)) for one in pairing.wanted]
    after = play(event, Progress(results, {**left, other: (1, 3)}))
    assert after.stale == ()
    assert after.stage(1)[0].outcome == course.stage(1)[0].outcome


def test_disqualification_after_the_end_starts_no_play_off() -> None:
    def first_wins_and_others_are_level(wanted: WantedGame, rng: Random) -> Game:
        places = tuple(1 + (1 in wanted.entrants and each != 1) for each in wanted.entrants)
        return Game(wanted.number, wanted.entrants, places)

    stage = RoundRobin(tie_breaks=(TieBreak.MORE_GAMES,))
    played = play_out(stage, 3, result=first_wins_and_others_are_level)
    course = left(played, 1)
    assert course.finished
    assert course.ranking == (2, 3, 1)


def test_heats_that_an_entrant_misses_after_it_left_count_nothing() -> None:
    def ranked(wanted: WantedGame, rng: Random) -> Game:
        order = sorted(wanted.entrants)
        places = tuple(1 + order.index(each) for each in wanted.entrants)
        return Game(wanted.number, wanted.entrants, places)

    event = play_out(Heats(rounds=3), 8, result=ranked).event
    results: dict[Key, Sequence[Game]] = {}
    course = play(event, Progress(results))
    while not course.finished:
        for pairing in course.pairings:
            for wanted in pairing.wanted:
                results[pairing.key] = [ranked(wanted, Random(0))]
        course = play(event, Progress(results, {1: (1, 2)}))
    line = standings(event, Progress(results, {1: (1, 2)}), course, 1)[-1]
    assert (line.entrant, line.score, line.played) == (1, 6.0, 2)
    assert line.mean == "2"


def test_only_planned_heats_are_missed() -> None:
    played = play_out(Heats(rounds=3), 5)
    table = standings(played.event, played.progress, played.course, 1)
    planned = {line.entrant: line.played for line in table}
    key = Key(1, 1, 1)
    assert {planned[each or 0] for each in played.course.get(key).entrants} == {2, 3}
    for entrant in filter(None, played.course.get(key).entrants):
        progress = Progress({key: played.results[key]}, {entrant: (1, 1)})
        *_, line = standings(played.event, progress, play(played.event, progress), 1)
        assert line.entrant == entrant
        assert line.mean == decimal_text(Fraction(line.score) / planned[entrant], 2)


def test_sums_of_rewards_that_are_equal_as_decimal_numbers_are_equal() -> None:
    rewards = {1: (0.1, 0.2, 0.3), 2: (0.6, 0.0, 0.0)}

    def play_solo(wanted: WantedGame, rng: Random) -> Game:
        (entrant,) = wanted.entrants
        return Game(wanted.number, wanted.entrants, (1,), (rewards[entrant][wanted.number - 1],))

    assert play_out(Solo(games=3), 2, result=play_solo).course.drawn_winners == (1, 2)


def test_ranks_in_the_report_of_a_swiss_stage_put_who_left_last() -> None:
    played = play_out(Swiss(rounds=3), 8, result=better_seed_wins)
    first = played.course.ranking[0]
    progress = Progress(played.results, {first: after_the_end(played.course)})
    course = play(played.event, progress)
    text = export_trf(played.event, progress, course, 1, {n: f"agent {n}" for n in range(1, 9)})
    (line,) = [one for one in text.splitlines() if one.startswith(f"001 {first:4d}")]
    assert line[85:89] == "   8"
