"""Runs a comparison of two versions that a person asked for, here or on the service, and shows it.

The running picture goes to stderr, the report to stdout.
"""

from __future__ import annotations

import filecmp
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any, Final

import typer

from estimates.comparison import (
    EXIT_STATUS,
    MARGIN,
    Picture,
    Rule,
    RuleError,
    Verdict,
    default_pairs,
)
from sandbox.errors import SandboxError
from sandbox.match import local_match
from services.api_client import ApiError, Client, Json, Unreachable
from services.cli import local_comparison
from services.cli.asked_comparison import NO_ANSWER, AskedComparison, ComingNode, seats_of
from services.cli.display import printable, stderr, stdout, table, timestamp_text
from services.cli.local_comparison import NEW, OLD, LocalComparison, PlayedComparison
from services.cli.local_node import RunError
from services.cli.local_plan import (
    GameOptions,
    default_folder,
    find_game,
    make_plan,
    parse_seed,
)
from services.cli.name_lookup import agent_id, find_season_id, own_agents
from services.cli.saved_login import MissingInput, connect

POLL_SECONDS: Final = 1.0
MOST_SILENT_POLLS: Final = 60
BAR_COLUMNS: Final = 31
SENTENCES: Final = {
    "better": "The new version is better.",
    "not_better": "The new version is not better by the margin.",
    "cannot_tell": "Cannot tell.",
    None: "No verdict yet.",
}
ERRORS: Final = (RunError, SandboxError, RuleError, ApiError, Unreachable, MissingInput, OSError)


def run(typed: AskedComparison, coming: ComingNode | None) -> int:
    """Compares, prints the verdict and returns its exit status.

    ``coming`` is the node, for a comparison on this machine whose files are there.
    """
    try:
        margin = MARGIN if typed.margin is None else typed.margin
        pairs = default_pairs(margin) if typed.pairs is None else typed.pairs
        rule = Rule(margin, pairs, typed.variants)
        if (typed.game is None) == (typed.league is None):
            raise RunError(
                "say where to play: --game GAME on this machine, or --league LEAGUE on the service"
            )
        if typed.league is not None:
            return _print(_compare_on_service(typed, typed.league, rule), typed.as_json)
        comparison = _local_comparison(typed, rule)
        played = _play(comparison, coming, typed.as_json)
    except ERRORS as error:
        typer.echo(printable(f"peck better: {error}"), err=True)
        return NO_ANSWER
    report = report_json(played)
    report["seconds"] = round(monotonic() - typed.began, 3)
    report["playing_seconds"] = round(played.playing_seconds, 3)
    typer.echo(f"replays are in {comparison.out}", err=True)
    return _print(report, typed.as_json)


def report_json(played: PlayedComparison) -> dict[str, Any]:
    """The report as ``--json`` prints it."""
    return {
        **asdict(played.report),
        "first_differences": [asdict(difference) for difference in played.telling],
    }


def _print(report: Mapping[str, Any], as_json: bool) -> int:
    """Prints the report at once and returns the status of its verdict."""
    if as_json:
        typer.echo(json.dumps(report))
    else:
        print_report(report)
    sys.stdout.flush()  # the node's end, which follows, takes a second
    verdict = report["verdict"]
    return NO_ANSWER if verdict is None else EXIT_STATUS[Verdict(verdict)]


def _local_comparison(typed: AskedComparison, rule: Rule) -> LocalComparison:
    assert typed.game is not None
    options = GameOptions(
        game=typed.game,
        seats=_seats(typed),
        config=typed.config,
        act_seconds=typed.act_seconds,
        bank_seconds=typed.bank_seconds,
        profile=typed.profile,
        memory_mb=typed.memory_mb,
    )
    paths = [Path(name) for name in (typed.old, typed.new, *typed.opponents)]
    plan = make_plan(options, paths, games=2 * rule.most_pairs, seed=parse_seed(typed.seed))
    return LocalComparison(plan, rule, options.seats, typed.out or default_folder())


def _seats(typed: AskedComparison) -> int:
    rules = find_game(typed.game or "")
    if rules.seats.stop - 1 < 2:
        raise RunError(f"{rules.title} has one seat, so there is no opponent to beat")
    return seats_of(rules, typed)


