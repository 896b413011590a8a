"""``peck run``: plays matches on this machine, with the ladder's referee, clock and sandbox."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import time
import webbrowser
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from games import frames
from sandbox.errors import HostFault, SandboxError
from sandbox.match import local_match
from sandbox.match.match_record import EpisodeRecord, read_log
from services.cli.display import printable
from services.cli.local_node import LauncherName, node_socket, scratch_folder
from services.cli.local_plan import (
    GameOptions,
    RunError,
    default_folder,
    find_game,
    make_plan,
    parse_seed,
)

USUAL_SEATS = 4
"""Most seats that an agent takes if it is the only one named."""


def register(app: typer.Typer) -> None:
    """Adds the command ``run``."""
    app.command("run")(run)


def run(
    game: Annotated[str, typer.Argument(help="Name of a game, for example hungry_geese.")],
    agents: Annotated[
        list[Path], typer.Argument(help="main.py, folder, .tar.gz, .tar or .zip of each player.")
    ],
    games: Annotated[int, typer.Option(min=1, help="Number of games; seats rotate.")] = 1,
    seed: Annotated[
        str | None, typer.Option(help="32 hex digits or a whole number; default: random.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object for each game.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for replays and logs; default: peck-runs/TIME.")
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
    launcher: Annotated[LauncherName, typer.Option(help="Program that creates sandboxes.")] = (
        LauncherName.AUTO
    ),
    node: Annotated[
        Path | None, typer.Option(help="Socket of a running node, to use instead of a new one.")
    ] = None,
    max_parallel_seats: Annotated[
        int, typer.Option(min=0, help="Agents that compute at the same time; 0 means cores - 1.")
    ] = 0,
    profile: Annotated[str, typer.Option(help="Libraries in the sandbox.")] = "numpy",
    memory_mb: Annotated[int, typer.Option(min=64, help="Memory of each agent, in MB.")] = 1024,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show the games in a browser while they are played.")
    ] = False,
) -> None:
    """Play agents against each other on this machine. Writes replays and logs."""
    try:
        most = find_game(game).seats[-1]
        is_alone = len(agents) == 1 < most
        if is_alone:
            agents = agents * min(USUAL_SEATS, most)
        options = GameOptions(
            game=game,
            seats=len(agents),
            config=config or [],
            act_seconds=act_seconds,
            bank_seconds=bank_seconds,
            profile=profile,
            memory_mb=memory_mb,
            max_parallel_seats=max_parallel_seats,
        )
        plan = make_plan(options, agents, games=games, seed=parse_seed(seed))
        show = _GamesShown(plan) if watch else None
        _play_plan(plan, out or default_folder(), launcher, node, as_json, show)
        if is_alone:
            told = f"{agents[0]} took all {len(agents)} seats: name more agents to play them"
            typer.echo(told, err=True)
        if show is not None:
            show.stay()
    except (RunError, SandboxError) as error:
        typer.echo(printable(f"peck run: {error}"), err=True)
        # Exit status 2: wrong input. Exit status 1: this machine failed.
        raise typer.Exit(1 if isinstance(error, HostFault) else 2) from None
    except KeyboardInterrupt:
        typer.echo("\npeck run: stopped", err=True)
        raise typer.Exit(130) from None


def _play_plan(
    plan: local_match.LocalPlan,
    out: Path,
    launcher: LauncherName,
    node: Path | None,
    as_json: bool,
    show: _GamesShown | None,
) -> None:
    results: list[local_match.LocalResult] = []
    progress = _Progress(plan.games)
    with scratch_folder("run") as scratch:
        bundles = local_match.prepare_bundles(plan, scratch)
        with node_socket(plan, launcher, scratch, node) as socket:
            for result in local_match.play_games(
                plan, bundles, socket, progress.step, show.begin if show else None
            ):
                progress.clear()
                results.append(result)
                files = local_match.save_files(result, plan, out)
                if show:
                    show.finish(result)
                if as_json:
                    typer.echo(json.dumps(local_match.result_json(result, plan, files)))
                else:
                    typer.echo(printable(result_table(result, plan)))
    if as_json and plan.games > 1:
        typer.echo(
            json.dumps(local_match.summary_json(local_match.summarize_agents(plan, results)))
        )
    elif plan.games > 1:
        typer.echo(printable(summary_table(local_match.summarize_agents(plan, results))))
    typer.echo(f"replays and logs are in {out}", err=True)


class _Progress:
    """Progress on one line of a terminal's stderr. Silent without a terminal."""

    def __init__(self, games: int) -> None:
        self._games = games
        self._shown = sys.stderr.isatty()
        self._next_at = 0.0

    def step(self, game: int, step: int) -> None:
        if self._shown and time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + 0.1
            sys.stderr.write(f"\rgame {game} of {self._games}, step {step} ")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r" + " " * min(60, shutil.get_terminal_size().columns - 1) + "\r")
            sys.stderr.flush()


