"""Prints the tables of a world: the results of every ladder with standard errors."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.rating.baselines import POINTS
from benchmarks.rating.experiments import Plan, Record
from benchmarks.rating.figures import (
    NEAR,
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

GAME_AIMS = ({"order": 0.05}, {"order": 0.01}, {"medals": 0.1}, {"medals": 0.05})
"""Aims of the columns of games, as arguments of ``fewest_games``."""


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
                mean(records, snapshot_reader(at, what)) for what in ("rho", "medal_error")
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
                *(mean(records, snapshot_reader(at, "rho")).text(4) for at in (0, 1)),
                *(mean(records, snapshot_reader(at, "medal_error")).text() for at in (0, 1)),
                mean(records, snapshot_reader(1, "top_ten")).text(2),
                *(
                    interval_coverage(records, which).text()
                    for which in ("rank_cover", "score_cover")
                ),
                *(
                    mean(records, story_reader(what)).text(4)
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
        points = (mean(records, copies_figure_reader(name, POINTS)).text(1) for name in names)
        lines.append((ladder, *points, mean(records, copies_figure_reader("within", 1.0)).text(3)))
    return aligned(lines)


def _spread(records: Sequence[Record]) -> str:
    spreads = [each.spread for each in records if each.spread is not None]
    return f"{POINTS * max(spreads):.1e}" if spreads else "-"


def _number_text(figure: Figure, digits: int) -> str:
    return "-" if figure.value is None else f"{figure.value:.{digits}f}".removeprefix("0")
