"""Verbs that look: watch."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.choosing import season_key
from services.cli.display import AsJson, moment, out, print_json, seconds
from services.cli.places import connect


def watch(
    league: Annotated[str | None, typer.Argument(help="League slug, or season id.")] = None,
    as_json: AsJson = False,
) -> None:
    """Tell whether a league goes on: its last match, how often one is expected, what is wrong.

    Exits with 1 while there is an alarm.
    """
    with connect(needs_token=False) as ladder:
        pulse = ladder.watch(season_key(ladder, league))
    alarm = pulse["alarm"]
    if as_json:
        print_json(pulse)
    else:
        last = "no match yet"
        if pulse["last_match_at"]:
            ago = seconds(pulse["silent_seconds"])
            last = f"last match {moment(pulse['last_match_at'])}, {ago} ago"
        out.print(f"{last}; one is expected every {seconds(pulse['expected_seconds'])}")
        if alarm is not None:
            out.print(f"alarm ({alarm['cause']}): {alarm['reason']}")
        if alarm is not None and alarm["detail"]:
            out.print(f"to do: {alarm['detail']}")
    if alarm is not None:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    app.command()(watch)
