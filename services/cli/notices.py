"""Commands on notices: the list."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.display import AsJson, print_json, stdout, timestamp_text
from services.cli.saved_login import connect

notices = typer.Typer(help="Read your notices.", no_args_is_help=True)


@notices.command("list")
def list_notices(
    unread: Annotated[bool, typer.Option("--unread", help="Only unread ones.")] = False,
    read: Annotated[bool, typer.Option("--read", help="Mark all as read.")] = False,
    show: Annotated[int, typer.Option("-n", "--show", min=1, help="Notices to show.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show your notices, newest last."""
    with connect() as ladder:
        rows = list(ladder.notices(unread=unread, most=show))
        if read and rows:
            ladder.mark_notices_read(rows[0]["id"])
    rows.reverse()
    if as_json:
        print_json(rows)
        return
    for row in rows:
        mark = " " if row["read_at"] else "*"
        stdout.print(f"{mark} {timestamp_text(row['created_at'])}  {row['title']}: {row['text']}")
    if not rows:
        stdout.print("(nothing)")


def register(app: typer.Typer) -> None:
    app.add_typer(notices, name="notices")
