"""Passwords, in files that only their owner can read.

Creates those of a deployment once: ``python -m services.run.passwords FOLDER``.

POSTGRES_PASSWORD, PECK_WORKER_PASSWORD and PECK_NOTIFIER_PASSWORD take precedence. Writes
``postgres/password`` for the server and ``owner/pgpass`` for the owner role. Writes ``password``
and ``pgpass`` in ``worker`` and in ``notifier``. Each service mounts only its own folder.
"""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

from ladder.settings import SetupSettings


def write_private(path: Path, text: str) -> None:
    """Writes a file that only its owner can ever read. A failure leaves the old file."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def read_or_create_secret(path: Path) -> str:
    """The secret in this file, created if the file is missing."""
    if not path.exists():
        write_private(path, secrets.token_urlsafe(32))
    return path.read_text().strip()


def password_line(role: str, password: str) -> str:
    """A line of libpq's password file, with colons and backslashes escaped."""
    escaped = password.replace("\\", "\\\\").replace(":", "\\:")
    return f"*:*:*:{role}:{escaped}\n"


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m services.run.passwords FOLDER")
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
