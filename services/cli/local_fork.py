"""Continues a replay file from a step with agents of this machine, for ``peck fork FILE``."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from games import external
from games.forks import Fork, check_fork
from games.protocol import GameError
from sandbox.errors import HostFault, SandboxError
from sandbox.match import local_match
from sandbox.match.clock import Clock, ClockError
from sandbox.profiles import PROFILES
from services.cli.display import printable
from services.cli.local_node import LauncherName, node_socket, scratch_folder
from services.cli.local_plan import RunError, default_folder
from services.cli.replay_files import Record, find_record
from services.cli.run import result_table, summary_table


@dataclass(frozen=True, slots=True)
class LocalFork:
    """What to play."""

    file: str
    step: int
    agents: Mapping[int, str]
    """Path of the agent of each seat."""
    moves: Mapping[int, list[Any]]
    games: int
    draws_anew: bool
    seed: str | None
    out: Path | None
    launcher: str
    node: Path | None
    profile: str


def play_fork(asked: LocalFork, *, as_json: bool) -> None:
    """Plays and prints the games. Exit status 2 for wrong input, 1 if this machine failed."""
    try:
        plan = _plan(asked)
        out = asked.out or default_folder()
        results = []
        with scratch_folder("fork") as scratch:
            bundles = local_match.prepare_bundles(plan, scratch)
            launcher = LauncherName(asked.launcher)
            with node_socket(plan, launcher, scratch, asked.node) as socket:
                for result in local_match.play_games(plan, bundles, socket):
                    results.append(result)
                    files = local_match.save_files(result, plan, out)
                    told = local_match.result_json(result, plan, files)
                    typer.echo(
                        json.dumps(told) if as_json else printable(result_table(result, plan))
                    )
        summaries = local_match.summarize_agents(plan, results)
        if plan.games > 1 and as_json:
            typer.echo(json.dumps(local_match.summary_json(summaries)))
        elif plan.games > 1:
            typer.echo(printable(summary_table(summaries)))
        typer.echo(f"replays and logs are in {out}; watch them by `peck view {out}`", err=True)
    except HostFault as error:
        typer.echo(printable(f"peck fork: {error}"), err=True)
        raise typer.Exit(1) from None
    except (RunError, SandboxError, GameError, ClockError, external.ExternalGameError) as error:
        typer.echo(printable(f"peck fork: {error}"), err=True)
        raise typer.Exit(2) from None


def _plan(asked: LocalFork) -> local_match.LocalPlan:
    record = find_record(asked.file, asked.seed)
    episode = record.episode
    if missing := [seat for seat in range(episode.seats) if seat not in asked.agents]:
        first = missing[0] + 1
        raise RunError(f"--seat: name an agent for seat {first}, as --seat {first}=PATH")
    if odd := [seat for seat in (*asked.agents, *asked.moves) if seat >= episode.seats]:
        raise RunError(f"seat {odd[0] + 1}: this episode has seats 1 to {episode.seats}")
    if asked.profile not in PROFILES:
        raise RunError(f"type one of {', '.join(PROFILES)}: there is no profile {asked.profile!r}")
    if asked.launcher not in set(LauncherName):
        raise RunError(f"--launcher: type one of {', '.join(LauncherName)}")
    fork = _fork(asked, record)
    check_fork(record.game, fork)
    return local_match.LocalPlan(
        game=record.game,
        configuration=episode.configuration,
        clock=Clock.from_json(episode.clock),
        agents=tuple(Path(asked.agents[seat]) for seat in range(episode.seats)),
        games=asked.games,
        seed=fork.seed or secrets.token_bytes(16),
        profile=asked.profile,
        fork=fork,
    )


def _fork(asked: LocalFork, record: Record) -> Fork:
    if record.seed is None and not asked.draws_anew:
        raise RunError(
            "--seed: the file does not tell the record's seed; give it, or type --draws new"
        )
    moves = {seat: tuple(given) for seat, given in asked.moves.items()}
    return Fork(record.episode, asked.step, None if asked.draws_anew else record.seed, moves)
