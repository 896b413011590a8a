"""The box's kaggle_environments module agrees with the real package."""

from __future__ import annotations

import inspect
import json
import operator
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.box.kaggle import kaggle_environments as ours
from sandbox.profiles import BOX_PROGRAM
from tests.integration.kaggle_peer import make, peer_game

OUR_GEESE = ours.envs.hungry_geese.hungry_geese
REAL_GEESE: Any = peer_game
real: Any = sys.modules["kaggle_environments"]
POINTS = tuple(product(range(-3, 8), range(-3, 8)))


def _boards() -> st.SearchStrategy[tuple[int, int, list[list[int]], list[int]]]:
    """Columns, rows, geese by seat (some out, some crowded), food."""

    def fill(size: tuple[int, int]) -> st.SearchStrategy[Any]:
        cells = st.integers(0, size[0] * size[1] - 1)
        geese = st.lists(st.lists(cells, max_size=12), min_size=1, max_size=8)
        return st.tuples(st.just(size[0]), st.just(size[1]), geese, st.lists(cells, max_size=4))

    return st.tuples(st.integers(3, 12), st.integers(3, 12)).flatmap(fill)


def _outcome(call: Callable[[], Any]) -> Any:
    """The result and the generator's state after the call, or the kind of its exception."""
    random.seed(7)
    try:
        return call(), random.random()
    except Exception as error:
        return type(error)


@given(_boards(), st.data())
def test_torus_arithmetic_matches_kaggle(
    board: tuple[int, int, Any, list[int]], data: st.DataObject
) -> None:
    columns, rows, _, food = board
    cell = data.draw(st.integers(0, columns * rows - 1))
    assert OUR_GEESE.row_col(cell, columns) == REAL_GEESE.row_col(cell, columns)
    adjacent = OUR_GEESE.adjacent_positions(cell, columns, rows)
    assert adjacent == REAL_GEESE.adjacent_positions(cell, columns, rows)
    for our_move, real_move in zip(OUR_GEESE.Action, REAL_GEESE.Action, strict=True):
        assert OUR_GEESE.translate(cell, our_move, columns, rows) == REAL_GEESE.translate(
            cell, real_move, columns, rows
        )
    assert _outcome(lambda: OUR_GEESE.min_distance(cell, food, columns)) == _outcome(
        lambda: REAL_GEESE.min_distance(cell, food, columns)
    )


@given(st.lists(_boards(), min_size=1, max_size=6), st.data())
def test_greedy_moves_match_kaggle_over_several_steps(
    boards: Sequence[tuple[int, int, list[list[int]], list[int]]], data: st.DataObject
) -> None:
    columns, rows = boards[0][:2]
    configuration = {"columns": columns, "rows": rows}
    cells = columns * rows
    OUR_GEESE.cached_greedy_agents.clear()
    REAL_GEESE.cached_greedy_agents.clear()
    ours_made = OUR_GEESE.GreedyAgent(OUR_GEESE.Configuration(configuration))
    real_made = REAL_GEESE.GreedyAgent(REAL_GEESE.Configuration(configuration))
    for _, _, geese, food in boards:
        observation = {
            "geese": [[cell % cells for cell in goose] for goose in geese],
            "food": [cell % cells for cell in food],
            "index": data.draw(st.integers(0, len(geese) - 1)),
        }
        assert _outcome(lambda: ours_made(OUR_GEESE.Observation(observation))) == _outcome(  # noqa: B023
            lambda: real_made(REAL_GEESE.Observation(observation))  # noqa: B023
        )
        assert _outcome(lambda: OUR_GEESE.greedy_agent(observation, configuration)) == _outcome(  # noqa: B023
            lambda: REAL_GEESE.greedy_agent(observation, configuration)  # noqa: B023
        )
        last = real_made.last_action
        assert (ours_made.last_action and ours_made.last_action.name) == (last and last.name)


def test_greedy_and_random_agents_play_whole_games_like_kaggle() -> None:
    environment = make()
    for seed in range(3):
        random.seed(seed)
        environment.reset(4)
        rng = random.Random(seed)
        configuration = dict(environment.configuration)
        players = [
            (
                OUR_GEESE.GreedyAgent(OUR_GEESE.Configuration(configuration)),
                REAL_GEESE.GreedyAgent(REAL_GEESE.Configuration(configuration)),
            )
            for _ in range(4)
        ]
        while not environment.done:
            seen = environment.state[0].observation
            moves = [rng.choice(("NORTH", "EAST", "SOUTH", "WEST")) for _ in range(4)]
            for seat, (our_player, real_player) in enumerate(players):
                if environment.state[seat].status != "ACTIVE":
                    continue
                view = {"geese": seen.geese, "food": seen.food, "index": seat}
                random.seed(rng.random())
                before = random.getstate()
                moves[seat] = our_player(OUR_GEESE.Observation(view))
                random.setstate(before)
                assert real_player(REAL_GEESE.Observation(view)) == moves[seat]
            environment.step(moves)
    assert _outcome(OUR_GEESE.random_agent) == _outcome(REAL_GEESE.random_agent)


