"""Hostile and broken archives, each made by the few bytes that matter."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from sandbox.box.unpack import MOST_ENTRIES

MAIN = b"""
import os
def agent(obs):
    found = []
    for at, folders, files in os.walk("/kaggle_simulations/agent"):
        found += [os.path.relpath(os.path.join(at, f), "/kaggle_simulations/agent") for f in files]
    modes = [os.stat(os.path.join("/kaggle_simulations/agent", f)).st_mode for f in found]
    special = [f for f, mode in zip(found, modes) if mode & 0o6022]
    return ["NORTH", sorted(found), special, os.listdir("/tmp")]
"""
"""An agent that answers with its folder's content, forbidden mode bits and its scratch."""
MOST_BYTES = 8 << 20
MEMORY_MB = 64
"""Memory of a box for these archives, of which a bundle may take half."""
BOMB = bytes((MEMORY_MB // 2 + 1) << 20)
Make = Callable[[], bytes]
_LONG = "d/" * 60


def tar(*members: tuple[str, bytes | tarfile.TarInfo], form: int = tarfile.GNU_FORMAT) -> bytes:
    """A .tar.gz of the members: content, or a header of any kind."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=form) as archive:
        for name, what in members:
            if isinstance(what, bytes):
                info = tarfile.TarInfo(name)
                info.size = len(what)
                archive.addfile(info, io.BytesIO(what))
            else:
                what.name = name
                archive.addfile(what)
    return buffer.getvalue()


def tar_of_many(names: Iterable[str], content: bytes, *members: tuple[str, bytes]) -> bytes:
    """A .tar.gz of the members and of files with one content: tarfile takes seconds for 20,000."""
    blank = bytearray(header("", len(content)))
    blank[148:156] = b" " * 8  # the checksum counts as blanks
    total, body = sum(blank), content + bytes(-len(content) % 512)
    blocks = [
        part + bytes(-len(part) % 512)
        for name, text in members
        for part in (header(name, len(text)), text)
    ]
    for name in names:
        told = name.encode()
        blank[: len(told) + 1] = told + b"\0"
        blank[148:156] = b"%06o\0 " % (total + sum(told))
        blocks += [bytes(blank), body]
        blank[: len(told)] = bytes(len(told))
    return gzip.compress(b"".join([*blocks, bytes(1024)]), 1)


def special(kind: bytes, target: str = "") -> tarfile.TarInfo:
    """A header of a link, a device or a pipe."""
    info = tarfile.TarInfo()
    info.type, info.linkname, info.devmajor, info.devminor = kind, target, 8, 0
    return info


def zipped(*members: tuple[str, bytes], compress: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A .zip of the members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compress) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def tar_blocks(*parts: bytes) -> bytes:
    """A .tar.gz of raw blocks, padded as tar requires."""
    return gzip.compress(b"".join(p + bytes(-len(p) % 512) for p in parts) + bytes(1024))


def header(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, **fields: Any) -> bytes:
    """One raw header block with a right checksum."""
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    for field, value in fields.items():
        setattr(info, field, value)
    return info.tobuf(tarfile.GNU_FORMAT)


def pax(kind: bytes, **values: str) -> bytes:
    """A raw pax header (local ``x`` or global ``g``) with these values."""
    records = b""
    for key, value in values.items():
        record = f" {key.replace('__', '.')}={value}\n".encode()
        length = len(record)
        while len(str(length)) + len(record) != length:
            length = len(str(length)) + len(record)
        records += str(length).encode() + record
    return header("pax", len(records), kind) + records + bytes(-len(records) % 512)


def zipped_as(mode: int, name: str = "odd", content: bytes = b"/etc/passwd") -> bytes:
    """A .zip with a member of this file mode, as Info-ZIP writes it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("main.py", MAIN)
        info = zipfile.ZipInfo(name)
        info.create_system, info.external_attr = 3, mode << 16
        archive.writestr(info, content)
    return buffer.getvalue()


def flagged_zip(bits: int) -> bytes:
    """A .zip whose only member has these general purpose flags."""
    data = bytearray(zipped(("main.py", MAIN)))
    central = data.find(b"PK\x01\x02")
    for at in (6, central + 8):
        flags = struct.unpack_from("<H", data, at)[0]
        struct.pack_into("<H", data, at, flags | bits)
    return bytes(data)


def lying_zip(claimed: int) -> bytes:
    """A .zip whose headers claim a wrong size for the first member."""
    content = MAIN * 20
    data = zipped(("main.py", content), compress=zipfile.ZIP_STORED)
    size = struct.pack("<I", len(content))
    assert data.count(size * 2) == 2
    return data.replace(size * 2, size + struct.pack("<I", claimed))


def zip64_lie() -> bytes:
    """A .zip whose directory claims, in an extra field, that the member unpacks to a terabyte."""
    data = bytearray(zipped(("main.py", MAIN)))
    central = data.find(b"PK\x01\x02")
    extra = struct.pack("<HHQ", 1, 8, 1 << 40)
    struct.pack_into("<I", data, central + 24, 0xFFFFFFFF)
    struct.pack_into("<H", data, central + 30, len(extra))
    name_end = central + 46 + len("main.py")
    data[name_end:name_end] = extra
    end = data.rindex(b"PK\x05\x06")
    struct.pack_into("<I", data, end + 12, end - central)
    return bytes(data)


def overlapping_zip() -> bytes:
    """A .zip with two directory names for the same bytes."""
    data = bytearray(zipped(("main.py", MAIN), ("copy.py", MAIN)))
    second = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, second + 42, 0)
    return bytes(data)


def renamed_zip() -> bytes:
    """A .zip whose member has different names in the directory and in its local header."""
    data = zipped(("main.py", MAIN), ("aaaaaaa", b"x"))
    at = data.rindex(b"aaaaaaa")
    return data[:at] + b"../evil" + data[at + 7 :]


def nul_zip() -> bytes:
    """A .zip with a name that contains a NUL, where C code would end it."""
    return zipped(("main.py", MAIN), ("main.pyXevil", b"x")).replace(
        b"main.pyXevil", b"main.py\0evil"
    )


def broken(data: bytes, at: int) -> bytes:
    """The same bytes with one of them changed."""
    at %= len(data)
    return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]


