"""Runs a comparison of two versions that a person asked for, here or on the service."""

from __future__ import annotations

import filecmp
import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any, Final

import typer

from estimates.comparison import EXIT_STATUS, MARGIN, Rule, RuleError, Verdict, default_pairs
from sandbox.errors import SandboxError
from sandbox.match import local_match
from services.api_client import ApiError, Unreachable
from services.cli import local_comparison, server_comparison
from services.cli.asked_comparison import NO_ANSWER, AskedComparison, ComingNode, seats_of
from services.cli.comparison_display import RunningPicture, print_report
from services.cli.display import printable
from services.cli.local_comparison import NEW, OLD, LocalComparison, PlayedComparison
from services.cli.local_node import RunError
from services.cli.local_plan import (
    GameOptions,
    default_folder,
    find_game,
    make_plan,
    parse_seed,
)
from services.cli.saved_login import MissingInput
from services.cli.server_comparison import ServerComparison

ERRORS: Final = (RunError, SandboxError, RuleError, ApiError, Unreachable, MissingInput, OSError)


def run(asked: AskedComparison, coming: ComingNode | None) -> int:
    """Compares, prints the verdict and returns its exit status.

    ``coming`` is the node, for a comparison on this machine whose files are there.
    """
    try:
        margin = MARGIN if asked.margin is None else asked.margin
        pairs = default_pairs(margin) if asked.pairs is None else asked.pairs
        rule = Rule(margin, pairs, asked.variants)
        if (asked.game is None) == (asked.league is None):
            raise RunError(
                "say where to play: --game GAME on this machine, or --league LEAGUE on the service"
            )
        if asked.league is not None:
            wanted = ServerComparison(asked.league, asked.old, asked.new, asked.opponents, rule)
            return _tell(server_comparison.compare(wanted, asked.as_json), asked.as_json)
        comparison = _local_comparison(asked, rule)
        played = _play(comparison, coming, asked.as_json)
    except ERRORS as error:
        typer.echo(printable(f"peck better: {error}"), err=True)
        return NO_ANSWER
    report = report_json(played)
    report["seconds"] = round(monotonic() - asked.began, 3)
    report["playing_seconds"] = round(played.playing_seconds, 3)
    typer.echo(f"replays are in {comparison.out}", err=True)
    return _tell(report, asked.as_json)


def report_json(played: PlayedComparison) -> dict[str, Any]:
    """The report as ``--json`` prints it."""
    return {
        **asdict(played.report),
        "first_differences": [asdict(one) for one in played.telling],
    }


def _tell(report: Mapping[str, Any], as_json: bool) -> int:
    """Prints the report at once and returns the status of its verdict."""
    if as_json:
        typer.echo(json.dumps(report))
    else:
        print_report(report)
    sys.stdout.flush()  # the node's end, which follows, takes a second
    verdict = report["verdict"]
    return NO_ANSWER if verdict is None else EXIT_STATUS[Verdict(verdict)]


def _local_comparison(asked: AskedComparison, rule: Rule) -> LocalComparison:
    assert asked.game is not None
    options = GameOptions(
        game=asked.game,
        seats=_seats(asked),
        config=asked.config,
        act_seconds=asked.act_seconds,
        bank_seconds=asked.bank_seconds,
        profile=asked.profile,
        memory_mb=asked.memory_mb,
    )
    paths = [Path(name) for name in (asked.old, asked.new, *asked.opponents)]
    plan = make_plan(options, paths, games=2 * rule.most_pairs, seed=parse_seed(asked.seed))
    return LocalComparison(plan, rule, options.seats, asked.out or default_folder())


def _seats(asked: AskedComparison) -> int:
    rules = find_game(asked.game or "")
    if rules.seats.stop - 1 < 2:
        raise RunError(f"{rules.title} has one seat, so there is no opponent to beat")
    return seats_of(rules, asked)


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