def test_moves_match_kaggle() -> None:
    pairs = list(zip(OUR_GEESE.Action, REAL_GEESE.Action, strict=True))
    for our_move, real_move in pairs:
        assert (our_move.name, our_move.value) == (real_move.name, real_move.value)
        assert our_move.to_row_col() == real_move.to_row_col()
        assert our_move.opposite().name == real_move.opposite().name
        assert repr(our_move) == repr(real_move)
        assert OUR_GEESE.Action[our_move.name] is our_move is OUR_GEESE.Action(our_move.value)


@pytest.mark.parametrize("name", ["Observation", "Configuration"])
def test_observation_and_configuration_properties_match_kaggle(name: str) -> None:
    kinds = [getattr(module, name) for module in (OUR_GEESE, REAL_GEESE)]
    names = [n for n, _ in inspect.getmembers(kinds[1], lambda m: isinstance(m, property))]
    assert len(names) >= 5
    keys = ["geese", "food", "index", "step", "remainingOverageTime", "columns", "rows"]
    keys += ["hunger_rate", "min_food", "max_length", "episodeSteps", "actTimeout", "runTimeout"]
    values = {key: number for number, key in enumerate(keys)}
    one, other = (kind(values) for kind in kinds)
    assert one == other == values
    assert [getattr(one, n) for n in names] == [getattr(other, n) for n in names]
    for kind in kinds:
        empty = kind()
        for n in names:
            with pytest.raises(KeyError):
                getattr(empty, n)
            with pytest.raises(AttributeError):
                setattr(empty, n, 1)


def test_star_imports_match_kaggle() -> None:
    dropped = {"kaggle_environments", "dirpath", "jsonpath", "f"}
    public = [name for name in vars(REAL_GEESE) if name[0] != "_" and name not in dropped]
    assert public == OUR_GEESE.__all__
    assert all(hasattr(OUR_GEESE, name) for name in public)
    for name in public:
        assert callable(getattr(OUR_GEESE, name)) == callable(getattr(REAL_GEESE, name)), name
    assert list(real.__all__) == ours.__all__
    helpers = {n for n, v in vars(real.helpers).items() if callable(v)} - {"Any"}
    assert all(hasattr(ours.helpers, name) for name in helpers - {"Dict", "Type"})


def test_the_specification_matches_kaggle_except_for_prose() -> None:
    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: bare(v) for k, v in value.items() if k != "description"}
        return value

    # The first ``make`` changes the package's own specification; ours equals the file.
    with open(REAL_GEESE.jsonpath, encoding="utf-8") as file:
        assert OUR_GEESE.specification == bare(json.load(file))
    assert list(OUR_GEESE.agents) == list(REAL_GEESE.agents)


@given(st.lists(st.integers(0, 5)))
def test_counting_and_grouping_match_kaggle(items: list[int]) -> None:
    def parity(item: int) -> int:
        return item % 2

    pairs: list[tuple[dict[int, Any], dict[int, Any]]] = [
        (ours.helpers.histogram(items), real.helpers.histogram(items)),
        (ours.helpers.histogram(iter(items)), real.helpers.histogram(iter(items))),
        (ours.helpers.group_by(items, parity), real.helpers.group_by(items, parity)),
    ]
    for one, other in pairs:
        assert list(one.items()) == list(other.items())


def test_points_match_kaggle() -> None:
    for (x, y), size in product(POINTS, (1, 4, 5, 11)):
        one, other = ours.helpers.Point(x, y), real.helpers.Point(x, y)
        assert (one.x, one.y, str(one), hash(one)) == (other.x, other.y, str(other), hash(other))
        assert one.to_index(size) == other.to_index(size)
        number = x * 10 + y
        got = ours.helpers.Point.from_index(number, size)
        assert tuple(got) == tuple(real.helpers.Point.from_index(number, size))
        for unary in (abs, operator.neg):
            assert tuple(unary(one)) == tuple(unary(other))
        for binary in (operator.mod, operator.floordiv, operator.mul):
            assert tuple(binary(one, size)) == tuple(binary(other, size))
        for offset in ((1, 2), (-3, 7), (0, 0)):
            our_offset, real_offset = ours.helpers.Point(*offset), real.helpers.Point(*offset)
            for arithmetic in (operator.add, operator.sub):
                assert tuple(arithmetic(one, our_offset)) == tuple(arithmetic(other, real_offset))
                assert type(arithmetic(one, offset)) is ours.helpers.Point
            assert one.distance_to(our_offset, size) == other.distance_to(real_offset, size)
            assert tuple(one.translate(our_offset, size)) == tuple(
                other.translate(real_offset, size)
            )
        for thing in ((x, y), [x, y], (x, y, 1), (x,), None, 3, "ab", (y, x)):
            assert (one == thing) == (other == thing)
            assert (one != thing) == (other != thing)


