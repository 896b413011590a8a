"""``peck admin check-standings``: calculates official standings again and compares digests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ladder.database import db
from ladder.errors import Conflict, Invalid, LadderError
from ladder.ids import SeasonId
from ladder.ratings import fitting, standing_versions
from services.cli.administration import admin
from services.cli.display import AsJson, print_json, table
from services.embedded_servers import EmbeddedError
from services.local_database import find_site_data


@admin.command("check-standings")
def check_standings(
    season: Annotated[str, typer.Argument(help="Season id.")],
    most: Annotated[
        int, typer.Option("--versions", min=1, help="Number of newest versions to check.")
    ] = 10,
    state: Annotated[
        Path | None, typer.Option(help="State folder of `peck up`; default: ./.state.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Calculate the official standings of a season again from its log, and compare their digests.

    Uses PECK_DATABASE_URL, else the data of a running `peck up`. Ends with 1 if a digest differs.
    """
    try:
        url = find_site_data(state).database_url
        db.require_reachable(url)
        with db.connect(url) as conn:
            found = [
                {"version": one.version, "log_no": one.log_no, "result": _check(conn, one)}
                for one in standing_versions.list_versions(conn, SeasonId(season), limit=most)
            ]
        if not found:
            raise Invalid("season", f"there is no official standing of {season}; give a season id")
    except (LadderError, EmbeddedError) as error:
        print(f"peck: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    if as_json:
        print_json(found)
    else:
        table(["version", "results", "digest"], [[*row.values()] for row in found])
    raise typer.Exit(1 if any(row["result"] == "different" for row in found) else 0)


def _check(conn: db.Connection, one: standing_versions.StandingVersion) -> str:
    """``same``, ``different``, or why the version cannot be calculated again."""
    try:
        again = fitting.recompute_digest(conn, one.season_id, one.version)
    except Conflict as error:
        return str(error)
    return "same" if again == one.digest else "different"


def register(_: typer.Typer) -> None:
    """Adds the command to ``peck admin``."""
