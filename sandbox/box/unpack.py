"""Unpacks an uploaded archive safely. A refusal names the entry.

Runs in its own hardened process inside the box. Our own loop replaces an extractor:

- It creates only regular files and folders, and never replaces a file.
- It counts every byte as it comes. Sizes in the archive are checked but not trusted.

The first bytes tell ``.tar.gz``, ``.tar`` and ``.zip`` apart. Anything else must be a single
``main.py``. The bundle's ``peck.json`` must be valid and the program that it names must exist.
"""

from __future__ import annotations

import gzip
import os
import stat
import tarfile
import zipfile
import zlib
from typing import IO, Any, Literal

from . import bundle_manifest, loopback

MOST_ENTRIES = 20_000
"""Most files and folders of an archive. So many small files take about 3 s of CPU time and 100 MB
of the box's memory. torch, the largest library in use, has about 13,000.
"""
MOST_DEPTH = 16
MOST_NAME_BYTES = 200
MOST_PATH_BYTES = 600
MOST_SOURCE_BYTES = 5 << 20
_CHUNK = 1 << 18
_PAGE_BYTES = 4096
_INODE_BYTES = 1024
_GZIP = b"\x1f\x8b"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


class ArchiveRefused(Exception):
    """The archive broke a rule; ``entry`` names the member to blame, if there is one."""

    def __init__(self, reason: str, entry: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.entry = entry


def unpack(file: IO[bytes], folder: str, most_bytes: int) -> dict[str, Any]:
    """Fill the empty folder from the archive.

    Returns the number of ``files``, the ``bytes`` of memory for them and their folders, and whether
    the program needs a ``network``.
    """
    start = file.read(tarfile.BLOCKSIZE)
    file.seek(0)
    tree = _UnpackedTree(folder, most_bytes)
    try:
        if start.startswith(_GZIP):
            _untar(file, tree, "r:gz")
        elif _is_tar(start):
            _untar(file, tree, "r:")
        elif start.startswith(_ZIP):
            _unzip(file, tree)
        else:
            _store_single_file(file, tree)
    except (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise ArchiveRefused(f"the archive is damaged; pack it again: {error}") from None
    except (NotImplementedError, RuntimeError) as error:
        raise ArchiveRefused(f"the archive uses a feature that is not supported: {error}") from None
    except ArchiveRefused:
        raise
    except MemoryError:
        raise ArchiveRefused("the archive needs too much memory to be opened") from None
    except Exception as error:
        # Every error here comes from the archive: a wrong offset is an OSError of seek.
        raise ArchiveRefused(f"the archive cannot be read: {type(error).__name__}") from None
    manifest = tree.check_manifest()
    network = loopback.needs_loopback(manifest)
    return {"files": tree.files, "bytes": tree.occupied, "network": network}


def _is_tar(start: bytes) -> bool:
    """Whether this block is a member's header: its checksum is right. Text never has one."""
    try:
        tarfile.TarInfo.frombuf(start, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _untar(file: IO[bytes], tree: _UnpackedTree, mode: Literal["r:", "r:gz"]) -> None:
    """Unpack a tar up to its end. `tarfile` also stops at a cut or broken header, without error."""
    with tarfile.open(fileobj=file, mode=mode) as archive:
        for member in archive:
            archive.members = []  # type: ignore[attr-defined]  # it would keep every header
            name = tree.check_member_name(member.name)
            if member.isdir():
                tree.add_folder(name)
            elif member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and member.sparse is None:
                source = archive.extractfile(member)
                if source is None:
                    raise ArchiveRefused("is no regular file", name)
                tree.add_file(name, source, member.size, bool(member.mode & 0o100))
            else:
                raise ArchiveRefused(
                    f"is {_member_type(member)}; only files and folders are allowed", name
                )
        archive.fileobj.seek(archive.offset)  # where no further header was found
        if archive.fileobj.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError("files are missing, since it is cut off or a header is broken")
        # To the end, because the checksum of gzip stands there.
        tree.read_tail(archive.fileobj)


def _member_type(member: tarfile.TarInfo) -> str:
    if member.issym():
        return "a symbolic link"
    if member.islnk():
        return "a hard link"
    if member.ischr() or member.isblk():
        return "a device"
    if member.isfifo():
        return "a pipe"
    return "of an unusual type"


def _unzip(file: IO[bytes], tree: _UnpackedTree) -> None:
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if members and min(member.header_offset for member in members) != 0:
            # The list of names of a .zip inside, if the archive is cut off behind it.
            raise zipfile.BadZipFile("its list of names does not fit its files; it may be cut off")
        for member in members:
            name = tree.check_member_name(member.orig_filename)
            mode = member.external_attr >> 16
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
                what = "a symbolic link" if stat.S_ISLNK(mode) else "of an unusual type"
                raise ArchiveRefused(f"is {what}; only files and folders are allowed", name)
            if member.flag_bits & 0x1:
                raise ArchiveRefused("is encrypted; upload it without a password", name)
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ArchiveRefused("uses a compression other than deflate", name)
            if member.is_dir():
                tree.add_folder(name)
                continue
            with archive.open(member) as source:
                tree.add_file(name, source, member.file_size, bool(mode & 0o100))


def _store_single_file(file: IO[bytes], tree: _UnpackedTree) -> None:
    source = file.read(MOST_SOURCE_BYTES + 1)
    if len(source) > MOST_SOURCE_BYTES:
        raise ArchiveRefused(f"is longer than {MOST_SOURCE_BYTES >> 20} MB", bundle_manifest.MAIN)
    try:
        text = source.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ArchiveRefused(
            "the upload is no .tar.gz, no .tar, no .zip and no Python source in UTF-8;"
            " save main.py as UTF-8, or pack its folder as .tar.gz"
        )
    file.seek(0)
    tree.add_file(bundle_manifest.MAIN, file, len(source), False)


class _UnpackedTree:
    """The folder to fill, with its counters."""

    def __init__(self, folder: str, most_bytes: int) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._seen: dict[str, bool] = {"": True}  # path -> is a folder
        self._given: set[str] = set()
        self._admitted = 0
        self.files = 0
        self.bytes = 0
        self.occupied = 0

    def check_member_name(self, name: str) -> str:
        """The member's path below the folder. Raises ArchiveRefused for a forbidden name."""
        self._admitted += 1
        if self._admitted > MOST_ENTRIES:
            raise ArchiveRefused(
                f"more than {MOST_ENTRIES} files and folders in the archive; leave out tests, "
                "caches and docs, keep data in one file, or put Python libraries in a .zip",
                printable_name(name),
            )
        if "\0" in name or "\\" in name or any(ord(c) < 32 or ord(c) == 127 for c in name):
            raise ArchiveRefused(
                "holds a character that is not allowed in a name", printable_name(name)
            )
        try:
            length = len(name.encode("utf-8"))
        except UnicodeEncodeError:
            raise ArchiveRefused("is not named in UTF-8", printable_name(name)) from None
        if length > MOST_PATH_BYTES:
            raise ArchiveRefused(
                f"has a path longer than {MOST_PATH_BYTES} bytes", printable_name(name)
            )
        if name.startswith("/"):
            raise ArchiveRefused(
                "is an absolute path; paths must be relative", printable_name(name)
            )
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise ArchiveRefused("leads out of the archive's folder", printable_name(name))
        if len(parts) > MOST_DEPTH:
            raise ArchiveRefused(f"lies deeper than {MOST_DEPTH} folders", printable_name(name))
        if any(len(part.encode()) > MOST_NAME_BYTES for part in parts):
            raise ArchiveRefused(
                f"has a name longer than {MOST_NAME_BYTES} bytes", printable_name(name)
            )
        path = "/".join(parts)
        if path and path in self._given:
            raise ArchiveRefused("appears twice", printable_name(name))
        self._given.add(path)
        return path

    def add_folder(self, path: str) -> None:
        """Make the folder and its missing parents."""
        parts = path.split("/") if path else []
        for depth in range(1, len(parts) + 1):
            here = "/".join(parts[:depth])
            known = self._seen.get(here)
            if known is False:
                raise ArchiveRefused("is a file and a folder at once", printable_name(here))
            if known is None:
                try:
                    os.mkdir(os.path.join(self._folder, here), 0o755)
                except OSError as error:
                    raise ArchiveRefused(
                        f"cannot be written: {error.strerror}", printable_name(here)
                    ) from None
                self._seen[here] = True
                self.occupied += _INODE_BYTES

    def add_file(self, path: str, source: IO[bytes] | Any, claimed: int, runs: bool) -> None:
        """Write a new file. Raises ArchiveRefused if it is too large or differs from its stated
        size.
        """
        if not path or path in self._seen:
            raise ArchiveRefused("is a file and a folder at once", printable_name(path))
        if claimed < 0 or claimed > self._most_bytes - self.bytes:
            raise ArchiveRefused(
                f"unpacks to more than {self._most_bytes >> 20} MB in all", printable_name(path)
            )
        self.add_folder(os.path.dirname(path))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            fd = os.open(os.path.join(self._folder, path), flags, 0o755 if runs else 0o644)
        except OSError as error:
            raise ArchiveRefused(
                f"cannot be written: {error.strerror}", printable_name(path)
            ) from None
        self._seen[path] = False
        self.files += 1
        written = 0
        try:
            while chunk := source.read(_CHUNK):
                written += len(chunk)
                if written > claimed:
                    raise ArchiveRefused("is larger than the archive says", printable_name(path))
                _write_all(fd, chunk)
        except OSError as error:
            # BadGzipFile is an OSError too, and the archive is to blame.
            if error.errno is None:
                raise
            raise ArchiveRefused(
                f"cannot be written: {error.strerror}", printable_name(path)
            ) from None
        finally:
            os.close(fd)
        if written != claimed:
            raise ArchiveRefused("is shorter than the archive says", printable_name(path))
        self.bytes += written
        self.occupied += _INODE_BYTES - (-written // _PAGE_BYTES) * _PAGE_BYTES

    def read_tail(self, source: IO[bytes] | Any) -> None:
        """Read what stands behind the last file. Raises ArchiveRefused if it is too large."""
        left = self._most_bytes - self.bytes
        while chunk := source.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                raise ArchiveRefused(f"unpacks to more than {self._most_bytes >> 20} MB in all")

    def check_manifest(self) -> bundle_manifest.Manifest:
        """Return the bundle's manifest. Makes the agent's program executable, whatever its mode.

        Raises ArchiveRefused if the file that starts the agent is missing.
        """
        try:
            manifest = bundle_manifest.read_manifest(self._folder)
        except bundle_manifest.ContractError as error:
            raise ArchiveRefused(str(error), bundle_manifest.MANIFEST_FILE) from None
        name = manifest.program
        if self._seen.get(name) is not False:
            if manifest.contract is not bundle_manifest.Contract.CALLABLE:
                raise ArchiveRefused(
                    f"entry: {printable_name(name)!r} is no file of the archive",
                    bundle_manifest.MANIFEST_FILE,
                )
            names = (f"/{bundle_manifest.MAIN}", f"/{bundle_manifest.MANIFEST_FILE}")
            matching = [path for path in self._seen if path.endswith(names)]
            hint = (
                f"; there is {printable_name(matching[0])!r}: pack the folder's content"
                if matching
                else ""
            )
            raise ArchiveRefused(
                f"there is no {name} at the root of the archive,"
                f" and no {bundle_manifest.MANIFEST_FILE} that names another program{hint}"
            )
        if manifest.entry and not manifest.is_python:
            os.chmod(os.path.join(self._folder, name), 0o755)  # noqa: S103
        return manifest


def printable_name(name: str) -> str:
    """Make a member's name printable and short."""
    text = name.encode("utf-8", "backslashreplace").decode("utf-8")
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return text if len(text) <= 120 else text[:117] + "..."


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
