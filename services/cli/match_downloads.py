"""Commands on finished matches: episodes, replay, logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from services.api_client import ApiError, Client
from services.cli.display import AsJson, print_json, stdout, table, timestamp_text
from services.cli.name_lookup import own_agent
from services.cli.saved_login import MissingInput, connect

Where = Annotated[
    Path | None, typer.Option("-p", "--path", help="Folder to write to; - for stdout.")
]


def episodes(
    who: Annotated[
        str,
        typer.Argument(help="Submission id or number, entry id, or the name of an agent of yours."),
    ],
    limit: Annotated[int, typer.Option(min=1, help="Most matches to list.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the matches that a submission, an entry or an agent played, newest first."""
    with connect(needs_token=not who.startswith("ent_")) as ladder:
        if who.isdigit() or who.startswith("sub_"):
            member, found = "submission_id", ladder.submission(who)
            entries = ladder.submission_entries(found["id"])
            rows = [
                match
                for entry in entries
                for match in ladder.matches(entry=entry["id"], most=limit)
            ]
        elif who.startswith("ent_"):
            member, found = "entry_id", ladder.entry(who)
            rows = list(ladder.matches(entry=who, most=limit))
        else:
            member, found = "agent_id", own_agent(ladder, who)
            rows = list(ladder.matches(agent=found["id"], most=limit))
    rows.sort(key=lambda match: match["id"], reverse=True)
    if as_json:
        print_json(rows[:limit])
        return
    table(
        ["episode", "match", "kind", "state", "made", "how it ended", "against"],
        [
            (
                match["episodes"][0]["number"] if match["episodes"] else None,
                match["id"],
                match["kind"],
                match["state"],
                timestamp_text(match["created_at"]),
                match["ending"],
                ", ".join(seat["agent_name"] for seat in match["seats"] if seat is not mine),
            )
            for match in rows[:limit]
            for mine in [next(seat for seat in match["seats"] if seat[member] == found["id"])]
        ],
    )


def match_of(ladder: Client, key: str) -> tuple[str, int, str]:
    """Match id, position, and the name for files, from a match id or an episode number."""
    if key.isdecimal():
        found = ladder.match_of_episode(int(key))
        return found["match_id"], found["position"], str(int(key))
    match = ladder.match(key)
    if not match["episodes"]:
        raise MissingInput(f"wait for match {key}: it is {match['state']}")
    number = match["episodes"][0]["number"]
    if type(number) is not int:  # it becomes a part of a file's name
        raise MissingInput(
            f"{ladder.address} sent a wrong episode number ({number!r:.100}); check the address"
        )
    return match["id"], 0, str(number)


def write_json(value: Any, folder: Path | None, name: str) -> None:
    """Writes JSON to a file of this name, or to stdout."""
    if folder == Path("-"):
        print(json.dumps(value))
        return
    target = (folder or Path()) / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(value))
    stdout.print(str(target))


def replay(
    match: Annotated[
        str, typer.Argument(help="Match id or episode number; with --agent also a file.")
    ],
    path: Where = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="kaggle: for kaggle_environments; or peck. Default: kaggle if the game has "
            "that format.",
        ),
    ] = None,
    agent: Annotated[
        Path | None,
        typer.Option(help="Agent to run through a recorded seat, on this machine."),
    ] = None,
    seat: Annotated[int | None, typer.Option(min=1, help="The recorded seat, from 1.")] = None,
    seed: Annotated[
        str | None, typer.Option(help="Seed of the match in hex, if the file does not tell it.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Go on after the first different move.")
    ] = False,
    launcher: Annotated[str, typer.Option(help="auto, docker or bubblewrap.")] = "auto",
    node: Annotated[
        Path | None, typer.Option(help="Socket of a running node, to use instead of a new one.")
    ] = None,
    profile: Annotated[str, typer.Option(help="Libraries in the sandbox.")] = "numpy",
    memory_mb: Annotated[int, typer.Option(min=64, help="Memory of the agent, in MB.")] = 1024,
    as_json: AsJson = False,
) -> None:
    """Download a replay as episode-NUMBER-replay.json, or run an agent through a recorded seat.

    With --agent the agent gets the recorded observations of --seat, and its moves are compared with
    the recorded ones. Exit status 1: a move differs.
    """
    if agent is not None:
        if seat is None:
            raise MissingInput("name the recorded seat with --seat")
        from services.cli import recorded_seat  # needs the sandbox, which a client may not have

        recorded_seat.compare(
            recorded_seat.Comparison(
                match,
                seed,
                seat - 1,
                agent,
                goes_on=every,
                launcher=launcher,
                node=node,
                profile=profile,
                memory_mb=memory_mb,
            ),
            as_json=as_json,
        )
        return
    with connect(needs_token=False) as ladder:
        match_id, position, number = match_of(ladder, match)
        if form is None:
            from games import kaggle_formats  # slow to import

            form = (
                "kaggle" if ladder.match(match_id)["game"] in kaggle_formats.GAME_NAMES else "peck"
            )
        content = ladder.replay(match_id, form=form, episode=position)
    write_json(content, Path("-") if as_json else path, f"episode-{number}-replay.json")


def logs(
    episode: Annotated[str, typer.Argument(help="Episode number or match id.")],
    seat: Annotated[int, typer.Argument(min=1, help="Seat, from 1.")],
    path: Where = None,
    form: Annotated[str, typer.Option("--format", help="kaggle or raw.")] = "kaggle",
    as_json: AsJson = False,
) -> None:
    """Download the log of one of your agents.

    Kaggle's file names count seats from 0: the log of seat 1 is in episode-7-agent-0-logs.json.
    """
    with connect() as ladder:
        match_id, _, number = match_of(ladder, episode)
        try:
            content = ladder.seat_log(match_id, seat - 1, form=form)
        except ApiError as error:
            seats = error.problem.get("seats")  # the API counts them from 0, its message too
            if seats is None:
                raise
            raise MissingInput(f"choose a seat from 1 to {seats}") from None
    name = f"episode-{number}-agent-{seat - 1}-logs.json"
    write_json(content, Path("-") if as_json else path, name)


def register(app: typer.Typer) -> None:
    app.command()(episodes)
    app.command()(replay)
    app.command()(logs)
