"""``peck better``: says whether a new version is better than an old one.

Exit status 0: better. 1: not better. 3: cannot tell. 2: no answer, because the input is wrong or
the machine failed.

The node of a comparison on this machine starts first. What else is needed is imported meanwhile.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Annotated

import typer

from games import GAMES
from sandbox.settings import LauncherName
from services.cli.asked_comparison import NO_ANSWER, AskedComparison, ComingNode, seats_of
from services.cli.local_node import WantedBoxes, scratch_folder, starting_node


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
        float | None,
        typer.Option(help="Difference that matters, as a share of opponents beaten; default: 0.1."),
    ] = None,
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
    typed = AskedComparison(
        old=old,
        new=new,
        game=game,
        league=league,
        opponents=tuple(opponents or ()),
        seats=seats,
        margin=margin,
        pairs=pairs,
        variants=variants,
        seed=seed,
        config=tuple(config or ()),
        act_seconds=act_seconds,
        bank_seconds=bank_seconds,
        profile=profile,
        memory_mb=memory_mb,
        launcher=launcher,
        node=node,
        out=out,
        as_json=as_json,
        began=monotonic(),
    )
    try:
        with _coming_node(typed) as coming:
            from services.cli import comparison_runs  # a second, in which the node starts too

            status = comparison_runs.run(typed, coming)
    except KeyboardInterrupt:
        typer.echo("\npeck better: stopped", err=True)
        status = 130
    except Exception:
        traceback.print_exc()  # its usual status, 1, would say that the version is not better
        status = NO_ANSWER
    raise typer.Exit(status)


@contextmanager
def _coming_node(typed: AskedComparison) -> Iterator[ComingNode | None]:
    """Starts a node, if the comparison is of this machine and its files are there."""
    files = (typed.old, typed.new, *typed.opponents)
    is_here = typed.league is None and typed.game is not None
    if not is_here or not all(Path(name).exists() for name in files):
        yield None
        return
    rules = GAMES.get(typed.game or "")
    seats = seats_of(rules, typed) if rules else 2
    wanted = WantedBoxes(typed.profile, typed.memory_mb, seats + 1)  # the versions take turns
    with (
        scratch_folder("better") as scratch,
        starting_node(wanted, typed.launcher, scratch, typed.node) as wait,
    ):
        yield ComingNode(wait, scratch)