def _play(
    comparison: LocalComparison, coming: ComingNode | None, as_json: bool
) -> PlayedComparison:
    if coming is None:
        with tempfile.TemporaryDirectory() as scratch:  # names the file that is not there
            local_match.prepare_bundles(comparison.plan, Path(scratch))
        raise RunError("type the command again: a file was not there")
    picture = RunningPicture(comparison.rule, quiet=as_json)
    bundles = local_match.prepare_bundles(comparison.plan, coming.scratch)
    if filecmp.cmp(bundles[OLD], bundles[NEW], shallow=False):
        raise RunError("name two different versions: these are the same files")
    socket = coming.wait()
    try:
        return local_comparison.compare(comparison, bundles, socket, picture.show)
    finally:
        picture.clear()


def _compare_on_service(typed: AskedComparison, league: str, rule: Rule) -> Json:
    """Starts the comparison, waits for the verdict and returns the report."""
    with connect() as ladder:
        season = find_season_id(ladder, league)
        mine = own_agents(ladder)
        old, new, *opponents = (
            _submission_key(ladder, season, mine, name)
            for name in (typed.old, typed.new, *typed.opponents)
        )
        body: Json = {
            "old": old,
            "new": new,
            "opponents": opponents,
            "margin": rule.margin,
            "pairs": rule.most_pairs,
            "variants": rule.variants,
        }
        stderr.print(ladder.post(f"/v1/leagues/{league}/comparisons/plan", body)["sentence"])
        comparison = ladder.post(f"/v1/leagues/{league}/comparisons", body)
        stderr.print(f"comparison {comparison['id']}")
        return _wait(ladder, comparison["id"], RunningPicture(rule, quiet=typed.as_json))


def _submission_key(ladder: Client, season: str, mine: list[Json], name: str) -> str:
    if name.isdigit():
        return str(ladder.get(f"/v1/submissions/{name}")["id"])
    return agent_id(ladder, name, {"season": season}, mine)


def _wait(ladder: Client, key: str, picture: RunningPicture) -> Json:
    """Waits for the end of the comparison, with the running picture on stderr."""
    counted, silent, waits_until = 0, 0, None
    try:
        while True:
            try:
                report, silent = ladder.get(f"/v1/comparisons/{key}"), 0
            except Unreachable:  # the comparison goes on while the site restarts
                silent += 1
                if silent > MOST_SILENT_POLLS:
                    raise
                time.sleep(POLL_SECONDS)
                continue
            if report["pairs"] > counted:
                counted = report["pairs"]
                figures = (report["difference"], report["low"], report["high"])
                picture.show(Picture(counted, *figures, None))
            if report["today"] is not None and report["waits_until"] not in (None, waits_until):
                waits_until = report["waits_until"]
                picture.clear()
                stderr.print(
                    f"No further pair begins before {timestamp_text(waits_until)} UTC."
                    f" {report['today']['sentence']} Ctrl-C ends this command, not the comparison."
                )
            if report["state"] != "running":
                for first in report["first_differences"]:
                    for side in ("old", "new"):
                        page = f"{ladder.address}/matches/{first[f'{side}_match_id']}"
                        first[f"{side}_replay"] = f"{page}#step={first['step']}"
                return report
            time.sleep(POLL_SECONDS)
    finally:
        picture.clear()


def bar(low: float, high: float, difference: float | None, margin: float) -> str:
    """Draws the interval on a scale from -1 to 1, with 0 as ``|`` and the margin as ``+``."""

    def column(value: float) -> int:
        return round((value + 1) / 2 * (BAR_COLUMNS - 1))

    cells = ["."] * BAR_COLUMNS
    for place in range(column(low), column(high) + 1):
        cells[place] = "="
    cells[column(0)] = "|"
    cells[column(margin)] = "+"
    if difference is not None:
        cells[column(difference)] = "o"
    return f"-1 {''.join(cells)} +1"


def picture_line(report: Mapping[str, Any]) -> str:
    """Describes the state of a comparison in one line."""
    drawn = bar(report["low"], report["high"], report["difference"], report["margin"])
    return (
        f"{drawn}  {report['pairs']} of at most {report['most_pairs']} pairs:"
        f" {interval_text(report)}"
    )


