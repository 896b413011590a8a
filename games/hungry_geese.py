"""Hungry Geese, step by step as kaggle-environments 1.33.2 plays it.

Cells are ``row * columns + column`` on a torus. A goose is its cells, head first, or ``()`` once it
is out.

Chance uses the same calls in the same order as kaggle-environments. Candidate lists also have its
order, that of a CPython set after the same differences. So a ``Random`` in the state of its global
generator gives the same game. Note that its ``make`` draws a one-player board before ``run`` draws
the real one.

Source of the rules: kaggle_environments/envs/hungry_geese/hungry_geese.py and core.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from games.protocol import (
    ConfigurationError,
    ConfigurationField,
    GameError,
    InvalidMove,
    Json,
    Measure,
    Outcome,
    Verdict,
    configure,
    placements_from_scores,
)

MOVES = ("NORTH", "EAST", "SOUTH", "WEST")
OPPOSITE = {"NORTH": "SOUTH", "SOUTH": "NORTH", "EAST": "WEST", "WEST": "EAST"}
DEFAULT_MOVE = "NORTH"
"""The move of an agent that answers None."""

MAX_CELLS = 250_000
"""Our own limit, far above any board in play, so that a typing error cannot fill the memory."""

FIELDS = (
    ConfigurationField("episodeSteps", int, 200, 1),
    ConfigurationField("actTimeout", float, 1, 0),
    ConfigurationField("runTimeout", float, 1200, 0),
    ConfigurationField("columns", int, 11, 3),
    ConfigurationField("rows", int, 7, 3),
    ConfigurationField("hunger_rate", int, 40, 1),
    ConfigurationField("min_food", int, 2, 1),
    # Kaggle's schema has no minimum, but with less than 1 its first step raises.
    ConfigurationField("max_length", int, 99, 1),
)


class Ending(StrEnum):
    """Why a goose plays no more."""

    REVERSED = "reversed"
    """The goose reversed its previous move."""
    BIT_ITSELF = "bit itself"
    """The goose's head entered its own body."""
    STARVED = "starved"
    """Hunger took the goose's last cell."""
    COLLIDED = "collided"
    """The goose's head met another goose."""
    FAILED = "failed"
    """The goose's agent failed; the verdict says how."""
    SURVIVED = "survived"
    """The goose was the last one, or the last step came."""


@dataclass(frozen=True, slots=True)
class Rules:
    cells: int
    episode_steps: int
    hunger_rate: int
    min_food: int
    max_length: int
    next_cell: Mapping[str, Sequence[int]]
    """``next_cell[move][cell]`` is the cell that a head enters."""
    board: frozenset[int]


class State(NamedTuple):
    """A position. Tuples are indexed by seat, but ``active`` lists the seats still playing."""

    rules: Rules
    step: int
    geese: tuple[tuple[int, ...], ...]
    food: tuple[int, ...]
    active: tuple[int, ...]
    last_moves: tuple[str | None, ...]
    paid: tuple[int | None, ...]
    """Reward of each goose that plays no more. ``rewards`` adds those still playing."""
    verdicts: tuple[Verdict, ...]
    endings: tuple[Ending | None, ...]

    @property
    def rewards(self) -> tuple[int | None, ...]:
        """Each goose's reward. Survived steps weigh more than any length. None if its agent
        failed.
        """
        return tuple(
            _reward_so_far(self, seat) if seat in self.active else paid
            for seat, paid in enumerate(self.paid)
        )


