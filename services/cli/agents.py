"""The command that lists the caller's agents."""

from __future__ import annotations

import typer

from services.cli.display import AsJson, show_list
from services.cli.name_lookup import FIRST_UPLOAD, own_agents
from services.cli.saved_login import connect

agents = typer.Typer(help="List your agents.", no_args_is_help=True)


@agents.command("list")
def list_agents(as_json: AsJson = False) -> None:
    """List the agents of your teams."""
    with connect() as ladder:
        rows = own_agents(ladder)
    columns = {"slug": "slug", "name": "name", "team": "team_name", "id": "id"}
    show_list(rows, columns, as_json, FIRST_UPLOAD)


@agents.callback()
def group() -> None:
    """Keeps `list` a word of its own."""


def register(app: typer.Typer) -> None:
    app.add_typer(agents, name="agent")
