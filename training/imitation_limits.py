"""Measures how well a network can imitate the reference geese at most.

    .torch/bin/python -m training.imitation_limits play --games 400 --out teachers.npz
    .torch/bin/python -m training.imitation_limits ceiling --positions 1000

``play`` lets the geese play each other in this process, without boxes and clock. It writes arrays
as `peck dataset` does, with the index of the mover in ``teacher``. ``ceiling`` stops such games at
times and asks every teacher for a move in the same position. It asks the searching teacher several
times. The searching teacher's 30 ms are processor time, so that a busy machine does not make it
weaker.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import numpy as np

from games.encoders import goose_planes
from games.hungry_geese import GAME, MOVES, OPPOSITE, State

AGENTS: Final = Path(__file__).resolve().parent.parent / "agents" / "hungry_geese"
TEACHERS: Final = ("searcher", "survivor", "numpy_heuristic")
OTHERS: Final = ("greedy", "random_legal")
REPEATS: Final = 6
"""The number of questions to the searching teacher."""
SHARE: Final = 0.15
"""The share of a game's moves at which the teachers are asked."""
NAMES: Final = list(MOVES)
BOTH: Final = ((False, False), (True, False), (False, True), (True, True))


class Asked(NamedTuple):
    """A position with the next move of one teacher."""

    state: State
    before: State | None
    seat: int
    teacher: int
    move: str
    episode: int


class Teacher:
    """A reference agent, executed as Kaggle executes it."""

    def __init__(self, name: str, configuration: dict[str, Any], seed: int) -> None:
        self.name = name
        self._configuration = configuration
        file = AGENTS / name / "main.py"
        self._globals: dict[str, Any] = {"__name__": "agent", "__file__": str(file)}
        source = file.read_text()
        exec(compile(source, f"{name}/main.py", "exec"), self._globals)  # noqa: S102 (our own)
        if "random" in self._globals:
            self._globals["random"] = Random(seed)
        if "time" in self._globals:
            self._globals["time"] = SimpleNamespace(perf_counter=time.process_time)

    def move(self, state: State, seat: int) -> str:
        """The teacher's move in an episode that asks it at every step."""
        observation = {**GAME.observe(state, seat), "remainingOverageTime": 60}
        return str(self._globals["agent"](_Seen(observation), _Seen(self._configuration)))

    def move_at_position(self, state: State, seat: int) -> str:
        """The teacher's move in this position, after any earlier moves."""
        last = state.last_moves[seat]
        if self.name == "searcher":
            self._globals["prepare"](self._configuration)
            self._globals["last_move"] = None if last is None else NAMES.index(last)
        else:
            if "prepare" in self._globals:
                self._globals["prepare"](
                    self._configuration["rows"], self._configuration["columns"]
                )
            self._globals["last_move"] = last
        return self.move(state, seat)

    def first_choice(self, one: Asked) -> int:
        """The network's first choice among all four moves."""
        scores = self._globals["scores"](planes_of(one))
        return int(scores.argmax())


class _Seen(dict[str, Any]):
    """Keys that are attributes too, as Kaggle's are."""

    __getattr__ = dict.__getitem__


def planes_of(one: Asked) -> Any:
    """The network's input planes for the position."""
    past = None if one.before is None else GAME.observe(one.before, one.seat)
    return goose_planes(GAME.observe(one.state, one.seat), past, 7, 11)


def play_games(count: int, seed: int, names: Sequence[str]) -> Iterator[Asked]:
    """The teachers' moves of that many games with random seats."""
    configuration = GAME.configure({})
    for number in range(count):
        random = Random(f"{seed} {number}")
        lineup = random.sample(names, 4) if len(names) > 3 else random.choices(names, k=4)
        seats = [Teacher(name, configuration, random.getrandbits(32)) for name in lineup]
        state, _ = GAME.reset(configuration, 4, random)
        before: State | None = None
        while GAME.to_move(state):
            moves = {seat: seats[seat].move(state, seat) for seat in GAME.to_move(state)}
            for seat, move in moves.items():
                if lineup[seat] in TEACHERS:
                    teacher = TEACHERS.index(lineup[seat])
                    yield Asked(state, before, seat, teacher, move, number)
            before = state
            state, _ = GAME.step(state, moves, random)