class _GamesShown:
    """The games of a batch in the player, on a page of this machine."""

    def __init__(self, plan: local_match.LocalPlan) -> None:
        from services.cli.local_page import LocalPage  # imports the site's templates for a second

        self._plan = plan
        self._page = LocalPage()
        self._page.start()
        typer.echo(f"watch at {self._page.address}", err=True)
        webbrowser.open(self._page.address)

    def begin(self, number: int, record: EpisodeRecord) -> None:
        """Shows an episode while it is played."""
        from services.cli.local_page import LocalGame

        if len(self._page.games) < number:
            lineup = local_match.rotated_seats(len(self._plan.names), number)
            names = tuple(self._plan.names[agent] for agent in lineup)
            self._page.games.append(LocalGame(self._plan.game.name, names))
        self._page.games[number - 1].episodes.append(lambda: frames.frames_json(record.so_far()))

    def finish(self, result: local_match.LocalResult) -> None:
        """Shows the whole game with its result and logs."""
        game = self._page.games[result.number - 1]
        game.episodes[:] = [partial(frames.frames_json, one) for one in result.played.episodes]
        game.logs = {
            seat: partial(read_log, report.log) for seat, report in enumerate(result.played.seats)
        }

    def stay(self) -> None:
        """Keeps the page until Ctrl-C."""
        typer.echo("the games stay on the page; press Ctrl-C to stop", err=True)
        signal.pause()


def result_table(result: local_match.LocalResult, plan: local_match.LocalPlan) -> str:
    """One game as a table."""
    rows = [("place", "agent", "verdict", "reward", "time used", "longest move", "")]
    order = sorted(range(len(result.lineup)), key=lambda s: result.played.seats[s].placement)
    for seat in order:
        report = result.played.seats[seat]
        rows.append(
            (
                str(report.placement),
                plan.names[result.lineup[seat]],
                str(report.verdict),
                "-" if report.reward is None else f"{report.reward:g}",
                f"{report.charged_seconds:.3f} s",
                f"{report.max_move_seconds * 1000:.1f} ms",
                report.reason or "",
            )
        )
    steps = " and ".join(str(len(one.steps)) for one in result.played.episodes)
    head = f"game {result.number} of {plan.games}: {steps} steps, seed {result.seed.hex()}"
    return f"{head}\n{_align(rows)}"


def summary_table(summaries: Sequence[local_match.AgentSummary]) -> str:
    """A batch as a table."""
    rows = [("agent", "games", "wins", "win rate", "95 % interval", "mean place", "faults")]
    rows += [
        (
            one.agent,
            str(one.games),
            f"{one.wins:g}",
            f"{one.win_rate:.1%}",
            f"{one.win_rate_low:.1%} to {one.win_rate_high:.1%}",
            f"{one.mean_placement:.2f}",
            str(one.faults),
        )
        for one in summaries
    ]
    return _align(rows)


def _align(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
