"""Hostile and broken archives are refused by name or harmless, and nothing is left outside.

The unpacker's loop opens each in a folder that the test inspects. A box opens some of every kind;
``scripts/drill hostile-agents`` opens all in a box of each launcher.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sandbox.box import unpack as unpacker
from sandbox.box.unpack import MOST_ENTRIES, ArchiveRefused, unpack
from sandbox.errors import BundleRefused
from sandbox.launchers.base import AGENT_INODES
from tests import servers
from tests.integration.sandbox.archive_makers import MAIN, tar, tar_of_many, zipped
from tests.integration.sandbox.conftest import EVERY_LAUNCHER
from tests.integration.sandbox.hostile_archives import (
    ACCEPTED,
    BOMB,
    MEMORY_MB,
    MOST_BYTES,
    OF_EVERY_KIND,
    PLAIN,
    REFUSED,
)
from tests.integration.sandbox.nodes import Bench, still_works

SIDE_BY_SIDE = 3
FEW_ENTRIES = 1000
"""The limit outside of boxes; in a box one archive has more entries than the real limit."""
IN_DRILL = os.environ.get(EVERY_LAUNCHER) == "1"
pytestmark = pytest.mark.filterwarnings("ignore:Duplicate name")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder in memory if there is room: some archives unpack to 20,000 files."""
    with servers.short_folder() as folder:
        yield folder


def test_at_least_forty_archives_are_tried() -> None:
    assert len(OF_EVERY_KIND) + len(ACCEPTED) >= 40
    assert set(REFUSED) > OF_EVERY_KIND


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_archive_is_refused_with_the_entry_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    make, entry, reason = REFUSED[name]
    folder = tmp_path / "in"
    folder.mkdir()
    monkeypatch.setattr(unpacker, "MOST_ENTRIES", FEW_ENTRIES)
    with pytest.raises(ArchiveRefused) as refused:
        unpack(io.BytesIO(make()), str(folder), MOST_BYTES)
    if entry is not None:
        assert refused.value.entry == entry
    assert reason in refused.value.reason
    assert os.listdir(tmp_path) == ["in"]
    for at, folders, files in os.walk(folder):
        for each in [*folders, *files]:
            mode = os.lstat(os.path.join(at, each)).st_mode
            assert stat.S_ISREG(mode) or stat.S_ISDIR(mode)


@pytest.mark.parametrize("name", PLAIN)
def test_a_bad_archive_without_gzip_is_refused_for_the_same_reason(
    tmp_path: Path, name: str
) -> None:
    make, entry, reason = REFUSED[name]
    with pytest.raises(ArchiveRefused) as refused:
        unpack(io.BytesIO(gzip.decompress(make())), str(tmp_path), MOST_BYTES)
    if entry is not None:
        assert refused.value.entry == entry
    assert reason in refused.value.reason


def test_an_archive_may_hold_the_maximum_number_of_entries(tmp_path: Path) -> None:
    names = [f"lib/{n // 100}/{n}.py" for n in range(MOST_ENTRIES - 1)]
    data = tar_of_many(["main.py", *names], b"x")
    counts = unpack(io.BytesIO(data), str(tmp_path), MOST_BYTES)
    assert counts["files"] == MOST_ENTRIES
    assert counts["bytes"] > MOST_ENTRIES * 5000  # a page and an inode each
    assert MOST_ENTRIES + len({name.rpartition("/")[0] for name in names}) < AGENT_INODES


def test_a_zip_with_a_duplicate_name_is_refused(tmp_path: Path) -> None:
    data = zipped(("main.py", MAIN), ("main.py", b"other"))
    with pytest.raises(ArchiveRefused, match="twice"):
        unpack(io.BytesIO(data), str(tmp_path), MOST_BYTES)


def test_good_archives_of_every_kind_are_unpacked(tmp_path: Path) -> None:
    folder_entry = tarfile.TarInfo("./")
    folder_entry.type = tarfile.DIRTYPE
    good = {
        "tar": tar(("./", folder_entry), ("./main.py", MAIN), ("./a/b.txt", b"x")),
        "plain": gzip.decompress(tar(("main.py", MAIN), ("a/b.txt", b"x"))),
        "zip": zipped(("main.py", MAIN), ("a/", b""), ("a/b.txt", b"x")),
        "source": MAIN,
    }
    for name, data in good.items():
        folder = tmp_path / name
        folder.mkdir()
        counts = unpack(io.BytesIO(data), str(folder), MOST_BYTES)
        assert (folder / "main.py").read_bytes() == MAIN
        assert counts["files"] == (1 if name == "source" else 2)
        assert stat.S_IMODE((folder / "main.py").stat().st_mode) == 0o644


Opened = dict[str, Future[Any]]


