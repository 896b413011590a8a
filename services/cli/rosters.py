"""Commands of hosts on people, deadlines and results: roster, extensions, standings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from services.cli.display import AsJson, print_json, stdout, table, timestamp_text
from services.cli.leagues import leagues
from services.cli.saved_login import connect

League = Annotated[str, typer.Argument(help="Slug or id of the league.")]


def import_roster(
    league: League,
    roster: Annotated[
        Path, typer.Argument(help="CSV with the header name,team,role,external_id.", dir_okay=False)
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the effect, change nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import a league's roster from a CSV file. The code of each new person is shown only once."""
    text = roster.read_text(encoding="utf-8", errors="replace")
    with connect() as ladder:
        made = ladder.import_roster(league, text, dry_run=dry_run)
    if as_json:
        print_json(made)
        return
    table(
        ["external id", "name", "team", "role", "would be" if dry_run else "is", "code"],
        [
            (
                row["external_id"],
                row["name"],
                row["team"],
                row["role"],
                row["change"],
                row["code"],
            )
            for row in made["items"]
        ],
    )


def read_roster(league: League, as_json: AsJson = False) -> None:
    """Show the people on a league's roster, and who of them joined."""
    with connect() as ladder:
        rows = ladder.roster(league)
    if as_json:
        print_json(rows)
        return
    table(
        ["external id", "name", "team", "role", "joined as", "invitation"],
        [
            (
                row["external_id"],
                row["name"],
                row["team"],
                row["role"],
                row["user_name"],
                "revoked" if row["is_revoked"] else row["invitation_id"],
            )
            for row in rows
        ],
    )


def export_standings(
    league: Annotated[str, typer.Argument(help="Slug of a league, or id of a season.")],
    path: Annotated[
        Path | None, typer.Option("--path", "-p", help="File to write; default: stdout.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Export the standings as CSV, or as JSON. Hosts also get the external ids."""
    with connect(needs_token=False) as ladder:
        text = ladder.standings(league, form="json" if as_json else "csv")
    if path is None:
        stdout.print(text, end="" if text.endswith("\n") else "\n")
        return
    path.write_text(text, encoding="utf-8", newline="")
    stdout.print(f"wrote {path}")


def export_participants(
    league: Annotated[str, typer.Argument(help="Slug of a league, or id of a season.")],
    path: Annotated[
        Path | None, typer.Option("--path", "-p", help="File to write; default: stdout.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Export who passed validation and where everybody stands, as CSV or as JSON; hosts only."""
    with connect() as ladder:
        text = ladder.participants(league, form="json" if as_json else "csv")
    if path is None:
        stdout.print(text, end="" if text.endswith("\n") else "\n")
        return
    path.write_text(text, encoding="utf-8", newline="")
    stdout.print(f"wrote {path}")


def extend(
    league: Annotated[str, typer.Argument(help="Slug of a league, or id of a season.")],
    team: Annotated[str, typer.Argument(help="Slug or id of the team.")],
    until: Annotated[
        str, typer.Argument(help="New deadline with a time zone: 2026-12-03T18:00+01:00.")
    ],
    reason: Annotated[str, typer.Option(help="One sentence for the audit log.")],
    as_json: AsJson = False,
) -> None:
    """Give one team a later upload deadline."""
    with connect() as ladder:
        made = ladder.extend(league, team, until, reason)
    if as_json:
        print_json(made)
    else:
        moment = timestamp_text(made["closes_at"])
        stdout.print(f"{made['team_name']} may upload until {moment} UTC")


def list_extensions(
    league: Annotated[str, typer.Argument(help="Slug of a league, or id of a season.")],
    as_json: AsJson = False,
) -> None:
    """List the teams with a later upload deadline; hosts only."""
    with connect() as ladder:
        rows = ladder.extensions(league)
    if as_json:
        print_json(rows)
        return
    table(
        ["team", "uploads close", "id"],
        [(row["team_name"], timestamp_text(row["closes_at"]), row["team_id"]) for row in rows],
    )


def register(_: typer.Typer) -> None:
    """Adds the commands to ``peck league``."""
    leagues.command("import")(import_roster)
    leagues.command("roster")(read_roster)
    leagues.command("export")(export_standings)
    leagues.command("participants")(export_participants)
    leagues.command("extend")(extend)
    leagues.command("extensions")(list_extensions)
