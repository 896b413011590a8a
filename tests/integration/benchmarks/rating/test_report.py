from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.rating import aims, report
from benchmarks.rating.experiments import KAGGLE, LADDER, PLANS, Record, season
from benchmarks.rating.seasons import Life


def test_a_short_season_of_each_world_is_reported() -> None:
    results: dict[str, Sequence[Record]] = {}
    for name in ("static-100x4", "living", "bundles"):
        life = PLANS[name].life and Life(open_days=7, frozen_days=1, rounds=4)
        plan = replace(PLANS[name], games=(5, 10), life=life)
        results[name] = [season(name, plan, one, 1) for one in (LADDER, KAGGLE)]
        assert KAGGLE in report.tables(name, plan, results[name])
    text = aims.table(results)
    assert "settled agents' move" in text
    assert all(each.spread is None or each.spread < 1e-4 for each in results["living"])
