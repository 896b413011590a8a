"""Prints the tables: the results of every ladder with standard errors, beside the aims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from benchmarks.rating.baselines import POINTS
from benchmarks.rating.board_accuracy import games_until
from benchmarks.rating.experiments import (
    FINALS,
    KAGGLE,
    LADDER,
    ORDER,
    ORPHANS,
    PLANS,
    Plan,
    Record,
)
from benchmarks.rating.information_limits import fewest_games
from benchmarks.report_tables import aligned

NEAR = 0.05
"""A newcomer is placed if its rank error is below this share of the league."""
BIN = 1.25
"""Newcomers' numbers of games are pooled in bins of this ratio."""
COVER = (0.93, 0.985)
GAME_AIMS = ({"order": 0.05}, {"order": 0.01}, {"medals": 0.1}, {"medals": 0.05})
"""Aims of the columns of games, as arguments of ``fewest_games``."""
PARENTED, ORPHANED = 12, 25
"""Aims for the number of games until a newcomer is placed, if parents are known and if not."""


@dataclass(frozen=True)
class Figure:
    """A mean over seasons and its standard error; either may be unknown."""

    value: float | None
    error: float | None

    def text(self, digits: int = 3, never: str = "never") -> str:
        if self.value is None:
            return never
        shown = f"{self.value:.{digits}f}"
        return shown if self.error is None else f"{shown} ±{self.error:.{digits}f}"


def tables(name: str, plan: Plan, records: Sequence[Record]) -> str:
    """All tables of one world."""
    by_ladder = {
        ladder: found
        for ladder in plan.ladders
        if (found := [each for each in records if each.ladder == ladder])
    }
    seeds = sorted({each.seed for each in records})
    head = f"== {name}: {plan.title}; seeds {seeds[0]}-{seeds[-1]}"
    if plan.life is not None:
        return "\n".join([head, _living_league_table(by_ladder), "", _newcomer_table(by_ladder)])
    parts = [head, _convergence_table(plan, by_ladder), "", _curves(plan, by_ladder)]
    if plan.bundles:
        parts = [head, _luck_table(by_ladder)]
    return "\n".join(parts)


def aims(results: dict[str, Sequence[Record]]) -> str:
    """The aims beside the measured figures, for the worlds that were run."""
    head = ("what", "measured", "aim", "Kaggle-like", "limit", "met?")
    return "\n".join(["== aims", aligned([head, *_aims(results)])])


def mean(records: Iterable[Record], read: Callable[[Record], float]) -> Figure:
    """The mean of a value over seasons."""
    values = np.array([read(each) for each in records])
    if not len(values):
        return Figure(None, None)
    error = float(values.std(ddof=1) / sqrt(len(values))) if len(values) > 1 else None
    return Figure(float(values.mean()), error)


def pooled(records: Sequence[Record], share: Callable[[Sequence[Record]], float | None]) -> Figure:
    """A value from all seasons together, with a jackknife error."""
    value = share(records)
    count = len(records)
    without = [share([*records[:n], *records[n + 1 :]]) for n in range(count)] if count > 1 else []
    known = [each for each in without if each is not None]
    if value is None or len(known) < count or count < 2:
        return Figure(value, None)
    return Figure(value, sqrt((count - 1) * float(np.var(known))))


def games_until_aim(records: Sequence[Record], loss: str, aim: float) -> Figure:
    """Games per agent until the mean curve falls to ``aim``; ``loss`` is 1 - rho or medals."""

    def crossing(some: Sequence[Record]) -> float | None:
        if not some:
            return None
        games = [each["games"] for each in some[0].snapshots]
        curve = np.mean(
            [[_loss_value(each, loss) for each in one.snapshots] for one in some], axis=0
        )
        return games_until(games, curve.tolist(), aim)

    return pooled(records, crossing)


def ratio(records: Sequence[Record], above: str, below: str, at: int | None = -1) -> Figure:
    """The quotient of two counts, at one moment or (None) at all of them."""

    def quotient(some: Sequence[Record]) -> float | None:
        chosen = [
            s for one in some for s in (_snapshots(one) if at is None else [_snapshots(one)[at]])
        ]
        total = sum(each[below] for each in chosen)
        return sum(each[above] for each in chosen) / total if total else None

    return pooled(records, quotient)


def interval_coverage(records: Sequence[Record], which: str) -> Figure:
    """The share of true values inside 95 % intervals, over all measured moments."""
    return mean(records, lambda one: float(np.mean([shot[which] for shot in _snapshots(one)])))


