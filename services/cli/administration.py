"""Commands of administrators: people, blocks, sessions, tokens, settings, audit log."""

from __future__ import annotations

from typing import Annotated

import typer

from ladder.slugs import name_key
from services.api_client import Client
from services.cli.display import AsJson, print_json, stdout, table, timestamp_text
from services.cli.saved_login import MissingInput, connect

admin = typer.Typer(help="Administer the service.", no_args_is_help=True)
Person = Annotated[str, typer.Argument(help="Name of a person, or a user id (usr_...).")]


def person_id(ladder: Client, person: str) -> str:
    """The id of the person with this name; an id stays as it is. Raises MissingInput."""
    if person.startswith("usr_"):
        return person
    for row in ladder.list_items("/v1/users", limit=200, q=person):
        if name_key(row["name"]) == name_key(person):
            return str(row["id"])
    raise MissingInput("give an exact name from `peck admin users`, or an id (usr_...)")


@admin.command("users")
def list_users(
    text: Annotated[str, typer.Argument(help="A part of the name.")] = "",
    as_json: AsJson = False,
) -> None:
    """List people, or those whose name contains a text."""
    with connect() as ladder:
        rows = list(ladder.list_items("/v1/users", limit=200, q=text or None))
    if as_json:
        print_json(rows)
        return
    table(
        ["id", "name", "administrator", "blocked", "last browser"],
        [
            (
                row["id"],
                row["name"],
                "yes" if row["is_admin"] else "",
                row["blocked_reason"],
                timestamp_text(row["seen_at"]),
            )
            for row in rows
        ],
    )


@admin.command("user")
def show_user(person: Person, as_json: AsJson = False) -> None:
    """Show a person's teams, browsers and tokens."""
    with connect() as ladder:
        path = f"/v1/users/{person_id(ladder, person)}"
        user = ladder.get(path)
        found = {
            name: list(ladder.list_items(f"{path}/{name}"))
            for name in ("teams", "sessions", "tokens")
        }
    if as_json:
        print_json({"user": user, **found})
        return
    stdout.print(f"{user['name']} ({user['id']})")
    table(
        ["what", "id", "name"],
        [
            *(("team", row["id"], row["name"]) for row in found["teams"]),
            *(("browser", row["id"], row["device"]) for row in found["sessions"]),
            *(
                ("token", row["id"], row["label"])
                for row in found["tokens"]
                if not row["revoked_at"]
            ),
        ],
    )


@admin.command("block")
def block(
    person: Person, reason: Annotated[str, typer.Option(help="The person reads it.")]
) -> None:
    """Block a person: no sign-in, no token; agents pause."""
    with connect() as ladder:
        path = f"/v1/users/{person_id(ladder, person)}/block"
        ladder.send("PUT", path, json={"reason": reason})
    stdout.print(f"{person} is blocked")


@admin.command("unblock")
def unblock(person: Person) -> None:
    """Unblock a person. Paused agents play again; the person signs in anew."""
    with connect() as ladder:
        ladder.send("DELETE", f"/v1/users/{person_id(ladder, person)}/block")
    stdout.print(f"{person} may sign in again")


@admin.command("sign-out")
def end_sessions(
    person: Person,
    session: Annotated[
        str | None, typer.Option(help="Id (ses_...) of one browser; default: all.")
    ] = None,
) -> None:
    """End the sessions of a person's browsers."""
    with connect() as ladder:
        path = f"/v1/users/{person_id(ladder, person)}/sessions"
        ladder.send("DELETE", f"{path}/{session}" if session else path)
    stdout.print(f"{person} is signed out")


@admin.command("revoke")
def revoke_token(
    person: Person, token: Annotated[str, typer.Argument(help="Id (tok_...) of the token.")]
) -> None:
    """Revoke a token of a person for good."""
    with connect() as ladder:
        ladder.send("DELETE", f"/v1/users/{person_id(ladder, person)}/tokens/{token}")
    stdout.print(f"revoked {token}")


@admin.command("settings")
def show_settings(as_json: AsJson = False) -> None:
    """Show who may sign up, and the quotas."""
    with connect() as ladder:
        found = ladder.get("/v1/admin/settings")
    if as_json:
        print_json(found)
        return
    chosen = set(found["chosen"])
    table(
        ["setting", "value", "chosen by"],
        [
            ("sign-up", found["sign_up"], "administrator" if "sign_up" in chosen else "operator"),
            *(
                (name, allowed, "administrator" if f"quota.{name}" in chosen else "default")
                for name, allowed in found["quotas"].items()
            ),
        ],
    )


@admin.command("sign-up")
def choose_sign_up(
    mode: Annotated[
        str,
        typer.Argument(help="open, domain, invitation, closed, or default: the operator's."),
    ],
) -> None:
    """Choose who may make an account; `default` goes back to PECK_SIGN_UP."""
    with connect() as ladder:
        body = {"sign_up": None if mode == "default" else mode}
        changed = ladder.patch("/v1/admin/settings", body)
    stdout.print(f"sign-up: {changed['sign_up']}")


@admin.command("quota")
def change_quota(
    name: Annotated[str, typer.Argument(help="A name from `peck admin settings`.")],
    allowed: Annotated[int, typer.Argument(min=-1, help="Highest number a day; -1: default.")],
) -> None:
    """Change how much a person, team or league may make in a day."""
    with connect() as ladder:
        body = {"quotas": {name: None if allowed < 0 else allowed}}
        changed = ladder.patch("/v1/admin/settings", body)
    stdout.print(f"{name}: {changed['quotas'][name]} a day")


@admin.command("audits")
def list_audits(
    limit: Annotated[int, typer.Option(min=1, help="Number of acts.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the last acts of administrators and hosts."""
    with connect() as ladder:
        rows = list(ladder.list_items("/v1/admin/audits", most=limit, limit=min(limit, 200)))
    if as_json:
        print_json(rows)
        return
    table(
        ["at", "by", "act", "subject", "reason"],
        [
            (
                timestamp_text(row["created_at"]),
                row["by_name"] or "operator",
                row["act"],
                row["subject"],
                row["reason"],
            )
            for row in rows
        ],
    )


def register(app: typer.Typer) -> None:
    app.add_typer(admin, name="admin")
