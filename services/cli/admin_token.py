"""``peck admin token``: makes an administrator's token in the database of the site."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ladder.database import db
from ladder.errors import LadderError
from services import demo, embedded_servers
from services.cli.administration import admin
from services.cli.display import AsJson, print_json, stderr, stdout
from services.local_database import find_site_data


@admin.command("token")
def make_admin_token(
    name: Annotated[str, typer.Argument(help="Name of the administrator; created if missing.")],
    state: Annotated[
        Path | None, typer.Option(help="State folder of `peck up`; default: ./.state.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print a token with all scopes for an administrator; only for the operator of the site.

    Run it where `peck up` runs, as the same user. It uses the database of PECK_DATABASE_URL, else
    the one in the state folder.
    """
    try:
        url = find_site_data(state).database_url
        db.require_reachable(url)
        with db.connect(url) as conn:
            token = demo.admin_token(conn, name)
    except (LadderError, embedded_servers.EmbeddedError) as error:
        print(f"peck: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    if as_json:
        print_json({"token": token})
        return
    stdout.print(token, soft_wrap=True)
    stderr.print("use it with `peck login --paste`, or set PECK_TOKEN to it")


def register(_: typer.Typer) -> None:
    """Adds the command to ``peck admin``."""
