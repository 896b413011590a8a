"""Measures `peck luck` on simulated contests: ``python -m benchmarks.contest_luck``.

Agents of known strength play in a ladder like Kaggle's. The tables are written in Kaggle's format,
and the command's functions read and fit them. Then the said chances of medals are compared with
what the true strengths say.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.rating import worlds
from benchmarks.rating.baselines import POINTS, kaggle_like
from benchmarks.rating.board_accuracy import places
from benchmarks.report_tables import HEAD, Target, aligned, describe_machine
from ladder.leagues.medals import MedalRules
from ladder.reports.contest_luck.contest_tables import read_contest
from ladder.reports.contest_luck.medal_odds import ContestLuck, measure_luck

SEATS = 4
BINS = (0.0, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 1.0)
FIRST_SUBMISSION = 20_000_000
COMPETITION = 25401


@dataclass(frozen=True)
class Tables:
    """The files of a simulated contest, and the truth."""

    episodes: Path
    agents: Path
    skill: NDArray[np.float64]


def write_tables(folder: Path, agents: int, episodes: int, seed: int) -> Tables:
    """Plays a contest and writes its tables."""
    rng = np.random.default_rng([seed, 0])
    world = worlds.normal(agents, SEATS, rng)
    ladder = kaggle_like(SEATS)
    ladder.enter(np.full(agents, -1, np.int32))
    active = np.arange(agents, dtype=np.int32)
    tables = Tables(folder / "Episodes.csv", folder / "EpisodeAgents.csv", world.skill)
    with tables.episodes.open("w") as one, tables.agents.open("w") as other:
        matches, seats = csv.writer(one), csv.writer(other)
        matches.writerow(("Id", "CompetitionId", "CreateTime", "EndTime"))
        seats.writerow(
            ("Id", "EpisodeId", "Index", "Reward", "State", "SubmissionId", "UpdatedScore")
        )
        played = 0
        while played < episodes:
            lineups = ladder.lineups(active, min(agents // SEATS, episodes - played), rng)
            ranks, faults = world.play(lineups, rng)
            ladder.learn(lineups, ranks, faults)
            score = 600 + POINTS * ladder.view(active).mu
            for lineup, places_ in zip(lineups.tolist(), ranks.tolist(), strict=True):
                played += 1
                matches.writerow((played, COMPETITION, "", ""))
                for seat, (who, rank) in enumerate(zip(lineup, places_, strict=True)):
                    said = f"{score[who]:.4f}"
                    seats.writerow((0, played, seat, -rank, 2, FIRST_SUBMISSION + who, said))
    return tables


def calibration(
    found: Sequence[tuple[ContestLuck, NDArray[np.float64]]],
) -> list[tuple[str, str, str, str]]:
    """Rows of the table of said and true shares, over all classes."""
    said, happened = list[float](), list[bool]()
    for result, skill in found:
        true = places(skill)
        cuts = MedalRules().cuts(len(skill))
        for row in result.rows:
            said += row.chances
            happened += [bool(true[row.submission - FIRST_SUBMISSION] <= cut) for cut in cuts]
    chance, was = np.array(said), np.array(happened)
    lines = [("said", "chances", "mean said", "happened")]
    for low, high in itertools.pairwise(BINS):
        inside = (chance >= low) & ((chance < high) | (high == 1.0))
        if inside.any():
            error = np.sqrt(was[inside].mean() * (1 - was[inside].mean()) / inside.sum())
            lines.append(
                (
                    f"{low:.2f} to {high:.2f}",
                    f"{inside.sum():,}",
                    f"{chance[inside].mean():.3f}",
                    f"{was[inside].mean():.3f} ±{error:.3f}",
                )
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--episodes", type=int, default=200_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=9001)
    options = parser.parse_args()
    found, seconds, errors = list[tuple[ContestLuck, NDArray[np.float64]]](), list[float](), []
    with tempfile.TemporaryDirectory(prefix="peck-bench-") as folder:
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            tables = write_tables(Path(folder), options.agents, options.episodes, seed)
            began = time.perf_counter()
            result = measure_luck(read_contest(tables.episodes, tables.agents))
            seconds.append(time.perf_counter() - began)
            found.append((result, tables.skill))
            errors.append(_wrong_medals(result, tables.skill))
    print(f"luck, {options.agents:,} agents, {options.episodes:,} episodes: {describe_machine()}")
    print(aligned([HEAD, Target("tables read and fitted", seconds, "s", 60).cells()]))
    said = [result.wrong_medals for result, _ in found]
    print(f"wrong official medals, said: {said}; by the truth: {errors}")
    print(aligned(calibration(found)))


def _wrong_medals(result: ContestLuck, skill: NDArray[np.float64]) -> int:
    cuts = np.array(MedalRules().cuts(len(skill)))
    true = places(skill)
    given = [each for each in result.rows if each.official is not None]
    official = np.array([each.official_rank or 0 for each in given])
    right = true[[each.submission - FIRST_SUBMISSION for each in given]]
    return int((np.searchsorted(cuts, official) != np.searchsorted(cuts, right)).sum())


if __name__ == "__main__":
    main()
