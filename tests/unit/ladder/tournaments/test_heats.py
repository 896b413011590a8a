from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from random import Random

import pytest

from ladder.tournaments.formats.course import play, standings
from ladder.tournaments.formats.export import export_csv
from ladder.tournaments.formats.heats import color_seats, take_turns
from ladder.tournaments.formats.plan import HeatRules, Heats, Plan, Solo, describe_plan
from ladder.tournaments.formats.records import Event, Game, Key, Progress, Standing, WantedGame
from ladder.tournaments.formats.standings import HeatScores
from tests.unit.ladder.tournaments.simulated import Played, play_out

SEATS = (3, 4, 8)


def seatings(played: Played) -> list[tuple[int, ...]]:
    return [game.entrants for games in played.results.values() for game in games]


def spread(counts: Counter[int], members: range) -> int:
    return max(counts[n] for n in members) - min(counts[n] for n in members)


@pytest.mark.parametrize("seats", SEATS)
def test_games_and_seats_of_each_entrant_differ_by_at_most_one(seats: int) -> None:
    for size in range(seats, 65):
        for rounds in (seats - 1, seats + 3):
            players = take_turns(range(size), size // seats, seats, rounds)
            heats = [[tuple(n[k : k + seats]) for k in range(0, len(n), seats)] for n in players]
            seated = color_seats(heats, seats)
            lineups = [heat for round in seated for heat in round]
            assert [set(heat) for heat in lineups] == [set(h) for r in heats for h in r]
            assert_even(lineups, size, seats)


def test_played_heats_are_even() -> None:
    for size in (4, 7, 18, 21):
        assert_even(seatings(play_out(Heats(rounds=6), size, size)), size, 4)


def assert_even(lineups: Sequence[tuple[int, ...]], size: int, seats: int) -> None:
    entrants = sorted({each for lineup in lineups for each in lineup})
    games = Counter(each for lineup in lineups for each in lineup)
    assert len(entrants) == min(size, len(lineups) * seats)
    assert max(games.values()) - min(games[each] for each in entrants) <= 1
    for each in entrants:
        had = Counter(lineup.index(each) for lineup in lineups if each in lineup)
        assert spread(had, range(seats)) <= 1


def test_everybody_meets_everybody_about_equally_often() -> None:
    for size, rounds in ((8, 7), (16, 5), (16, 15), (32, 10)):
        lineups = seatings(play_out(Heats(seats=4, rounds=rounds), size, 1))
        met = Counter(pair for lineup in lineups for pair in combinations(sorted(lineup), 2))
        counts = [met[pair] for pair in combinations(range(1, size + 1), 2)]
        mean = sum(counts) / len(counts)
        assert max(counts) - min(counts) <= 2
        assert sum((count - mean) ** 2 for count in counts) / len(counts) <= 0.5


def test_seats_rotate_in_a_heat_of_several_games() -> None:
    played = play_out(Heats(heat=HeatRules(games=4), rounds=1), 4)
    (games,) = played.results.values()
    for seat in range(4):
        assert sorted(game.entrants[seat] for game in games) == [1, 2, 3, 4]


def test_solo_rounds_cut_the_lowest_rewards() -> None:
    played = play_out(Solo(cuts=(4, 2), games=2), 9, 1)
    by_round = Counter(each.key.round for each in played.course.pairings)
    assert by_round == {1: 9, 2: 4, 3: 2}
    first = {
        each.outcome.order[0]: each.outcome.scores[0]
        for each in played.course.pairings
        if each.outcome and each.key.round == 1
    }
    second = {each.entrants[0] for each in played.course.pairings if each.key.round == 2}
    kept = [reward for entrant, reward in first.items() if entrant in second]
    assert min(kept) >= max(reward for n, reward in first.items() if n not in second)


def test_all_entrants_of_a_solo_round_play_the_same_seeds() -> None:
    course = play(Event(Plan((Solo(games=3),)), 5, b"s" * 32), Progress({}))
    assert len({tuple(game.seed for game in each.wanted) for each in course.pairings}) == 1


def solo_table(rewards: dict[Key, float], gone: Sequence[int] = ()) -> list[tuple[int, str]]:
    """Entrants and reasons of a solo stage of four, two of whom play a second round."""
    event = Event(Plan((Solo(cuts=(2,), games=1),)), 4, b"s" * 32)
    games = {
        key: [Game(1, (key.number if key.round == 1 else 3 - key.number,), (1,), (reward,))]
        for key, reward in rewards.items()
    }
    progress = Progress(games, {each: (1, 1) for each in gone})
    table = standings(event, progress, play(event, progress), 1)
    return [(line.entrant, line.explanation) for line in table]


def test_the_table_of_solo_games_explains_a_place_by_the_reward() -> None:
    first = {Key(1, 1, n): reward for n, reward in enumerate((4.0, 5.0, 3.0, 3.0), 1)}
    assert solo_table(first | {Key(1, 2, 1): 7.0, Key(1, 2, 2): 7.0}) == [
        (1, "same reward; first by the draw"),
        (2, "reached round 2; the next reached round 1"),
        (3, "same reward; first by the draw"),
        (4, ""),
    ]
    assert solo_table(first | {Key(1, 2, 1): 7.001, Key(1, 2, 2): 7.0})[0] == (
        2,
        "reward 7.001; the next has 7",
    )
    assert solo_table(first)[:2] == [
        (1, "its games of round 2 are not finished"),
        (2, "its games of round 2 are not finished"),
    ]


def test_solo_table_says_that_the_next_left() -> None:
    rewards = {Key(1, 1, n): 1.0 for n in (1, 2, 3)}
    (line, reason), last = solo_table(rewards, gone=[4])[-2:]
    assert (line, last) == (3, (4, ""))
    assert reason.endswith("the next withdrew or was disqualified")


@pytest.mark.parametrize("position", [(1, 0), (1, 1)])
def test_no_reward_is_the_best_if_all_left_before_a_game(position: tuple[int, int]) -> None:
    event = Event(Plan((Solo(games=1),)), 2, b"s" * 32)
    progress = Progress({}, dict.fromkeys((1, 2), position))
    course = play(event, progress)
    assert (course.finished, course.drawn_winners) == (True, ())
    lines = standings(event, progress, course, 1)
    assert [line.explanation for line in lines] == ["same reward; first by the draw", ""]


def test_the_rules_say_who_is_first_of_equal_rewards() -> None:
    first, second = describe_plan(Plan((Solo(advance=3), Solo())))
    assert "the draw orders equal rewards" in first
    assert "equal rewards by place in the stage before" in second


def drawn_winners(rewards: list[float], gone: Sequence[int] = ()) -> tuple[int, ...]:
    """Those of a finished solo tournament."""
    games = {Key(1, 1, n): [Game(1, (n,), (1,), (each,))] for n, each in enumerate(rewards, 1)}
    event = Event(Plan((Solo(games=1),)), len(rewards), b"s" * 32)
    course = play(event, Progress(games, dict.fromkeys(gone, (1, 1))))
    assert course.finished
    return course.drawn_winners


def test_the_course_names_all_with_the_best_reward() -> None:
    assert drawn_winners([5.0, 7.0, 7.0, 7.0]) == (2, 3, 4)
    assert drawn_winners([5.0, 7.0, 7.0, 7.0], gone=[3]) == (2, 4)
    assert drawn_winners([5.0, 5.0, 7.0]) == ()


def test_equal_rewards_of_a_later_solo_stage_keep_the_places_of_the_stage_before() -> None:
    event = Event(Plan((Solo(games=1, advance=3), Solo(games=1))), 3, b"s" * 32)
    first = {Key(1, 1, n): [Game(1, (n,), (1,), (float(n),))] for n in (1, 2, 3)}
    before = play(event, Progress(first))
    second = {one.key: [Game(1, (one.entrants[0] or 0,), (1,), (5.0,))] for one in before.stage(2)}
    progress = Progress(first | second)
    course = play(event, progress)
    assert (course.finished, course.drawn_winners) == (True, ())
    table = standings(event, progress, course, 2)
    same = "same reward; better place in the stage before"
    assert [(line.entrant, line.explanation) for line in table] == [(3, same), (2, same), (1, "")]


def test_heats_that_nobody_can_fill_rank_those_who_stayed_first() -> None:
    course = play(Event(Plan((Heats(rounds=2),)), 4, b"s" * 32), Progress({}, {1: (1, 0)}))
    assert course.finished
    assert course.pairings == ()
    assert course.ranking == (2, 3, 4, 1)


def test_a_final_heat_that_nobody_can_fill_keeps_the_order_of_the_stage_before() -> None:
    plan = Plan((Heats(rounds=1, advance=4), Heats(rounds=1)))
    event = Event(plan, 4, b"s" * 32)
    (first,) = play(event, Progress({})).pairings
    won = [Game(1, first.entrants, (1, 2, 3, 4))]  # type: ignore[arg-type]
    last = first.entrants[3] or 0
    course = play(event, Progress({first.key: won}, {last: (1, 1)}))
    assert course.finished
    assert course.ranking == first.entrants


def test_the_table_of_heats_explains_a_place_by_points() -> None:
    played = play_out(Heats(rounds=1), 4)
    table = standings(played.event, played.progress, played.course, 1)
    assert [line.explanation for line in table] == [
        "points: 3; the next has 2",
        "points: 2; the next has 1",
        "points: 1; the next has 0",
        "",
    ]


def play_ranked(stage: Heats, ranking: Sequence[int]) -> Played:
    """Plays a stage in which the entrants that are earlier in the ranking always win."""

    def ranked(wanted: WantedGame, rng: Random) -> Game:
        order = sorted(wanted.entrants, key=ranking.index)
        places = tuple(1 + order.index(each) for each in wanted.entrants)
        return Game(wanted.number, wanted.entrants, places)

    return play_out(stage, len(ranking), result=ranked)


def table_of(played: Played) -> list[Standing]:
    return standings(played.event, played.progress, played.course, 1)


@pytest.mark.parametrize("seats", [3, 4])
def test_winner_of_its_only_heat_is_before_those_with_more_heats(seats: int) -> None:
    stage = Heats(seats=seats, rounds=2)
    size = seats + 1
    heats = Counter(each for lineup in seatings(play_out(stage, size)) for each in lineup)
    once, other = (each for each in range(1, size + 1) if heats[each] == 1)
    twice = [each for each in heats if heats[each] == 2]
    first, second, *_ = table_of(play_ranked(stage, [once, *twice, other]))
    assert [first.entrant, second.entrant] == [once, twice[0]]
    assert [first.played, second.played] == [1, 2]
    assert first.score < second.score
    assert first.mean == f"{seats - 1}"
    assert first.explanation == f"points per heat: {seats - 1}; the next has {seats - 1.5:g}"
    assert export_csv([first], {}).splitlines()[0].endswith(",points per heat,tie-break wins")


def test_withdrawn_winner_of_one_heat_is_last() -> None:
    event = Event(Plan((Heats(rounds=3),)), 5, b"s" * 32)
    results: dict[Key, list[Game]] = {}
    gone = play(event, Progress({})).pairings[0].entrants[0] or 0
    for _ in range(3):
        course = play(event, Progress(results, {gone: (1, 1)}))
        last = course.pairings[-1]
        order = sorted(last.wanted[0].entrants, key=lambda each: (each != gone, each))
        places = tuple(1 + order.index(each) for each in last.wanted[0].entrants)
        results[last.key] = [Game(1, last.wanted[0].entrants, places)]
    progress = Progress(results, {gone: (1, 1)})
    table = standings(event, progress, play(event, progress), 1)
    assert sorted(line.played for line in table) == [1, 2, 3, 3, 3]
    assert (table[-1].entrant, table[-1].score, table[-1].mean) == (gone, 3, "1.5")


def test_withdrawal_after_the_last_round_changes_no_score() -> None:
    played = play_out(Heats(rounds=6), 5)
    before = {line.entrant: line.mean for line in table_of(played)}
    heats = {line.entrant: line.played for line in table_of(played)}
    fewest = min(heats, key=lambda each: heats[each])
    assert sorted(heats.values()) == [4, 5, 5, 5, 5]
    progress = Progress(played.progress.results, {fewest: (1, 6)})
    table = standings(played.event, progress, play(played.event, progress), 1)
    assert {line.entrant: line.mean for line in table} == before


def test_table_of_equal_numbers_of_heats_is_by_points() -> None:
    for seed in range(5):
        table = table_of(play_out(Heats(rounds=3), 8, seed))
        assert {line.played for line in table} == {3}
        order = sorted(table, key=lambda line: (-line.score, -line.wins, line.entrant))
        assert table == order
        assert [line.tie_breaks for line in table] == [(("wins", f"{n.wins}"),) for n in table]
        assert not any("heat:" in line.explanation for line in table)


def test_entrant_without_a_heat_yet_is_last() -> None:
    event = Event(Plan((Heats(rounds=3),)), 5, b"s" * 32)
    (first,) = play(event, Progress({})).pairings
    progress = Progress({first.key: [Game(1, first.wanted[0].entrants, (1, 1, 1, 1))]})
    *_, last = standings(event, progress, play(event, progress), 1)
    assert last.entrant not in first.entrants
    assert (last.played, last.score) == (0, 0)


def test_equal_means_of_different_numbers_of_heats_are_equal() -> None:
    scores = HeatScores(
        {1: 0.1 + 0.1 + 0.1, 2: 0.1 + 0.1, 3: 5 / 3, 4: 5 / 3 + 5 / 3 + 5 / 3},
        {1: 3, 2: 2, 3: 1, 4: 3},
        {1: 0, 2: 0, 3: 0, 4: 0},
        {1: 0, 2: 0, 3: 0, 4: 0},
    )
    assert scores.points_a_heat(1) == scores.points_a_heat(2)
    assert scores.points_a_heat(3) == scores.points_a_heat(4)


def test_withdrawal_changes_no_heat_that_was_paired() -> None:
    for seed in range(8):
        played = play_out(Heats(rounds=3), 9, seed)
        before = [each for each in played.course.pairings if each.key.round < 3]
        heats = Counter(each for pairing in before for each in pairing.entrants)
        rarest = {each or 0: (1, 3) for each in heats if heats[each] == 1}
        after = play(played.event, Progress(played.results, rarest))
        assert len(rarest) == 2
        assert after.pairings == played.course.pairings
        assert after.stale == ()
