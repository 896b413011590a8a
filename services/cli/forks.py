"""The command that continues a recorded match from one of its steps: fork."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from services.api_client import Client, Json
from services.cli.display import AsJson, print_json, stdout, table
from services.cli.name_lookup import agent_id, match_of, matches_of, own_agents
from services.cli.saved_login import MissingInput, connect
from services.cli.scrims import wait_for_scrim


def fork(
    match: Annotated[
        str, typer.Argument(help="Match id, episode number, or a replay file on this machine.")
    ],
    step: Annotated[int, typer.Option(min=0, help="Recorded steps before the fork.")],
    seat: Annotated[
        list[str] | None,
        typer.Option(
            help="SEAT=AGENT, for example 2=my-agent; seats count from 1; with a file SEAT=PATH;"
            " repeatable. Default: the agent that played."
        ),
    ] = None,
    move: Annotated[
        list[str] | None,
        typer.Option(help="SEAT=MOVE: the seat's next move by hand; repeatable, in order."),
    ] = None,
    games: Annotated[int, typer.Option(min=1, max=100, help="Number of games.")] = 1,
    draws: Annotated[
        str, typer.Option(help="Chance after the fork: record (as recorded) or new (drawn anew).")
    ] = "record",
    wait: Annotated[bool, typer.Option(help="Wait for the result.")] = True,
    seed: Annotated[
        str | None, typer.Option(help="With a file: the seed of the record in hex.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="With a file: folder for replays and logs.")
    ] = None,
    launcher: Annotated[str, typer.Option(help="With a file: auto, docker, bubblewrap.")] = "auto",
    node: Annotated[
        Path | None, typer.Option(help="With a file: socket of a running node.")
    ] = None,
    profile: Annotated[str, typer.Option(help="With a file: libraries in the sandbox.")] = "numpy",
    as_json: AsJson = False,
) -> None:
    """Continue a recorded match from a step, in private and without rating.

    Each agent first gets the questions that its seat got in the record. With a file the games are
    played on this machine.
    """
    if draws not in ("record", "new"):
        raise MissingInput(f"--draws {draws!r}: type record or new")
    seats = dict(parse_choice(text, "--seat", "SEAT=AGENT") for text in seat or [])
    moves: dict[int, list[Any]] = {}
    for text in move or []:
        number, value = parse_choice(text, "--move", "SEAT=MOVE")
        moves.setdefault(number, []).append(parse_move(value))
    if Path(match).is_file():
        from services.cli import local_fork  # needs the sandbox, which a client may not have

        local_fork.play_fork(
            local_fork.LocalFork(
                match, step, seats, moves, games, draws == "new", seed, out, launcher, node, profile
            ),
            as_json=as_json,
        )
        return
    with connect() as ladder:
        key, body = request_of(ladder, match, step, seats, moves, games, draws)
        scrim = ladder.post(f"/v1/matches/{key}/forks", body)
        report = wait_for_scrim(ladder, scrim["id"], wait)
        played = matches_of(ladder, games, scrim=scrim["id"]) if wait else []
    if as_json:
        print_json(report)
        return
    stdout.print(f"{report['id']}: {report['finished_games']} of {report['games']} games")
    table(
        ["seat", "agent", "in the record", "games", "wins", "mean place", "faults"],
        [
            (
                row["seat"] + 1,
                row["agent_name"],
                row["recorded_placement"],
                row["games"],
                row["wins"],
                row["mean_placement"],
                row["faults"],
            )
            for row in report["seats"]
        ],
    )
    for match_played in reversed(played):
        stdout.print(f"{match_played['id']}  {match_played['title']}")


def request_of(
    ladder: Client,
    key: str,
    step: int,
    seats: dict[int, str],
    moves: dict[int, list[Any]],
    games: int,
    draws: str,
) -> tuple[str, Json]:
    """The match's id and the body of the request."""
    match_id, position, _ = match_of(ladder, key)
    match = ladder.get(f"/v1/matches/{match_id}")
    count = len(match["seats"])
    if odd := [number for number in (*seats, *moves) if number >= count]:
        raise MissingInput(f"seat {odd[0] + 1}: this match has seats 1 to {count}")
    mine = own_agents(ladder) if seats else []
    lineup: list[str | None] = [None] * count
    for number, name in seats.items():
        lineup[number] = agent_id(ladder, name, {"season": match["season_id"]}, mine)
    body = {
        "step": step,
        "episode": position,
        "seats": lineup,
        "moves": {str(number): by_hand for number, by_hand in moves.items()},
        "games": games,
        "draws": draws,
    }
    return match_id, body


def parse_choice(text: str, option: str, form: str) -> tuple[int, str]:
    """Parses SEAT=VALUE, with a seat from 1; returns a seat from 0. Raises MissingInput."""
    number, equals, value = text.partition("=")
    if not number.isdecimal() or len(number) > 2 or not int(number) or not equals or not value:
        raise MissingInput(f"{option} {text!r}: type {form}, for example {option} 2=NORTH")
    return int(number) - 1, value


def parse_move(text: str) -> Any:
    """A move as typed: JSON, or else a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def register(app: typer.Typer) -> None:
    app.command()(fork)
