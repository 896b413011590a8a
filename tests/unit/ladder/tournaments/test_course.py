from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import pytest

from ladder.errors import Invalid
from ladder.tournaments.formats.course import changed, downstream, play, standings, without_stale
from ladder.tournaments.formats.export import encode_course, export_csv
from ladder.tournaments.formats.plan import (
    DoubleElimination,
    Groups,
    HeatRules,
    Heats,
    Plan,
    RoundRobin,
    SingleElimination,
    Solo,
    Stage,
    Swiss,
    check_plan,
    decode_plan,
    describe_plan,
    encode_plan,
)
from ladder.tournaments.formats.records import (
    Course,
    Event,
    Game,
    Key,
    Progress,
    WantedGame,
    commitment,
    draw_order,
)
from tests.unit.ladder.tournaments.simulated import play_out

CHAINS: list[tuple[Stage, ...]] = [
    (Swiss(rounds=4, advance=8), SingleElimination(third_place=True)),
    (Groups(groups=4, advance=2), DoubleElimination()),
    (Heats(rounds=3, advance=4), Heats(rounds=1, heat=HeatRules(games=4))),
    (RoundRobin(),),
    (Solo(cuts=(4,)),),
]


@pytest.mark.parametrize("stages", CHAINS)
def test_course_computed_again_from_its_log_is_the_same_to_the_byte(
    stages: tuple[Stage, ...],
) -> None:
    for size in (13, 20):
        played = play_out(stages, size, size, withdrawing=0.01)
        keys = list(played.results)
        Random(size).shuffle(keys)
        shuffled = {key: list(reversed(played.results[key])) for key in keys}
        again = play(played.event, Progress(shuffled, played.withdrawn))
        assert encode_course(again) == encode_course(played.course)
        assert not again.stale
        assert sorted(again.ranking) == list(range(1, size + 1))


def test_unfinished_rounds_use_nothing_that_was_published_later() -> None:
    played = play_out(Swiss(rounds=5), 12, 1)
    first = {key: games for key, games in played.results.items() if key.round == 1}
    fresh = play(played.event, Progress(first))
    cached = play(played.event, Progress(first, {}, played.course.published))
    assert encode_course(fresh) == encode_course(cached)
    assert fresh.position == (1, 2)


def better_seed_wins(wanted: WantedGame, rng: Random) -> Game:
    one, two = wanted.entrants
    return Game(wanted.number, wanted.entrants, (1, 2) if one < two else (2, 1))


def finish(event: Event, results: Mapping[Key, Sequence[Game]]) -> Course:
    """Plays on from these results; the better seed always wins."""
    progress = Progress(dict(results))
    course = play(event, progress)
    while not course.finished:
        more = {
            each.key: [
                *without_stale(progress, course).results.get(each.key, ()),
                *(better_seed_wins(wanted, Random(0)) for wanted in each.wanted),
            ]
            for each in course.pairings
            if each.wanted
        }
        progress = Progress({**progress.results, **more})
        course = play(event, progress)
    return course


def test_new_result_of_a_quarter_final_changes_the_pairings_that_depend_on_it() -> None:
    played = play_out(SingleElimination(third_place=True), 16, result=better_seed_wins)
    quarter = Key(1, 2, 3)
    turned = [replace(game, places=game.places[::-1]) for game in played.results[quarter]]
    results = {**played.results, quarter: turned}
    after = play(played.event, Progress(results))
    dependent = downstream(played.event, played.course, quarter)
    assert dependent == (Key(1, 3, 2), Key(1, 4, 1), Key(1, 4, 2))
    assert changed(played.course, after) == (quarter, *dependent)
    assert after.stale == dependent
    replayed = finish(played.event, results)
    first = finish(played.event, {key: results[key] for key in results if key.round <= 2})
    assert encode_course(replayed) == encode_course(first)
    assert replayed.ranking[0] == 1


def test_later_pairings_of_a_swiss_stage_depend_on_a_result() -> None:
    played = play_out((Swiss(rounds=3, advance=2), SingleElimination()), 8, 1)
    dependent = downstream(played.event, played.course, Key(1, 2, 1))
    assert {key.round for key in dependent if key.stage == 1} == {3}
    assert Key(2, 1, 1) in dependent


def test_plans_survive_json_and_are_described() -> None:
    for stages in CHAINS:
        plan = Plan(stages)
        assert decode_plan(encode_plan(plan)) == plan
        assert len(describe_plan(plan)) == len(stages)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("{", "plan"),
        ('{"stages": []}', "plan.stages"),
        ('{"stages": [{"format": "chess"}]}', "plan.stages[0]"),
        ('{"stages": [{"format": "swiss", "rounds": 0}]}', "plan.stages[0].rounds"),
        ('{"stages": [{"format": "swiss", "colour": 1}]}', "plan.stages[0]"),
    ],
)
def test_wrong_plan_is_refused_with_its_field(text: str, field: str) -> None:
    with pytest.raises(Invalid) as error:
        decode_plan(text)
    assert error.value.field.startswith(field)


@pytest.mark.parametrize(
    ("stages", "size", "seats", "field"),
    [
        ((RoundRobin(),), 1, 2, "entrants"),
        ((RoundRobin(),), 4, 4, "plan.stages[0].format"),
        ((Heats(seats=4),), 8, 8, "plan.stages[0].seats"),
        ((Heats(seats=4),), 3, 4, "plan.stages[0]"),
        ((Swiss(rounds=6),), 6, 2, "plan.stages[0].rounds"),
        ((Swiss(rounds=3), SingleElimination()), 6, 2, "plan.stages[0].advance"),
        ((Groups(),), 8, 2, "plan.stages[0].format"),
        ((SingleElimination(advance=2),), 8, 2, "plan.stages[0].advance"),
        ((Solo(cuts=(4, 5)),), 8, 1, "plan.stages[0].cuts"),
    ],
)
def test_plan_that_cannot_be_played_is_refused(
    stages: tuple[Stage, ...], size: int, seats: int, field: str
) -> None:
    with pytest.raises(Invalid) as error:
        check_plan(Plan(stages), size, seats)
    assert error.value.field == field


def test_drawn_order_depends_on_the_seed_alone() -> None:
    items = [f"agent {n}" for n in range(20)]
    assert draw_order(b"a" * 32, "x", items) == draw_order(b"a" * 32, "x", items[::-1])
    assert draw_order(b"a" * 32, "x", items) != draw_order(b"b" * 32, "x", items)
    assert len(commitment(b"a" * 32)) == 64


def test_tables_as_csv_hold_no_formula() -> None:
    played = play_out(RoundRobin(), 3)
    table = standings(played.event, played.progress, played.course, 1)
    text = export_csv(table, {1: "=cmd()", 2: 'a "b", c', 3: "c"})
    assert "'=cmd()" in text
    assert "=cmd" not in text.replace("'=cmd", "")


@pytest.mark.parametrize("stage", [Heats(), RoundRobin()])
def test_columns_of_a_table_as_csv_have_different_names(stage: Stage) -> None:
    played = play_out(stage, 4)
    table = standings(played.event, played.progress, played.course, 1)
    head, *lines = csv.reader(io.StringIO(export_csv(table, {})))
    assert len(set(head)) == len(head)
    assert {len(line) for line in lines} == {len(head)}
