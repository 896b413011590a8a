"""Passwords of a deployment: ``python -m services.passwords FOLDER``; drawn once, then kept.

POSTGRES_PASSWORD and PECK_WORKER_PASSWORD win where they are set. Writes ``postgres/password`` for
the server, ``owner/pgpass`` for our own larger role, and ``worker/password`` and ``worker/pgpass``
for the workers; each service mounts its own folder alone.
"""

from __future__ import annotations

import secrets
import sys
from pathlib import Path

from ladder.settings import SetupSettings
from services.private_files import password_line, write_private


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m services.passwords FOLDER")
    write_passwords(Path(sys.argv[1]))


def write_passwords(folder: Path) -> None:
    """Write all files; a password that was kept stays unless the environment gives one."""
    given = SetupSettings()
    owner = given.postgres_password or _read_or_draw(folder / "postgres" / "password")
    worker = given.worker_password or _read_or_draw(folder / "worker" / "password")
    write_private(folder / "postgres" / "password", owner)
    # The server's image reads it as a uid of its own; nobody else mounts this folder.
    (folder / "postgres" / "password").chmod(0o444)
    write_private(folder / "owner" / "pgpass", password_line("peck", owner))
    write_private(folder / "worker" / "password", worker)
    write_private(folder / "worker" / "pgpass", password_line("peck_worker", worker))


def _read_or_draw(path: Path) -> str:
    return path.read_text() if path.exists() else secrets.token_urlsafe(24)


if __name__ == "__main__":
    main()
