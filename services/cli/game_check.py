"""``peck game check``: tests whether an external game follows the Protocol."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

import typer

from games import GAMES, external
from games.conformance import CHECKS, Report, check_conformance, fingerprint
from games.protocol import Game, Json
from sandbox.match.clock import Clock, ClockError
from services.cli.display import ProgressLine, print_json, printable, show_checks, stdout
from services.cli.local_node import RunError
from services.cli.local_plan import parse_override
from services.environment_variables import CHECKOUT

HASH_SEEDS: Final = ("1", "2")
FINGERPRINT: Final = (
    "import json, sys; from games import GAMES, conformance, external; spec = sys.argv[1]; "
    "game = GAMES.get(spec) or external.load_game(spec); "
    "print(conformance.fingerprint(game, int(sys.argv[2]), json.loads(sys.argv[3])))"
)
games = typer.Typer(help="Test the rules of an external game.", no_args_is_help=True)


@games.command("check")
def check_game(
    file: Annotated[
        str, typer.Argument(help="FILE or FILE:NAME that defines the game, or a game's name.")
    ],
    plays: Annotated[
        int, typer.Option("--games", min=1, max=10_000, help="Random games for each seat count.")
    ] = 20,
    seed: Annotated[int, typer.Option(help="Number that selects the random games.")] = 0,
    seats: Annotated[
        list[int] | None, typer.Option(help="Test only this seat count; repeatable.")
    ] = None,
    config: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE of the game's configuration, repeatable.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a table.")
    ] = False,
) -> None:
    """Play random games, with and without faults, and report the rules that a game breaks.

    Executes the file on this machine with your rights. Exits with 1 if a rule is broken, with 2 if
    there is no game to test.
    """
    try:
        with contextlib.redirect_stdout(
            sys.stderr
        ):  # output of the file must not mix with the report
            game = GAMES.get(file) or external.load_game(file)
        overrides = dict(parse_override(text) for text in config or [])
        if odd := [count for count in seats or [] if count not in game.seats]:
            raise RunError(
                f"--seats {odd[0]}: choose a seat count of {game.title}, {_seat_count_text(game)}"
            )
    except (external.ExternalGameError, RunError) as error:
        typer.echo(printable(f"peck game check: {error}"), err=True)
        raise typer.Exit(2) from None
    with contextlib.redirect_stdout(sys.stderr), ProgressLine() as line:
        report = check_conformance(
            game,
            games=plays,
            seed=seed,
            seat_counts=seats,
            overrides=overrides,
            on_game=lambda count: line.show(f"{count} games"),
        )
    report = _with_flaw(report, "describes itself", _clock_flaw(game))
    if report.passed:
        report = _with_flaw(report, "determinism", _hash_order_flaw(file, game, seed, overrides))
    if as_json:
        print_json(report.as_json())
    else:
        _print_report(report)
    if not report.passed:
        raise typer.Exit(1)


def _seat_count_text(game: Game[Any]) -> str:
    least, most = game.seats.start, game.seats.stop - 1
    return f"{least} seats" if least == most else f"{least} to {most} seats"


def _with_flaw(report: Report, name: str, flaw: str | None) -> Report:
    if flaw is None:
        return report
    return replace(report, broken={**report.broken, name: (*report.broken.get(name, ()), flaw)})


def _clock_flaw(game: Game[Any]) -> str | None:
    try:
        Clock.from_json(dict(game.clock))
    except (ClockError, TypeError, ValueError) as error:
        return str(error)
    return None


def _hash_order_flaw(
    file: str, game: Game[Any], seed: int, overrides: Mapping[str, Json]
) -> str | None:
    """Plays the same games in processes with other hash seeds: the order of a set must not
    matter."""
    here = fingerprint(game, seed, overrides)
    for hash_seed in HASH_SEEDS:
        done = subprocess.run(
            [sys.executable, "-c", FINGERPRINT, file, str(seed), json.dumps(overrides)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(CHECKOUT)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            return f"another process cannot play the game: {done.stderr.strip()[-300:]}"
        if done.stdout.split()[-1:] != [here]:
            return (
                "sort the items of a set before drawing from it: another process plays "
                "other games of the same seed"
            )
    return None


def _print_report(report: Report) -> None:
    counts = ", ".join(map(str, report.seat_counts))
    stdout.print(
        f"{report.game} {report.version}: {report.games} games and {report.steps} steps with "
        f"{counts} seats, the longest of {report.longest_game} steps, seed {report.seed}"
    )
    show_checks(
        ("BROKEN", "red", name, "\n".join(report.broken[name]))
        if report.broken.get(name)
        else ("ok", "green", name, promise)
        for name, promise in CHECKS.items()
    )
    stdout.print(
        "all checks passed"
        if report.passed
        else "correct the failed checks before hosting the game"
    )


def register(app: typer.Typer) -> None:
    """Adds the group ``game``."""
    app.add_typer(games, name="game")