def games_until_placed(records: Sequence[Record], parent: bool | None) -> Figure:
    """Games until newcomers are on average as near to their true places as the aim asks."""

    def crossing(some: Sequence[Record]) -> float | None:
        found = np.array(
            [
                (games, off)
                for one in some
                for has, games, off in (one.story or {"newcomers": []})["newcomers"]
                if games > 0 and (parent is None or has == parent)
            ]
        )
        if not len(found):
            return None
        step = np.floor(np.log(found[:, 0]) / np.log(BIN))
        bins = [found[step == one] for one in np.unique(step)]
        games = [float(np.exp(np.log(each[:, 0]).mean())) for each in bins]
        means = fit_falling_curve(
            [float(each[:, 1].mean()) for each in bins], [len(each) for each in bins]
        )
        return games_until(games, means, NEAR)

    return pooled(records, crossing)


def fit_falling_curve(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The nearest curve that never rises; neighbours that rise share their mean."""
    blocks = list[tuple[float, float, int]]()
    for value, weight in zip(values, weights, strict=True):
        total, heavy, count = value * weight, float(weight), 1
        while blocks and blocks[-1][0] * heavy <= total * blocks[-1][1]:
            before = blocks.pop()
            total, heavy, count = total + before[0], heavy + before[1], count + before[2]
        blocks.append((total, heavy, count))
    return [total / heavy for total, heavy, count in blocks for _ in range(count)]


def _snapshots(record: Record) -> Sequence[dict[str, float]]:
    if record.story is None:
        return record.snapshots
    return [record.story["opened"], record.story["final"]]


def _loss_value(shot: dict[str, float], loss: str) -> float:
    return 1 - shot["rho"] if loss == "rho" else shot[loss]


def _convergence_table(plan: Plan, by_ladder: dict[str, list[Record]]) -> str:
    last = plan.games[-1]
    head = (
        *("ladder", "g to rho .95", "g to .99", "g to medals 10 %", "5 %"),
        *("rank cover", "score cover", f"sealed at {last}", "wrong of sealed"),
        *("expected/true wrong", "shuffled, points"),
    )
    lines: list[tuple[str, ...]] = [head]
    beyond = f">{last}"
    for ladder, records in by_ladder.items():
        lines.append(
            (
                ladder,
                *(games_until_aim(records, "rho", aim).text(0, beyond) for aim in (0.05, 0.01)),
                *(
                    games_until_aim(records, "medal_error", aim).text(0, beyond)
                    for aim in (0.1, 0.05)
                ),
                *(
                    interval_coverage(records, which).text()
                    for which in ("rank_cover", "score_cover")
                ),
                ratio(records, "sealed", "awarded").text(2),
                ratio(records, "sealed_wrong", "sealed", None).text(3, "-"),
                ratio(records, "expected_wrong", "wrong", None).text(2, "-"),
                _spread(records),
            )
        )
    if plan.normal_field is not None:
        agents, seats = plan.normal_field
        limits = [fewest_games(agents, seats, **aim) for aim in GAME_AIMS]
        lines.append(("limit, fixed numbers", *(f"{each:.0f}" for each in limits), *[""] * 6))
    return aligned(lines)


def _curves(plan: Plan, by_ladder: dict[str, list[Record]]) -> str:
    lines: list[tuple[str, ...]] = [
        ("rho / medal error at g =", *(str(games) for games in plan.games))
    ]
    errors = list[str]()
    for ladder, records in by_ladder.items():
        cells = []
        for at in range(len(plan.games)):
            rho, medals = (
                mean(records, _snapshot_reader(at, what)) for what in ("rho", "medal_error")
            )
            cells.append(f"{_number_text(rho, 3)} / {_number_text(medals, 2)}")
        lines.append((ladder, *cells))
        errors = [f"{each.error:.4f}" for each in (rho, medals) if each.error is not None]
    return aligned(lines) + f"\nstandard errors at the last: {' / '.join(errors) or 'one seed'}"


def _living_league_table(by_ladder: dict[str, list[Record]]) -> str:
    lines: list[tuple[str, ...]] = [
        (
            *("ladder", "rho open", "final", "medal error open", "final", "top 10"),
            *("rank cover", "score cover", "settled move a day", "p99", "medals flip a day"),
            *("sealed", "wrong of sealed", "expected/true wrong", "shuffled, points"),
        )
    ]
    for ladder, records in by_ladder.items():
        lines.append(
            (
                ladder,
                *(mean(records, _snapshot_reader(at, "rho")).text(4) for at in (0, 1)),
                *(mean(records, _snapshot_reader(at, "medal_error")).text() for at in (0, 1)),
                mean(records, _snapshot_reader(1, "top_ten")).text(2),
                *(
                    interval_coverage(records, which).text()
                    for which in ("rank_cover", "score_cover")
                ),
                *(
                    mean(records, _story_reader(what)).text(4)
                    for what in ("moved", "jumped", "flipped")
                ),
                ratio(records, "sealed", "awarded").text(2),
                ratio(records, "sealed_wrong", "sealed", None).text(3, "-"),
                ratio(records, "expected_wrong", "wrong", None).text(2, "-"),
                _spread(records),
            )
        )
    return aligned(lines) + "\nscore intervals: of agents that do not crash"


def _newcomer_table(by_ladder: dict[str, list[Record]]) -> str:
    lines: list[tuple[str, ...]] = [
        (f"own games until within {NEAR:.0%} on average", "all", "with a parent", "without")
    ]
    for ladder, records in by_ladder.items():
        cells = (games_until_placed(records, parent).text(1) for parent in (None, True, False))
        lines.append((ladder, *cells))
    return aligned(lines)


def _luck_table(by_ladder: dict[str, list[Record]]) -> str:
    lines: list[tuple[str, ...]] = [
        (
            *("ladder", "best to worst, points", "best above truth", "what sigma allows (1.54)"),
            *("sigma shown", "inside their intervals"),
        )
    ]
    names = ("from_best_to_worst", "best_above_truth", "gain_by_sigma", "sigma")
    for ladder, records in by_ladder.items():
        points = (mean(records, _copies_figure_reader(name, POINTS)).text(1) for name in names)
        lines.append((ladder, *points, mean(records, _copies_figure_reader("within", 1.0)).text(3)))
    return aligned(lines)


def _aims(results: dict[str, Sequence[Record]]) -> Iterable[tuple[str, ...]]:
    def of(world: str, ladder: str) -> list[Record]:
        return [each for each in results[world] if each.ladder == ladder]

    big = "static-1000x4"
    if big in results:
        for loss, ladder, aim, most, what in (
            ("rho", ORDER, 0.05, 18, "Spearman .95, order mode, games"),
            ("rho", ORDER, 0.01, 96, "Spearman .99, order mode, games"),
            ("rho", LADDER, 0.05, 20, "Spearman .95, ladder mode, games"),
            ("rho", LADDER, 0.01, 120, "Spearman .99, ladder mode, games"),
            ("medal_error", LADDER, 0.1, 110, "medals 10 %, ladder mode, games"),
            ("medal_error", FINALS, 0.1, 90, "medals 10 %, finals mode, games"),
            ("medal_error", FINALS, 0.05, 320, "medals 5 %, finals mode, games"),
        ):
            if not of(big, ladder):
                continue
            limits = {"order" if loss == "rho" else "medals": aim}
            if ladder == LADDER and most > 20:
                limits = {"order": 0.01, "medals": 0.1}  # this mode pairs for both
            limit = f"{fewest_games(1000, 4, **limits):.0f}"
            ours, theirs = (games_until_aim(of(big, one), loss, aim) for one in (ladder, KAGGLE))
            yield _row(f"{big}: {what}", ours, theirs, most, limit, digits=1)
    if "geese" in results:
        ours, theirs = (
            mean(of("geese", one), _snapshot_reader(-1, "medal_error")) for one in (LADDER, KAGGLE)
        )
        yield _row("geese: wrong medals at 240 g", ours, theirs, 0.07)
        ours, theirs = (ratio(of("geese", one), "sealed", "awarded") for one in (LADDER, KAGGLE))
        yield _row("geese: sealed at 240 g", ours, theirs, 0.65, more=True)
    if "living" in results:
        league, rivals = (of("living", one) for one in (LADDER, KAGGLE))
        for what, read, aim, more in (
            ("living: Spearman at the end", _snapshot_reader(1, "rho"), 0.992, True),
            ("living: wrong medals at the end", _snapshot_reader(1, "medal_error"), 0.1, False),
            ("living: top 10 at the end", _snapshot_reader(1, "top_ten"), 0.9, True),
            ("living: settled agents' move a day", _story_reader("moved"), 0.0055, False),
            ("living: 1 % of moves are larger", _story_reader("jumped"), 0.04, False),
            ("living: medals that flip a day", _story_reader("flipped"), 0.036, False),
        ):
            yield _row(what, mean(league, read), mean(rivals, read), aim, more=more, digits=4)
        placing = "living: newcomer placed, own games"
        without = of("living", ORPHANS)
        both = games_until_placed(league, True), games_until_placed(rivals, True)
        yield _row(f"{placing}, with a parent", *both, PARENTED, digits=1)
        both = games_until_placed(without, None), games_until_placed(rivals, None)
        yield _row(f"{placing}, parents unknown", *both, ORPHANED, "13", digits=1)
    if "bundles" in results:
        ours, theirs = (
            mean(of("bundles", one), _in_sigmas("best_above_truth")) for one in (LADDER, KAGGLE)
        )
        yield _row(
            "bundles: best of ten above the truth, in its sigmas", ours, theirs, 1.96, "1.54"
        )
        ours, theirs = (
            mean(of("bundles", one), _copies_figure_reader("within", 1)) for one in (LADDER, KAGGLE)
        )
        what = "bundles: inside the interval around their mean"
        yield _row(what, ours, theirs, 0.93, "0.95", more=True)
    if "equal-bundles" in results:
        ours = mean(
            of("equal-bundles", LADDER), _copies_figure_reader("from_best_to_worst", POINTS)
        )
        yield _row("equal-bundles: best to worst, points", ours, Figure(None, None), 0.0, "0")
    for world, records in results.items():
        yield from _calibration_rows(world, [each for each in records if each.spread is not None])


def _calibration_rows(world: str, ours: Sequence[Record]) -> Iterable[tuple[str, ...]]:
    """Our ladders' intervals, seals and predictions in one world, and the effect of the log's
    order."""
    if not ours or PLANS[world].bundles:
        return
    names = sorted({each.ladder for each in ours})
    for which in ("rank_cover", "score_cover"):
        found = [
            interval_coverage([one for one in ours if one.ladder == name], which) for name in names
        ]
        shares = [each.value for each in found if each.value is not None]
        met = "yes" if COVER[0] <= min(shares) and max(shares) <= COVER[1] else "NO"
        shown = f"{min(shares):.3f} to {max(shares):.3f}"
        aim = f"{COVER[0]} to {COVER[1]}"
        what = f"{world}: 95 % {which.replace('_cover', '')} intervals cover"
        yield (what, shown, aim, "", "0.95", met)
    wrong = ratio(ours, "sealed_wrong", "sealed", None)
    if wrong.value is not None:
        yield _row(f"{world}: wrong among sealed", wrong, Figure(None, None), 0.02)
    odds = ratio(ours, "expected_wrong", "wrong", None)
    if odds.value is not None:
        met = "yes" if 0.5 <= odds.value <= 2 else "NO"
        yield (f"{world}: expected / true wrong", odds.text(2), "0.5 to 2", "", "1", met)
    most = max(POINTS * (each.spread or 0.0) for each in ours)
    what = f"{world}: shuffled and renumbered, points"
    yield (what, f"{most:.2g}", "<= 0.5", "", "0", "yes" if most <= 0.5 else "NO")


def _row(
    what: str,
    ours: Figure,
    theirs: Figure,
    aim: float,
    limit: str = "",
    *,
    more: bool = False,
    digits: int = 3,
) -> tuple[str, ...]:
    met = ours.value is not None and (ours.value >= aim if more else ours.value <= aim)
    sign = ">=" if more else "<="
    other = theirs.text(digits, "never" if digits == 1 else "-")
    return (what, ours.text(digits), f"{sign} {aim:g}", other, limit, "yes" if met else "NO")


def _snapshot_reader(at: int, what: str) -> Callable[[Record], float]:
    return lambda one: _snapshots(one)[at][what]


def _story_reader(what: str) -> Callable[[Record], float]:
    return lambda one: float((one.story or {})[what])


def _copies_figure_reader(what: str, unit: float) -> Callable[[Record], float]:
    return lambda one: unit * (one.bundles or {})[what]


def _in_sigmas(what: str) -> Callable[[Record], float]:
    return lambda one: (
        _copies_figure_reader(what, 1.0)(one) / _copies_figure_reader("sigma", 1.0)(one)
    )


def _spread(records: Sequence[Record]) -> str:
    spreads = [each.spread for each in records if each.spread is not None]
    return f"{POINTS * max(spreads):.1e}" if spreads else "-"


def _number_text(figure: Figure, digits: int) -> str:
    return "-" if figure.value is None else f"{figure.value:.{digits}f}".removeprefix("0")
