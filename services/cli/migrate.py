"""``peck migrate``: updates a deployment's database before and after a roll-out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from ladder.database import db
from ladder.errors import LadderError
from ladder.settings import Settings
from services import embedded_servers, setup
from services.cli.display import AsJson, print_json
from services.environment_variables import Environment

USUAL_STATE: Final = Path(__file__).resolve().parents[2] / ".state"


def migrate(
    after: Annotated[
        bool, typer.Option("--after", help="Also apply the migrations for the end of the roll-out.")
    ] = False,
    state: Annotated[
        Path | None, typer.Option(help="State folder of `peck up`; default: ./.state.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Update the database of PECK_DATABASE_URL before a roll-out.

    Processes of the previous version keep running. Once all processes have the new version,
    `--after` applies the rest. `peck up` does both for the database in its state folder.
    """
    try:
        url = _database_url(state)
        db.require_reachable(url)
        migrated = setup.update_database(url, after=after)
    except (LadderError, embedded_servers.EmbeddedError) as error:
        print(f"peck: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    if as_json:
        print_json({"applied": migrated.applied, "waiting": migrated.waiting})
        return
    for name in migrated.applied:
        print(f"applied {name}")
    if not migrated.applied:
        print("nothing to apply")
    for name in migrated.waiting:
        print(f"run peck migrate --after at the end of the roll-out to apply {name}")


def _database_url(state: Path | None) -> str:
    """PECK_DATABASE_URL. Raises LadderError or EmbeddedError without one."""
    url = Settings().database_url
    if not url:
        embedded_servers.refuse_earlier_format(
            state or Path(Environment.read().state or USUAL_STATE)
        )
        raise LadderError(
            "set PECK_DATABASE_URL, or run `peck up`, which updates the database in "
            "its state folder"
        )
    return url


def register(app: typer.Typer) -> None:
    app.command("migrate")(migrate)
