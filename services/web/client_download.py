"""Sends the command line as one archive, so that a competitor needs nothing but the site.

The archive holds `peck`, the packages that it imports, and the reference agents of the project. It
holds no setting, no data and no file that an operator added beside them.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Response

from ladder.entries import reference_agents
from services.http import etags
from services.web.page_rendering import PageRoute, not_modified

router = APIRouter(route_class=PageRoute, include_in_schema=False)
CHECKOUT: Final = Path(__file__).resolve().parents[2]
TOP: Final = "pecking-order"
"""The folder that the archive makes."""
FILES: Final = ("peck", "LICENSE", "requirements.lock", "scripts/bootstrap.py")
PACKAGES: Final = (
    *("egress", "estimates", "games", "ladder", "sandbox", "services", "workers"),
    "deploy/images",  # `peck run` builds these where it finds Docker
)
SUFFIXES: Final = frozenset(
    {".py", ".sql", ".html", ".css", ".js", ".svg", ".png", ".ico", ".txt", ".in", ".lock"}
    | {".Dockerfile"}
)
"""Kinds of files in the packages. Others, such as keys, are not the project's."""


@router.get("/peck.tar.gz")
def send_client(if_none_match: etags.IfNoneMatch = None) -> Response:
    """Sends the archive to everybody."""
    archive, etag = client_archive()
    if etags.matches(if_none_match, etag):
        return not_modified(etag)
    headers = {"ETag": etag, "Content-Disposition": 'attachment; filename="peck.tar.gz"'}
    return Response(archive, media_type="application/gzip", headers=headers)


@cache
def client_archive() -> tuple[bytes, str]:
    """The archive and its tag. Packed once in a process."""
    archive = pack_client(CHECKOUT)
    return archive, f'"{hashlib.sha256(archive).hexdigest()[:16]}"'


def pack_client(checkout: Path) -> bytes:
    """Packs the client of an installation. Equal files give equal bytes."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for file in client_files(checkout):
            name = file.relative_to(checkout).as_posix()
            content = file.read_bytes()
            member = tarfile.TarInfo(f"{TOP}/{name}")
            member.size = len(content)
            member.mode = 0o755 if name == "peck" else 0o644
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def client_files(checkout: Path) -> Iterator[Path]:
    """The files of the archive, in the same order each time."""
    for name in FILES:
        yield checkout / name
    for name in PACKAGES:
        for file in _own_files(checkout / name):
            if file.suffix in SUFFIXES:
                yield file
    for game, agents in reference_agents.FIRST.items():
        for agent in agents:
            yield from _own_files(checkout / "agents" / game / reference_agents.folder_of(agent))


def _own_files(folder: Path) -> list[Path]:
    """The files below a folder, without links, hidden files and compiled modules."""
    return [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file()
        and not file.is_symlink()
        and not any(
            part.startswith(".") or part == "__pycache__" for part in file.relative_to(folder).parts
        )
    ]