def lying_offset() -> bytes:
    """A .zip with a wrong offset of its directory."""
    data = bytearray(zipped(("main.py", MAIN)))
    end = data.rindex(b"PK\x05\x06")
    (start,) = struct.unpack_from("<I", data, end + 16)
    struct.pack_into("<I", data, end + 16, start + 100)
    return bytes(data)


def negative_size() -> bytes:
    """A header with a negative size."""
    block = bytearray(header("main.py"))
    block[124:136] = (-512).to_bytes(12, "big", signed=True)
    total = sum(block[:148]) + 8 * 32 + sum(block[156:512])
    block[148:156] = b"%06o\0 " % total
    return tar_blocks(bytes(block), MAIN)


def link_chain() -> bytes:
    """Links through links, longer than a path may be, and a file at the far end."""
    members: list[tuple[str, bytes | tarfile.TarInfo]] = [("main.py", MAIN)]
    path, folder = "", "d" * 190
    for link in "abcdefghijklmnop":
        members.append((f"{path}{folder}", special(tarfile.DIRTYPE)))
        members.append((f"{path}{link}", special(tarfile.SYMTYPE, folder)))
        path += f"{link}/"
    members.append((f"{path}l", special(tarfile.SYMTYPE, "../" * 16)))
    return tar(*members)


def file(mode: int, content: bytes = MAIN) -> bytes:
    """A .tar.gz of one main.py with this mode and odd owners."""
    fields: dict[str, Any] = {"mode": mode, "uid": 0, "gid": 0, "uname": "root", "mtime": 1 << 32}
    return tar_blocks(header("main.py", len(content), **fields), content)


Sparse = {"GNU__sparse__major": "1", "GNU__sparse__minor": "0", "GNU__sparse__name": "main.py"}
_DIR, _SYM, _LNK = tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE

