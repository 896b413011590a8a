"""Verb on the ladder: leaderboard."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.choosing import season_key
from services.cli.display import AsJson, moment, print_json, table
from services.cli.places import connect


def leaderboard(
    league: Annotated[str | None, typer.Argument(help="League slug, or season id.")] = None,
    show: Annotated[int, typer.Option("-n", "--show", min=1, help="Rows to show.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show the leaderboard of a league's current season."""
    with connect(needs_token=False) as ladder:
        rows = list(ladder.leaderboard(season_key(ladder, league), most=show))
    if as_json:
        print_json(rows)
        return
    table(
        ["rank", "team", "agent", "score", "+-", "games", "last match", "medal"],
        [
            (
                row["rank"],
                row["team_name"],
                row["agent_name"],
                row["score"],
                row["sigma"],
                row["games"],
                moment(row["last_match_at"]),
                row["medal"] or ("anchor" if row["is_anchor"] else None),
            )
            for row in rows
        ],
    )


def register(app: typer.Typer) -> None:
    app.command()(leaderboard)
