"""Commands of administrators on accounts: recovery links and expected people."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from services.cli.administration import Person, admin, person_id
from services.cli.display import AsJson, print_json, stdout, table
from services.cli.saved_login import connect


@admin.command("recovery-link")
def make_recovery_link(
    person: Person,
    reason: Annotated[str, typer.Option(help="One sentence for the audit log.")],
    as_json: AsJson = False,
) -> None:
    """Make a link that signs a person in once, in the next 24 hours."""
    with connect() as ladder:
        path = f"/v1/users/{person_id(ladder, person)}/recovery-link"
        made = ladder.post(path, {"reason": reason})
        address = f"{ladder.address}{made['path']}"
    if as_json:
        print_json({**made, "address": address})
        return
    stdout.print(address, soft_wrap=True)
    stdout.print("Give it to the person over a safe way: it is shown only once.")


@admin.command("expect")
def expect_people(
    people: Annotated[
        Path, typer.Argument(help="CSV with the header name,address.", dir_okay=False)
    ],
    codes: Annotated[
        Path | None, typer.Option(help="File to write with name, address and code.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add people who may sign up in the mode `domain`. Each code is shown only once."""
    text = people.read_text(encoding="utf-8", errors="replace")
    with connect() as ladder:
        made = ladder.post("/v1/expected-people", {"csv": text})
    if codes is not None:
        with codes.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["name", "address", "code"])
            rows.writerows(
                [without_formula(row["name"]), row["address"] or "", row["code"] or ""]
                for row in made["items"]
            )
    if as_json:
        print_json(made)
        return
    table(
        ["name", "address", "code"],
        [(row["name"], row["address"], row["code"] or "was added before") for row in made["items"]],
    )


def without_formula(name: str) -> str:
    """A name that no spreadsheet takes for a formula."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@")) else name


@admin.command("expected")
def list_expected_people(as_json: AsJson = False) -> None:
    """List the people who may sign up in the mode `domain`, and who did."""
    with connect() as ladder:
        rows = list(ladder.list_items("/v1/expected-people"))
    if as_json:
        print_json(rows)
        return
    table(
        ["id", "name", "address", "signed up as"],
        [(row["id"], row["name"], row["address"], row["user_id"]) for row in rows],
    )


@admin.command("unexpect")
def remove_expected_person(
    person: Annotated[str, typer.Argument(help="Id from `peck admin expected`.")],
) -> None:
    """Remove a line of the expected people. An account that was made with it stays."""
    with connect() as ladder:
        ladder.send("DELETE", f"/v1/expected-people/{person}")
    stdout.print(f"removed {person}")


def register(_: typer.Typer) -> None:
    """Adds the commands to ``peck admin``."""
