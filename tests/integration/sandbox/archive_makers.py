"""Makes archives out of members, raw headers and wrong bytes."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
from collections.abc import Iterable
from typing import Any

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


def split_gzip() -> bytes:
    plain = gzip.decompress(tar(("main.py", MAIN)))
    return gzip.compress(plain[:700]) + gzip.compress(plain[700:])


def cut_tar(length: int) -> bytes:
    """The first bytes of a .tar of main.py, of 2 blocks, and another file."""
    assert len(MAIN) <= 512
    return gzip.decompress(tar(("main.py", MAIN), ("weights.bin", b"x" * 600)))[:length]


def zip_cut_behind_inner() -> bytes:
    """A .zip that is cut off behind a .zip in it, which has a list of names of its own."""
    inner = zipped(("main.py", MAIN))
    whole = zipped(("first.txt", b"x"), ("inner.zip", inner), ("main.py", MAIN), compress=0)
    return whole[: whole.index(inner) + len(inner)]


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


def streamed_zip() -> bytes:
    stream = _Stream()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("main.py", MAIN)
    return stream.data
