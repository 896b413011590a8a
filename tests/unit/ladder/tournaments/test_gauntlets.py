from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from ladder.tournaments.formats.course import play, standings
from ladder.tournaments.formats.export import export_csv
from ladder.tournaments.formats.plan import (
    Gauntlet,
    Plan,
    SingleElimination,
    TieBreak,
    decode_plan,
    describe_plan,
    encode_plan,
)
from ladder.tournaments.formats.records import Event, Game, Progress, WantedGame
from ladder.tournaments.formats.tie_breaks import Duel, Record, tied_groups
from tests.unit.ladder.tournaments.simulated import Played, play_out

PLAN = (
    b'{"stages":[{"format":"gauntlet","advance":0,"series":{"pairs":1,"stop_when_decided":true,'
    b'"more_pairs":2},"heads":1,"tie_breaks":["wins","game points"]}]}'
)
"""A gauntlet as older versions stored it."""
Row = tuple[int, float, dict[str, str], str]


def lost_by_the_head_to(*winners: int) -> Callable[[WantedGame, Random], Game]:
    """The only head loses to these entrants and wins against the others."""

    def play_game(wanted: WantedGame, rng: Random) -> Game:
        best = max(wanted.entrants) if set(winners) & set(wanted.entrants) else 1
        return Game(wanted.number, wanted.entrants, tuple(1 + (e != best) for e in wanted.entrants))

    return play_game


def rows(played: Played) -> list[Row]:
    table = standings(played.event, played.progress, played.course, 1)
    assert [line.rank for line in table] == list(range(1, len(table) + 1))
    assert tuple(line.entrant for line in table) == played.course.ranking
    return [(line.entrant, line.score, dict(line.tie_breaks), line.explanation) for line in table]


def means(score: str, wins: str, points: str) -> dict[str, str]:
    return {
        "score per pairing": score,
        "wins per pairing": wins,
        "game points per pairing": points,
    }


def test_gauntlet_ranks_by_score_per_pairing() -> None:
    plan = decode_plan(PLAN)
    played = play_out(plan.stages, 5, result=lost_by_the_head_to(3, 5))
    assert rows(played) == [
        (3, 1.0, means("1", "1", "2"), "all equal; better seed"),
        (5, 1.0, means("1", "1", "2"), "score per pairing 1; the next has 0.5"),
        (1, 2.0, means("0.5", "0.5", "1"), "score per pairing 0.5; the next has 0"),
        (2, 0.0, means("0", "0", "0"), "all equal; better seed"),
        (4, 0.0, means("0", "0", "0"), ""),
    ]
    head = export_csv(standings(played.event, played.progress, played.course, 1), {}).split("\n")[0]
    assert head.endswith(",wins,score per pairing,wins per pairing,game points per pairing")


def test_tie_breaks_of_a_gauntlet_count_per_pairing() -> None:
    def drawn(wanted: WantedGame, rng: Random) -> Game:
        seats = wanted.entrants
        if set(seats) == {1, 2}:  # each wins a game of the pair
            return Game(wanted.number, seats, (1, 2))
        if set(seats) == {1, 3}:
            return Game(wanted.number, seats, tuple(1 + (e != 1) for e in seats))
        return Game(wanted.number, seats, tuple(1 + (e == 1) for e in seats))

    played = play_out(Gauntlet(), 4, result=drawn)
    assert rows(played) == [
        (4, 1.0, means("1", "1", "2"), "score per pairing 1; the next has 0.5"),
        (
            1,
            1.5,
            means("0.5", "0.333333", "1"),
            "same score per pairing; better wins per pairing 0.33; the next has 0",
        ),
        (2, 0.5, means("0.5", "0", "1"), "score per pairing 0.5; the next has 0"),
        (3, 0.0, means("0", "0", "0"), ""),
    ]


def test_withdrawn_challenger_of_a_gauntlet_ranks_by_all_its_pairings() -> None:
    played = play_out(Gauntlet(heads=2), 4, result=lost_by_the_head_to(3))
    first = next(each for each in played.course.stage(1) if 3 in each.entrants)
    kept = Progress({first.key: played.results[first.key]}, {3: (1, 1)})
    table = standings(played.event, kept, play(played.event, kept), 1)
    (line,) = [line for line in table if line.entrant == 3]
    assert (line.score, line.played, line.mean) == (1.0, 2, "0.5")


def test_unequal_means_differ_in_the_csv_table() -> None:
    played = play_out(Gauntlet(), 4, result=lost_by_the_head_to(2, 3))
    line = standings(played.event, played.progress, played.course, 1)[-2]
    assert (line.entrant, line.mean) == (1, "0.33")
    assert export_csv([line], {}).splitlines()[1] == "3,1,,,1,3,1,0.333333,0.333333,0.666667"


def test_who_left_stands_last_in_a_gauntlet_that_ranks_by_means() -> None:
    played = play_out(Gauntlet(), 4, result=lost_by_the_head_to(2, 3))
    gone = Progress(played.results, {2: (1, 1)})
    table = standings(played.event, gone, play(played.event, gone), 1)
    assert [(line.entrant, line.explanation) for line in table] == [
        (3, "score per pairing 1; the next has 0.33"),
        (1, "score per pairing 0.33; the next has 0"),
        (4, "the next withdrew or was disqualified"),
        (2, ""),
    ]


def test_play_off_of_a_gauntlet_follows_its_means() -> None:
    stage = Gauntlet(tie_breaks=(TieBreak.MORE_GAMES,), advance=2)
    played = play_out((stage, SingleElimination()), 5, result=lost_by_the_head_to(2, 3, 4))
    off = [each for each in played.course.pairings if each.section == "play-off"]
    assert sorted({e or 0 for each in off for e in each.entrants}) == [2, 3, 4]


@pytest.mark.parametrize("tie_break", [TieBreak.BUCHHOLZ, TieBreak.SONNEBORN_BERGER])
def test_equal_means_of_different_opponents_tie(tie_break: TieBreak) -> None:
    def of_ten(tenths: int) -> list[Duel]:
        return [Duel(None, float(n < tenths), 0.0, False) for n in range(10)]

    record = Record(
        {
            1: [Duel(each, 0.5, 1.0, True) for each in (3, 4)],
            2: [Duel(each, 0.5, 1.0, True) for each in (5, 6)],
            **dict(zip((3, 4, 5, 6), map(of_ten, (1, 2, 3, 0)), strict=True)),
        },
        {},
        by_mean=True,
    )
    assert tied_groups((1, 2), record, (tie_break,)) == [[1, 2]]


def test_plan_of_a_gauntlet_says_that_means_count() -> None:
    plan = Plan((Gauntlet(advance=2), SingleElimination()))
    assert decode_plan(encode_plan(plan)) == plan
    assert describe_plan(plan)[0].startswith(
        "Gauntlet: the first entrant meets each of the others; "
        "score and tie-breaks are divided by the number of pairings; who leaves stands last; "
    )


@pytest.mark.parametrize(
    ("heads", "who"), [(1, "The first entrant"), (2, "Each of the first 2 entrants")]
)
def test_a_pairing_of_a_gauntlet_says_who_meets_all_others(heads: int, who: str) -> None:
    course = play(Event(Plan((Gauntlet(heads=heads),)), 5, b"s" * 32), Progress({}))
    assert {one.reason for one in course.pairings} == {f"{who} meets each of the others."}
