"""Checks whether the outcome of a game is sound, for the conformance check."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from games.conformance_findings import Findings
from games.plain_json import json_flaw
from games.protocol import Game, Outcome, Verdict, placements_from_scores


def check_outcome(
    game: Game[Any], found: Findings, outcome: Outcome, seats: int, told: Mapping[int, Verdict]
) -> None:
    """Checks the outcome of a game; ``told`` has the faults of its seats."""
    for name in ("placements", "rewards", "verdicts"):
        if len(getattr(outcome, name)) != seats:
            found.add_failure("outcome", f"{name} should have one for each of {seats} seats")
            return
    ranks = placements_from_scores([-place for place in outcome.placements])
    found.expect(
        outcome.placements == ranks,
        "outcome",
        f"placements should be ranks from 1, as {ranks}; they are {outcome.placements!r:.100}",
    )
    for seat, reward in enumerate(outcome.rewards):
        is_number = isinstance(reward, int | float) and math.isfinite(reward)
        found.expect(
            is_number or (reward is None and seat in told),
            "outcome",
            f"seat {seat}: its reward should be a number, it is {reward!r:.100}",
        )
    for seat, verdict in enumerate(outcome.verdicts):
        fault = told.get(seat)
        if fault is None:
            found.expect(
                verdict is Verdict.DONE,
                "outcome",
                f"seat {seat}: without a fault its verdict is DONE, not {verdict!r:.100}",
            )
        else:
            right = {fault, Verdict.DONE} if fault in game.lenient else {fault}
            found.expect(
                verdict in right,
                "faults",
                f"seat {seat}: after {fault} its verdict is {verdict!r:.100}",
            )
    statistics = outcome.statistics
    measured = {measure.name for measure in game.measures if seats == 1}
    missing = measured.difference(*statistics)
    found.expect(
        not missing, "outcome", f"statistics lack {', '.join(sorted(missing))} of measures"
    )
    found.expect(
        len(statistics) in (0, seats)
        and all(isinstance(one, Mapping) and json_flaw(dict(one)) is None for one in statistics),
        "outcome",
        f"statistics should be empty or numbers for each seat: {statistics!r:.100}",
    )
