"""Asks what the ladder promises, on simulated seasons: ``python -m benchmarks rating``.

    python -m benchmarks rating [QUESTION ...] [--seeds N] [--first-seed N] [--short]

Each row has the measured figure with its standard error, and the aim. Beside it stands the figure
*before or peer*: by the rules of earlier seasons, by a pairing that knows no copies, or of a
Kaggle-like ladder. *limit* is what no pairing reaches (``docs/performance.md``). ``--short`` plays
two seasons for each row of the quick questions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from benchmarks.rating import crowds, newcomers, rules, seasons, suspects, tricks, worlds
from benchmarks.rating.baselines import KaggleLike
from benchmarks.rating.figures import (
    UNKNOWN,
    Figure,
    at_end,
    games_until_aim,
    games_until_placed,
    interval_coverage,
    mean_of,
    ratio,
    row,
)
from benchmarks.rating.official_ladder import Official
from benchmarks.rating.seasons import Ladder, Life, Season
from benchmarks.rating.worlds import World
from benchmarks.report_tables import aligned, describe_machine

FIRST_SEED = 9001
"""Seeds 0 to 31 chose the settings; no table uses them."""
Row = tuple[str, ...]
Make = Callable[[World], Ladder]
SURE = 2.0
"""Standard errors by which a figure may miss an aim that allows for chance."""
HONEST_SEASONS = 10
"""Seasons without collusion for each seed."""
COVER_LOOKS = (10, 20, 40, 80, 160)
WORLDS: Mapping[str, Callable[[np.random.Generator], World]] = {
    "static-100x2": partial(worlds.normal, 100, 2),
    "static-100x4": partial(worlds.normal, 100, 4),
    "static-100x8": partial(worlds.normal, 100, 8),
    "static-1000x4": partial(worlds.normal, 1000, 4),
    "near-copies": partial(worlds.near_copies, 100, 4),
    "mild": partial(worlds.normal, 100, 4, cycle=worlds.CYCLE),
    "geese": partial(worlds.normal, 879, 4, spread=0.95),
    "living": partial(worlds.living, 120, 4),
}
"""*near-copies* has families of four that are .01 to .05 beta apart, *mild* has pairwise advantages
of .2 beta, *geese* is a replica of Kaggle's Hungry Geese with 120 games open and 120 of finals.
*living* has two arrivals and four resubmissions a day, and 8 % crashers."""


def ours(world: World) -> Ladder:
    return Official(world.seats)


def ours_in_finals(world: World) -> Ladder:
    ladder = Official(world.seats)
    ladder.close_uploads()
    return ladder


def ours_living(world: World, *, parents: bool = True) -> Ladder:
    return Official(world.seats, growth=1.0, parents=parents)


def kaggle(world: World) -> Ladder:
    return KaggleLike(world.seats)


def play(
    name: str, make: Make, seeds: Sequence[int], looks: Sequence[int], finals_at: int | None = None
) -> list[Season]:
    """A season without arrivals for each seed."""
    played = list[Season]()
    for seed in seeds:
        world = WORLDS[name](np.random.default_rng([seed, 0]))
        ladder = make(world)
        played.append(seasons.play_static_season(ladder, world, looks, seed, finals_at=finals_at))
    return played


def play_living(make: Make, seeds: Sequence[int], life: Life | None = None) -> list[Season]:
    """A season of the living league for each seed."""
    played = list[Season]()
    for seed in seeds:
        world = WORLDS["living"](np.random.default_rng([seed, 0]))
        played.append(seasons.play_living_season(make(world), world, life or Life(), seed))
    return played


def medal_teams(seeds: Sequence[int]) -> Iterable[Row]:
    """Teams that count for medals if uploads lock after one or two games."""
    for seats in rules.SEATS:
        for games in (1, 2):
            before, now = (
                mean_of([rules.count_medal_teams(seats, games, n, is_before=first) for n in seeds])
                for first in (True, False)
            )
            what = f"medal teams of {rules.AGENTS}, {seats} seats, {games} games"
            yield row(what, now, before, rules.AGENTS, more=True, digits=1)


def gains(seeds: Sequence[int]) -> Iterable[Row]:
    """What a team gains by freezing, withdrawing or skipping."""
    answers = [tricks.play_season(seed, "answer") for seed in seeds]
    for trick in ("freeze", "withdraw", "skip"):
        yield from _gains_of(trick, seeds, answers if trick == "skip" else None)


def lottery(seeds: Sequence[int]) -> Iterable[Row]:
    """What a team gains by one upload, by 50 of the same agent, and by declaring the luckiest."""
    for trick in ("one", "newest", "lucky"):
        yield from _gains_of(trick, seeds)


def _gains_of(
    trick: str, seeds: Sequence[int], usual: Sequence[tricks.Outcome] | None = None
) -> Iterable[Row]:
    """Gains by the rules before and now, above those of the same league without the trick."""
    sides = [
        [tricks.play_season(seed, trick, first_rules=first) for seed in seeds]
        for first in (True, False)
    ]
    for what, aim in (("points", 8.0), ("ranks", 3.0)):
        name = f"gain_{what}"
        less = [getattr(each, name) for each in usual] if usual else [0.0] * len(seeds)
        before, now = (
            mean_of([getattr(each, name) - n for each, n in zip(side, less, strict=True)])
            for side in sides
        )
        yield row(f"{trick}: gain, {what}", now, before, aim, digits=1)


def collusion(seeds: Sequence[int]) -> Iterable[Row]:
    """What rings and throwers gain if the page of suspects does not name them, and who is named."""
    for name, aim in (
        *(("ring", 20.0), ("half", 25.0), ("behind", 25.0)),
        *(("tying ring", 20.0), ("throw", 25.0)),
    ):
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
    copies_named, honest_named = zip(*map(suspects.copies_named, seeds), strict=True)
    yield row("flood: named of 100 copies", mean_of(copies_named), UNKNOWN, 80, more=True, digits=1)
    yield row("flood: named of 100 others", mean_of(honest_named), UNKNOWN, 5, digits=1)


def faults(seeds: Sequence[int]) -> Iterable[Row]:
    """Losses told as faults, and agents that fail at random."""
    for seats, told, what in (
        (2, True, "losses told as faults, 2 seats"),
        (2, False, "failing 20 to 40 %, 2 seats"),
        (4, False, "failing 20 to 40 %, 4 seats"),
    ):
        before, now = (
            [rules.play_faults(seats, n, tells_losses=told, is_before=first) for n in seeds]
            for first in (True, False)
        )
        if told:
            off, off_before = (mean_of([each.error for each in side]) for side in (now, before))
            yield row(f"{what}: error of places", off, off_before, 3.0, digits=1)
        own, own_before = (mean_of([each.cover for each in side]) for side in (now, before))
        aim = 0.92 if told else 0.9
        yield row(f"{what}: rank cover", own, own_before, aim, more=True, errors=SURE)


def copies(seeds: Sequence[int]) -> Iterable[Row]:
    """Improved forks of a popular agent, and the games that a flood of copies leaves."""
    before, now = (
        [newcomers.fork_errors(n, paced=paced) for n in seeds] for paced in (False, True)
    )
    for look, games in enumerate(newcomers.LOOKS):
        off, unpaced = (mean_of([season[look] for season in side]) for side in (now, before))
        what = f"improved forks: error of places, {games} games"
        yield row(what, off, unpaced, 7.0, digits=1)
    for locked, aim in ((False, 0.8), (True, 0.75)):
        kept, unpaced = (
            mean_of([crowds.compare("flood", name, n, is_locked=locked).games_share for n in seeds])
            for name in ("ours", "ours, before")
        )
        what = f"flood: games kept, uploads {'locked' if locked else 'open'}"
        yield row(what, kept, unpaced, aim, more=True)


def crashers(seeds: Sequence[int]) -> Iterable[Row]:
    """What 50 crashing entries of 100 cost the others."""
    sides = {
        name: [crowds.compare("crashers", name, seed) for seed in seeds] for name in crowds.LADDERS
    }
    for other in ("ours, before", "Kaggle-like"):
        lost, other_lost = (
            mean_of([each.order_lost for each in sides[name]]) for name in ("ours", other)
        )
        yield row(f"crashers: order lost, beside {other}", lost, other_lost, 0.0, errors=SURE)
    kept, unpaced = (
        mean_of([each.games_share for each in sides[name]]) for name in ("ours", "ours, before")
    )
    yield row("crashers: games kept", kept, unpaced, 0.8, more=True)


def in_flight(seeds: Sequence[int]) -> Iterable[Row]:
    """Places in flight that one slow remote agent holds."""
    before, now = (
        mean_of([rules.most_in_flight(seed, limit) for seed in seeds])
        for limit in (None, tricks.MOST_IN_FLIGHT)
    )
    yield row("a slow remote agent: most matches in flight", now, before, 4.0, digits=1)


def games(seeds: Sequence[int]) -> Iterable[Row]:
    """Games until the order and the medals are right."""
    looks = (12, 16, 18, 20, 80, 90, 101, 110, 120, 140)
    big, peer = (play("static-1000x4", make, seeds, looks) for make in (ours, kaggle))
    for what, loss, aim, most, errors, limit in (
        ("order .95", "rho", 0.05, 18.0, SURE, "15"),
        ("order .99", "rho", 0.01, 101.0, SURE, "82"),
        ("medals 10 % wrong", "medal_error", 0.1, 140.0, 0.0, "80"),
    ):
        now, other = (games_until_aim(side, loss, aim) for side in (big, peer))
        shown = f"1,000 agents: games to {what}"
        yield row(shown, now, other, most, limit, digits=1, errors=errors)
    now, other = (
        at_end(play("geese", make, seeds, (40, 80, 120, 160, 240), 120), "medal_error")
        for make in (ours, kaggle)
    )
    yield row("geese: wrong medals at 240 games", now, other, 0.08)
    now, other = (
        games_until_aim(play("static-100x2", make, seeds, (20, 26, 32, 38, 44, 50)), "rho", 0.05)
        for make in (ours, kaggle)
    )
    yield row("two seats: games to order .95", now, other, 32.0, "27", digits=1)
    jumps = [newcomers.jump_distances(seed) for seed in seeds]
    off = mean_of([sum(each[1.5, 25]) / len(each[1.5, 25]) for each in jumps])
    yield row("a jump of 1.5 beta: error after 25 games", off, UNKNOWN, 0.05)


def cover(seeds: Sequence[int]) -> Iterable[Row]:
    """How often 95 % intervals hold the truth, and sealed medals are wrong."""
    for world, make in (
        *((f"static-100x{seats}", ours) for seats in (2, 4, 8)),
        *(("mild", ours), ("near-copies", ours_in_finals), ("living", ours_living)),
    ):
        played = (
            play_living(make, seeds) if world == "living" else play(world, make, seeds, COVER_LOOKS)
        )
        for which in ("rank_cover", "score_cover"):
            share = interval_coverage(played, which)
            what = f"{world}: {which.replace('_', ' ')}"
            yield row(f"{what}, low", share, UNKNOWN, 0.93, more=True, errors=SURE)
            yield row(f"{what}, high", share, UNKNOWN, 0.97, errors=SURE)
        wrong = ratio(played, "sealed_wrong", "sealed")
        if wrong.value is not None:
            yield row(f"{world}: wrong among sealed", wrong, UNKNOWN, 0.02)


def living(seeds: Sequence[int]) -> Iterable[Row]:
    """How calm and how right a league is in which agents come and go."""
    now, peer = (play_living(make, seeds) for make in (ours_living, kaggle))
    orphans = play_living(partial(ours_living, parents=False), seeds)

    def both(read: Callable[[list[Season]], Figure]) -> tuple[Figure, Figure]:
        return read(now), read(peer)

    for what, name, aim in (
        ("Spearman at the end", "rho", 0.994),
        ("wrong medals at the end", "medal_error", 0.082),
        ("top 10 at the end", "top_ten", 0.9),
    ):
        figures = both(partial(at_end, what=name))
        yield row(f"living: {what}", *figures, aim, more=name != "medal_error", digits=4)
    for what, name, aim in (
        ("settled agents' move a day", "moved", 0.0061),
        ("1 % of moves are larger", "jumped", 0.039),
        ("medals that flip a day", "flipped", 0.028),
    ):
        calm, other = (mean_of([getattr(one, name) for one in side]) for side in (now, peer))
        yield row(f"living: {what}", calm, other, aim, digits=4)
    placing = "living: newcomer placed, own games"
    figures = both(lambda some: games_until_placed(some, True))
    yield row(f"{placing}, with a parent", *figures, 7, digits=1)
    figures = (games_until_placed(orphans, None), games_until_placed(peer, None))
    yield row(f"{placing}, parents unknown", *figures, 25, "13", digits=1)


QUESTIONS: Mapping[str, Callable[[Sequence[int]], Iterable[Row]]] = {
    "medal-teams": medal_teams,
    "gains": gains,
    "lottery": lottery,
    "collusion": collusion,
    "faults": faults,
    "copies": copies,
    "crashers": crashers,
    "in-flight": in_flight,
    "games": games,
    "cover": cover,
    "living": living,
}
SHORT = ("medal-teams", "faults", "crashers", "in-flight")
HEAD = ("what", "measured", "aim", "before or peer", "limit", "met?")


def main() -> None:
    """Print a table for each question."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks rating", description=__doc__)
    parser.add_argument("questions", nargs="*", help=f"of {', '.join(QUESTIONS)}; default: all")
    parser.add_argument("--seeds", type=int, default=10, help="seasons of each row")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--short", action="store_true", help="two seasons of quick questions")
    options = parser.parse_args()
    if unknown := set(options.questions) - set(QUESTIONS):
        known = ", ".join(QUESTIONS)
        parser.error(f"there is no question {', '.join(sorted(unknown))}; there are: {known}")
    count = 2 if options.short else options.seeds
    seeds = range(options.first_seed, options.first_seed + count)
    print(describe_machine())
    for name in options.questions or (SHORT if options.short else QUESTIONS):
        began = time.monotonic()
        table = aligned([HEAD, *QUESTIONS[name](seeds)])
        took = f"{time.monotonic() - began:.0f} s"
        print(f"\n{name}, seeds {seeds[0]}-{seeds[-1]}, {took}\n{table}", flush=True)


if __name__ == "__main__":
    main()
