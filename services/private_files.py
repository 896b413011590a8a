"""Files and folders that only their owner can read."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


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