REFUSED: dict[str, tuple[Make, str | None, str]] = {
    "tar traversal": (lambda: tar(("main.py", MAIN), ("../evil", b"x")), "../evil", "leads out"),
    "tar inner traversal": (lambda: tar(("a/../../evil", b"x")), "a/../../evil", "leads out"),
    "tar harmless traversal": (lambda: tar(("a/../main.py", MAIN)), "a/../main.py", "leads out"),
    "tar folder traversal": (lambda: tar(("..", special(_DIR))), "..", "leads out"),
    "tar long traversal": (lambda: tar((_LONG + "../" * 70 + "x", b"")), None, "leads out"),
    "tar absolute": (lambda: tar(("/tmp/evil", b"x")), "/tmp/evil", "absolute"),
    "tar absolute twice": (lambda: tar(("//etc/evil", b"x")), "//etc/evil", "absolute"),
    "tar symlink": (lambda: tar(("main.py", special(_SYM, "/etc/passwd"))), "main.py", "symbolic"),
    "tar symlink then write": (
        lambda: tar(("d", special(_SYM, "/tmp")), ("d/evil", b"x")), "d", "symbolic link"),
    "tar symlink to itself": (lambda: tar(("s", special(_SYM, "s"))), "s", "symbolic link"),
    "tar chain of links": (link_chain, "a", "symbolic link"),
    "tar hard link": (
        lambda: tar(("main.py", MAIN), ("l", special(_LNK, "main.py"))), "l", "hard link"),
    "tar hard link outside": (
        lambda: tar(("main.py", special(_LNK, "/etc/passwd"))), "main.py", "hard link"),
    "tar block device": (lambda: tar(("sda", special(tarfile.BLKTYPE))), "sda", "device"),
    "tar character device": (lambda: tar(("mem", special(tarfile.CHRTYPE))), "mem", "device"),
    "tar pipe": (lambda: tar(("fifo", special(tarfile.FIFOTYPE))), "fifo", "pipe"),
    "tar contiguous file": (lambda: tar(("c", special(tarfile.CONTTYPE))), "c", "unusual type"),
    "tar unknown type": (lambda: tar_blocks(header("z", kind=b"Z")), "z", "unusual type"),
    "tar sparse": (
        lambda: tar_blocks(pax(b"x", **Sparse, GNU__sparse__realsize=str(1 << 40)),
                           header("main.py", 512), b"0\n"), None, ""),
    "tar old sparse": (lambda: tar_blocks(header("main.py", kind=b"S")), "main.py", "unusual type"),
    "tar pax traversal": (
        lambda: tar_blocks(pax(b"x", path="../evil"), header("main.py")), "../evil", "leads out"),
    "tar pax for all": (
        lambda: tar_blocks(pax(b"g", path="/evil"), header("main.py")), "/evil", "absolute"),
    "tar pax link": (
        lambda: tar_blocks(pax(b"x", linkpath="/etc"), header("l", kind=_SYM)), "l", "symbolic"),
    "tar pax size": (
        lambda: tar_blocks(pax(b"x", size=str(1 << 40)), header("main.py", 10), MAIN),
        "main.py", "unpacks to more"),
    "tar pax NUL": (
        lambda: tar_blocks(pax(b"x", path="main.py\0evil"), header("a")), None, "character"),
    "tar pax cut": (lambda: tar_blocks(header("pax", 20, b"x"), b"99 path=x\n"), None, ""),
    "tar duplicate": (lambda: tar(("main.py", MAIN), ("./main.py", b"x")), "./main.py", "twice"),
    "tar file and folder": (lambda: tar(("main.py", MAIN), ("a", b""), ("a/b", b"")), None, "once"),
    "tar folder and file": (lambda: tar(("a/b", b""), ("a", b"")), "a", "once"),
    "tar main is a folder": (lambda: tar(("main.py", special(_DIR))), None, "no main.py"),
    "tar bomb": (
        lambda: tar(("main.py", MAIN), ("big", BOMB)), "big", "unpacks to more"),
    "tar bomb in parts": (
        lambda: tar(("main.py", MAIN), *((f"{n}", bytes(7 << 20)) for n in range(5))),
        None, "unpacks to more"),
    "tar deep": (lambda: tar(("/".join("d" * 40) + "/x", b"")), None, "deeper"),
    "tar many": (
        lambda: tar_of_many((f"{n}" for n in range(MOST_ENTRIES + 1)), b""), None, "more than"),
    "tar same folder many times": (
        lambda: tar(*(("./" * n + "d", special(_DIR)) for n in range(2))), None, "twice"),
    "tar long name": (lambda: tar(("n" * 250, b"")), None, "longer"),
    "tar long path": (lambda: tar(("/".join(["n" * 150] * 5), b"")), None, "longer"),
    "tar huge name": (lambda: tar(("n" * (2 << 20), b"")), None, "longer"),
    "tar odd name": (lambda: tar(("a\nb", b"")), None, "character"),
    "tar terminal name": (lambda: tar(("\x1b[2Jevil", b"")), None, "character"),
    "tar backslash": (lambda: tar(("..\\evil", b"")), None, "character"),
    "tar name of no text": (lambda: tar_blocks(header("\udcff\udcfe")), None, "UTF-8"),
    "tar empty name": (lambda: tar_blocks(header("", 1), b"x"), None, ""),
    "tar dot": (lambda: tar_blocks(header(".", 1), b"x"), None, "once"),
    "tar lying": (lambda: gzip.compress(header("main.py", 5000) + MAIN), None, ""),
    "tar below zero": (negative_size, None, ""),
    "tar checksum": (lambda: gzip.compress(broken(header("main.py", 5), 3) + MAIN), None, ""),
    "tar cut": (lambda: tar(("main.py", MAIN * 5000))[:-200], None, ""),
    "tar without main": (lambda: tar(("agent/main.py", MAIN)), None, "pack the folder's content"),
    "tar main in capitals": (lambda: tar(("MAIN.PY", MAIN)), None, "no main.py"),
    "tar of nothing": (lambda: gzip.compress(bytes(4 << 20)), None, "no main.py"),
    "tar by bzip2": (
        lambda: bz2.compress(gzip.decompress(tar(("main.py", MAIN)))), None, "no Python source"),
    "tar by xz": (
        lambda: lzma.compress(gzip.decompress(tar(("main.py", MAIN)))), None, "no Python source"),
    "gzip in gzip": (lambda: gzip.compress(tar(("main.py", MAIN))), None, ""),
    "gzip of nothing": (lambda: b"\x1f\x8b", None, ""),
    "gzip of noise": (lambda: b"\x1f\x8b\x08\0" + bytes(range(256)) * 20, None, ""),
    "zip traversal": (lambda: zipped(("../evil", b"x")), "../evil", "leads out"),
    "zip absolute": (lambda: zipped(("/evil", b"x")), "/evil", "absolute"),
    "zip backslash": (lambda: zipped(("..\\evil", b"x")), None, "character"),
    "zip NUL": (nul_zip, None, ""),
    "zip symlink": (lambda: zipped_as(stat.S_IFLNK | 0o777), "odd", "symbolic link"),
    "zip device": (lambda: zipped_as(stat.S_IFBLK | 0o666), "odd", "unusual type"),
    "zip pipe": (lambda: zipped_as(stat.S_IFIFO | 0o666), "odd", "unusual type"),
    "zip socket": (lambda: zipped_as(stat.S_IFSOCK | 0o666), "odd", "unusual type"),
    "zip bomb": (lambda: zipped(("main.py", MAIN), ("big", BOMB)), "big", "more than"),
    "zip deep": (lambda: zipped(("d/" * 40 + "x", b"")), None, "deeper"),
    "zip many": (
        lambda: zipped(*((f"{n}", b"") for n in range(MOST_ENTRIES + 1))), None, "more than"),
    "zip name twice": (lambda: zipped(("main.py", MAIN), ("./main.py", b"")), None, "twice"),
    "zip file and folder": (lambda: zipped(("a", b"x"), ("a/b", b"x")), None, "once"),
    "zip that claims less": (lambda: lying_zip(10), None, ""),
    "zip that claims more": (lambda: lying_zip(1 << 20), None, ""),
    "zip that claims a terabyte": (zip64_lie, "main.py", "unpacks to more"),
    "zip with a lying offset": (lying_offset, None, "cannot be read"),
    "zip of one for two": (overlapping_zip, None, ""),
    "zip with another name inside": (renamed_zip, "../evil", "leads out"),
    "zip encrypted": (lambda: flagged_zip(0x1), "main.py", "encrypted"),
    "zip strongly encrypted": (lambda: flagged_zip(0x41), "main.py", "encrypted"),
    "zip of patches": (lambda: flagged_zip(0x20), None, "not supported"),
    "zip of another compression": (
        lambda: zipped(("main.py", MAIN), compress=zipfile.ZIP_LZMA), "main.py", "compression"),
    "zip checksum": (lambda: broken(zipped(("main.py", MAIN), compress=0), 60), None, "damaged"),
    "zip cut": (lambda: zipped(("main.py", MAIN * 50))[:-30], None, "damaged"),
    "zip empty": (lambda: zipped(), None, "no main.py"),
    "zip behind a program": (
        lambda: b"#!/bin/sh\n\0" + zipped(("main.py", MAIN)), None, "no Python source"),
    "binary": (lambda: b"\x7fELF" + bytes(100), None, "no Python source"),
    "no UTF-8": (lambda: b"x = '\xff\xfe'\n", None, "no Python source"),
    "long source": (lambda: b"#" * (6 << 20), "main.py", "longer"),
}  # fmt: skip
"""For each refused archive: its maker, the blamed entry (if any), and a part of the reason."""

