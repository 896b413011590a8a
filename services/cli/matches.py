"""Commands on matches: matches, episodes, replay, logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from services.api_client import ApiError
from services.cli.display import AsJson, show_list, stdout
from services.cli.name_lookup import match_of, matches_of, own_agent
from services.cli.saved_login import MissingInput, connect

Where = Annotated[
    Path | None, typer.Option("-p", "--path", help="Folder to write to; - for stdout.")
]


def matches(
    agent: Annotated[str | None, typer.Option(help="Name, TEAM/AGENT or id of an agent.")] = None,
    opponent: Annotated[str | None, typer.Option(help="Another agent of the match.")] = None,
    league: Annotated[
        str | None, typer.Option("--league", "--season", help="Slug, or season id.")
    ] = None,
    version: Annotated[
        int | None, typer.Option(min=1, help="`version` in `peck submissions`.")
    ] = None,
    outcome: Annotated[
        str | None, typer.Option(help="won, tied or lost: for the agent, or against the opponent.")
    ] = None,
    verdict: Annotated[
        str | None, typer.Option(help="Of the agent: DONE, ERROR, INVALID or TIMEOUT.")
    ] = None,
    seat: Annotated[
        int | None, typer.Option(min=1, max=16, help="Seat of the agent, from 1.")
    ] = None,
    kind: Annotated[str | None, typer.Option(help="rated, validation or scrim.")] = None,
    since: Annotated[
        str | None, typer.Option(help="A date such as 2026-05-31, or an age such as 12h or 2d.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most matches to list.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Find matches, newest first. The site's page of matches has the same filters."""
    with connect(needs_token=False) as ladder:
        rows = matches_of(
            ladder,
            limit,
            agent=agent,
            opponent=opponent,
            season=league,
            version=version,
            outcome=outcome,
            verdict=verdict.upper() if verdict else None,
            seat=None if seat is None else seat - 1,
            kind=kind,
            since=since,
        )
    ending = {"how it ended": "ending"} if agent else {}
    columns = {"match": "id", "made": "created_at", "kind": "kind", **ending, "title": "title"}
    show_list(rows, columns, as_json)


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
            member, key = "submission_id", ladder.get(f"/v1/submissions/{who}")["id"]
            entries = ladder.get(f"/v1/submissions/{key}/entries")["items"]
            rows = [
                row for entry in entries for row in matches_of(ladder, limit, entry=entry["id"])
            ]
        elif who.startswith("ent_"):
            member, key, rows = "entry_id", who, matches_of(ladder, limit, entry=who)
        else:
            member, key = "agent_id", own_agent(ladder, who)["id"]
            rows = matches_of(ladder, limit, agent=key)
    rows.sort(key=lambda match: match["id"], reverse=True)

    def opponents(match: Any) -> str:
        mine = next(seat for seat in match["seats"] if seat[member] == key)
        return ", ".join(seat["agent_name"] for seat in match["seats"] if seat is not mine)

    show_list(
        rows[:limit],
        {
            "episode": lambda row: row["episodes"][0]["number"] if row["episodes"] else None,
            **{"match": "id", "kind": "kind", "state": "state", "made": "created_at"},
            **{"how it ended": "ending", "against": opponents},
        },
        as_json,
    )


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
                "kaggle"
                if ladder.get(f"/v1/matches/{match_id}")["game"] in kaggle_formats.GAME_NAMES
                else "peck"
            )
        content = ladder.get(f"/v1/matches/{match_id}/replay", format=form, episode=position)
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
            content = ladder.get(f"/v1/matches/{match_id}/seats/{seat - 1}/log", format=form)
        except ApiError as error:
            seats = error.problem.get("seats")  # the API counts them from 0, its message too
            if seats is None:
                raise
            raise MissingInput(f"choose a seat from 1 to {seats}") from None
    name = f"episode-{number}-agent-{seat - 1}-logs.json"
    write_json(content, Path("-") if as_json else path, name)


def register(app: typer.Typer) -> None:
    app.command()(matches)
    app.command()(episodes)
    app.command()(replay)
    app.command()(logs)
