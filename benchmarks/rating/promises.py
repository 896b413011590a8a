"""Measures what the ladder promises against people who try, on fresh seeds.

    python -m benchmarks rating.promises [--seeds N] [--promise NAME ...]

Each row has the measured figure with its standard error, the aim, and the figure *before*: by the
rules of earlier seasons, or of a pairing that knows no copies. *limit* is what no pairing reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from benchmarks.rating import crowds, experiments, forks, jumps, rules, suspects, tricks
from benchmarks.rating.aims import row
from benchmarks.rating.experiments import FINALS, LADDER, PLANS, Record
from benchmarks.rating.figures import (
    Figure,
    games_until_aim,
    interval_coverage,
    mean,
    mean_of,
    seed_parser,
    snapshot_reader,
)
from benchmarks.rating.information_limits import fewest_games
from benchmarks.report_tables import aligned

Row = tuple[str, ...]
UNKNOWN = Figure(None, None)
SURE = 2.0
"""Standard errors by which a figure may miss an aim that allows for chance."""
HONEST_SEASONS = 10
"""Seasons without collusion for each seed."""


def medal_teams(seeds: Sequence[int]) -> Iterable[Row]:
    """Teams that count for medals if uploads lock after one or two games."""
    for seats in rules.SEATS:
        for games in (1, 2):
            before, ours = (
                mean_of([rules.count_medal_teams(seats, games, n, is_before=first) for n in seeds])
                for first in (True, False)
            )
            what = f"medal teams of {rules.AGENTS}, {seats} seats, {games} games"
            yield row(what, ours, before, rules.AGENTS, more=True, digits=1)


def gains(seeds: Sequence[int]) -> Iterable[Row]:
    """What a team gains by freezing, withdrawing or skipping."""
    answers = [tricks.play_season(seed, "answer") for seed in seeds]
    for trick in ("freeze", "withdraw", "skip"):
        found = [
            [tricks.play_season(seed, trick, first_rules=first) for seed in seeds]
            for first in (True, False)
        ]
        for what, aim in (("points", 8.0), ("ranks", 3.0)):
            name = f"gain_{what}"
            usual = [getattr(each, name) if trick == "skip" else 0.0 for each in answers]
            before, ours = (
                mean_of([getattr(each, name) - n for each, n in zip(some, usual, strict=True)])
                for some in found
            )
            yield row(f"{trick}: gain, {what}", ours, before, aim, digits=1)


def collusion(seeds: Sequence[int]) -> Iterable[Row]:
    """What rings and throwers gain if the page of suspects does not name them."""
    for name, aim in (("ring", 20.0), ("half", 25.0), ("behind", 25.0)):
        last = [suspects.play_season(suspects.world_of(name, seed), seed)[-1] for seed in seeds]
        hidden = mean_of([0.0 if each.named else each.gain for each in last])
        shown = f"{name}: points gained unnamed, {suspects.GAMES[-1]} games"
        yield row(shown, hidden, UNKNOWN, aim, digits=1)
    alarms = []
    for seed in range(seeds[0], seeds[0] + HONEST_SEASONS * len(seeds)):
        world = suspects.honest_world(seed)
        looks = suspects.play_season(world, seed, suspects.by_strength(world))
        alarms.append(float(looks[-1].others > 0))
    what = f"nobody colludes: share of {len(alarms)} seasons with an alarm"
    yield row(what, mean_of(alarms), UNKNOWN, 0.05, errors=SURE)


def faults(seeds: Sequence[int]) -> Iterable[Row]:
    """Losses told as faults, and agents that fail at random."""
    for seats, told, what in (
        (2, True, "losses told as faults, 2 seats"),
        (2, False, "failing 20 to 40 %, 2 seats"),
        (4, False, "failing 20 to 40 %, 4 seats"),
    ):
        before, ours = (
            [rules.play_faults(seats, n, tells_losses=told, is_before=first) for n in seeds]
            for first in (True, False)
        )
        if told:
            off, off_before = (mean_of([each.error for each in some]) for some in (ours, before))
            yield row(f"{what}: error of places", off, off_before, 3.0, digits=1)
        own, own_before = (mean_of([each.cover for each in some]) for some in (ours, before))
        aim = 0.92 if told else 0.9
        yield row(f"{what}: rank cover", own, own_before, aim, more=True, errors=SURE)


def copies(seeds: Sequence[int]) -> Iterable[Row]:
    """Improved forks of a popular agent, and the games that a flood of copies leaves."""
    before, ours = ([forks.play(n, paced=paced) for n in seeds] for paced in (False, True))
    for look, games in enumerate(forks.LOOKS):
        off, unpaced = (mean_of([season[look][0] for season in some]) for some in (ours, before))
        what = f"improved forks: error of places, {games} games"
        yield row(what, off, unpaced, 7.0, digits=1)
    for locked, aim in ((False, 0.8), (True, 0.75)):
        kept, unpaced = (
            mean_of([crowds.compare("flood", name, n, is_locked=locked).games_share for n in seeds])
            for name in ("ours", "ours, before")
        )
        what = f"flood: games kept, uploads {'locked' if locked else 'open'}"
        yield row(what, kept, unpaced, aim, more=True)


def in_flight(seeds: Sequence[int]) -> Iterable[Row]:
    """Places in flight that one slow remote agent holds."""
    before, ours = (
        mean_of([rules.most_in_flight(seed, limit) for seed in seeds])
        for limit in (None, tricks.MOST_IN_FLIGHT)
    )
    yield row("a slow remote agent: most matches in flight", ours, before, 4.0, digits=1)


def games(seeds: Sequence[int]) -> Iterable[Row]:
    """Games until the order and the medals are right."""
    big = _records("static-1000x4", seeds, (12, 16, 18, 20, 80, 90, 101, 110, 120, 140))
    for what, loss, aim, most, errors in (
        ("order .95", "rho", 0.05, 18.0, SURE),
        ("order .99", "rho", 0.01, 101.0, SURE),
        ("medals 10 % wrong", "medal_error", 0.1, 140.0, 0.0),
    ):
        limit = f"{fewest_games(1000, 4, **{'order' if loss == 'rho' else 'medals': aim}):.0f}"
        ours = games_until_aim(big, loss, aim)
        yield row(
            f"1,000 agents: games to {what}", ours, UNKNOWN, most, limit, digits=1, errors=errors
        )
    wrong = mean(_records("geese", seeds, PLANS["geese"].games), snapshot_reader(-1, "medal_error"))
    yield row("geese: wrong medals at 240 games", wrong, UNKNOWN, 0.08)
    duels = _records("static-100x2", seeds, (20, 26, 32, 38, 44, 50))
    limit = f"{fewest_games(100, 2, order=0.05):.0f}"
    ours = games_until_aim(duels, "rho", 0.05)
    yield row("two seats: games to order .95", ours, UNKNOWN, 32.0, limit, digits=1)
    found = [jumps.distances(seed, parents=True) for seed in seeds]
    off = mean_of([sum(each[1.5, 25]) / len(each[1.5, 25]) for each in found])
    yield row("a jump of 1.5 beta: error after 25 games", off, UNKNOWN, 0.05, digits=3)


def cover(seeds: Sequence[int]) -> Iterable[Row]:
    """How often 95 % intervals hold the truth."""
    for world, ladder in (
        ("static-100x2", LADDER),
        ("static-100x4", LADDER),
        ("static-100x8", LADDER),
        ("mild", LADDER),
        ("near-copies", FINALS),
        ("living", LADDER),
    ):
        records = _records(world, seeds, (10, 20, 40, 80, 160), ladder)
        for which in ("rank_cover", "score_cover"):
            share = interval_coverage(records, which)
            what = f"{world}: {which.replace('_', ' ')}"
            yield row(f"{what}, low", share, UNKNOWN, 0.93, more=True, errors=SURE)
            yield row(f"{what}, high", share, UNKNOWN, 0.97, errors=SURE)


def _records(
    world: str, seeds: Sequence[int], looks: tuple[int, ...], ladder: str = LADDER
) -> list[Record]:
    plan = replace(PLANS[world], games=looks)
    return [experiments.season(world, plan, ladder, seed) for seed in seeds]


PROMISES: Mapping[str, Callable[[Sequence[int]], Iterable[Row]]] = {
    "medal-teams": medal_teams,
    "gains": gains,
    "collusion": collusion,
    "faults": faults,
    "copies": copies,
    "in-flight": in_flight,
    "games": games,
    "cover": cover,
}


def main() -> None:
    """Print a table for each promise."""
    parser = seed_parser(__doc__)
    parser.add_argument("--promise", action="append", choices=list(PROMISES))
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    head = ("what", "measured", "aim", "before", "limit", "met?")
    for name in options.promise or PROMISES:
        table = aligned([head, *PROMISES[name](seeds)])
        print(f"== {name}, seeds {seeds[0]}-{seeds[-1]}\n{table}\n", flush=True)


if __name__ == "__main__":
    main()
