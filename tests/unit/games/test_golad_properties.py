"""What holds in every game of GOLAD, found by playing many."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from games import episode
from games.golad import GAME, State, most_starting_cells
from games.protocol import InvalidMove, Verdict


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    width, height = draw(st.integers(2, 9)), 2 * draw(st.integers(1, 5))
    return GAME.configure(
        {
            "width": width,
            "height": height,
            "maxRounds": draw(st.integers(1, 12)),
            "startingCells": draw(st.integers(1, most_starting_cells(width, height))),
            "separateStartingCells": draw(st.booleans()),
        }
    )


Played = tuple[dict[str, Any], list[State], list[Any], list[dict[int, Any]]]


def careless(state: State, seat: int, rng: Random) -> Any:
    """A random line that is often a move, now and then a fault."""
    if rng.random() < 0.02:
        return rng.choice((Verdict.ERROR, Verdict.INVALID, Verdict.TIMEOUT))
    point = [
        f"{rng.randrange(-1, state.rules.width + 1)},{rng.randrange(state.rules.height)}"
        for _ in range(3)
    ]
    line = rng.choice(("pass", f"kill {point[0]}", f"birth {' '.join(point)}"))
    try:
        return GAME.parse(state, seat, line)
    except InvalidMove:
        return Verdict.INVALID


def play(configuration: dict[str, Any], seed: int) -> Played:
    chance, players = Random(seed), Random(f"players {seed}")
    state, drawn = GAME.reset(configuration, 2, chance)
    states, events, moves = [state], [drawn], []
    while GAME.to_move(state):
        moves.append({seat: careless(state, seat, players) for seat in GAME.to_move(state)})
        state, drawn = GAME.step(state, moves[-1], chance)
        states.append(state)
        events.append(drawn)
    return configuration, states, events, moves


games = st.builds(play, configurations(), st.integers(0, 2**32))


def next_field(field: Sequence[Sequence[str]]) -> list[list[str]]:
    """The generation after this board, cell by cell as the rule says it."""
    height, width = len(field), len(field[0])
    after = []
    for y in range(height):
        after.append(list[str]())
        for x in range(width):
            near = "".join(
                field[v][u]
                for v in range(max(0, y - 1), min(height, y + 2))
                for u in range(max(0, x - 1), min(width, x + 2))
                if (u, v) != (x, y)
            ).replace(".", "")
            here = field[y][x]
            if here != ".":
                after[y].append(here if len(near) in (2, 3) else ".")
            else:
                born = "0" if near.count("0") >= 2 else "1"
                after[y].append(born if len(near) == 3 else ".")
    return after


@settings(max_examples=100, deadline=None)
@given(games)
def test_every_half_round_is_a_move_and_one_generation(played: Played) -> None:
    _, states, _, moves = played
    for before, after, asked in zip(states, states[1:], moves, strict=False):
        field = [list(row) for row in GAME.frame(before)["field"]]
        assert before.seat is not None
        move = asked[before.seat]
        inert = before.standing[before.seat] in (Verdict.TIMEOUT, Verdict.ERROR)
        if not isinstance(move, Verdict) and not inert:
            word, *places = move.split()
            points = [tuple(map(int, place.split(","))) for place in places]
            for x, y in points[1:] if word == "birth" else points:
                assert field[y][x] == str(before.seat) or word == "kill"
                field[y][x] = "."
            if word == "birth":
                field[points[0][1]][points[0][0]] = str(before.seat)
        assert GAME.frame(after)["field"] == ["".join(row) for row in next_field(field)]


@settings(max_examples=100, deadline=None)
@given(games)
def test_a_start_is_symmetric_under_rotation(played: Played) -> None:
    configuration, states, *_ = played
    field = GAME.frame(states[0])["field"]
    swapped = str.maketrans("01", "10")
    turned = [row[::-1].translate(swapped) for row in field[::-1]]
    assert field == turned
    assert sum(row.count("0") for row in field) == configuration["startingCells"]
    if configuration["separateStartingCells"]:
        assert not any("1" in row for row in field[: len(field) // 2])


@settings(max_examples=100, deadline=None)
@given(games)
def test_only_a_sole_survivor_wins(played: Played) -> None:
    configuration, states, _, moves = played
    assert len(moves) <= GAME.longest(configuration)
    assert all(GAME.outcome(state) is None for state in states[:-1])
    last = states[-1]
    outcome = GAME.outcome(last)
    assert outcome is not None
    zero, one = GAME.observe(last, 0)["living"]
    assert (not zero or not one) or last.round == configuration["maxRounds"]
    assert outcome.rewards == (
        (0.5, 0.5) if bool(zero) == bool(one) else (float(bool(zero)), float(bool(one)))
    )
    assert Verdict.ACTIVE not in outcome.verdicts


@settings(max_examples=100, deadline=None)
@given(games)
def test_recorded_moves_and_chance_replay_the_same_states(played: Played) -> None:
    configuration, states, events, moves = played
    events = json.loads(json.dumps(events))
    state, again = GAME.reset(configuration, 2, events[0])
    assert (state, again) == (states[0], events[0])
    for expected, event, asked in zip(states[1:], events[1:], moves, strict=True):
        state, again = GAME.step(state, asked, event)
        assert (state, again) == (expected, event)


@settings(max_examples=30, deadline=None)
@given(games)
def test_a_recorded_episode_replays_from_bytes(played: Played) -> None:
    configuration, states, events, moves = played
    outcome = GAME.outcome(states[-1])
    assert outcome is not None
    record = episode.Episode(
        game=GAME.name,
        version=GAME.version,
        configuration=configuration,
        clock=dict(GAME.clock),
        seats=2,
        chance=events[0],
        steps=tuple(
            episode.Step(
                moves=tuple(
                    {"fault": str(move)} if isinstance(move, Verdict) else move
                    for move in (asked.get(0), asked.get(1))
                ),
                chance=event,
                charged_seconds=(None, None),
                bank_seconds=(None, None),
            )
            for asked, event in zip(moves, events[1:], strict=True)
        ),
        placements=outcome.placements,
        rewards=outcome.rewards,
        verdicts=tuple(map(str, outcome.verdicts)),
    )
    assert list(episode.states(GAME, episode.from_bytes(episode.to_bytes(record)))) == states


@settings(max_examples=30, deadline=None)
@given(games)
def test_an_observation_is_a_json_copy(played: Played) -> None:
    for state in played[1]:
        for seat in (0, 1):
            seen = GAME.observe(state, seat)
            assert json.loads(json.dumps(seen)) == seen
            assert seen["field"].split(",") == [
                cell for row in GAME.frame(state)["field"] for cell in row
            ]
            seen["living"].clear()
            assert len(GAME.observe(state, seat)["living"]) == 2


@settings(max_examples=200, deadline=None)
@given(
    st.text("pasPASkilbrth 0123,-\n\t")
    | st.from_regex(r"(pass|Kill|biRth)( -?[0-9],[0-9]){0,4} ?", fullmatch=True)
)
def test_an_accepted_move_parses_to_the_same_move_again(line: str) -> None:
    state, _ = GAME.reset(
        GAME.configure({"width": 6, "height": 6, "startingCells": 9}), 2, Random(1)
    )
    try:
        move = GAME.parse(state, 0, line)
    except InvalidMove:
        return
    assert GAME.parse(state, 0, move) == move
    GAME.step(state, {0: move}, Random(0))
