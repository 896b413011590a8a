"""Commands of the site's operator, which use its database: migrate, blobs, admin token and
admin check-standings.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from ladder.database import db
from ladder.database.blobs import BlobsUnavailable, open_blobs
from ladder.database.erased_blobs import BlobReport, check_blobs, delete_unnamed
from ladder.database.migrate import migrate as update_database
from ladder.errors import Conflict, Invalid, LadderError
from ladder.ids import SeasonId
from ladder.ratings import fitting, standing_versions
from ladder.settings import Settings
from services.cli.display import AsJson, print_json, stderr, stdout, table
from services.environment_variables import CHECKOUT
from services.run import demo, embedded_servers

SHOWN: Final = 20
admin = typer.Typer(help="Administer the service.", no_args_is_help=True)
State = Annotated[Path | None, typer.Option(help="State folder of `peck up`; default: ./.state.")]


@dataclass(frozen=True, slots=True)
class SiteData:
    """Where a site keeps its data."""

    database_url: str
    blobs_url: str
    """Empty if the operator gave a database alone."""


def find_site_data(state: Path | None) -> SiteData:
    """The data that PECK_DATABASE_URL and PECK_BLOBS_URL name, else those of ``peck up``.

    Only the owner of the state folder can use it. Raises LadderError or EmbeddedError if there
    is none, or if it belongs to another user.
    """
    settings = Settings()
    if settings.database_url and state is None:
        return SiteData(settings.database_url, settings.blobs_url)
    folder = embedded_servers.locate_state_folder(CHECKOUT, state)
    if folder.exists() and folder.stat().st_uid != os.geteuid():
        raise LadderError(
            f"run this as the user who runs `peck up`: {folder} belongs to another user"
        )
    if not (folder / "passwords").exists():
        raise LadderError(
            "start `peck up` here, or name its folder with --state, or set PECK_DATABASE_URL: "
            f"{folder} has no database of `peck up`"
        )
    embedded_servers.refuse_earlier_format(folder)
    url = embedded_servers.postgres_url(folder, "peck")
    return SiteData(url, settings.blobs_url or (folder / "blobs").as_uri())


@contextmanager
def exits_after_error(status: int) -> Iterator[None]:
    """Prints an error of the database or the blob store, and exits with this status."""
    try:
        yield
    except (LadderError, embedded_servers.EmbeddedError, BlobsUnavailable) as error:
        print(f"peck: {error}", file=sys.stderr)
        raise typer.Exit(status) from None


@contextmanager
def site_database(state: Path | None) -> Iterator[tuple[db.Connection, SiteData]]:
    site = find_site_data(state)
    db.require_reachable(site.database_url)
    with db.connect(site.database_url) as conn:
        yield conn, site


@admin.command("token")
def make_admin_token(
    name: Annotated[str, typer.Argument(help="Name of the administrator; created if missing.")],
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """Print a token with all scopes for an administrator; only for the operator of the site.

    Run it where `peck up` runs, as the same user. It uses the database of PECK_DATABASE_URL, else
    the one in the state folder.
    """
    with exits_after_error(1), site_database(state) as (conn, _):
        token = demo.admin_token(conn, name)
    if as_json:
        print_json({"token": token})
        return
    stdout.print(token)
    stderr.print("use it with `peck login --paste`, or set PECK_TOKEN to it")


@admin.command("check-standings")
def check_standings(
    season: Annotated[str, typer.Argument(help="Season id.")],
    most: Annotated[
        int, typer.Option("--versions", min=1, help="Number of newest versions to check.")
    ] = 10,
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """Calculate the official standings of a season again from its log, and compare their digests.

    Uses PECK_DATABASE_URL, else the data of a running `peck up`. Ends with 1 if a digest differs.
    """
    with exits_after_error(2), site_database(state) as (conn, _):
        checked = [
            {"version": row.version, "log_no": row.log_no, "result": _check(conn, row)}
            for row in standing_versions.list_versions(conn, SeasonId(season), limit=most)
        ]
        if not checked:
            raise Invalid("season", f"there is no official standing of {season}; give a season id")
    if as_json:
        print_json(checked)
    else:
        table(["version", "results", "digest"], [[*row.values()] for row in checked])
    raise typer.Exit(1 if any(row["result"] == "different" for row in checked) else 0)


def _check(conn: db.Connection, version: standing_versions.StandingVersion) -> str:
    """``same``, ``different``, or why the version cannot be calculated again."""
    try:
        again = fitting.recompute_digest(conn, version.season_id, version.version)
    except Conflict as error:
        return str(error)
    return "same" if again == version.digest else "different"


def blobs(
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete the blobs that no row names.")
    ] = False,
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """Find rows whose bytes are missing, and blobs that no row names.

    Uses PECK_DATABASE_URL and PECK_BLOBS_URL, else the data of a running `peck up`. Ends with 1 if
    bytes are missing.
    """
    with exits_after_error(2), site_database(state) as (conn, site):
        if not site.blobs_url:
            raise LadderError("set PECK_DATABASE_URL and PECK_BLOBS_URL to those of the site")
        report = check_blobs(conn, open_blobs(site.blobs_url))
        if delete:
            delete_unnamed(conn, report)
    if as_json:
        print_json(
            {
                "blobs": report.blobs,
                "missing": [{"table": name, "digest": digest} for name, digest in report.missing],
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
    for table_name, digest in report.missing[:SHOWN]:
        print(f"  {table_name}  {digest}")
    end = "; the scheduler deletes them" if delete and report.unnamed else ""
    print(f"{len(report.unnamed)} unnamed: older than a day, and no row names them{end}")
    for digest in report.unnamed[:SHOWN]:
        print(f"  {digest}")
    if max(len(report.missing), len(report.unnamed)) > SHOWN:
        print(f"use --json to see more than {SHOWN} of each")


def migrate(
    after: Annotated[
        bool, typer.Option("--after", help="Also apply the migrations for the end of the roll-out.")
    ] = False,
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """Update the database of PECK_DATABASE_URL before a roll-out.

    Processes of the previous version keep running. Once all processes have the new version,
    `--after` applies the rest. `peck up` does both for the database in its state folder.
    """
    with exits_after_error(1):
        url = Settings().database_url
        if not url:
            folder = embedded_servers.locate_state_folder(CHECKOUT, state)
            embedded_servers.refuse_earlier_format(folder)
            raise LadderError(
                "set PECK_DATABASE_URL, or run `peck up`, which updates the database in "
                "its state folder"
            )
        db.require_reachable(url)
        migrated = update_database(url, after=after)
    if as_json:
        print_json({"applied": migrated.applied, "waiting": migrated.waiting})
        return
    for name in migrated.applied:
        print(f"applied {name}")
    if not migrated.applied:
        print("nothing to apply")
    for name in migrated.waiting:
        print(f"run peck migrate --after at the end of the roll-out to apply {name}")


def register(app: typer.Typer) -> None:
    app.add_typer(admin, name="admin")
    app.command()(blobs)
    app.command()(migrate)
