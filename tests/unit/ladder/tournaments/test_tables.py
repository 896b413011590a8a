from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random

from ladder.tournaments.formats.course import standings
from ladder.tournaments.formats.plan import (
    Gauntlet,
    Groups,
    RoundRobin,
    Series,
    SingleElimination,
    Swiss,
    TieBreak,
)
from ladder.tournaments.formats.records import By, Game, Key, State, WantedGame
from ladder.tournaments.formats.round_robin import berger_rounds, divide_into_groups
from ladder.tournaments.formats.tie_breaks import (
    Duel,
    Record,
    order_by_tie_breaks,
)
from tests.unit.ladder.tournaments.simulated import Played, play_out

SIZES = range(2, 65)


def met(played: Played, stage: int = 1) -> Counter[tuple[int, ...]]:
    return Counter(
        tuple(sorted(each.outcome.order))
        for each in played.course.stage(stage)
        if each.outcome and len(each.outcome.order) == 2
    )


def test_bergers_table_of_six_is_fides() -> None:
    assert berger_rounds(6) == [
        [(1, 6), (2, 5), (3, 4)],
        [(6, 4), (5, 3), (1, 2)],
        [(2, 6), (3, 1), (4, 5)],
        [(6, 5), (1, 4), (2, 3)],
        [(3, 6), (4, 2), (5, 1)],
    ]


def test_everybody_meets_everybody_once_a_cycle() -> None:
    for size in SIZES:
        for cycles in (1, 2):
            rounds = berger_rounds(size, cycles)
            pairs = Counter(tuple(sorted(pair)) for round in rounds for pair in round)
            assert pairs == dict.fromkeys(combinations(range(1, size + 1), 2), cycles)
            assert all(len({each for p in r for each in p}) == 2 * len(r) for r in rounds)
            first = Counter(pair[0] for round in rounds for pair in round)
            second = Counter(pair[1] for round in rounds for pair in round)
            assert all(abs(first[n] - second[n]) <= 1 for n in range(1, size + 1))


def test_numbers_of_games_in_groups_differ_by_at_most_one() -> None:
    for size in range(8, 65):
        groups = divide_into_groups(range(size), 4)
        games = [
            sum(n in pair for round in berger_rounds(len(group)) for pair in round)
            for group in groups
            for n in range(1, len(group) + 1)
        ]
        assert len(games) == size
        assert max(games) - min(games) <= 1


def test_winners_of_groups_first_meet_seconds_of_other_groups() -> None:
    played = play_out((Groups(groups=4, advance=2), SingleElimination()), 16, 5)
    group = {
        each.entrant: each.group
        for each in standings(played.event, played.progress, played.course, 1)
    }
    first_round = [each for each in played.course.stage(2) if each.key.round == 1]
    for each in first_round:
        one, two = each.entrants
        assert one is not None
        assert two is not None
        assert group[one] != group[two]


def test_each_head_of_a_gauntlet_meets_all_others_once() -> None:
    for size in (4, 5, 9, 12):
        for heads in (1, 2, 3):
            pairs = met(play_out(Gauntlet(heads=heads), size, size))
            wanted = [(h, o) for h in range(1, heads + 1) for o in range(heads + 1, size + 1)]
            assert pairs == dict.fromkeys(wanted, 1)


def test_series_ends_when_decided_and_wastes_no_game() -> None:
    def first_wins(wanted: WantedGame, rng: Random) -> Game:
        return Game(wanted.number, wanted.entrants, wanted.entrants)

    short = play_out(RoundRobin(series=Series(pairs=5)), 2, result=first_wins)
    full = play_out(RoundRobin(series=Series(pairs=5, stop_when_decided=False)), 2)
    assert len(short.results[Key(1, 1, 1)]) == 6
    assert len(full.results[Key(1, 1, 1)]) == 10


def test_mirrored_games_share_a_seed_and_change_seats() -> None:
    played = play_out(RoundRobin(series=Series(pairs=1)), 2)
    one, two = played.results[Key(1, 1, 1)]
    assert one.entrants == two.entrants[::-1]


def test_late_withdrawal_gives_walk_overs() -> None:
    for format in (RoundRobin(), Swiss(rounds=5)):
        played = play_out(format, 10, 4, withdrawing=0.08)
        assert played.withdrawn
        for each in played.course.pairings:
            assert each.state is State.FINISHED
            gone = [e for e in each.entrants if e in played.withdrawn]
            if each.outcome and each.outcome.by is By.WALK_OVER:
                assert gone
                winner = each.outcome.order[0]
                left_later = played.withdrawn.get(winner, each.round) > each.round
                assert winner not in gone or left_later or each.outcome.scores == (0.0, 0.0)


TIED = Record(
    {
        1: [Duel(2, 0.0, 0.0, True), Duel(3, 1.0, 2.0, True)],
        2: [Duel(1, 1.0, 2.0, True), Duel(4, 0.0, 0.5, True)],
        3: [Duel(1, 0.0, 0.0, True), Duel(4, 1.0, 2.0, True)],
        4: [Duel(2, 1.0, 1.5, True), Duel(3, 0.0, 0.0, True)],
    },
    {},
)


def order(*tie_breaks: TieBreak, among: tuple[int, ...] = (1, 2, 3, 4)) -> list[int]:
    return [each.entrant for each in order_by_tie_breaks(among, TIED, tie_breaks)]


def test_direct_encounter_counts_only_if_all_met() -> None:
    assert order(TieBreak.DIRECT) == [1, 2, 3, 4]
    assert order(TieBreak.DIRECT, among=(1, 2)) == [2, 1]


def test_game_points_order_equal_scores() -> None:
    ranked = order_by_tie_breaks((1, 2, 3, 4), TIED, (TieBreak.BUCHHOLZ, TieBreak.GAME_POINTS))
    assert [each.entrant for each in ranked] == [2, 1, 3, 4]
    assert ranked[0].values == (("Buchholz", "2"), ("game points", "2.5"))
    assert ranked[0].explanation == "same score; better game points 2.5; the next has 2"
    assert ranked[1].explanation == "all equal; better seed"


def test_tie_for_the_last_place_that_goes_on_is_played_off() -> None:
    def only_the_first_seed_wins(wanted: WantedGame, rng: Random) -> Game:
        return Game(wanted.number, wanted.entrants, (1, 1 + (wanted.entrants[0] == 1)))

    format = RoundRobin(tie_breaks=(TieBreak.MORE_GAMES,), advance=2)
    played = play_out((format, SingleElimination()), 4, result=only_the_first_seed_wins)
    off = [each for each in played.course.pairings if each.section == "play-off"]
    assert sorted({e or 0 for each in off for e in each.entrants}) == [2, 3, 4]
    assert all(each.key.round > 3 for each in off)
