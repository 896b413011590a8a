"""Measures the official fit of the largest supported leagues, beside the ``trueskill`` package.

    python -m benchmarks.official_fit [--rounds 3]

Skills are normal with a standard deviation of 1 beta. A lineup has four random agents within about
a beta of the first seat. Results follow TrueSkill's model, with ties and one fault in fifty seats.

*Cold* fits the whole log from nothing. *Warm* starts from the messages of a fit of the first 95 %,
as the rater does after a growth of one twentieth. Times include all results of a fit (intervals,
kappa, messages) but not the loading of the log. The peer rates games of the same league one by one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import trueskill
from numpy.typing import NDArray

from benchmarks.report_tables import HEAD, Target, aligned, describe_machine
from ladder.ratings.official.fit import Fit, fit
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.learned_priors import Prior
from ladder.ratings.official.ranks import draw_ranks, rank_outlook, remaining_uncertainty

SEATS = 4
GRAIN = 0.05
"""Performances are rounded to this step, so that some seats tie."""
FAULTS = 0.02
GROWTH = 0.05
PEER_GAMES = 1000
DRAWS = 200
POINTS = 150.0
"""Points in one beta."""
WARM_SECONDS = {100_000: 0.2, 1_000_000: 3.0}
Result = TypeVar("Result")


def simulate_season(seed: int, n: int, games: int) -> GameTable:
    """A simulated season."""
    rng = np.random.default_rng(seed)
    skills = np.sort(rng.normal(0.0, 1.0, n))
    lead = rng.integers(0, n, games)
    near = np.searchsorted(skills, skills[lead][:, None] + rng.normal(0.0, 1.0, (games, SEATS - 1)))
    who = np.concatenate([lead[:, None], np.minimum(near, n - 1)], axis=1)
    ordered = np.sort(who, axis=1)
    who = who[(ordered[:, 1:] != ordered[:, :-1]).all(axis=1)]
    performances = np.rint((skills[who] + rng.standard_normal(who.shape)) / GRAIN)
    ranks = np.stack([1 + (performances > row[:, None]).sum(axis=1) for row in performances.T])
    faults = rng.random(who.shape) < FAULTS
    return GameTable(rng.permutation(n)[who].astype(np.int32), ranks.T.astype(np.int16), faults)


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """The wall seconds and the result of a call."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def time_trueskill_package(games: GameTable, n: int) -> float:
    """Seconds a game of the trueskill package, rating games in order."""
    environment = trueskill.TrueSkill(0.0, 1.0, 1.0, 0.0, 0.05)
    ratings = [environment.create_rating() for _ in range(n)]
    began = time.perf_counter()
    for who, ranks in zip(
        games.contenders[:PEER_GAMES].tolist(), games.ranks[:PEER_GAMES].tolist(), strict=True
    ):
        rated = environment.rate([(ratings[c],) for c in who], ranks=ranks)
        for contender, (rating,) in zip(who, rated, strict=True):
            ratings[contender] = rating
    return (time.perf_counter() - began) / min(PEER_GAMES, len(games))


def rows(n: int, count: int, rounds: int) -> Iterator[Target]:
    """The figures of one league."""
    games = simulate_season(1, n, count)
    prior = Prior.unknown(n)
    size = f"{n:,} x {count:,}"
    package = time_trueskill_package(games, n)
    early = fit(games.take(slice(0, int(len(games) * (1 - GROWTH)))), prior).messages
    colds, warms = list[float](), list[float]()
    cold = warm = None
    for _ in range(rounds):
        seconds, cold = timed(lambda: fit(games, prior))
        colds.append(seconds)
        seconds, warm = timed(lambda: fit(games, prior, warm=early))
        warms.append(seconds)
    assert cold is not None
    assert warm is not None
    ours = float(np.median(warms))
    yield Target(f"{size}: warm refit", warms, "s", WARM_SECONDS[count], floor=_sweeps(warm))
    yield Target(f"{size}: cold fit", colds, "s", 4 * WARM_SECONDS[count], floor=_sweeps(cold))
    yield Target("  a warm refit, a game of the log", [1e6 * ours / len(games)], "us")
    yield Target(
        "  the trueskill package, a game once",
        [1e6 * package],
        "us",
        floor=f"x{package * len(games) / ours:.0f} of ours",
    )
    yield Target(
        "  games/s that the fit can sustain",
        [GROWTH * len(games) / ours],
        "/s",
        20_000,
        floor="refit at every 5 % of growth",
        better="more",
    )
    yield Target(
        "  warm against cold, largest difference",
        [_largest_score_difference(warm, cold)],
        "points",
        0.5,
    )
    order = np.random.default_rng(2).permutation(len(games))
    other = fit(games.take(order), prior)
    yield Target(
        "  the log in another order", [_largest_score_difference(other, cold)], "points", 0.5
    )
    yield from _measure_rank_draws(size, cold, rounds)


def _sweeps(result: Fit) -> str:
    return f"{result.sweeps} rounds of messages"


def _largest_score_difference(one: Fit, two: Fit) -> float:
    return POINTS * float(np.abs(one.mu - two.mu).max())


def _measure_rank_draws(size: str, result: Fit, rounds: int) -> Iterator[Target]:
    cuts = (12, 50, 100)

    def posterior() -> NDArray[np.float64]:
        everybody = np.arange(len(result.mu))
        ranks = draw_ranks(result.mu, result.shown_sigma, everybody, everybody, DRAWS, 1)
        rank_outlook(ranks, cuts)
        return remaining_uncertainty(ranks, cuts, 0.08)

    samples = [timed(posterior)[0] for _ in range(rounds)]
    yield Target(f"  {DRAWS} rank draws, outlook and loss", samples, "s", 0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description="The official fit at full size")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{describe_machine()}, numpy {np.__version__}, one thread; {SEATS} seats\n", flush=True)
    lines: list[tuple[str, ...]] = [HEAD]
    for n, count in ((1_000, 100_000), (10_000, 1_000_000)):
        lines += [target.cells() for target in rows(n, count, options.rounds)]
    print(aligned(lines))


if __name__ == "__main__":
    main()
