"""Making an upload of what a person points at."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path
from typing import Final

from sandbox.bundle import ENTRIES
from services.cli.places import Unset

LEFT_OUT: Final = {"__pycache__", ".git", ".venv", ".mypy_cache", ".ipynb_checkpoints"}


def pack(path: Path) -> tuple[str, bytes]:
    """File name and bytes to upload: a file as it is, a folder as .tar.gz.

    Equal folders give equal bytes, so submitting one twice is one submission. Raises Unset for a
    folder without main.py and peck.json.
    """
    if path.is_file():
        return path.name, path.read_bytes()
    if not any((path / name).is_file() for name in ENTRIES):
        raise Unset(f"{path}: there is no {' and no '.join(ENTRIES)} at the top of this folder")
    tarred = io.BytesIO()
    with tarfile.open(fileobj=tarred, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for file in sorted(path.rglob("*")):
            inner = file.relative_to(path)
            if file.is_file() and not LEFT_OUT.intersection(inner.parts):
                member = tarfile.TarInfo(inner.as_posix())
                member.size = file.stat().st_size
                member.mode = 0o755 if file.stat().st_mode & 0o100 else 0o644
                with file.open("rb") as content:
                    tar.addfile(member, content)
    return f"{path.resolve().name}.tar.gz", gzip.compress(tarred.getvalue(), mtime=0)