def write_teacher_moves(
    count: int, seed: int, names: Sequence[str], of: Sequence[str], target: Path
) -> None:
    """Write these teachers' moves of that many games."""
    arrays: dict[str, list[Any]] = {
        name: [] for name in ("planes", "moves", "episode", "seat", "step", "teacher")
    }
    started = time.monotonic()
    for one in play_games(count, seed, names):
        if TEACHERS[one.teacher] not in of:
            continue
        values = (
            planes_of(one),
            NAMES.index(one.move),
            one.episode,
            one.seat,
            one.state.step,
            one.teacher,
        )
        for name, value in zip(arrays, values, strict=True):
            arrays[name].append(value)
    kinds = {"planes": np.uint8, "moves": np.int8, "seat": np.int8, "teacher": np.int8}
    with target.open("wb") as file:
        np.savez_compressed(
            file,
            allow_pickle=False,
            **{name: np.array(found, kinds.get(name, np.int32)) for name, found in arrays.items()},
        )
    shares = Counter(arrays["teacher"])
    told = ", ".join(f"{name} {shares[number]:,}" for number, name in enumerate(TEACHERS))
    print(
        f"{target}: {len(arrays['moves']):,} moves of {count} games in "
        f"{time.monotonic() - started:.0f} s; {told}"
    )


def print_agreement(
    positions: int, seed: int, names: Sequence[str], weights: Sequence[float]
) -> None:
    """Print how often the teachers agree with themselves, each other and the shipped network."""
    configuration = GAME.configure({})
    asked = [Teacher(name, configuration, seed) for name in TEACHERS]
    network = Teacher("convolutional", configuration, seed)
    random = Random(seed)
    told: list[list[list[int]]] = []
    """By position and teacher: its answers."""
    first: list[int] = []
    """By position: the network's first choice."""
    for one in play_games(10**6, seed, names):
        if random.random() > SHARE:
            continue
        told.append(
            [
                [
                    NAMES.index(teacher.move_at_position(one.state, one.seat))
                    for _ in range(REPEATS if teacher.name == "searcher" else 2)
                ]
                for teacher in asked
            ]
        )
        first.append(network.first_choice(one))
        if len(told) == positions:
            break
    shares = np.array(
        [[np.bincount(moves, minlength=4) / len(moves) for moves in row] for row in told]
    )
    each = np.array(weights) / sum(weights)
    print(
        f"{len(told):,} positions of {one.episode + 1} games; one deviation is at most "
        f"{0.5 / len(told) ** 0.5:.3f}"
    )
    itself = []
    for number, name in enumerate(TEACHERS):
        answers = np.array([row[number] for row in told])
        usual = [np.bincount(row[:-1], minlength=4).argmax() for row in answers]
        itself.append(float(np.mean(usual == answers[:, -1])))
        twice = float(np.mean(answers[:, 0] == answers[:, 1]))
        guessed = float(shares[np.arange(len(first)), number, first].mean())
        print(
            f"{name}: the same move when asked twice {twice:.3f}, "
            f"its usual move {itself[-1]:.3f}, the network's {guessed:.3f}"
        )
    for here, there in ((0, 1), (0, 2), (1, 2)):
        both = float(np.mean((shares[:, here] * shares[:, there]).sum(axis=1)))
        print(f"{TEACHERS[here]} and {TEACHERS[there]} choose the same move {both:.3f}")
    mixed = np.einsum("t,ptm->pm", each, shares)
    print(f"their moves mixed as {', '.join(f'{share:.2f}' for share in each)}:")
    print(f"  best guess that knows who moves {float(each @ itself):.3f}")
    print(f"  best guess that does not {float(mixed.max(axis=1).mean()):.3f}")
    print(f"  the network's {float(mixed[np.arange(len(first)), first].mean()):.3f}")
    alike = (shares[:, 1] * shares[:, 2]).sum(axis=1) == 1
    print(
        f"where {TEACHERS[1]} and {TEACHERS[2]} choose the same ({float(alike.mean()):.3f}) it is "
        f"the network's {float(shares[np.arange(len(first)), 1, first][alike].mean()):.3f}"
    )


