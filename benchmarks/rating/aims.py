"""Compares the measured figures with the aims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf

from benchmarks.rating.baselines import POINTS
from benchmarks.rating.experiments import FINALS, KAGGLE, LADDER, ORDER, ORPHANS, PLANS, Record
from benchmarks.rating.figures import (
    Figure,
    copies_figure_reader,
    games_until_aim,
    games_until_placed,
    interval_coverage,
    mean,
    ratio,
    snapshot_reader,
    story_reader,
)
from benchmarks.rating.information_limits import fewest_games
from benchmarks.report_tables import aligned

COVER = (0.93, 0.985)
PARENTED, ORPHANED = 7, 25
"""Aims for the number of games until a newcomer is placed, if parents are known and if not."""
# The aims of the living league are a tenth worse than the worse of two fresh seasons, 9301 and
# 9302. Those of the top ten and of unknown parents are older.


def table(results: dict[str, Sequence[Record]]) -> str:
    """The aims beside the measured figures, for the worlds that were run."""
    head = ("what", "measured", "aim", "Kaggle-like", "limit", "met?")
    return "\n".join(["== aims", aligned([head, *_aims(results)])])


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
            yield row(f"{big}: {what}", ours, theirs, most, limit, digits=1)
    if "geese" in results:
        ours, theirs = (
            mean(of("geese", one), snapshot_reader(-1, "medal_error")) for one in (LADDER, KAGGLE)
        )
        yield row("geese: wrong medals at 240 g", ours, theirs, 0.07)
        ours, theirs = (ratio(of("geese", one), "sealed", "awarded") for one in (LADDER, KAGGLE))
        yield row("geese: sealed at 240 g", ours, theirs, 0.65, more=True)
    if "living" in results:
        league, rivals = (of("living", one) for one in (LADDER, KAGGLE))
        for what, read, aim, more in (
            ("living: Spearman at the end", snapshot_reader(1, "rho"), 0.994, True),
            ("living: wrong medals at the end", snapshot_reader(1, "medal_error"), 0.082, False),
            ("living: top 10 at the end", snapshot_reader(1, "top_ten"), 0.9, True),
            ("living: settled agents' move a day", story_reader("moved"), 0.0061, False),
            ("living: 1 % of moves are larger", story_reader("jumped"), 0.039, False),
            ("living: medals that flip a day", story_reader("flipped"), 0.028, False),
        ):
            yield row(what, mean(league, read), mean(rivals, read), aim, more=more, digits=4)
        placing = "living: newcomer placed, own games"
        without = of("living", ORPHANS)
        both = games_until_placed(league, True), games_until_placed(rivals, True)
        yield row(f"{placing}, with a parent", *both, PARENTED, digits=1)
        both = games_until_placed(without, None), games_until_placed(rivals, None)
        yield row(f"{placing}, parents unknown", *both, ORPHANED, "13", digits=1)
    if "bundles" in results:
        ours, theirs = (
            mean(of("bundles", one), _in_sigmas("best_above_truth")) for one in (LADDER, KAGGLE)
        )
        yield row("bundles: best of ten above the truth, in its sigmas", ours, theirs, 1.96, "1.54")
        ours, theirs = (
            mean(of("bundles", one), copies_figure_reader("within", 1)) for one in (LADDER, KAGGLE)
        )
        what = "bundles: inside the interval around their mean"
        yield row(what, ours, theirs, 0.93, "0.95", more=True)
    if "equal-bundles" in results:
        ours = mean(of("equal-bundles", LADDER), copies_figure_reader("from_best_to_worst", POINTS))
        yield row("equal-bundles: best to worst, points", ours, Figure(None, None), 0.0, "0")
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
        yield row(f"{world}: wrong among sealed", wrong, Figure(None, None), 0.02)
    odds = ratio(ours, "expected_wrong", "wrong", None)
    if odds.value is not None:
        met = "yes" if 0.5 <= odds.value <= 2 else "NO"
        yield (f"{world}: expected / true wrong", odds.text(2), "0.5 to 2", "", "1", met)
    most = max(POINTS * (each.spread or 0.0) for each in ours)
    what = f"{world}: shuffled and renumbered, points"
    yield (what, f"{most:.2g}", "<= 0.5", "", "0", "yes" if most <= 0.5 else "NO")


def row(
    what: str,
    ours: Figure,
    theirs: Figure,
    aim: float,
    limit: str = "",
    *,
    more: bool = False,
    digits: int = 3,
    errors: float = 0.0,
) -> tuple[str, ...]:
    """One aim beside the measured figure, which may miss it by so many standard errors."""
    missed = inf if ours.value is None else (aim - ours.value if more else ours.value - aim)
    met = missed <= errors * (ours.error or 0.0)
    sign = ">=" if more else "<="
    other = theirs.text(digits, "never" if digits == 1 else "-")
    return (what, ours.text(digits), f"{sign} {aim:g}", other, limit, "yes" if met else "NO")


def _in_sigmas(what: str) -> Callable[[Record], float]:
    return lambda one: (
        copies_figure_reader(what, 1.0)(one) / copies_figure_reader("sigma", 1.0)(one)
    )