def test_directions_match_kaggle() -> None:
    one, other = ours.helpers.Direction, real.helpers.Direction
    for mine, theirs in zip(one, other, strict=True):
        assert (mine.name, mine.value, str(mine)) == (theirs.name, theirs.value, str(theirs))
        assert tuple(mine.to_point()) == tuple(theirs.to_point())
        assert (mine.to_index(), mine.to_char()) == (theirs.to_index(), theirs.to_char())
        for turn in ("opposite", "rotate_left", "rotate_right"):
            assert getattr(mine, turn)().name == getattr(theirs, turn)().name
    for way, given_values in {
        "from_str": ("NORTH", "EAST", "SOUTH", "WEST", "north", "", None),
        "from_char": ("N", "E", "S", "W", "n", "", None),
        "from_index": (0, 1, 2, 3, 4, -1, None),
    }.items():
        for value in given_values:
            found, expected = getattr(one, way)(value), getattr(other, way)(value)
            assert (found and found.name) == (expected and expected.name), (way, value)
    for seed in range(200):
        random.seed(seed)
        drawn = one.random_direction().name, random.random()
        random.seed(seed)
        assert drawn == (other.random_direction().name, random.random())
    assert [each.name for each in one.list_directions()] == [
        each.name for each in other.list_directions()
    ]


def test_structs_match_kaggle() -> None:
    value = {"a": [{"b": 1}, (2,)], "items": 3, "deep": {"items": 4, "c": None}}
    one, other = ours.utils.structify(value), real.utils.structify(value)
    assert one == other
    assert one.a[0].b == 1
    one.new, other.new = 5, 5
    one.deep.c = other.deep.c = 6
    assert one == other
    assert (vars(one), one["new"]) == (vars(other), 5)


@pytest.mark.parametrize(
    "name", [n for n, v in vars(ours.errors).items() if inspect.isclass(v) and n[0].isupper()]
)
def test_errors_match_kaggle(name: str) -> None:
    one, other = getattr(ours.errors, name)("why"), getattr(real.errors, name)("why")
    assert vars(one) == vars(other)
    assert (str(one), one.toJSON()) == (str(other), other.toJSON())


@pytest.mark.parametrize("name", ["evaluate", "register", "Agent", "list_episodes"])
def test_functions_that_start_games_raise_an_explanation(name: str) -> None:
    with pytest.raises(ours.errors.Unimplemented, match=rf"^{name}\(\) cannot be used .* main\.py"):
        getattr(ours, name)("hungry_geese", debug=True)


@pytest.mark.parametrize("configuration", [None, {}, {"rows": 9, "episodeSteps": 30}])
def test_make_returns_kaggles_configuration(
    configuration: dict[str, Any] | None,
) -> None:
    ours_made = ours.make("hungry_geese", configuration, debug=False)
    real_made = real.make("hungry_geese", configuration, debug=False)
    assert ours_made.name == real_made.name
    assert ours_made.configuration == real_made.configuration
    assert vars(ours_made.configuration) == vars(real_made.configuration)
    geese, real_geese = OUR_GEESE.Configuration, REAL_GEESE.Configuration
    assert geese(ours_made.configuration) == real_geese(real_made.configuration)


def test_an_unknown_game_cannot_be_made() -> None:
    assert _outcome(lambda: ours.make("chess_of_1997")) is ours.errors.InvalidArgument
    assert _outcome(lambda: real.make("chess_of_1997")) is real.errors.InvalidArgument


@pytest.mark.parametrize("name", ["run", "step", "reset", "train", "render", "state", "steps"])
def test_an_agent_cannot_run_a_made_game(name: str) -> None:
    made = ours.make("hungry_geese")
    with pytest.raises(ours.errors.Unimplemented, match=rf"^make\(\)\.{name}\(\) cannot be used"):
        getattr(made, name)


def test_a_trial_game_at_the_end_of_a_file_is_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    trial = "env.reset(num_agents=1); env.run([agent] * 4); env.render(mode='ipython', width=500)"
    source = f"def agent(seen, told): return 'NORTH'\nenv = make('hungry_geese')\n{trial}"
    exec(compile(source, "main.py", "exec"), {"make": ours.make})
    why = "is skipped: a match plays no game of its own"
    told = [f"make().{name}() {why}" for name in ("reset", "run", "render")]
    assert capsys.readouterr().err.splitlines() == told


def test_the_package_needs_only_the_standard_library() -> None:
    program = (
        "import random, sys; sys.path.append(sys.argv[1]); random.seed(1); "
        "state = random.getstate(); import kaggle_environments as k; "
        "assert random.getstate() == state; "
        "from kaggle_environments.envs.hungry_geese.hungry_geese import *; "
        "assert cached_greedy_agents == {}; print(k.__version__, Action.NORTH.opposite().name)"
    )
    command = [sys.executable, "-I", "-S", "-c", program, str(BOX_PROGRAM / "kaggle")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"{real.__version__} SOUTH\n", "")
