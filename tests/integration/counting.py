"""A game as small as can be, which forgives what it is told to: seats say the step's number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

from games.protocol import InvalidMove, Json, Outcome, Verdict, placements_from_scores


@dataclass(frozen=True)
class State:
    """How often each seat was right, and what was told of it at each step."""

    steps: int
    step: int
    right: tuple[int, ...]
    told: tuple[tuple[Json, ...], ...]


class Counting:
    """Seats answer ``step`` of the observation; whoever was right more often is placed before."""

    name, title, version = "counting", "Counting", "1"
    seats = range(1, 9)
    mirrored = False
    measures = ()
    clock: Mapping[str, Json] = {}

    def __init__(self, *lenient: Verdict) -> None:
        self.lenient = frozenset(lenient)

    def configure(self, overrides: Mapping[str, Json]) -> dict[str, Json]:
        return {"steps": 6, **overrides}

    def longest(self, configuration: Mapping[str, Json]) -> int:
        return int(configuration["steps"])

    def reset(
        self, configuration: Mapping[str, Json], seats: int, chance: Random | Json
    ) -> tuple[State, Json]:
        return State(configuration["steps"], 0, (0,) * seats, ()), None

    def to_move(self, state: State) -> tuple[int, ...]:
        return tuple(range(len(state.right))) if state.step < state.steps else ()

    def observe(self, state: State, seat: int) -> dict[str, Json]:
        return {"step": state.step, "seat": seat}

    def wanted(self, state: State) -> Json:
        """The right answer."""
        return state.step

    def parse(self, state: State, seat: int, raw: Json) -> Json:
        if type(raw) is not int:
            raise InvalidMove(f"a number was expected, got {raw!r:.50}")
        return raw

    def step(
        self, state: State, moves: Mapping[int, Json | Verdict], chance: Random | Json
    ) -> tuple[State, Json]:
        wanted = self.wanted(state)
        right = tuple(n + (moves[seat] == wanted) for seat, n in enumerate(state.right))
        told = (*state.told, tuple(moves[seat] for seat in range(len(right))))
        return replace(state, step=state.step + 1, right=right, told=told), None

    def outcome(self, state: State) -> Outcome | None:
        if self.to_move(state):
            return None
        last = state.told[-1]
        verdicts = tuple(
            move if isinstance(move, Verdict) and not right else Verdict.DONE
            for move, right in zip(last, state.right, strict=True)
        )
        return Outcome(
            placements_from_scores(state.right), tuple(map(float, state.right)), verdicts
        )

    def frame(self, state: State) -> dict[str, Json]:
        return {"step": state.step, "right": list(state.right)}


class Snakes(Counting):
    """What Battlesnake shows, and always the same: the right answer is up."""

    name = "snakes"

    def wanted(self, state: State) -> Json:
        return "up"

    def parse(self, state: State, seat: int, raw: Json) -> Json:
        move = raw.get("move") if isinstance(raw, dict) else raw
        if move not in ("up", "down", "left", "right"):
            raise InvalidMove(f"up, down, left or right was expected, got {move!r:.50}")
        return move

    def observe(self, state: State, seat: int) -> dict[str, Json]:
        body = [{"x": 1, "y": 1}] * 3
        you = {"id": f"snake-{seat}", "name": f"snake {seat}", "latency": "0", "health": 100}
        you |= {"body": body, "head": body[0], "length": 3, "shout": "", "squad": ""}
        board = {"width": 11, "height": 11, "snakes": [you], "food": [{"x": 5, "y": 5}]}
        game = {"id": "game", "ruleset": {"name": "standard"}, "timeout": 500, "source": "league"}
        return {"game": game, "turn": state.step, "board": {**board, "hazards": []}, "you": you}


class Cells(Counting):
    """What GOLAD shows, and always the same: the right answer kills the first cell of player 0."""

    name = "cells"

    def wanted(self, state: State) -> Json:
        return "kill 1,0"

    def parse(self, state: State, seat: int, raw: Json) -> Json:
        if not isinstance(raw, str) or raw.split(" ")[0] not in ("pass", "kill", "birth"):
            raise InvalidMove(f"pass, kill or birth was expected, got {raw!r:.50}")
        return raw

    def observe(self, state: State, seat: int) -> dict[str, Json]:
        field = ",".join([".", "0", *"." * 33, "1"])
        seen = {"round": state.step + 1, "width": 6, "height": 6, "max_rounds": state.steps}
        return {**seen, "you": seat % 2, "field": field, "living": [1, 1], "opponent_move": "pass"}