def interval_text(report: Mapping[str, Any]) -> str:
    """The mean difference and its bounds."""
    if report["difference"] is None:
        return "no pair yet"
    return (
        f"difference {report['difference']:+.3f},"
        f" between {report['low']:+.3f} and {report['high']:+.3f}"
    )


def short_line(report: Mapping[str, Any]) -> str:
    """The same in less than 80 columns."""
    drawn = bar(report["low"], report["high"], report["difference"], report["margin"])
    return (
        f"{drawn}  {report['pairs']}/{report['most_pairs']} pairs"
        f" {report['difference']:+.3f} ({report['low']:+.2f} to {report['high']:+.2f})"
    )


class RunningPicture:
    """The running picture on stderr. Without a terminal, a line after 1, 2, 4, 8, ... pairs."""

    def __init__(self, rule: Rule, quiet: bool) -> None:
        self._rule = rule
        self._terminal = sys.stderr.isatty()
        self._quiet = quiet and not self._terminal
        self._next = 1

    def show(self, picture: Picture) -> None:
        """Shows the state after a pair."""
        report = asdict(picture) | asdict(self._rule)
        if self._terminal:
            columns = shutil.get_terminal_size().columns - 1
            sys.stderr.write("\r" + short_line(report)[:columns].ljust(columns))
        elif not self._quiet and picture.pairs >= self._next:
            self._next = 2 * picture.pairs
            sys.stderr.write(picture_line(report) + "\n")
        sys.stderr.flush()

    def clear(self) -> None:
        """Removes the line from a terminal."""
        if self._terminal:
            sys.stderr.write("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r")
            sys.stderr.flush()


def print_report(report: Mapping[str, Any]) -> None:
    """Prints verdict and analysis as text."""
    stdout.print(SENTENCES[report["verdict"]])
    stdout.print(picture_line(report))
    stdout.print(
        f"margin {report['margin']:g}; better: the lower bound is above 0; not better: the upper"
        " bound is below the margin"
    )
    if report["variants"] > 1:
        stdout.print(f"one of {report['variants']} variants that you compare")
    if report["replayed_pairs"]:
        stdout.print(f"{report['replayed_pairs']} pairs were played again because a machine failed")
    ratio = report["log_likelihood_ratio"]
    if ratio is not None:
        stdout.print(
            f"log-likelihood ratio of normalised Elo [0, 2]: {ratio:.2f} (it decides nothing)"
        )
    if report["old"] is None:
        return
    table(
        ["version", "opponents beaten", "own faults", "a move", "longest move"],
        [
            (
                name,
                f"{side['score']:.1%}",
                side["faults"],
                _milliseconds(side["mean_move_seconds"]),
                _milliseconds(side["longest_move_seconds"]),
            )
            for name, side in (("old", report["old"]), ("new", report["new"]))
        ],
    )
    seats = [{**gain, "name": _seat_name(gain["name"])} for gain in report["seats"]]
    _print_gains("seat", seats)
    _print_gains("opponent", report["opponents"])
    _print_first_differences(report["first_differences"])


def _seat_name(name: str) -> str:
    """``seat 1`` for ``seat 0`` of a report, because commands count seats from 1."""
    return f"seat {int(name.split()[1]) + 1}"


def _print_gains(what: str, gains: Sequence[Mapping[str, Any]]) -> None:
    if len(gains) < 2:
        return
    table(
        [what, "pairs", "old", "new", "gain", "95 % interval"],
        [
            (
                gain["name"],
                gain["games"],
                f"{gain['old']:.1%}",
                f"{gain['new']:.1%}",
                f"{gain['new'] - gain['old']:+.3f}",
                None if gain["low"] is None else f"{gain['low']:+.3f} to {gain['high']:+.3f}",
            )
            for gain in gains
        ],
    )


def _print_first_differences(differences: Sequence[Mapping[str, Any]]) -> None:
    if not differences:
        return
    stdout.print("first different moves of the pairs with the largest differences:")
    for first in differences:
        stdout.print(
            f"  pair {first['pair']} ({first['difference']:+.3f}), seat {first['seat'] + 1}, step"
            f" {first['step']}: {first['old_replay']} {first['new_replay']}"
        )


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1000 * seconds:.1f} ms"
