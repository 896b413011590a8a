"""Commands on the user's data: account export, account delete."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from services.cli.display import AsJson, print_json, printable, stdout
from services.cli.saved_login import (
    MissingInput,
    config_file,
    connect,
    delete_saved_login,
    find_login,
)
from services.environment_variables import Environment

account = typer.Typer(help="Export or delete your account.", no_args_is_help=True)


@account.command("export")
def export_account(
    file: Annotated[
        Path, typer.Argument(help="The zip file to write; it must not exist yet.")
    ] = Path("pecking-order-export.zip"),
) -> None:
    """Save everything that is yours: data, bundles, logs, and replays that you may see."""
    if file.exists():
        raise MissingInput(f"{file} exists; name another file")
    with connect() as ladder:
        size = ladder.export_account(file, lambda done: stdout.print(f"{done >> 20} MB ..."))
    stdout.print(f"wrote {file}, {size} bytes")


@account.command("delete")
def delete_account(
    name: Annotated[str, typer.Option(help="Your name, in place of the question.")] = "",
    as_json: AsJson = False,
) -> None:
    """Delete your account for good. Asks for your name and password.

    Results stay under a pseudonym.
    """
    with connect() as ladder:
        me = ladder.me()["user"]["name"]
        if not as_json:
            print_deletion_effects(ladder.get("/v1/users/me/deletion"))
        given = name or str(typer.prompt(printable(f"Type your name ({me}) to delete the account")))
        password = Environment.read().password or str(
            typer.prompt("Password (empty without one)", hide_input=True, default="")
        )
        made = ladder.delete_account(given, password)
    if find_login().source == str(config_file()):
        delete_saved_login()
    if as_json:
        print_json(made)
    else:
        stdout.print(f"The account is deleted. Results stay under {made['pseudonym']}.")


def print_deletion_effects(fate: dict[str, list[str]]) -> None:
    """Prints what the deletion ends, and what stays."""
    for key, subject, effect in (
        ("ended_teams", "Team", "will be deleted with its agents, bundles and logs."),
        ("ended_leagues", "League", "will close, because nobody else takes part."),
        ("left_teams", "Team", "will stay, because it has other members."),
        ("orphan_leagues", "League", "will continue without a host."),
    ):
        for name in fate[key]:
            stdout.print(f'{subject} "{name}" {effect}')


def register(app: typer.Typer) -> None:
    app.add_typer(account, name="account")
