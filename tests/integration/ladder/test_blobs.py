"""Blobs in a local folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ladder.database.blobs import BlobTooLarge, ObjectStoreBlobs, open_blobs
from ladder.errors import LadderError, NotFound


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "blobs of ours"


@pytest.fixture
def blobs(folder: Path) -> ObjectStoreBlobs:
    return open_blobs(folder.as_uri())


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_bytes_are_kept_under_their_digest(blobs: ObjectStoreBlobs, folder: Path) -> None:
    chunks = [b"goose", b"", b" " * 3_000_000, b"gander"]
    content = b"".join(chunks)
    stored = blobs.put(iter(chunks), limit_bytes=len(content))
    assert stored.digest == hashlib.sha256(content).hexdigest()
    assert stored.size == len(content)
    assert b"".join(blobs.open(stored.digest)) == content
    path = blobs.path(stored.digest)
    assert path == folder / "sha256" / stored.digest[:2] / stored.digest
    assert files(folder) == [path]


def test_repeated_bytes_change_nothing(blobs: ObjectStoreBlobs, folder: Path) -> None:
    first = blobs.put_bytes(b"goose")
    assert blobs.put([b"goo", b"se"], limit_bytes=10) == first
    assert blobs.put_bytes(b"goose") == first
    assert len(files(folder)) == 1


def test_a_file_above_the_limit_leaves_nothing(blobs: ObjectStoreBlobs, folder: Path) -> None:
    read = []

    def endless() -> Iterator[bytes]:
        while True:
            read.append(1)
            yield b"x" * 1000

    with pytest.raises(BlobTooLarge, match="at most 2 kB are allowed"):
        blobs.put(endless(), limit_bytes=2500)
    assert len(read) == 3
    assert files(folder) == []


def test_an_interrupted_upload_leaves_nothing(blobs: ObjectStoreBlobs, folder: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"x" * 6_000_000
        raise ConnectionResetError("gone")

    with pytest.raises(ConnectionResetError):
        blobs.put(broken(), limit_bytes=10_000_000)
    assert files(folder) == []


def test_an_empty_file_is_stored(blobs: ObjectStoreBlobs) -> None:
    stored = blobs.put([], limit_bytes=0)
    assert (stored.size, list(blobs.open(stored.digest))) in ((0, []), (0, [b""]))


def test_a_deleted_blob_is_not_found(blobs: ObjectStoreBlobs) -> None:
    digest = blobs.put_bytes(b"goose").digest
    assert blobs.exists(digest)
    blobs.delete(digest)
    blobs.delete(digest)
    assert not blobs.exists(digest)
    assert blobs.path(digest) is None
    with pytest.raises(NotFound):
        blobs.open(digest)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "g" * 64, "a" * 63])
def test_only_a_digest_names_a_blob(blobs: ObjectStoreBlobs, name: str) -> None:
    with pytest.raises(NotFound, match="not a digest"):
        blobs.open(name)


@pytest.mark.parametrize("url", ["", "blobs", "ftp://host/x", "file://host/x", "s3://"])
def test_an_unknown_storage_address_is_refused(url: str) -> None:
    with pytest.raises(LadderError, match="must be file:///folder or s3://bucket/prefix"):
        open_blobs(url)


def test_a_bucket_is_opened_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    blobs = open_blobs("s3://bucket/prefix")
    assert blobs.path("a" * 64) is None


def test_bytes_of_a_broken_upload_are_deleted_later(blobs: ObjectStoreBlobs, folder: Path) -> None:
    kept = blobs.put_bytes(b"a goose")
    left = folder / "incoming" / "half"
    left.parent.mkdir(exist_ok=True)
    left.write_bytes(b"half a goo")
    assert blobs.delete_unfinished(datetime.now(UTC) - timedelta(minutes=1)) == 0
    assert blobs.delete_unfinished(datetime.now(UTC) + timedelta(minutes=1)) == 1
    assert files(folder) == [blobs.path(kept.digest)]
