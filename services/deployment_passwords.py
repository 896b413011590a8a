"""Creates the passwords of a deployment once: ``python -m services.deployment_passwords FOLDER``.

POSTGRES_PASSWORD, PECK_WORKER_PASSWORD and PECK_NOTIFIER_PASSWORD take precedence. Writes
``postgres/password`` for the server and ``owner/pgpass`` for the owner role. Writes ``password``
and ``pgpass`` in ``worker`` and in ``notifier``. Each service mounts only its own folder.
"""

from __future__ import annotations

import secrets
import sys
from pathlib import Path

from ladder.settings import SetupSettings
from services.private_files import password_line, write_private


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m services.deployment_passwords FOLDER")
    write_passwords(Path(sys.argv[1]))


def write_passwords(folder: Path) -> None:
    """Writes all files. Keeps an existing password unless the environment gives one."""
    settings = SetupSettings()
    owner = settings.postgres_password or _read_or_generate(folder / "postgres" / "password")
    worker = settings.worker_password or _read_or_generate(folder / "worker" / "password")
    write_private(folder / "postgres" / "password", owner)
    # The server's image reads it with its own uid; no other service mounts this folder.
    (folder / "postgres" / "password").chmod(0o444)
    write_private(folder / "owner" / "pgpass", password_line("peck", owner))
    write_private(folder / "worker" / "password", worker)
    write_private(folder / "worker" / "pgpass", password_line("peck_worker", worker))
    notifier = settings.notifier_password or _read_or_generate(folder / "notifier" / "password")
    write_private(folder / "notifier" / "password", notifier)
    write_private(folder / "notifier" / "pgpass", password_line("peck_notifier", notifier))


def _read_or_generate(path: Path) -> str:
    return path.read_text() if path.exists() else secrets.token_urlsafe(24)


if __name__ == "__main__":
    main()
