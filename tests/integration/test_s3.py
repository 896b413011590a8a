"""Blobs in a real S3 server, also while it fails."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import obstore
import pytest

from ladder.database import blobs as module
from ladder.database.blobs import BlobsUnavailable, BlobTooLarge, ObjectStoreBlobs, open_blobs
from ladder.errors import NotFound
from tests import s3_server
from tests.s3_server import Proxy, S3Server
from workers.match_attempt import StorageWaits

URL = f"s3://{s3_server.BUCKET}/ladder"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with s3_server.running(tmp_path_factory.mktemp("s3")) as started:
        yield started.server


@pytest.fixture
def blobs(server: S3Server) -> ObjectStoreBlobs:
    with s3_server.variables(server.environment()):
        return open_blobs(URL)


@pytest.fixture
def failing(
    server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[ObjectStoreBlobs, Proxy]]:
    """Blobs behind a proxy, which give up after 2 s."""
    retries = {"max_retries": 3, "retry_timeout": timedelta(seconds=2)}
    monkeypatch.setattr(module, "RETRIES", retries)
    with s3_server.proxy(server) as between, s3_server.variables(server.environment(between.port)):
        yield open_blobs(URL), between


def stored(blobs: ObjectStoreBlobs) -> set[str]:
    return {digest for digest, _ in blobs.digests()}


def test_a_bucket_keeps_long_and_short_blobs(blobs: ObjectStoreBlobs) -> None:
    chunks = [bytes([number]) * 1_000_000 for number in range(12)]
    content = b"".join(chunks)
    long = blobs.put(iter(chunks), limit_bytes=len(content))
    assert long.digest == hashlib.sha256(content).hexdigest()
    assert b"".join(blobs.open(long.digest)) == content
    short = blobs.put_bytes(b"goose")
    assert blobs.put_bytes(b"goose") == blobs.put([b"goo", b"se"], limit_bytes=9) == short
    assert {long.digest, short.digest} <= stored(blobs)
    assert blobs.path(short.digest) is None
    blobs.delete(long.digest)
    blobs.delete(long.digest)
    assert not blobs.exists(long.digest)
    with pytest.raises(NotFound):
        blobs.open(long.digest)


def test_a_refused_or_broken_upload_leaves_nothing(blobs: ObjectStoreBlobs) -> None:
    before = stored(blobs)

    def broken() -> Iterator[bytes]:
        yield b"x" * 6_000_000
        raise ConnectionResetError("gone")

    with pytest.raises(BlobTooLarge):
        blobs.put(iter([b"x" * 6_000_000] * 2), limit_bytes=7_000_000)
    with pytest.raises(ConnectionResetError):
        blobs.put(broken(), limit_bytes=10_000_000)
    assert stored(blobs) == before
    assert blobs.delete_unfinished(datetime.now(UTC) + timedelta(minutes=1)) == 0


def test_bytes_of_a_killed_upload_are_deleted_later(blobs: ObjectStoreBlobs) -> None:
    obstore.put(blobs._store, "incoming/half", b"half a goo")
    assert blobs.delete_unfinished(datetime.now(UTC) - timedelta(minutes=1)) == 0
    assert blobs.delete_unfinished(datetime.now(UTC) + timedelta(minutes=1)) == 1


def test_wrong_keys_are_an_outage_and_lose_nothing(server: S3Server) -> None:
    with s3_server.variables({**server.environment(), "AWS_SECRET_ACCESS_KEY": "wrong"}):
        other = open_blobs(URL)
    with pytest.raises(BlobsUnavailable):
        other.put_bytes(b"goose")


@pytest.mark.parametrize("fault", ["refuse", "busy"])
def test_a_failing_store_is_unavailable_and_heals(
    failing: tuple[ObjectStoreBlobs, Proxy], fault: str
) -> None:
    blobs, between = failing
    kept = blobs.put_bytes(fault.encode())
    between.fault = fault
    for call in (
        lambda: blobs.put([b"goose"], limit_bytes=9),
        lambda: blobs.open(kept.digest),
    ):
        with pytest.raises(BlobsUnavailable):
            call()
    assert between.faults >= 4  # the calls were repeated
    between.fault = ""
    assert b"".join(blobs.open(kept.digest)) == fault.encode()


def test_a_lost_answer_is_no_conflict(failing: tuple[ObjectStoreBlobs, Proxy]) -> None:
    blobs, between = failing
    between.fault = "lose"
    with pytest.raises(BlobsUnavailable):
        blobs.put_bytes(b"the answer gets lost")
    assert between.faults
    between.fault = ""
    content = b"the answer gets lost"
    assert blobs.put_bytes(content).digest == hashlib.sha256(content).hexdigest()
    assert b"".join(blobs.open(hashlib.sha256(content).hexdigest())) == content


def test_a_worker_waits_for_the_store_and_claims_nothing_meanwhile(
    failing: tuple[ObjectStoreBlobs, Proxy],
) -> None:
    blobs, between = failing
    storage = StorageWaits(wait_seconds=0)
    between.fault = "refuse"
    assert storage.answers(blobs)  # it did not fail yet
    with pytest.raises(BlobsUnavailable):
        storage.retry(lambda: blobs.put_bytes(b"goose"))
    assert not storage.answers(blobs)
    attempts = []

    def heal_then_put() -> str:
        attempts.append(1)
        if len(attempts) == 2:
            between.fault = ""
        return blobs.put_bytes(b"goose").digest

    assert StorageWaits().retry(heal_then_put) == hashlib.sha256(b"goose").hexdigest()
    assert len(attempts) == 2
    assert storage.answers(blobs)
