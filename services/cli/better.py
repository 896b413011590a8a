"""``peck better``: says whether a new version is better than an old one.

Exit status 0: better. 1: not better. 3: cannot tell. 2: no answer, because the input is wrong or
the machine failed.
"""

from __future__ import annotations

import filecmp
import json
import tempfile
import traceback
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, Final, NoReturn

import typer

from ladder.errors import Invalid
from ladder.scrims.comparison.verdicts import EXIT_STATUS, MARGIN, Rule, Verdict, default_pairs
from sandbox.errors import SandboxError
from sandbox.match import local_match
from services.api_client import ApiError, Unreachable
from services.cli import local_comparison, server_comparison
from services.cli.comparison_display import RunningPicture, print_report
from services.cli.local_comparison import NEW, OLD, LocalComparison, PlayedComparison
from services.cli.local_node import LauncherName, node_socket
from services.cli.local_plan import (
    GameOptions,
    RunError,
    default_folder,
    find_game,
    make_plan,
    parse_seed,
)
from services.cli.saved_login import MissingInput
from services.cli.server_comparison import ServerComparison

NO_ANSWER: Final = 2
USUAL_SEATS: Final = 4
ERRORS: Final = (RunError, SandboxError, Invalid, ApiError, Unreachable, MissingInput, OSError)


def register(app: typer.Typer) -> None:
    """Adds the command ``better``."""
    app.command("better")(better)


def better(
    old: Annotated[str, typer.Argument(help="The old version: main.py, folder or archive.")],
    new: Annotated[str, typer.Argument(help="The new version.")],
    game: Annotated[
        str | None, typer.Option(help="Play this game on this machine, as hungry_geese.")
    ] = None,
    league: Annotated[
        str | None,
        typer.Option(help="Play in this league on the service. Versions: agents or submissions."),
    ] = None,
    opponents: Annotated[
        list[str] | None,
        typer.Option(
            "--opponent",
            "--opponents",
            help="Opponent of both versions; repeatable. Default: the old version.",
        ),
    ] = None,
    seats: Annotated[
        int | None, typer.Option(min=2, help="Seats of the game; default: opponents + 1, or 4.")
    ] = None,
    margin: Annotated[
        float, typer.Option(help="Difference that matters, as a share of opponents beaten.")
    ] = MARGIN,
    pairs: Annotated[
        int | None, typer.Option(help="Most pairs of games; default: 15 / margin squared.")
    ] = None,
    variants: Annotated[
        int, typer.Option(help="Number of variants that you compare with the old version.")
    ] = 1,
    seed: Annotated[
        str | None, typer.Option(help="32 hex digits or a whole number; default: random.")
    ] = None,
    config: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE of the game's configuration; repeatable.")
    ] = None,
    act_seconds: Annotated[
        float | None, typer.Option(help="Free seconds for each move; default: the game's.")
    ] = None,
    bank_seconds: Annotated[
        float | None, typer.Option(help="Extra seconds for all moves of one game.")
    ] = None,
    profile: Annotated[str, typer.Option(help="Libraries in the sandbox.")] = "numpy",
    memory_mb: Annotated[int, typer.Option(min=64, help="Memory of each agent, in MB.")] = 1024,
    launcher: Annotated[LauncherName, typer.Option(help="Program that creates sandboxes.")] = (
        LauncherName.AUTO
    ),
    node: Annotated[
        Path | None, typer.Option(help="Socket of a running node, to use instead of a new one.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for replays; default: peck-runs/TIME.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> None:
    """Say whether a new version is better: exit status 0 better, 1 not better, 3 cannot tell.

    Both versions play the same seeds, seats and opponents, until the answer is clear.
    """
    began = monotonic()
    try:
        rule = Rule(margin, default_pairs(margin) if pairs is None else pairs, variants)
        if (game is None) == (league is None):
            raise RunError(
                "say where to play: --game GAME on this machine, or --league LEAGUE on the service"
            )
        if league is not None:
            wanted = ServerComparison(league, old, new, tuple(opponents or ()), rule)
            _finish(server_comparison.compare(wanted, as_json), as_json)
        assert game is not None
        paths = [Path(name) for name in (old, new, *(opponents or ()))]
        options = GameOptions(
            game=game,
            seats=_seats(game, seats, len(opponents or ())),
            config=config or [],
            act_seconds=act_seconds,
            bank_seconds=bank_seconds,
            profile=profile,
            memory_mb=memory_mb,
        )
        plan = make_plan(options, paths, games=2 * rule.most_pairs, seed=parse_seed(seed))
        comparison = LocalComparison(plan, rule, options.seats, out or default_folder())
        played = _play(comparison, launcher, node, as_json)
    except ERRORS as error:
        typer.echo(f"peck better: {error}", err=True)
        raise typer.Exit(NO_ANSWER) from None
    except KeyboardInterrupt:
        typer.echo("\npeck better: stopped", err=True)
        raise typer.Exit(130) from None
    except typer.Exit:
        raise
    except Exception:
        traceback.print_exc()  # its usual status, 1, would say that the version is not better
        raise typer.Exit(NO_ANSWER) from None
    report = report_json(played)
    report["seconds"] = round(monotonic() - began, 3)
    report["playing_seconds"] = round(played.playing_seconds, 3)
    typer.echo(f"replays are in {comparison.out}", err=True)
    _finish(report, as_json)


def report_json(played: PlayedComparison) -> dict[str, Any]:
    """The report as ``--json`` prints it."""
    return {
        **asdict(played.report),
        "first_differences": [asdict(one) for one in played.telling],
    }


def _finish(report: Mapping[str, Any], as_json: bool) -> NoReturn:
    """Prints the report and exits with the status of its verdict."""
    if as_json:
        typer.echo(json.dumps(report))
    else:
        print_report(report)
    verdict = report["verdict"]
    raise typer.Exit(NO_ANSWER if verdict is None else EXIT_STATUS[Verdict(verdict)])


def _seats(game: str, asked: int | None, opponents: int) -> int:
    rules = find_game(game)
    if rules.seats.stop - 1 < 2:
        raise RunError(f"{rules.title} has one seat, so there is no opponent to beat")
    if asked is not None:
        return asked
    usual = opponents + 1 if opponents else USUAL_SEATS
    return max(2, rules.seats.start, min(usual, rules.seats.stop - 1))


def _play(
    comparison: LocalComparison, launcher: LauncherName, node: Path | None, as_json: bool
) -> PlayedComparison:
    picture = RunningPicture(comparison.rule, quiet=as_json)
    with tempfile.TemporaryDirectory(prefix="peck-better-") as scratch:
        bundles = local_match.prepare_bundles(comparison.plan, Path(scratch))
        if filecmp.cmp(bundles[OLD], bundles[NEW], shallow=False):
            raise RunError("name two different versions: these are the same files")
        with node_socket(comparison.plan, launcher, Path(scratch), node) as socket:
            try:
                return local_comparison.compare(comparison, bundles, socket, picture.show)
            finally:
                picture.clear()
