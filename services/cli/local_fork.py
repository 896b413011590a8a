"""Continues a replay file from a step with agents of this machine, for ``peck fork FILE``."""

from __future__ import annotations

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
from services.cli.display import printable
from services.cli.local_node import RunError, launcher_named
from services.cli.local_plan import check_profile
from services.cli.replay_files import Record, find_record
from services.cli.run import play_plan


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


def play_fork(request: LocalFork, *, as_json: bool) -> None:
    """Plays and prints the games. Exit status 2 for wrong input, 1 if this machine failed."""
    try:
        folder = play_plan(
            _plan(request),
            "fork",
            launcher_named(request.launcher),
            request.node,
            out=request.out,
            as_json=as_json,
        )
        typer.echo(f"replays and logs are in {folder}; watch: peck view {folder}", err=True)
    except HostFault as error:
        typer.echo(printable(f"peck fork: {error}"), err=True)
        raise typer.Exit(1) from None
    except (RunError, SandboxError, GameError, ClockError, external.ExternalGameError) as error:
        typer.echo(printable(f"peck fork: {error}"), err=True)
        raise typer.Exit(2) from None


def _plan(request: LocalFork) -> local_match.LocalPlan:
    record = find_record(request.file, request.seed)
    episode = record.episode
    if missing := [seat for seat in range(episode.seats) if seat not in request.agents]:
        first = missing[0] + 1
        raise RunError(f"--seat: name an agent for seat {first}, as --seat {first}=PATH")
    if odd := [seat for seat in (*request.agents, *request.moves) if seat >= episode.seats]:
        raise RunError(f"seat {odd[0] + 1}: this episode has seats 1 to {episode.seats}")
    check_profile(request.profile)
    fork = _fork(request, record)
    check_fork(record.game, fork)
    return local_match.LocalPlan(
        game=record.game,
        configuration=episode.configuration,
        clock=Clock.from_json(episode.clock),
        agents=tuple(Path(request.agents[seat]) for seat in range(episode.seats)),
        games=request.games,
        seed=fork.seed or secrets.token_bytes(16),
        profile=request.profile,
        fork=fork,
    )


def _fork(request: LocalFork, record: Record) -> Fork:
    if record.seed is None and not request.draws_anew:
        raise RunError(
            "--seed: the file does not tell the record's seed; give it, or type --draws new"
        )
    moves = {seat: tuple(seat_moves) for seat, seat_moves in request.moves.items()}
    return Fork(record.episode, request.step, None if request.draws_anew else record.seed, moves)
