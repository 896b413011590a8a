"""From a path on one's own machine to the bytes of a bundle, as an upload would hold them.

A file goes as it is, a folder becomes a ``.tar.gz`` whose bytes depend on names and contents alone.
Archives are not opened here: what is in them is looked at inside a box.
"""

from __future__ import annotations

import gzip
import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sandbox.errors import SandboxError

ENTRIES: Final = ("main.py", "peck.json")
"""One of them lies at the root of a bundle: what is executed, or what names a program."""
LARGEST_BYTES: Final = 256 * 1024 * 1024
"""Most bytes of a file, or of a folder's files together."""
_MAGIC: Final = (b"\x1f\x8b", b"PK")
_EXPECTED: Final = "give a main.py, a folder with main.py or peck.json in it, a .tar.gz or a .zip"


class BundleError(SandboxError):
    """This path cannot be an agent; the message names it and says what to give instead."""


def prepare(path: Path, scratch: Path) -> Path:
    """The file to lend or to upload for ``path``; written under ``scratch`` when it is a folder.

    Raises BundleError.
    """
    try:
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            return _pack(path, scratch)
        if not stat.S_ISREG(kind):
            raise BundleError(f"{path}: neither a file nor a folder; {_EXPECTED}")
        return _check(path)
    except FileNotFoundError:
        raise BundleError(f"{path}: there is no such file; {_EXPECTED}") from None
    except OSError as error:
        raise BundleError(f"{path}: cannot be read: {error.strerror}") from None


def _check(path: Path) -> Path:
    size = path.stat().st_size
    if size == 0:
        raise BundleError(f"{path}: the file is empty; {_EXPECTED}")
    if size > LARGEST_BYTES:
        raise BundleError(f"{path}: {size} bytes, at most {LARGEST_BYTES} are allowed")
    with path.open("rb") as file:
        start = file.read(2)
    if start not in _MAGIC and path.suffix != ".py":
        raise BundleError(f"{path}: not a bundle; {_EXPECTED}")
    return path


def _pack(folder: Path, scratch: Path) -> Path:
    if not any((folder / name).is_file() for name in ENTRIES):
        raise BundleError(f"{folder}: the folder has no {' and no '.join(ENTRIES)}; {_EXPECTED}")
    # The folder's own name plays no part in the bytes, so equal folders have equal digests.
    packed = scratch / f"bundle-{len(os.listdir(scratch))}.tar.gz"
    total = 0
    with (
        packed.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name, file in sorted(_files(folder, "")):
            member = tarfile.TarInfo(name)
            member.size = file.stat().st_size
            member.mode = 0o644
            total += member.size
            if total > LARGEST_BYTES:
                raise BundleError(f"{folder}: more than {LARGEST_BYTES} bytes in all")
            try:
                with file.open("rb") as content:
                    archive.addfile(member, content)
            except ValueError as error:
                raise BundleError(f"{file}: {error}; choose a shorter name") from None
    return packed


def _files(folder: Path, prefix: str) -> Iterator[tuple[str, Path]]:
    """Regular files with their names in the archive; caches and hidden entries stay at home."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") or entry.name == "__pycache__":
                continue
            name = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from _files(Path(entry.path), name + "/")
            elif entry.is_file(follow_symlinks=False):
                yield name, Path(entry.path)
            else:
                raise BundleError(
                    f"{entry.path}: a link or a special file; a bundle holds regular files only"
                )