@pytest.fixture(scope="module")
def opened(request: pytest.FixtureRequest, bench: Bench) -> Iterator[Opened]:
    """The result of each selected archive in its own box: a refusal, or the first move."""
    chosen = {
        item.callspec.params["archive"]
        for item in request.session.items
        if hasattr(item, "callspec") and "archive" in item.callspec.params
    }
    makes = {name: made[0] for name, made in REFUSED.items()}
    makes |= {name: made[0] for name, made in ACCEPTED.items()}

    def in_a_box(name: str) -> Any:
        path = bench.folder / f"{name.replace(' ', '-')}.bundle"
        path.write_bytes(makes[name]())
        try:
            with bench.seat(path, memory_mb=MEMORY_MB) as player:
                assert player.start() == {"k": "ready"}
                move = player.move(step=0)
                assert player.loan.end().clean
                return move
        except BundleRefused as refused:
            return refused

    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        yield {name: pool.submit(in_a_box, name) for name in makes if name in chosen}
        pool.shutdown(cancel_futures=True)
    still_works(bench)


@pytest.mark.same_in_every_launcher
@pytest.mark.parametrize("archive", REFUSED if IN_DRILL else sorted(OF_EVERY_KIND))
def test_a_bad_archive_is_refused_through_a_box(opened: Opened, archive: str) -> None:
    _, entry, reason = REFUSED[archive]
    refused = opened[archive].result()
    assert isinstance(refused, BundleRefused), refused
    if entry is not None:
        assert refused.entry == entry
        assert entry in str(refused)
    assert reason in refused.reason
    assert refused.reason.isprintable()


@pytest.mark.same_in_every_launcher
@pytest.mark.parametrize("archive", ACCEPTED)
def test_an_odd_archive_unpacks_only_the_expected_files(opened: Opened, archive: str) -> None:
    move, found, special, scratch = opened[archive].result()
    assert move == "NORTH"
    assert found == sorted(ACCEPTED[archive][1])
    assert special == []
    assert scratch == []


def test_an_archive_bomb_is_refused_through_a_box(bench: Bench) -> None:
    path = bench.folder / "bomb.tar.gz"
    parts = ((f"{n}", bytes(9 << 20)) for n in range(4))
    for members in ([("big", BOMB)], parts):
        path.write_bytes(tar(("main.py", MAIN), *members))
        with pytest.raises(BundleRefused, match="unpacks to more"):
            bench.borrow(path, memory_mb=MEMORY_MB)
    still_works(bench)


def test_an_archive_with_too_many_folders_is_refused(bench: Bench) -> None:
    path = bench.folder / "folders.tar.gz"
    names = ["/".join([f"d{n}", *"a" * 13, "f"]) for n in range(AGENT_INODES // 15 + 1)]
    for count in range(2):  # the last inode is a folder in one archive and a file in the other
        path.write_bytes(tar(("main.py", MAIN), *((f"{n}", b"") for n in range(count)),
                             *((name, b"") for name in names)))  # fmt: skip
        with pytest.raises(BundleRefused, match="cannot be written"):
            bench.borrow(path)


def test_a_bundle_with_the_files_of_a_large_library_plays(bench: Bench) -> None:
    source = b"""
import os
from lib.p99 import m9999

def agent(obs):
    return sum(len(files) for _, _, files in os.walk("/kaggle_simulations/agent")) + m9999.x
"""
    names = [f"lib/p{n // 100}/m{n}.py" for n in range(10_000)]
    path = bench.folder / "library.tar.gz"
    path.write_bytes(tar_of_many(names, b"x = 7\n", ("main.py", source)))
    with bench.seat(path) as player:
        assert player.start() == {"k": "ready"}
        assert player.move(step=0) == 10_008
        assert player.loan.end().clean


@pytest.mark.same_in_every_launcher
def test_a_bundle_larger_than_half_the_memory_is_refused(bench: Bench) -> None:
    path = bench.folder / "heavy.zip"
    path.write_bytes(zipped(("main.py", MAIN), ("weights", BOMB)))
    with pytest.raises(BundleRefused, match="unpacks to more"):
        bench.borrow(path, memory_mb=MEMORY_MB)
    path.write_bytes(os.urandom(33 << 20))
    with pytest.raises(BundleRefused, match="half of 64 MB"):
        bench.borrow(path, memory_mb=64)


@pytest.mark.same_in_every_launcher
def test_an_oversized_pax_header_is_refused_through_a_box(bench: Bench) -> None:
    info = tarfile.TarInfo("././@PaxHeader")
    info.type, info.size = tarfile.XHDTYPE, 6 << 30
    path = bench.folder / "pax.tar.gz"
    path.write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20)))
    with pytest.raises(BundleRefused):
        bench.borrow(path)
