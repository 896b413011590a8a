"""Commands of administrators on accounts: recovery links."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.administration import Person, admin, person_id
from services.cli.display import AsJson, print_json, stdout
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


def register(_: typer.Typer) -> None:
    """Adds the commands to ``peck admin``."""
