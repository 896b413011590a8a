"""Turns a local path into the bytes of a bundle, as an upload would hold them.

A file stays as it is. A folder becomes a ``.tar.gz``. Its bytes depend only on the names, contents
and execute permissions of its files. Archives are opened only inside a box.
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
"""A bundle has one of these at its root: the file to execute, or the file that names a program."""
LARGEST_BYTES: Final = 256 * 1024 * 1024
"""Most bytes of a file, or of all files of a folder."""
LEFT_OUT: Final = {"__pycache__", ".git", ".venv", ".mypy_cache", ".ipynb_checkpoints"}
"""Files and folders of these names are not packed."""
_MAGIC: Final = (b"\x1f\x8b", b"PK")
_TAR_MAGIC: Final = b"ustar"
_TAR_MAGIC_AT: Final = 257
_EXPECTED: Final = (
    "give a main.py, a folder with main.py or peck.json in it, a .tar.gz, a .tar or a .zip"
)


class BundleError(SandboxError):
    """The path cannot be an agent. The message names it and says what to give instead."""


def prepare_bundle(path: Path, scratch: Path) -> Path:
    """Return the file to lend or to upload for ``path``.

    A folder's archive is written under ``scratch``. Raises BundleError.
    """
    try:
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            return _pack_folder(path, scratch)
        if not stat.S_ISREG(kind):
            raise BundleError(f"{path}: neither a file nor a folder; {_EXPECTED}")
        return _check_bundle(path)
    except FileNotFoundError:
        raise BundleError(f"{path}: there is no such file; {_EXPECTED}") from None
    except OSError as error:
        raise BundleError(f"{path}: cannot be read: {error.strerror}") from None


def bundle_file_names(folder: Path) -> list[str]:
    """Return the names of the files in the folder's bundle. Raises BundleError."""
    return sorted(name for name, _ in _bundle_files(folder, os.path.realpath(folder), ""))


def _check_bundle(path: Path) -> Path:
    size = path.stat().st_size
    if size == 0:
        raise BundleError(f"{path}: the file is empty; {_EXPECTED}")
    if size > LARGEST_BYTES:
        raise BundleError(f"{path}: {size >> 20} MB; at most {LARGEST_BYTES >> 20} MB are allowed")
    with path.open("rb") as file:
        start = file.read(512)
    is_tar = start.startswith(_TAR_MAGIC, _TAR_MAGIC_AT)
    if not (start.startswith(_MAGIC) or is_tar or path.suffix == ".py"):
        raise BundleError(f"{path}: not a bundle; {_EXPECTED}")
    return path


def _pack_folder(folder: Path, scratch: Path) -> Path:
    if not any((folder / name).is_file() for name in ENTRIES):
        raise BundleError(f"{folder}: the folder has no {' and no '.join(ENTRIES)}; {_EXPECTED}")
    # The folder's name is not part of the bytes, so equal folders have equal digests.
    packed = scratch / f"bundle-{len(os.listdir(scratch))}.tar.gz"
    total = 0
    with (
        packed.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, file in sorted(_bundle_files(folder, os.path.realpath(folder), "")):
            status = file.stat()
            member = tarfile.TarInfo(name)
            member.size = status.st_size
            member.mode = 0o755 if status.st_mode & 0o100 else 0o644
            total += member.size
            if total > LARGEST_BYTES:
                raise BundleError(f"{folder}: more than {LARGEST_BYTES >> 20} MB in all")
            with file.open("rb") as content:
                archive.addfile(member, content)
    return packed


def _bundle_files(folder: Path, root: str, prefix: str) -> Iterator[tuple[str, Path]]:
    """Yield the regular files with their names in the archive.

    ``root`` is the real path of the packed folder. Raises BundleError for an entry that a bundle
    cannot hold.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name in LEFT_OUT:
                continue
            name = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from _bundle_files(Path(entry.path), root, name + "/")
            elif entry.is_symlink():
                yield name, _resolve_link(entry.path, root)
            elif entry.is_file():
                yield name, Path(entry.path)
            else:
                raise BundleError(
                    f"{entry.path}: a pipe, socket or device; a bundle holds regular files only:"
                    " remove it from the folder"
                )


def _resolve_link(path: str, root: str) -> Path:
    """Return the target of a link. The bundle holds the target instead of the link."""
    target = os.path.realpath(path)
    if os.path.commonpath((target, root)) != root:
        raise BundleError(
            f"{path}: a link that leads out of the folder, to {target};"
            " put a copy of the file in the place of the link"
        )
    if not os.path.isfile(target):
        what = "a folder" if os.path.isdir(target) else "no file"
        raise BundleError(f"{path}: a link to {what}; put a file in its place or remove it")
    return Path(target)