_NO_HEADER = {"tar by bzip2", "tar by xz", "tar cut", "tar of nothing", "tar many"}
PLAIN = [name for name in REFUSED if name.startswith("tar ") and name not in _NO_HEADER]
"""Those that are refused for the same reason without gzip."""
REFUSED |= {
    "plain tar of nothing": (lambda: bytes(1 << 20), None, "no Python source"),
    "plain tar traversal": (
        lambda: gzip.decompress(tar(("../evil", b"x"))), "../evil", "leads out"),
    "plain tar symlink": (
        lambda: gzip.decompress(tar(("a", special(tarfile.SYMTYPE, "/etc/passwd")))),
        "a", "symbolic link"),
    "plain tar many": (
        lambda: gzip.decompress(REFUSED["tar many"][0]()), None, "Python libraries in a .zip"),
    "plain tar cut": (
        lambda: gzip.decompress(tar(("main.py", MAIN * 5000)))[:9000], None, ""),
}  # fmt: skip
REFUSED = {name: (cache(make), entry, reason) for name, (make, entry, reason) in REFUSED.items()}
OF_EVERY_KIND = frozenset({
    "tar traversal", "tar absolute", "tar symlink then write", "tar hard link outside",
    "tar character device", "tar pipe", "tar sparse", "tar pax NUL", "tar bomb", "tar deep",
    "tar bomb in parts", "tar many", "tar huge name", "tar terminal name", "tar name of no text",
    "tar of nothing", "gzip of noise", "zip symlink", "zip bomb", "zip that claims a terabyte",
    "zip with another name inside", "zip encrypted", "zip cut", "tar cut", "binary", "long source",
})  # fmt: skip
"""Those that the suite also opens in a box, one or two of each kind. The drill opens all there."""

