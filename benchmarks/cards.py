"""Measures picture cards and clips of every game: time to draw, and size.

    python -m benchmarks.cards [--episodes 25]

A card is timed from the stored replay to the stored picture. The episodes are random play of up to
200 steps with the default configuration. The last column is one more read of the stored picture,
which every later visitor gets.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.report_tables import quantile
from games import GAMES
from games.episode import Episode, Step, to_bytes
from games.protocol import Game, Json
from ladder.database.blobs import ObjectStoreBlobs, open_blobs
from workers.pictures.cards import Card, CardLine, draw_card
from workers.pictures.clips import Form, draw_clip
from workers.pictures.drawing import frames_of, lively_frame

MOST_STEPS = 200
ROW = "{:<14} {:>6} {:>9} {:>9} {:>8} {:>9} {:>9} {:>9} {:>9} {:>11}"


def main() -> None:
    """Print one row for each game."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--episodes", type=int, default=25, help="episodes of each game")
    episodes = parser.parse_args().episodes
    print(
        ROW.format(
            *("game", "steps", "card p50", "card p95", "card kB"),
            *("webp s", "webp kB", "gif s", "gif kB", "kept p95 ms"),
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        blobs = open_blobs(Path(folder).as_uri())
        for game in GAMES.values():
            print(ROW.format(game.name, *measure(game, blobs, episodes)), flush=True)


def measure(game: Game[Any], blobs: ObjectStoreBlobs, episodes: int) -> tuple[str, ...]:
    """The cells of a game: milliseconds, seconds and kilobytes."""
    longest, drawn, kept, sizes = "", [], [], []
    steps = 0
    for seed in range(episodes):
        episode = play(game, seed)
        replay = blobs.put_bytes(to_bytes(episode)).digest
        if len(episode.steps) >= steps:
            longest, steps = replay, len(episode.steps)
        started = time.perf_counter()
        lines = [CardLine(f"Agent {seat} of a team", seat=seat) for seat in range(episode.seats)]
        board = lively_frame(frames_of(blobs, replay))
        content = draw_card(Card(game.title, "Agent 0 against others", lines, "Watch", board))
        digest = blobs.put_bytes(content).digest
        drawn.append(1000 * (time.perf_counter() - started))
        sizes.append(len(content) / 1000)
        started = time.perf_counter()
        b"".join(blobs.open(digest))
        kept.append(1000 * (time.perf_counter() - started))
    clips = []
    names = [f"Agent {seat}" for seat in range(max(game.seats))]
    forms: tuple[Form, ...] = ("webp", "gif")
    for form in forms:
        started = time.perf_counter()
        frames = frames_of(blobs, longest)
        clip = draw_clip(frames, names[: len(frames[0].values)], form)
        clips += [f"{time.perf_counter() - started:.2f}", f"{len(clip) / 1000:.0f}"]
    return (
        str(steps),
        f"{quantile(drawn, 0.5):.0f} ms",
        f"{quantile(drawn, 0.95):.0f} ms",
        f"{max(sizes):.0f}",
        *clips,
        f"{quantile(kept, 0.95):.1f}",
    )


def play(game: Game[Any], seed: int) -> Episode:
    """Random play, cut after ``MOST_STEPS``."""
    rng, seats = Random(seed), max(count for count in game.seats if count <= 4)
    configuration = game.configure({})
    state, chance = game.reset(configuration, seats, rng)
    steps: list[Step] = []
    nothing = (None,) * seats
    while len(steps) < MOST_STEPS and (asked := game.to_move(state)):
        moves: list[Json] = [None] * seats
        for seat in asked:
            moves[seat] = game.parse(state, seat, game.sample(state, seat, rng))
        state, event = game.step(state, {seat: moves[seat] for seat in asked}, rng)
        steps.append(Step(tuple(moves), event, nothing, nothing))
    return Episode(
        game.name,
        game.version,
        configuration,
        dict(game.clock),
        seats,
        chance,
        tuple(steps),
        (1,) * seats,
        (0.0,) * seats,
        ("DONE",) * seats,
    )


if __name__ == "__main__":
    main()
