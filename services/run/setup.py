"""Sets up a deployment, then ends: ``python -m services.run.setup``.

Updates the database as `peck migrate` does. With passwords, it lets the roles of
workers and notifier log in.
``--demo`` adds the demo leagues and an ordinary player's token. ``--admin NAME`` only prints an
administrator's token with all scopes. Safe to repeat, also on several machines at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ladder.database import db, migrate
from ladder.database.blobs import open_blobs
from ladder.errors import LadderError
from ladder.settings import Settings, SetupSettings
from ladder.telemetry import log_event
from services.run import demo
from services.run.passwords import write_private


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m services.run.setup", description=__doc__)
    parser.add_argument("--demo", action="store_true", help="add the demo leagues and a player")
    parser.add_argument("--token-file", type=Path, help="file for the player's token")
    parser.add_argument(
        "--worker-password-file",
        type=Path,
        help="file with the workers' password; default: PECK_WORKER_PASSWORD",
    )
    parser.add_argument(
        "--notifier-password-file",
        type=Path,
        help="file with the notifier's password; default: PECK_NOTIFIER_PASSWORD",
    )
    parser.add_argument("--admin", metavar="NAME", help="print a token of an administrator")
    options = parser.parse_args(arguments)
    settings = SetupSettings()
    if not settings.database_url:
        sys.exit(
            "set PECK_DATABASE_URL: the set-up needs it; where `peck up` runs, "
            "`peck admin token NAME` prints an administrator's token"
        )
    try:
        db.require_reachable(settings.database_url)
        if options.admin:  # changes nothing else
            with db.connect(settings.database_url) as conn:
                print(f"admin token: {demo.admin_token(conn, options.admin)}")
            return
        set_up(settings, options)
    except (LadderError, OSError) as error:
        sys.exit(str(error))


def set_up(settings: SetupSettings, options: argparse.Namespace) -> None:
    """Updates the database, sets the passwords of its roles, and adds the demo if asked. Raises
    LadderError, and OSError for a missing file."""
    passwords = {
        db.WORKER_ROLE: _read_password(options.worker_password_file, settings.worker_password),
        db.NOTIFIER_ROLE: _read_password(
            options.notifier_password_file, settings.notifier_password
        ),
    }
    migrated = migrate.migrate(settings.database_url)
    with db.connect(settings.database_url) as conn:
        for role, password in passwords.items():
            if password:
                db.set_login(conn, role, password)
    log_event(
        "setup_finished",
        applied=migrated.applied,
        waiting=migrated.waiting,
        logins_set=[role for role, password in passwords.items() if password],
    )
    if options.demo:
        token = seed_demo(settings, options.token_file)
        print(f"a player's token: {options.token_file or token}")


def _read_password(file: Path | None, password: str) -> str:
    """The password in the file if one is named, else the given one."""
    return password if file is None else file.read_text().strip()


def seed_demo(settings: Settings, token_file: Path | None, *, with_league: bool = True) -> str:
    """Creates the demo leagues and a player's token, kept in ``token_file`` for later starts."""
    token_before = None
    if token_file is not None and token_file.is_file():
        token_before = token_file.read_text().strip()
    with db.connect(settings.database_url) as conn:
        if with_league:
            slugs = SetupSettings().demo_leagues
            demo.fill_demo_leagues(conn, open_blobs(settings.blobs_url), slugs)
        token = demo.player_token(conn, token_before)
    if token_file is not None and token != token_before:
        write_private(token_file, token + "\n")
    return token


if __name__ == "__main__":
    main()