_SHADOWS = (
    "json",
    "os",
    "random",
    "socket",
    "numpy/__init__",
    "peckbox/__init__",
    "traceback",
    "sitecustomize",
    "usercustomize",
    "encodings/__init__",
    "kaggle_environments",
    "gc",
)
_SHADOW = b"raise SystemExit('shadowed')\n"

ACCEPTED: dict[str, tuple[Make, tuple[str, ...]]] = {
    "tar with modules of the platform's names": (
        lambda: tar(("main.py", MAIN), *((f"{name}.py", _SHADOW) for name in _SHADOWS)),
        ("main.py", *(f"{name}.py" for name in _SHADOWS))),
    "tar without gzip": (lambda: gzip.decompress(tar(("main.py", MAIN))), ("main.py",)),
    "source with a byte order mark": (lambda: b"\xef\xbb\xbf" + MAIN, ("main.py",)),
    "tar with set-uid modes": (lambda: file(0o6777), ("main.py",)),
    "tar without any rights": (lambda: file(0), ("main.py",)),
    "tar with a path file": (
        lambda: tar(("main.py", MAIN), ("evil.pth", b"import os; os._exit(1)\n")),
        ("main.py", "evil.pth")),
    "tar with other capitals": (
        lambda: tar(("main.py", MAIN), ("Main.py", _SHADOW)), ("main.py", "Main.py")),
    "tar in two gzips": (
        lambda: _split_gzip(), ("main.py",)),
    # The changed checksum lies behind the archive's end, where the reader stops.
    "tar with a wrong checksum": (lambda: broken(tar(("main.py", MAIN)), -6), ("main.py",)),
    "tar with a tail": (lambda: tar(("main.py", MAIN)) + bytes(512), ("main.py",)),
    "tar with compiled files": (
        lambda: tar(("main.py", MAIN), ("__pycache__/main.cpython-311.pyc", b"\0" * 64)),
        ("main.py", "__pycache__/main.cpython-311.pyc")),
    "zip with set-uid modes": (
        lambda: zipped_as(stat.S_IFREG | 0o6777), ("main.py", "odd")),
    "zip with archives in it": (
        lambda: zipped(("main.py", MAIN), ("a.zip", zipped(("../evil", b"x")))),
        ("main.py", "a.zip")),
    "zip with a drive": (
        lambda: zipped(("main.py", MAIN), ("C:/evil", b"x")), ("main.py", "C:/evil")),
    "zip with descriptors": (lambda: _streamed_zip(), ("main.py",)),
    "zip with spaces and dots": (
        lambda: zipped(("main.py", MAIN), (" /...", b"x"), ("-rf", b"x")),
        ("main.py", " /...", "-rf")),
    "zip in many scripts": (
        lambda: zipped(("main.py", MAIN), ("é.txt", b"1"), ("e\u0301.txt", b"2")),
        ("main.py", "é.txt", "e\u0301.txt")),
}  # fmt: skip
"""For each odd but harmless archive: its maker, and the unpacked files."""


def _split_gzip() -> bytes:
    plain = gzip.decompress(tar(("main.py", MAIN)))
    return gzip.compress(plain[:700]) + gzip.compress(plain[700:])


class _Stream(io.RawIOBase):
    """A file that cannot seek, so that sizes must follow the data."""

    def __init__(self) -> None:
        self.data = b""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]
        self.data += piece
        return len(piece)


def _streamed_zip() -> bytes:
    stream = _Stream()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("main.py", MAIN)
    return stream.data
