"""Run the simulated ladders and print the tables: ``python -m benchmarks rating``."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.rating import aims, report
from benchmarks.rating.experiments import FIRST_PRINTED, PLANS, TUNED, Record, season


def main() -> None:
    """Run one world after another, on one core."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks rating", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few short seasons, about a minute")
    parser.add_argument("--world", action="append", choices=list(PLANS), help="run only this one")
    parser.add_argument(
        "--ladder", action="append", help="run only this one, by its name in the tables"
    )
    parser.add_argument("--seeds", type=int, help="seasons of each ladder in each world")
    parser.add_argument(
        "--first-seed",
        type=int,
        default=FIRST_PRINTED,
        help="of the first season; the next seeds follow",
    )
    parser.add_argument("--json", type=Path, help="file for all measures")
    options = parser.parse_args()
    names = options.world or [
        name for name, plan in PLANS.items() if plan.quick or not options.quick
    ]
    plans = {name: PLANS[name].shorter() if options.quick else PLANS[name] for name in names}
    counts = {name: options.seeds or plan.seeds for name, plan in plans.items()}
    ladders = list(dict.fromkeys(ladder for plan in plans.values() for ladder in plan.ladders))
    for ladder in options.ladder or ():
        if ladder not in ladders:
            known = "; ".join(ladders)
            parser.error(f"argument --ladder: there is no {ladder!r}; there are: {known}")
    expected = sum(counts[name] * plan.seconds for name, plan in plans.items())
    if not options.quick:
        print(f"expected: {expected / 60:.0f} minutes on one core", flush=True)
    print(
        f"settings were chosen on seeds {TUNED[0]}-{TUNED[-1]};"
        f" these start at {options.first_seed}",
        flush=True,
    )
    results: dict[str, Sequence[Record]] = {}
    for name, plan in plans.items():
        found = list[Record]()
        seeds = range(options.first_seed, options.first_seed + counts[name])
        for ladder in plan.ladders:
            if options.ladder and ladder not in options.ladder:
                continue
            began = time.perf_counter()
            for seed in seeds:
                found.append(season(name, plan, ladder, seed))
                took = time.perf_counter() - began
                print(f"{name}: {ladder}, seed {seed}, {took:.0f} s", file=sys.stderr)
        results[name] = found
        print("\n" + report.tables(name, plan, found), flush=True)
        if options.json is not None:
            records = [asdict(each) for some in results.values() for each in some]
            options.json.write_text(json.dumps(records))
    print("\n" + aims.table(results))
    if options.quick:
        print("the aims are those of whole seasons; these were short")


if __name__ == "__main__":
    main()
