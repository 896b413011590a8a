"""Hostile and broken archives: each is refused by name, and nothing lies outside its folder."""

from __future__ import annotations

import gzip
import io
import os
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.box.unpack import MOST_ENTRIES, Refused, unpack
from sandbox.errors import BundleRefused
from tests.integration.sandbox.nodes import Bench

MAIN = b"def agent(obs):\n    return 'NORTH'\n"
MOST_BYTES = 8 << 20


def tar(*members: tuple[str, bytes | tarfile.TarInfo]) -> bytes:
    """A .tar.gz of the members: content, or a header of any kind."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, what in members:
            if isinstance(what, bytes):
                info = tarfile.TarInfo(name)
                info.size = len(what)
                archive.addfile(info, io.BytesIO(what))
            else:
                what.name = name
                archive.addfile(what)
    return buffer.getvalue()


def special(kind: bytes, target: str = "") -> tarfile.TarInfo:
    """A header of a link, a device, a pipe."""
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


def zipped_link() -> bytes:
    """A .zip with a symbolic link, as Info-ZIP writes it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("main.py", MAIN)
        info = zipfile.ZipInfo("link")
        info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    return buffer.getvalue()


def lying_zip(claimed: int) -> bytes:
    """A .zip whose headers claim another size for its first member than its bytes have."""
    data = bytearray(zipped(("main.py", MAIN * 100), compress=zipfile.ZIP_STORED))
    size = struct.pack("<I", len(MAIN * 100))
    assert data.count(size * 2) == 2
    return bytes(data).replace(size * 2, size + struct.pack("<I", claimed))


def lying_offset() -> bytes:
    data = bytearray(zipped(("main.py", MAIN)))
    end = data.rindex(b"PK\x05\x06")
    (start,) = struct.unpack_from("<I", data, end + 16)
    struct.pack_into("<I", data, end + 16, start + 100)  # all offsets are then taken as less
    return bytes(data)


def lying_tar() -> bytes:
    """A .tar.gz whose last member claims more than follows."""
    info = tarfile.TarInfo("main.py")
    info.size = 5000
    return gzip.compress(info.tobuf(tarfile.USTAR_FORMAT) + MAIN)


def sparse_tar() -> bytes:
    """A member that claims a terabyte of holes."""
    info = tarfile.TarInfo("main.py")
    info.type, info.size = tarfile.REGTYPE, 0
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
    info.pax_headers |= {"GNU.sparse.name": "main.py", "GNU.sparse.realsize": str(1 << 40)}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info)
    return buffer.getvalue()


def encrypted_zip() -> bytes:
    """A .zip whose member is marked as encrypted."""
    data = bytearray(zipped(("main.py", MAIN)))
    data[6] |= 1
    central = data.find(b"PK\x01\x02")
    data[central + 8] |= 1
    return bytes(data)


