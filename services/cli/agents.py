"""Commands of an agent's owner: the list, and which machines may run it."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from ladder.enums import AgentMachines
from services.cli.display import AsJson, print_json, stdout, table
from services.cli.name_lookup import FIRST_UPLOAD, own_agent
from services.cli.saved_login import connect

agents = typer.Typer(help="List your agents, and choose their machines.", no_args_is_help=True)
MACHINES: Final = {
    AgentMachines.TRUSTED: "trusted machines only",
    AgentMachines.ANY: "any machine that joined",
}


@agents.command("list")
def list_agents(as_json: AsJson = False) -> None:
    """List the agents of your teams."""
    with connect() as ladder:
        rows = [row for team in ladder.me()["teams"] for row in ladder.agents(team["id"])]
    if as_json:
        print_json(rows)
        return
    table(
        ["slug", "name", "team", "machines", "id"],
        [
            (
                row["slug"],
                row["name"],
                row["team_name"],
                row["machines"],
                row["id"],
            )
            for row in rows
        ],
        FIRST_UPLOAD,
    )


@agents.command("machines")
def choose_machines(
    agent: Annotated[str, typer.Argument(help="Name, slug or id.")],
    machines: Annotated[AgentMachines, typer.Argument(help="The machines that may run it.")],
    as_json: AsJson = False,
) -> None:
    """Choose the machines that may run an agent, and so read its files: trusted ones only, or any
    machine that joined."""
    with connect() as ladder:
        changed = ladder.change_agent(own_agent(ladder, agent)["id"], machines=machines.value)
    if as_json:
        print_json(changed)
    else:
        stdout.print(f"{changed['name']} runs on: {MACHINES[machines]}")


def register(app: typer.Typer) -> None:
    app.add_typer(agents, name="agent")
