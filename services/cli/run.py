"""``peck run``: plays matches on this machine, with the ladder's referee, clock and sandbox."""

from __future__ import annotations

import json
import signal
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
from sandbox.settings import LauncherName
from services.cli.display import ProgressLine, printable, table_lines
from services.cli.local_node import RunError, node_socket, scratch_folder
from services.cli.local_plan import (
    GameOptions,
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
        shown = GamesShown(plan) if watch else None
        folder = play_plan(plan, "run", launcher, node, out=out, as_json=as_json, shown=shown)
        typer.echo(f"replays and logs are in {folder}", err=True)
        if is_alone:
            typer.echo(
                f"{agents[0]} took all {len(agents)} seats: name more agents to play them", err=True
            )
        if shown is not None:
            shown.stay()
    except (RunError, SandboxError) as error:
        typer.echo(printable(f"peck run: {error}"), err=True)
        # Exit status 2: wrong input. Exit status 1: this machine failed.
        raise typer.Exit(1 if isinstance(error, HostFault) else 2) from None
    except KeyboardInterrupt:
        typer.echo("\npeck run: stopped", err=True)
        raise typer.Exit(130) from None


def play_plan(
    plan: local_match.LocalPlan,
    command: str,
    launcher: LauncherName,
    node: Path | None,
    *,
    out: Path | None,
    as_json: bool,
    shown: GamesShown | None = None,
) -> Path:
    """Plays all games and prints each. Returns the folder of replays and logs."""
    folder = out or default_folder()
    results: list[local_match.LocalResult] = []
    progress = ProgressLine()

    def show_step(game: int, step: int) -> None:
        progress.show(f"game {game} of {plan.games}, step {step}")

    with scratch_folder(command) as scratch:
        bundles = local_match.prepare_bundles(plan, scratch)
        with node_socket(plan, launcher, scratch, node) as socket:
            for result in local_match.play_games(
                plan, bundles, socket, show_step, shown.begin if shown else None
            ):
                progress.clear()
                results.append(result)
                files = local_match.save_files(result, plan, folder)
                if shown:
                    shown.finish(result)
                if as_json:
                    typer.echo(json.dumps(local_match.result_json(result, plan, files)))
                else:
                    typer.echo(printable(result_table(result, plan)))
    summaries = local_match.summarize_agents(plan, results)
    if plan.games > 1 and as_json:
        typer.echo(json.dumps(local_match.summary_json(summaries)))
    elif plan.games > 1:
        typer.echo(printable(summary_table(summaries)))
    return folder


class GamesShown:
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
        game.episodes[:] = [
            partial(frames.frames_json, record) for record in result.played.episodes
        ]
        game.logs = {
            seat: partial(read_log, report.log) for seat, report in enumerate(result.played.seats)
        }

    def stay(self) -> None:
        """Keeps the page until Ctrl-C."""
        typer.echo("the games stay on the page; press Ctrl-C to stop", err=True)
        signal.pause()


def result_table(result: local_match.LocalResult, plan: local_match.LocalPlan) -> str:
    """One game as a table."""
    columns = ("place", "agent", "verdict", "reward", "time used", "longest move", "")
    order = sorted(range(len(result.lineup)), key=lambda s: result.played.seats[s].placement)
    rows = [
        (
            str(report.placement),
            plan.names[result.lineup[seat]],
            str(report.verdict),
            "-" if report.reward is None else f"{report.reward:g}",
            f"{report.charged_seconds:.3f} s",
            f"{report.max_move_seconds * 1000:.1f} ms",
            report.reason or "",
        )
        for seat in order
        for report in [result.played.seats[seat]]
    ]
    steps = " and ".join(str(len(episode.steps)) for episode in result.played.episodes)
    head = f"game {result.number} of {plan.games}: {steps} steps, seed {result.seed.hex()}"
    return f"{head}\n{_indented(columns, rows)}"


def summary_table(summaries: Sequence[local_match.AgentSummary]) -> str:
    """A batch as a table."""
    columns = ("agent", "games", "wins", "win rate", "95 % interval", "mean place", "faults")
    rows = [
        (
            summary.agent,
            str(summary.games),
            f"{summary.wins:g}",
            f"{summary.win_rate:.1%}",
            f"{summary.win_rate_low:.1%} to {summary.win_rate_high:.1%}",
            f"{summary.mean_placement:.2f}",
            str(summary.faults),
        )
        for summary in summaries
    ]
    return _indented(columns, rows)


def _indented(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"  {line}".rstrip() for line in table_lines(columns, rows))