@lru_cache(maxsize=16)
def rules_for(
    columns: int, rows: int, episode_steps: int, hunger_rate: int, min_food: int, max_length: int
) -> Rules:
    cells = range(columns * rows)
    return Rules(
        cells=columns * rows,
        episode_steps=episode_steps,
        hunger_rate=hunger_rate,
        min_food=min_food,
        max_length=max_length,
        next_cell={
            move: tuple(
                (cell // columns + down) % rows * columns + (cell % columns + right) % columns
                for cell in cells
            )
            for move, down, right in zip(MOVES, (-1, 0, 1, 0), (0, 1, 0, -1), strict=True)
        },
        board=frozenset(cells),
    )


class HungryGeese:
    name = "hungry_geese"
    title = "Hungry Geese"
    version = "1.0.0"
    seats = range(1, 9)
    lenient: frozenset[Verdict] = frozenset()
    mirrored = False
    shows_whole_board = True
    clock_fields: Mapping[str, int] = MappingProxyType({"actTimeout": 1})
    measures: tuple[Measure, ...] = ()
    clock: Mapping[str, Json] = MappingProxyType(
        {"act_seconds": 1.0, "bank_seconds": 60.0, "load": "first_move"}
    )

    def configure(self, overrides: Mapping[str, Json]) -> dict[str, Json]:
        """Kaggle's configuration. A missing or null field has Kaggle's default.

        Raises ConfigurationError naming the field.
        """
        configuration = configure(FIELDS, overrides)
        if configuration["rows"] * configuration["columns"] > MAX_CELLS:
            raise ConfigurationError("rows", f"rows times columns may be at most {MAX_CELLS} cells")
        return configuration

    def longest(self, configuration: Mapping[str, Json]) -> int:
        """Kaggle's ``episodeSteps``."""
        return int(configuration["episodeSteps"])

    def reset(
        self, configuration: Mapping[str, Json], seats: int, chance: Random | Json
    ) -> tuple[State, Json]:
        """The first position. Chance is ``{"heads": [cell, ...], "food": [cell, ...]}``."""
        if seats not in self.seats:
            raise GameError(f"seats: {self.title} is for 1 to 8 geese, not {seats}")
        rules = rules_for(
            configuration["columns"],
            configuration["rows"],
            configuration["episodeSteps"],
            configuration["hunger_rate"],
            configuration["min_food"],
            configuration["max_length"],
        )
        if isinstance(chance, Random):
            heads = chance.sample(range(rules.cells), seats)
        else:
            heads = _cells_of_chance(chance, "heads", seats, rules.board)
        wanted = min(rules.min_food, rules.cells - seats)
        food = _place_food(chance, wanted, rules.board.difference(heads))
        state = State(
            rules=rules,
            step=0,
            geese=tuple((head,) for head in heads),
            food=tuple(food),
            active=tuple(range(seats)),
            last_moves=(None,) * seats,
            paid=(0,) * seats,
            verdicts=(Verdict.ACTIVE,) * seats,
            endings=(None,) * seats,
        )
        return state, {"heads": heads, "food": food}

    def to_move(self, state: State) -> tuple[int, ...]:
        """All geese still playing. They move at the same time."""
        return state.active

    def observe(self, state: State, seat: int) -> dict[str, Json]:
        """Kaggle's observation without ``remainingOverageTime``, which the clock adds."""
        return {
            "geese": [list(goose) for goose in state.geese],
            "food": list(state.food),
            "step": state.step,
            "index": seat,
        }

    def parse(self, state: State, seat: int, raw: Json) -> Json:
        """One of the four directions. None is the default move. Raises InvalidMove."""
        if raw is None:
            return DEFAULT_MOVE
        if isinstance(raw, str) and raw in OPPOSITE:
            return raw
        raise InvalidMove(f"expected one of {', '.join(MOVES)}, got {raw!r:.100}")

    def sample(self, state: State, seat: int, random: Random) -> Json:
        """A direction that does not turn back, which would kill at once."""
        last = state.last_moves[seat]
        return random.choice([move for move in MOVES if OPPOSITE[move] != last])

    def step(
        self, state: State, moves: Mapping[int, Json | Verdict], chance: Random | Json
    ) -> tuple[State, Json]:
        """The next position. Chance is ``{"food": [cell, ...]}``, the food added in this step.

        Geese move in order of seat, which decides who eats. Collisions are judged after all moves.
        Raises GameError for a seat without a move or fault, and for food that does not fit.
        """
        rules, last_step, old_geese, food, active, *_ = state
        step = last_step + 1
        hungry = step % rules.hunger_rate == 0
        next_cell = rules.next_cell
        max_length = rules.max_length
        geese = list(old_geese)
        last_moves = list(state.last_moves)
        gone: dict[int, Ending] = {}
        for seat in active:
            move: Json | Verdict = moves.get(seat)
            goes_to = next_cell.get(move)
            if goes_to is None:
                if not isinstance(move, Verdict) or not move.is_fault:
                    raise GameError(f"seat {seat}: needs a move or a fault, got {move!r:.100}")
                gone[seat] = Ending.FAILED
                geese[seat] = ()
                continue
            if last_moves[seat] == OPPOSITE[move]:
                gone[seat] = Ending.REVERSED
                geese[seat] = ()
                continue
            last_moves[seat] = move
            body = geese[seat]
            head = goes_to[body[0]]
            if head in food:
                food = tuple(cell for cell in food if cell != head)
            else:
                body = body[:-1]
            if head in body:
                gone[seat] = Ending.BIT_ITSELF
                geese[seat] = ()
                continue
            if len(body) >= max_length:
                body = body[: max_length - 1]
            if not hungry:
                geese[seat] = (head, *body)
            elif body:
                geese[seat] = (head, *body[:-1])
            else:
                gone[seat] = Ending.STARVED
                geese[seat] = ()

        occupied = set().union(*geese)
        if len(occupied) != sum(map(len, geese)):
            # Counted once for all, so that a goose removed here still blocks the others.
            counts = Counter(cell for goose in geese for cell in goose)
            for seat in active:
                if geese[seat] and counts[geese[seat][0]] > 1:
                    gone[seat] = Ending.COLLIDED
                    geese[seat] = ()
            occupied = set().union(*geese)

        drawn: list[int] = []
        missing = rules.min_food - len(food)
        if missing > 0:
            # The same set operations as Kaggle's, because they fix the order of the candidates.
            free = rules.board.difference(occupied).difference(food)
            drawn = _place_food(chance, min(missing, len(free)), free)
            food = (*food, *drawn)
        elif not isinstance(chance, Random) and chance["food"]:
            raise GameError(f"food: none is put down in step {step}, got {chance['food']!r:.100}")

        after = State(
            rules,
            step,
            tuple(geese),
            food,
            active,
            tuple(last_moves),
            state.paid,
            state.verdicts,
            state.endings,
        )
        if gone or step >= rules.episode_steps - 1 or len(active) == 1:
            after = _finish_geese(state, after, gone, moves)
        return after, {"food": drawn}

    def outcome(self, state: State) -> Outcome | None:
        """Rank seats by reward. A goose whose agent failed has none and is last."""
        if state.active:
            return None
        return Outcome(
            placements=placements_from_scores([-1 if pay is None else pay for pay in state.paid]),
            rewards=state.paid,
            verdicts=state.verdicts,
        )

    def frame(self, state: State) -> dict[str, Json]:
        """The position with each goose's reward so far and how it ended."""
        return {
            "step": state.step,
            "geese": [list(goose) for goose in state.geese],
            "food": list(state.food),
            "rewards": list(state.rewards),
            "statuses": [str(verdict) for verdict in state.verdicts],
            "endings": [ending and str(ending) for ending in state.endings],
        }


def _reward_so_far(state: State, seat: int) -> int:
    """The reward so far of a goose alive in this position. Nothing before the first step."""
    if state.step == 0:
        return 0
    return (state.step + 1) * (state.rules.max_length + 1) + len(state.geese[seat])


def _finish_geese(
    before: State, after: State, gone: dict[int, Ending], moves: Mapping[int, Json | Verdict]
) -> State:
    """Settle the geese in ``gone``, and all others if the episode is over.

    A goose that dies keeps its reward from before this step. A failed one gets nothing.
    """
    active = tuple(seat for seat in before.active if seat not in gone)
    paid, verdicts, endings = list(after.paid), list(after.verdicts), list(after.endings)
    for seat, ending in gone.items():
        failed = ending is Ending.FAILED
        paid[seat] = None if failed else _reward_so_far(before, seat)
        verdicts[seat] = Verdict(moves[seat]) if failed else Verdict.DONE
        endings[seat] = ending
    if len(active) == 1 or after.step >= after.rules.episode_steps - 1:
        for seat in active:
            paid[seat] = _reward_so_far(after, seat)
            verdicts[seat] = Verdict.DONE
            endings[seat] = Ending.SURVIVED
        active = ()
    return after._replace(
        active=active, paid=tuple(paid), verdicts=tuple(verdicts), endings=tuple(endings)
    )


def _place_food(chance: Random | Json, count: int, free: frozenset[int]) -> list[int]:
    if isinstance(chance, Random):
        return chance.sample(list(free), count)
    return _cells_of_chance(chance, "food", count, free)


def _cells_of_chance(chance: Json, key: str, count: int, free: frozenset[int]) -> list[int]:
    """The cells under ``key`` of a chance event: ``count`` different ones out of ``free``."""
    cells: list[int] = chance[key]
    if len(cells) != count or len(set(cells)) != count or not free.issuperset(cells):
        raise GameError(f"{key}: needs {count} different free cells, given {cells!r:.100}")
    return list(cells)


GAME = HungryGeese()