def print_mirror_agreement(
    positions: int, seed: int, names: Sequence[str], weights: Sequence[float]
) -> None:
    """Print how often the teachers without search make the same choice in a mirror.

    A teacher that takes the first of equal moves often does not. A network with randomly mirrored
    batches learns mirrored choices, so it cannot imitate such a teacher.
    """
    configuration = GAME.configure({})
    asked = [Teacher(name, configuration, seed) for name in TEACHERS[1:]]
    random = Random(seed)
    told: list[list[list[int]]] = []
    """By position and teacher: its choice in each mirror, mirrored back."""
    for one in play_games(10**6, seed, names):
        if random.random() > SHARE:
            continue
        seen = [(mirrored(one.state, across, down), across, down) for across, down in BOTH]
        told.append(
            [
                [
                    NAMES.index(_turned(teacher.move_at_position(state, one.seat), across, down))
                    for state, across, down in seen
                ]
                for teacher in asked
            ]
        )
        if len(told) == positions:
            break
    shares = np.array([[np.bincount(moves, minlength=4) / 4 for moves in row] for row in told])
    print(f"{len(told):,} positions of {one.episode + 1} games")
    for number, name in enumerate(TEACHERS[1:]):
        best = shares[:, number].max(axis=1)
        print(
            f"{name}: the same move in all mirrors {float((best == 1).mean()):.3f}, "
            f"best guess that is the same in all {float(best.mean()):.3f}"
        )
    each = np.array(weights[1:]) / sum(weights[1:])
    mixed = np.einsum("t,ptm->pm", each, shares)
    print(
        f"best guess that is the same in all mirrors and does not know who moves "
        f"{float(mixed.max(axis=1).mean()):.3f}"
    )


def mirrored(state: State, across: bool, down: bool) -> State:
    """The position with east and west, or north and south, swapped."""
    cells = [
        (6 - cell // 11 if down else cell // 11) * 11 + (10 - cell % 11 if across else cell % 11)
        for cell in range(77)
    ]
    return state._replace(
        geese=tuple(tuple(cells[cell] for cell in goose) for goose in state.geese),
        food=tuple(cells[cell] for cell in state.food),
        last_moves=tuple(move and _turned(move, across, down) for move in state.last_moves),
    )


def _turned(move: str, across: bool, down: bool) -> str:
    turns = across if move in ("EAST", "WEST") else down
    return OPPOSITE[move] if turns else move


def main() -> int:
    """Run ``play``, ``ceiling`` or ``mirrors``."""
    parser = argparse.ArgumentParser(prog="python -m training.imitation_limits")
    parser.add_argument("what", choices=("play", "ceiling", "mirrors"))
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--positions", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path("teachers.npz"))
    parser.add_argument("--agents", nargs="+", default=[*TEACHERS, *OTHERS], help="who plays")
    parser.add_argument("--of", nargs="+", default=TEACHERS, choices=TEACHERS, help="whose moves")
    parser.add_argument(
        "--weights",
        nargs=3,
        type=float,
        default=[1, 1, 1],
        metavar="SHARE",
        help="of the moves, by searcher, survivor and numpy_heuristic",
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.what == "play":
        write_teacher_moves(options.games, options.seed, options.agents, options.of, options.out)
    else:
        measure = print_agreement if options.what == "ceiling" else print_mirror_agreement
        measure(options.positions, options.seed, options.agents, options.weights)
    return 0


if __name__ == "__main__":
    sys.exit(main())
