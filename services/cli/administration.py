"""Commands of administrators on people: list, block, unblock."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.display import AsJson, show_list, stdout
from services.cli.name_lookup import user_id
from services.cli.saved_login import connect

admin = typer.Typer(help="Administer the service.", no_args_is_help=True)
Person = Annotated[str, typer.Argument(help="Name of a person, or a user id (usr_...).")]


@admin.command("users")
def list_users(
    text: Annotated[str, typer.Argument(help="A part of the name.")] = "",
    as_json: AsJson = False,
) -> None:
    """List people, or those whose name contains a text."""
    with connect() as ladder:
        rows = list(ladder.list_items("/v1/users", limit=200, q=text or None))
    show_list(
        rows,
        {
            **{"id": "id", "name": "name"},
            "administrator": lambda row: "yes" if row["is_admin"] else "",
            **{"blocked": "blocked_reason", "last browser": "seen_at"},
        },
        as_json,
    )


@admin.command("block")
def block(
    person: Person, reason: Annotated[str, typer.Option(help="The person reads it.")]
) -> None:
    """Block a person: no sign-in, no token; agents pause."""
    with connect() as ladder:
        ladder.put(f"/v1/users/{user_id(ladder, person, {})}/block", {"reason": reason})
    stdout.print(f"{person} is blocked")


@admin.command("unblock")
def unblock(person: Person) -> None:
    """Unblock a person. Paused agents play again; the person signs in anew."""
    with connect() as ladder:
        ladder.delete(f"/v1/users/{user_id(ladder, person, {})}/block")
    stdout.print(f"{person} may sign in again")


def register(app: typer.Typer) -> None:
    app.add_typer(admin, name="admin")
