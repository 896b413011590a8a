"""Commands that find things: matches, compare, search."""

from __future__ import annotations

from typing import Annotated

import typer

from services.api_client import Json
from services.cli.display import AsJson, print_json, stdout, table, timestamp_text
from services.cli.saved_login import connect


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
    given = {
        "agent": agent,
        "opponent": opponent,
        "season": league,
        "version": version,
        "outcome": outcome,
        "verdict": verdict.upper() if verdict else None,
        "seat": None if seat is None else seat - 1,
        "kind": kind,
        "since": since,
    }
    which = {name: value for name, value in given.items() if value is not None}
    with connect(needs_token=False) as ladder:
        rows = list(ladder.matches(most=limit, **which))
    if as_json:
        print_json(rows)
        return
    table(
        ["match", "made", "kind", *(["how it ended"] if agent else []), "title"],
        [
            (
                *(row["id"], timestamp_text(row["created_at"]), row["kind"]),
                *([row["ending"]] if agent else []),
                row["title"],
            )
            for row in rows
        ],
    )


def compare(
    agent: Annotated[str, typer.Argument(help="Name, TEAM/AGENT or id of an agent.")],
    opponent: Annotated[str, typer.Argument(help="The agent to compare it with.")],
    as_json: AsJson = False,
) -> None:
    """Compare two agents by their rated matches: in total, by seat and by version."""
    with connect(needs_token=False) as ladder:
        found = ladder.head_to_head(agent, opponent)
    if as_json:
        print_json(found)
        return
    stdout.print(f"{found['agent_name']} against {found['opponent_name']}, by placement")
    rows = [("in total", found["total"])]
    rows += [(f"seat {row['seat'] + 1}", row["record"]) for row in found["by_seat"]]
    pairs = found["by_seats"]
    if len(pairs) > 2:  # with two seats the first agent's seat says it all
        rows += [
            (f"seat {row['seat'] + 1} against seat {row['opponent_seat'] + 1}", row["record"])
            for row in pairs
        ]
    rows += [
        (f"version {row['version']} against {row['opponent_version']}", row["record"])
        for row in found["by_version"]
    ]
    table(
        ["which", "games", "won", "tied", "lost", "share", "95 %"],
        [
            (name, row["games"], row["won"], row["tied"], row["lost"], *_share_texts(row))
            for name, row in rows
        ],
    )


def _share_texts(row: Json) -> tuple[str, str]:
    if row["share"] is None:
        return "", ""
    return f"{row['share']:.0%}", f"{row['low']:.0%} to {row['high']:.0%}"


def search(
    text: Annotated[str, typer.Argument(help="A part of a name.")],
    as_json: AsJson = False,
) -> None:
    """Find leagues, agents and teams by name."""
    with connect(needs_token=False) as ladder:
        rows = ladder.search(text)
    if as_json:
        print_json(rows)
        return
    table(
        ["what", "name", "slug", "of", "id"],
        [(row["kind"], row["name"], row["slug"], row["about"], row["id"]) for row in rows],
    )


def register(app: typer.Typer) -> None:
    app.command()(matches)
    app.command()(compare)
    app.command()(search)
