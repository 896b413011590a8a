"""``peck blobs``: compares the blob store with the database."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from ladder.database import db
from ladder.database.blobs import BlobsUnavailable, open_blobs
from ladder.database.erased_blobs import BlobReport, check_blobs, delete_unnamed
from ladder.errors import LadderError
from services.cli.display import AsJson, print_json
from services.embedded_servers import EmbeddedError
from services.local_database import find_site_data

SHOWN: Final = 20


def blobs(
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete the blobs that no row names.")
    ] = False,
    state: Annotated[
        Path | None, typer.Option(help="State folder of `peck up`; default: ./.state.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find rows whose bytes are missing, and blobs that no row names.

    Uses PECK_DATABASE_URL and PECK_BLOBS_URL, else the data of a running `peck up`. Ends with 1 if
    bytes are missing.
    """
    try:
        site = find_site_data(state)
        if not site.blobs_url:
            raise LadderError("set PECK_DATABASE_URL and PECK_BLOBS_URL to those of the site")
        db.require_reachable(site.database_url)
        with db.connect(site.database_url) as conn:
            report = check_blobs(conn, open_blobs(site.blobs_url))
            if delete:
                delete_unnamed(conn, report)
    except (LadderError, EmbeddedError, BlobsUnavailable) as error:
        print(f"peck: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    if as_json:
        print_json(
            {
                "blobs": report.blobs,
                "missing": [{"table": table, "digest": digest} for table, digest in report.missing],
                "unnamed": report.unnamed,
                "deleted": delete,
            }
        )
    else:
        _print_report(report, delete=delete)
    raise typer.Exit(1 if report.missing else 0)


def _print_report(report: BlobReport, *, delete: bool) -> None:
    print(f"{report.blobs} blobs")
    print(f"{len(report.missing)} missing: a row names bytes that the store lacks")
    for table, digest in report.missing[:SHOWN]:
        print(f"  {table}  {digest}")
    end = "; the scheduler deletes them" if delete and report.unnamed else ""
    print(f"{len(report.unnamed)} unnamed: older than a day, and no row names them{end}")
    for digest in report.unnamed[:SHOWN]:
        print(f"  {digest}")
    if max(len(report.missing), len(report.unnamed)) > SHOWN:
        print(f"use --json to see more than {SHOWN} of each")


def register(app: typer.Typer) -> None:
    app.command("blobs")(blobs)
