"""Speed of each game's rules, and of Hungry Geese beside kaggle-environments.

    python -m benchmarks.engine [--games 20] [--rounds 5]

Two things are timed, in processor time, in alternating rounds; the table has medians. *Rules alone*
plays recorded moves and food again, with our ``step`` and with the peer's ``Environment.step``.
*Whole games* are played by the same four random legal players, called in process, with our engine
and with the peer's ``Environment.run``; the games are compared, so both did the same work. The peer
is used as it comes, with nothing cached or switched off. The other games follow, without a peer
(``benchmarks.engine_steps``).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

from benchmarks import engine_steps as other_games
from games.hungry_geese import GAME, MOVES, State

OFFSETS = {"NORTH": (-1, 0), "EAST": (0, 1), "SOUTH": (1, 0), "WEST": (0, -1)}
BEHIND = {"NORTH": "SOUTH", "EAST": "WEST", "SOUTH": "NORTH", "WEST": "EAST"}
SEATS = 4
Agent = Callable[[Any, Any], str]
Recording = tuple[Any, list[tuple[dict[int, Any], Any]], State]


def random_legal(seed: str) -> Agent:
    """A player that moves to a random free cell and never reverses; the same for each seed."""
    rng = Random(seed)
    last = ""

    def agent(observation: Any, configuration: Any) -> str:
        nonlocal last
        rows, columns = configuration["rows"], configuration["columns"]
        row, column = divmod(observation["geese"][observation["index"]][0], columns)
        taken = {cell for goose in observation["geese"] for cell in goose}
        legal = [
            move
            for move, (down, right) in OFFSETS.items()
            if (row + down) % rows * columns + (column + right) % columns not in taken
            and move != BEHIND.get(last)
        ]
        last = rng.choice(legal or MOVES)
        return last

    return agent


def players(game: int) -> list[Agent]:
    return [random_legal(f"{game} {seat}") for seat in range(SEATS)]


def play_ours(game: int, configuration: Mapping[str, Any]) -> Recording:
    """A whole game here: reset, observations, players, steps."""
    rng, agents = Random(game), players(game)
    GAME.reset(configuration, 1, rng)  # the peer's make draws a board of its own
    state, start = GAME.reset(configuration, SEATS, rng)
    record = []
    while state.active:
        moves: dict[int, Any] = {}
        for seat in state.active:
            raw = agents[seat](GAME.observe(state, seat), configuration)
            moves[seat] = GAME.parse(state, seat, raw)
        state, chance = GAME.step(state, moves, rng)
        record.append((moves, chance))
    return start, record, state


def step_ours(recording: Recording, configuration: Mapping[str, Any]) -> None:
    start, record, end = recording
    state, _ = GAME.reset(configuration, SEATS, start)
    for moves, chance in record:
        state, _ = GAME.step(state, moves, chance)
    assert state == end


class Peer:
    """kaggle-environments, loaded quietly."""

    def __init__(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            import kaggle_environments
            from kaggle_environments.envs.hungry_geese import hungry_geese

        self.version: str = kaggle_environments.__version__
        self.make = kaggle_environments.make
        self.rules = hungry_geese

    def play(self, game: int) -> Any:
        random.seed(game)
        environment = self.make("hungry_geese")
        environment.run(players(game))
        return environment.state

    def step(self, recordings: list[Recording]) -> float:
        """Plays the recordings again; returns the processor seconds spent in ``step`` alone."""
        spent = 0.0
        environment = self.make("hungry_geese")
        sample = self.rules.sample
        try:
            for start, record, _ in recordings:
                given = iter([start["heads"], start["food"]])
                self.rules.sample = lambda *_, given=given: list(next(given))
                environment.reset(SEATS)
                started = time.process_time()
                for moves, chance in record:
                    self.rules.sample = lambda *_, food=chance["food"]: list(food)
                    environment.step([moves.get(seat) for seat in range(SEATS)])
                spent += time.process_time() - started
        finally:
            self.rules.sample = sample
        return spent


def timed(work: Callable[..., Any], each: Iterable[Any], *more: Any) -> tuple[float, list[Any]]:
    """Processor seconds of doing ``work`` on each, and what it gave."""
    started = time.process_time()
    results = [work(one, *more) for one in each]
    return time.process_time() - started, results


def main() -> None:
    parser = argparse.ArgumentParser(description="Hungry Geese here and at kaggle-environments")
    parser.add_argument("--games", type=int, default=20, help="games in a round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    configuration = GAME.configure({})
    peer = Peer()
    rows: dict[str, list[tuple[float, float]]] = {"rules": [], "games": []}
    steps = 0
    for number in range(options.rounds):
        games = range(number * options.games, (number + 1) * options.games)
        ours, recordings = timed(play_ours, games, configuration)
        theirs, ends = timed(peer.play, games)
        for (_, _, end), there in zip(recordings, ends, strict=True):
            assert [goose["reward"] for goose in there] == list(end.rewards), "games differ"
        rows["games"].append((ours, theirs))
        # Our steps are too quick for one pass to be timed well.
        again = [timed(step_ours, recordings, configuration)[0] for _ in range(5)]
        rows["rules"].append((statistics.median(again), peer.step(recordings)))
        steps += sum(len(record) for _, record, _ in recordings)
    mean = steps / (options.games * options.rounds)
    print(f"Hungry Geese, {SEATS} random legal players, {mean:.0f} steps a game on average;")
    print(f"medians of {options.rounds} rounds of {options.games} games, processor time\n")
    print(f"{'':14}{'kaggle ' + peer.version:>18}{'here':>14}{'ratio':>8}")
    for label, key, work in (
        ("rules steps/s", "rules", mean * options.games),
        ("games steps/s", "games", mean * options.games),
        ("games games/s", "games", options.games),
    ):
        ours, theirs = (statistics.median(column) for column in zip(*rows[key], strict=True))
        ratio = statistics.median(slow / quick for quick, slow in rows[key])
        print(f"{label:14}{work / theirs:18,.1f}{work / ours:14,.0f}{ratio:7.0f}x")
    print(f"\n{other_games.report(3 * options.games)}")


if __name__ == "__main__":
    main()
