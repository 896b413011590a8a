"""Hostile and broken archives, each made by the few bytes that matter."""

from __future__ import annotations

import bz2
import gzip
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Callable
from functools import cache

from sandbox.box.unpack import MOST_ENTRIES
from tests.integration.sandbox.archive_makers import (
    MAIN,
    broken,
    cut_tar,
    file,
    flagged_zip,
    header,
    link_chain,
    lying_offset,
    lying_zip,
    negative_size,
    nul_zip,
    overlapping_zip,
    pax,
    renamed_zip,
    special,
    split_gzip,
    streamed_zip,
    tar,
    tar_blocks,
    tar_of_many,
    zip64_lie,
    zip_cut_behind_inner,
    zipped,
    zipped_as,
)

MOST_BYTES = 8 << 20
MEMORY_MB = 64
"""Memory of a box for these archives, of which a bundle may take half."""
BOMB = bytes((MEMORY_MB // 2 + 1) << 20)
Make = Callable[[], bytes]
_LONG = "d/" * 60


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
    "zip with a lying offset": (lying_offset, None, "list of names"),
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
    "plain tar cut behind a file": (lambda: cut_tar(1024), None, "files are missing"),
    "plain tar cut in a header": (lambda: cut_tar(1024 + 100), None, "files are missing"),
    "plain tar with a broken header": (
        lambda: broken(cut_tar(9 << 10), 1030), None, "files are missing"),
    "tar by gzip cut behind a file": (
        lambda: gzip.compress(cut_tar(1024)), None, "files are missing"),
    "tar with a wrong checksum": (lambda: broken(tar(("main.py", MAIN)), -6), None, "CRC check"),
    "tar with a wrong length": (lambda: broken(tar(("main.py", MAIN)), -1), None, "damaged"),
    "tar without its checksum": (lambda: tar(("main.py", MAIN))[:-8], None, "ended before the end"),
    "tar without its last byte": (
        lambda: tar(("main.py", MAIN))[:-1], None, "ended before the end"),
    "tar with a changed byte": (
        lambda: broken(gzip.compress(cut_tar(9 << 10), 0), 300), None, "damaged"),
    "tar with a huge tail": (
        lambda: gzip.compress(cut_tar(9 << 10) + BOMB), None, "unpacks to more"),
    "zip cut behind a zip inside": (zip_cut_behind_inner, None, "list of names"),
    "zip with a changed byte": (
        lambda: broken(zipped(("main.py", MAIN), compress=0), 80), None, "Bad CRC-32"),
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
        lambda: split_gzip(), ("main.py",)),
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
    "zip with descriptors": (lambda: streamed_zip(), ("main.py",)),
    "zip with spaces and dots": (
        lambda: zipped(("main.py", MAIN), (" /...", b"x"), ("-rf", b"x")),
        ("main.py", " /...", "-rf")),
    "zip in many scripts": (
        lambda: zipped(("main.py", MAIN), ("é.txt", b"1"), ("e\u0301.txt", b"2")),
        ("main.py", "é.txt", "e\u0301.txt")),
}  # fmt: skip
"""For each odd but harmless archive: its maker, and the unpacked files."""
