"""Battlesnake and GOLAD against second implementations that were written from the facts alone."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from games import battlesnake
from games.golad import GAME as GOLAD
from games.protocol import InvalidMove, Verdict
from tests.peers import battlesnake as snakes
from tests.peers import golad as life

SNAKE = battlesnake.GAME
RULESETS = ("standard", "solo", "royale", "wrapped", "constrictor", "wrapped_constrictor")
BOARDS = ((7, 7, 2), (7, 7, 8), (11, 11, 4), (11, 11, 1), (11, 11, 16), (19, 19, 13), (9, 6, 3))
FAULTS = (Verdict.TIMEOUT, Verdict.INVALID, Verdict.ERROR)


def _answer(frame: snakes.Frame, seat: int, wraps: bool, random: Random) -> str | Verdict:
    """Mostly a move that does not kill at once, at times any, at times none."""
    if random.random() < 0.05:
        return random.choice(FAULTS)
    if random.random() < 0.05:
        return random.choice(tuple(snakes.MOVES))
    width, height = frame["width"], frame["height"]
    taken = [cell for snake in frame["snakes"] for cell in snake["body"][:-1]]
    x, y = frame["snakes"][seat]["body"][0]
    safe = []
    for word, (right, up) in snakes.MOVES.items():
        cell = [x + right, y + up]
        if wraps:
            cell = [cell[0] % width, cell[1] % height]
        if 0 <= cell[0] < width and 0 <= cell[1] < height and cell not in taken:
            safe.append(word)
    return random.choice(safe or tuple(snakes.MOVES))


def _upset(state: Any, random: Random) -> Any:
    """The position with what no map here makes: stacked hazards, doubled food, low health."""
    cells = state.rules.cells
    heads = [state.bodies[seat][0] for seat in state.alive]
    near = [head + step for head in heads for step in state.rules.offsets.values()]
    near = [cell for cell in near if cell in cells] or list(cells)
    return state._replace(
        hazards=tuple(random.choices(cells, k=random.randrange(len(cells)))),
        food=tuple(random.choices(near, k=random.randrange(2 * len(near)))),
        health=tuple(random.choice((1, 2, 15, 40, one)) for one in state.health),
    )


def _compare_game(settings: Mapping[str, Any], seats: int, seed: int, upsets: bool) -> int:
    """Plays one game turn by turn in both; gives the number of turns."""
    configuration = SNAKE.configure(settings)
    rules = snakes.Rules(
        ruleset=configuration["ruleset"],
        damage=configuration["hazardDamagePerTurn"],
        minimum_food=configuration["minimumFood"],
        food_chance=configuration["foodSpawnChance"],
        shrink_every=configuration["shrinkEveryNTurns"],
    )
    shrinks = "royale" in (configuration["ruleset"], configuration["map"])
    chance, players = Random(seed), Random(f"players {seed}")
    state, _ = SNAKE.reset(configuration, seats, chance)
    frame = SNAKE.frame(state)
    assert snakes.start_fits(frame, rules) is None
    if configuration["map"] != "empty":
        assert snakes.first_food_fits(frame, rules) is None
    while True:
        if upsets and players.random() < 0.2:
            state = _upset(state, players)
            frame = SNAKE.frame(state)
        over = snakes.over(frame, rules) or frame["turn"] >= configuration["maxTurns"]
        moving = () if over else tuple(snakes.living(frame))
        assert SNAKE.to_move(state) == moving
        if over:
            outcome = SNAKE.outcome(state)
            assert outcome is not None
            assert list(outcome.placements) == snakes.places(frame)
            return int(frame["turn"])
        moves = {seat: _answer(frame, seat, rules.wraps, players) for seat in moving}
        words = {
            seat: move if isinstance(move, str) and move in snakes.MOVES else "?"
            for seat, move in moves.items()
        }
        state, event = SNAKE.step(state, moves, chance)
        played = SNAKE.frame(state)
        ruled = snakes.ruled(frame, words, rules)
        if configuration["map"] == "empty":
            assert event["food"] == []
        else:
            assert snakes.food_fits(ruled, event["food"], rules) is None
        hazards = played["hazards"] if shrinks else None
        expected = snakes.after(frame, words, rules, event["food"], hazards)
        assert _sorted(played) == _sorted(expected)
        if shrinks and not upsets:
            assert snakes.royale_fits(played, rules) is None
            assert all(hazard in played["hazards"] for hazard in frame["hazards"])
        frame = played


def _sorted(frame: snakes.Frame) -> snakes.Frame:
    return {**frame, "food": sorted(frame["food"]), "hazards": sorted(frame["hazards"])}


@pytest.mark.parametrize("ruleset", RULESETS)
def test_every_battlesnake_turn_matches_the_peer_engine(ruleset: str) -> None:
    random, turns, number = Random(ruleset), 0, 0
    while turns < 400 or number < 2 * len(BOARDS):
        width, height, seats = BOARDS[number % len(BOARDS)]
        settings = {
            "ruleset": ruleset,
            "width": width,
            "height": height,
            "foodSpawnChance": random.choice((0, 1, 15, 100)),
            "minimumFood": random.choice((0, 1, 4)),
            "hazardDamagePerTurn": random.choice((0, 14, 14, 50, -10)),
            "shrinkEveryNTurns": random.choice((1, 3, 5)),
            "map": random.choice(("standard", "standard", "empty", "royale")),
            "maxTurns": 60,
        }
        turns += _compare_game(settings, seats, number, upsets=number % 2 == 1)
        number += 1


@pytest.mark.parametrize(("side", "cells"), [(6, 10), (8, 19), (16, 40)])
@pytest.mark.parametrize("separate", [True, False])
def test_every_golad_half_round_matches_the_peer_engine(
    side: int, cells: int, separate: bool
) -> None:
    width = side + side // 8
    configuration = GOLAD.configure(
        {
            "width": width,
            "height": side,
            "startingCells": cells,
            "separateStartingCells": separate,
            "maxRounds": 12,
        }
    )
    halves = 0
    for seed in range(160 // side):
        chance = Random(f"{side} {separate} {seed}")
        state, _ = GOLAD.reset(configuration, 2, chance)
        frame = _peers_frame(state)
        assert life.start_fits(frame["field"], cells, separate) is None
        while moving := GOLAD.to_move(state):
            (seat,) = moving
            assert frame["to_move"] == seat
            line = _line(frame["field"], seat, chance)
            move: Any
            try:
                life.moved(frame["field"], str(seat), line)
            except life.Illegal:
                move = Verdict.INVALID
                with pytest.raises(InvalidMove):
                    GOLAD.parse(state, seat, line)
            else:
                move = GOLAD.parse(state, seat, line)
            field = life.after_half(frame["field"], str(seat), line)
            over = life.over(field, str(seat), frame["round"], 12)
            state, _ = GOLAD.step(state, {seat: move}, chance)
            played = _peers_frame(state)
            assert played["field"] == field
            assert (GOLAD.to_move(state) == ()) == over
            frame = played
            halves += 1
        outcome = GOLAD.outcome(state)
        assert outcome is not None
        winner = life.winner(frame["field"])
        rewards = {None: (0.5, 0.5), "0": (1.0, 0.0), "1": (0.0, 1.0)}[winner]
        assert outcome.rewards == rewards
    assert halves > 50


def _peers_frame(state: Any) -> dict[str, Any]:
    """With rows as the peer writes them."""
    frame = GOLAD.frame(state)
    return {**frame, "field": [list(row) for row in frame["field"]]}


def _line(field: life.Field, seat: int, random: Random) -> str:
    """A line that is often a move, and often nearly one."""
    height, width = len(field), len(field[0])
    places = [(x, y) for y in range(height) for x in range(width)]
    own = [(x, y) for x, y in places if field[y][x] == str(seat)]
    dead = [(x, y) for x, y in places if field[y][x] == "."]
    living = [(x, y) for x, y in places if field[y][x] != "."]

    def any_place() -> tuple[int, int]:
        return random.randrange(-1, width + 1), random.randrange(-1, height + 1)

    def written(place: tuple[int, int]) -> str:
        return f"{place[0]},{place[1]}" + random.choice(("", "", "", ",7"))

    kind = random.choice(("pass", "kill", "birth", "birth", "birth", "odd"))
    word = random.choice((kind, kind, kind.upper(), kind.title()))
    if kind == "pass":
        return word + random.choice(("", " now", " 1,2 3,4"))
    if kind == "kill":
        return f"{word} {written(random.choice((any_place(), random.choice(places))))}"
    if kind == "birth":
        target = random.choice(dead) if dead and random.random() < 0.8 else any_place()
        givers = random.choice((own, own, own, living, [any_place()]))
        given = random.choices(givers or [any_place()], k=2)
        return " ".join([word, written(target), *map(written, given)])
    return random.choice(
        ("", "kill", "kill 1", "kill x,y", "kill  1,1", "birth 1,1", "birth 0,0 1,1", "die 1,1")
    )