REFUSED: dict[str, tuple[Callable[[], bytes], str | None, str]] = {
    "zip with a lying offset": (lying_offset, None, "not understood"),
    "tar traversal": (lambda: tar(("main.py", MAIN), ("../evil", b"x")), "../evil", "leads out"),
    "tar inner traversal": (lambda: tar(("a/../../evil", b"x")), "a/../../evil", "leads out"),
    "tar absolute": (lambda: tar(("/tmp/evil", b"x")), "/tmp/evil", "absolute"),
    "tar symlink": (
        lambda: tar(("main.py", special(tarfile.SYMTYPE, "/etc/passwd"))),
        "main.py",
        "symbolic link",
    ),
    "tar symlink then write": (
        lambda: tar(("d", special(tarfile.SYMTYPE, "/tmp")), ("d/evil", b"x")),
        "d",
        "symbolic link",
    ),
    "tar hard link": (
        lambda: tar(("main.py", MAIN), ("l", special(tarfile.LNKTYPE, "main.py"))),
        "l",
        "hard link",
    ),
    "tar block device": (lambda: tar(("sda", special(tarfile.BLKTYPE))), "sda", "device"),
    "tar character device": (lambda: tar(("mem", special(tarfile.CHRTYPE))), "mem", "device"),
    "tar pipe": (lambda: tar(("fifo", special(tarfile.FIFOTYPE))), "fifo", "pipe"),
    "tar sparse": (sparse_tar, None, ""),
    "tar duplicate": (lambda: tar(("main.py", MAIN), ("./main.py", b"x")), "./main.py", "twice"),
    "tar file and folder": (lambda: tar(("main.py", MAIN), ("a", b""), ("a/b", b"")), None, "once"),
    "tar bomb": (lambda: tar(("main.py", MAIN), ("big", bytes(9 << 20))), "big", "unpacks to more"),
    "tar bomb in parts": (
        lambda: tar(("main.py", MAIN), *((f"{n}", bytes(1 << 20)) for n in range(9))),
        "7",
        "unpacks to more",
    ),
    "tar deep": (lambda: tar(("/".join("d" * 40) + "/x", b"")), None, "deeper"),
    "tar many": (
        lambda: tar(("main.py", MAIN), *((f"{n}", b"") for n in range(MOST_ENTRIES + 1))),
        None,
        "more than",
    ),
    "tar long name": (lambda: tar(("n" * 250, b"")), None, "longer"),
    "tar long path": (lambda: tar(("/".join(["n" * 150] * 5), b"")), None, "longer"),
    "tar odd name": (lambda: tar(("a\nb", b"")), None, "character"),
    "tar backslash": (lambda: tar(("..\\evil", b"")), None, "character"),
    "tar lying": (lying_tar, None, ""),
    "tar cut": (lambda: tar(("main.py", MAIN * 5000))[:-200], None, ""),
    "tar without main": (lambda: tar(("agent/main.py", MAIN)), None, "pack the folder's content"),
    "zip traversal": (lambda: zipped(("../evil", b"x")), "../evil", "leads out"),
    "zip absolute": (lambda: zipped(("/evil", b"x")), "/evil", "absolute"),
    "zip symlink": (zipped_link, "link", "symbolic link"),
    "zip bomb": (lambda: zipped(("main.py", MAIN), ("big", bytes(9 << 20))), "big", "more than"),
    "zip that claims less": (lambda: lying_zip(10), None, ""),
    "zip that claims more": (lambda: lying_zip(1 << 20), None, ""),
    "zip encrypted": (encrypted_zip, "main.py", "encrypted"),
    "zip of another compression": (
        lambda: zipped(("main.py", MAIN), compress=zipfile.ZIP_LZMA),
        "main.py",
        "compression",
    ),
    "zip cut": (lambda: zipped(("main.py", MAIN * 50))[:-30], None, "damaged"),
    "zip empty": (lambda: zipped(), None, "no main.py"),
    "binary": (lambda: b"\x7fELF" + bytes(100), None, "no Python source"),
    "no UTF-8": (lambda: b"x = '\xff\xfe'\n", None, "no Python source"),
    "long source": (lambda: b"#" * (6 << 20), "main.py", "longer"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_archive_is_refused_by_name(tmp_path: Path, name: str) -> None:
    make, entry, reason = REFUSED[name]
    folder = tmp_path / "in"
    folder.mkdir()
    with pytest.raises(Refused) as refused:
        unpack(io.BytesIO(make()), str(folder), MOST_BYTES)
    if entry is not None:
        assert refused.value.entry == entry
    assert reason in refused.value.reason
    assert os.listdir(tmp_path) == ["in"]
    for at, folders, files in os.walk(folder):
        for each in [*folders, *files]:
            mode = os.lstat(os.path.join(at, each)).st_mode
            assert stat.S_ISREG(mode) or stat.S_ISDIR(mode)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_zip_with_one_name_twice_is_refused(tmp_path: Path) -> None:
    data = zipped(("main.py", MAIN), ("main.py", b"other"))
    with pytest.raises(Refused, match="twice"):
        unpack(io.BytesIO(data), str(tmp_path), MOST_BYTES)


def test_good_archives_of_every_kind_come_out(tmp_path: Path) -> None:
    runs = tarfile.TarInfo("tool")
    runs.mode = 0o755
    good = {
        "tar": tar(("./", special(tarfile.DIRTYPE)), ("./main.py", MAIN), ("./a/b.txt", b"x")),
        "zip": zipped(("main.py", MAIN), ("a/", b""), ("a/b.txt", b"x")),
        "source": MAIN,
    }
    for name, data in good.items():
        folder = tmp_path / name
        folder.mkdir()
        counts = unpack(io.BytesIO(data), str(folder), MOST_BYTES)
        assert (folder / "main.py").read_bytes() == MAIN
        assert counts["files"] == (1 if name == "source" else 2)
        assert stat.S_IMODE((folder / "main.py").stat().st_mode) == 0o444


@pytest.mark.parametrize(
    "name",
    ["tar traversal", "zip with a lying offset", "tar symlink then write", "tar block device",
     "tar many", "zip symlink", "zip that claims less", "binary"],
)  # fmt: skip
def test_a_bad_archive_is_refused_through_a_box(bench: Bench, name: str) -> None:
    make, entry, reason = REFUSED[name]
    path = bench.folder / "bad.tar.gz"
    path.write_bytes(make())
    with pytest.raises(BundleRefused) as refused:
        bench.borrow(path)
    if entry is not None:
        assert refused.value.entry == entry
        assert entry in str(refused.value)
    assert reason in refused.value.reason


def test_a_bomb_is_refused_through_a_box_and_hurts_nobody(bench: Bench) -> None:
    path = bench.folder / "bomb.tar.gz"
    path.write_bytes(tar(("main.py", MAIN), ("big", bytes(300 << 20))))
    with pytest.raises(BundleRefused, match="big"):
        bench.borrow(path)
    path.write_bytes(tar(("main.py", MAIN), *((f"{n}", bytes(60 << 20)) for n in range(4))))
    with pytest.raises(BundleRefused, match=r"memory|cannot be written|unpacks to more"):
        bench.borrow(path)  # below the limit on bytes, above the box's memory
    assert bench.findings(MAIN.decode(), step=0) == "NORTH"


def test_folders_beyond_what_a_box_holds_are_the_archives_fault(bench: Bench) -> None:
    path = bench.folder / "folders.tar.gz"
    names = ["/".join([f"d{n}", *"a" * 13, "f"]) for n in range(900)]
    for count in range(2):  # the last inode goes to a folder in one and to a file in the other
        path.write_bytes(tar(("main.py", MAIN), *((f"{n}", b"") for n in range(count)),
                             *((name, b"") for name in names)))  # fmt: skip
        with pytest.raises(BundleRefused, match="cannot be written"):
            bench.borrow(path)


def test_a_bundle_leaves_the_agent_half_of_its_memory(bench: Bench) -> None:
    path = bench.folder / "heavy.zip"
    path.write_bytes(zipped(("main.py", MAIN), ("weights", bytes(100 << 20))))
    with pytest.raises(BundleRefused, match="unpacks to more"):
        bench.borrow(path, memory_mb=192)
    path.write_bytes(os.urandom(33 << 20))
    with pytest.raises(BundleRefused, match="half of 64 MB"):
        bench.borrow(path, memory_mb=64)


def test_a_pax_header_that_claims_much_is_refused_through_a_box(bench: Bench) -> None:
    info = tarfile.TarInfo("././@PaxHeader")
    info.type, info.size = tarfile.XHDTYPE, 6 << 30
    path = bench.folder / "pax.tar.gz"
    path.write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20)))
    with pytest.raises(BundleRefused):
        bench.borrow(path)
