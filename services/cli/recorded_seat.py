"""Runs one's own agent through a recorded seat, for ``peck replay --agent``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from games import external
from games.protocol import GameError
from games.recorded_seat import Difference, differences, questions
from sandbox.errors import HostFault, SandboxError
from sandbox.match import local_match
from sandbox.match.clock import Clock, ClockError
from sandbox.match.loans import SeatRequest, borrow_seats
from sandbox.match.local_match import AgentInSeat
from sandbox.profiles import PROFILES
from services.api_client import ApiError, Unreachable
from services.cli.display import printable
from services.cli.local_node import LauncherName, node_socket, scratch_folder
from services.cli.local_plan import RunError
from services.cli.replay_files import find_record

WRONG = (
    RunError,
    SandboxError,
    GameError,
    ClockError,
    external.ExternalGameError,
    ApiError,
    Unreachable,
)
SHOWN = 2_000
"""Most characters of an observation or of an output that the table shows."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What to compare, and where the agent runs."""

    source: str
    """File, match id or episode number."""
    seed: str | None
    """Seed of the match in hex. None: the one that the source tells."""
    seat: int
    agent: Path
    goes_on: bool
    """Whether to go on after the first difference."""
    launcher: str
    node: Path | None
    profile: str
    memory_mb: int


def compare(asked: Comparison, *, as_json: bool) -> None:
    """Prints where the agent's moves differ. Exit status 1 if they do, 2 for wrong input, 3 if
    this machine failed."""
    try:
        found = _compared(asked)
    except HostFault as error:
        typer.echo(printable(f"peck replay: {error}"), err=True)
        raise typer.Exit(3) from None
    except WRONG as error:
        typer.echo(printable(f"peck replay: {error}"), err=True)
        raise typer.Exit(2) from None
    if as_json:
        typer.echo(json.dumps(found))
    else:
        _print_found(found)
    if found["differences"]:
        raise typer.Exit(1)


def _compared(asked: Comparison) -> dict[str, Any]:
    record = find_record(asked.source, asked.seed)
    game, episode = record.game, record.episode
    if asked.profile not in PROFILES:
        raise RunError(f"type one of {', '.join(PROFILES)}: there is no profile {asked.profile!r}")
    if asked.launcher not in set(LauncherName):
        raise RunError(f"--launcher: type one of {', '.join(LauncherName)}")
    if record.seed is None:
        typer.echo("the seed of the match is unknown: random choices may differ", err=True)
    clock = Clock.from_json(episode.clock)
    count = sum(1 for _ in questions(game, episode, asked.seat))
    if not count:
        raise RunError(f"--seat {asked.seat + 1}: this seat was never asked")
    plan = local_match.LocalPlan(
        game=game,
        configuration=episode.configuration,
        clock=clock,
        agents=(asked.agent,),
        games=1,
        seed=record.seed or bytes(16),
        profile=asked.profile,
        memory_mb=asked.memory_mb,
    )
    compared = 0
    with scratch_folder("replay") as scratch:
        (bundle,) = local_match.prepare_bundles(plan, scratch)
        request = SeatRequest(plan.profile, bundle, plan.memory_mb)
        with (
            node_socket(plan, LauncherName(asked.launcher), scratch, asked.node) as socket,
            borrow_seats(socket, [request], local_match.BORROW_SECONDS) as (loan,),
            AgentInSeat(game, episode, asked.seat, loan, plan.seed) as agent,
        ):

            def answer(question: Any) -> Any:
                nonlocal compared
                compared += 1
                return agent.answer(question)

            found: list[Difference] = []
            for one in differences(game, episode, asked.seat, answer):
                found.append(one)
                if not asked.goes_on or agent.fault is not None:
                    break
            printed = agent.printed()
            fault = agent.fault
    return {
        "kind": "recorded_seat",
        "game": game.name,
        "seat": asked.seat,
        "steps": len(episode.steps),
        "questions": count,
        "compared": compared,
        "differences": [_difference_json(one, printed) for one in found],
        "reason": fault.reason if fault else None,
        "traceback": fault.traceback if fault else None,
    }


def _difference_json(one: Difference, printed: Mapping[int, Mapping[str, str]]) -> dict[str, Any]:
    said = printed.get(one.step, {})
    return {
        "step": one.step,
        "recorded": one.recorded,
        "own": one.own,
        "observation": one.observation,
        "stdout": said.get("stdout", ""),
        "stderr": said.get("stderr", ""),
    }


def _print_found(found: Mapping[str, Any]) -> None:
    asked = f"{found['compared']} of {found['questions']} moves compared"
    if not found["differences"]:
        typer.echo(f"no difference: {asked} in seat {found['seat'] + 1}")
        return
    for one in found["differences"]:
        recorded, own = _move(one["recorded"]), _move(one["own"])
        typer.echo(f"step {one['step']}: recorded {recorded}, own {own}")
        typer.echo(f"  observation: {_text(json.dumps(one['observation']))}")
        for stream in ("stdout", "stderr"):
            if one[stream]:
                typer.echo(f"  {stream}: {_text(one[stream].rstrip())}")
    if found["reason"]:
        typer.echo(f"the agent ended: {_text(found['reason'])}")
    if found["traceback"]:
        typer.echo(_text(found["traceback"]))
    typer.echo(asked)


def _move(move: Any) -> str:
    if isinstance(move, dict) and "fault" in move:
        return _text(str(move["fault"]))
    return _text(move if isinstance(move, str) else json.dumps(move))


def _text(text: str) -> str:
    """A text for a terminal: bounded, without control characters except line ends and tabs."""
    return printable(text[:SHOWN]) + ("…" if len(text) > SHOWN else "")
