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
from services.api_client import ApiError, Unreachable
from services.cli.display import printable
from services.cli.local_node import RunError, launcher_named, node_socket, scratch_folder
from services.cli.local_plan import check_profile
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


def compare(request: Comparison, *, as_json: bool) -> None:
    """Prints where the agent's moves differ. Exit status 1 if they do, 2 for wrong input, 3 if
    this machine failed."""
    try:
        report = _compared(request)
    except HostFault as error:
        typer.echo(printable(f"peck replay: {error}"), err=True)
        raise typer.Exit(3) from None
    except WRONG as error:
        typer.echo(printable(f"peck replay: {error}"), err=True)
        raise typer.Exit(2) from None
    if as_json:
        typer.echo(json.dumps(report))
    else:
        _print_found(report)
    if report["differences"]:
        raise typer.Exit(1)


def _compared(comparison: Comparison) -> dict[str, Any]:
    record = find_record(comparison.source, comparison.seed)
    game, episode = record.game, record.episode
    check_profile(comparison.profile)
    launcher = launcher_named(comparison.launcher)
    if record.seed is None:
        typer.echo("the seed of the match is unknown: random choices may differ", err=True)
    clock = Clock.from_json(episode.clock)
    count = sum(1 for _ in questions(game, episode, comparison.seat))
    if not count:
        raise RunError(f"--seat {comparison.seat + 1}: this seat was never asked")
    plan = local_match.LocalPlan(
        game=game,
        configuration=episode.configuration,
        clock=clock,
        agents=(comparison.agent,),
        games=1,
        seed=record.seed or bytes(16),
        profile=comparison.profile,
        memory_mb=comparison.memory_mb,
    )
    compared = 0
    with scratch_folder("replay") as scratch:
        (bundle,) = local_match.prepare_bundles(plan, scratch)
        request = SeatRequest(plan.profile, bundle, plan.memory_mb)
        with (
            node_socket(plan, launcher, scratch, comparison.node) as socket,
            borrow_seats(socket, [request], local_match.BORROW_SECONDS) as (loan,),
            AgentInSeat(game, episode, comparison.seat, loan, plan.seed) as agent,
        ):

            def answer(question: Any) -> Any:
                nonlocal compared
                compared += 1
                return agent.answer(question)

            different: list[Difference] = []
            for difference in differences(game, episode, comparison.seat, answer):
                different.append(difference)
                if not comparison.goes_on or agent.fault is not None:
                    break
            printed = agent.printed()
            fault = agent.fault
    return {
        "kind": "recorded_seat",
        "game": game.name,
        "seat": comparison.seat,
        "steps": len(episode.steps),
        "questions": count,
        "compared": compared,
        "differences": [_difference_json(difference, printed) for difference in different],
        "reason": fault.reason if fault else None,
        "traceback": fault.traceback if fault else None,
    }


def _difference_json(
    difference: Difference, printed: Mapping[int, Mapping[str, str]]
) -> dict[str, Any]:
    said = printed.get(difference.step, {})
    return {
        "step": difference.step,
        "recorded": difference.recorded,
        "own": difference.own,
        "observation": difference.observation,
        "stdout": said.get("stdout", ""),
        "stderr": said.get("stderr", ""),
    }


def _print_found(report: Mapping[str, Any]) -> None:
    counts = f"{report['compared']} of {report['questions']} moves compared"
    if not report["differences"]:
        typer.echo(f"no difference: {counts} in seat {report['seat'] + 1}")
        return
    for difference in report["differences"]:
        recorded, own = _move(difference["recorded"]), _move(difference["own"])
        typer.echo(f"step {difference['step']}: recorded {recorded}, own {own}")
        typer.echo(f"  observation: {_text(json.dumps(difference['observation']))}")
        for stream in ("stdout", "stderr"):
            if difference[stream]:
                typer.echo(f"  {stream}: {_text(difference[stream].rstrip())}")
    if report["reason"]:
        typer.echo(f"the agent ended: {_text(report['reason'])}")
    if report["traceback"]:
        typer.echo(_text(report["traceback"]))
    typer.echo(counts)


def _move(move: Any) -> str:
    if isinstance(move, dict) and "fault" in move:
        return _text(str(move["fault"]))
    return _text(move if isinstance(move, str) else json.dumps(move))


def _text(text: str) -> str:
    """A text for a terminal: bounded, without control characters except line ends and tabs."""
    return printable(text[:SHOWN]) + ("…" if len(text) > SHOWN else "")
