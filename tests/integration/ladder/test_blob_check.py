"""The blob store compared with the rows that name its blobs."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ladder.database.blobs import ObjectStoreBlobs, open_blobs
from ladder.database.db import Connection
from ladder.database.erased_blobs import check_blobs, delete_queued_blobs, delete_unnamed

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC).timestamp()


@pytest.fixture
def blobs(tmp_path: Path) -> ObjectStoreBlobs:
    return open_blobs(tmp_path.as_uri())


def store(blobs: ObjectStoreBlobs, content: bytes, *, old: bool = True) -> str:
    digest = blobs.put_bytes(content).digest
    path = blobs.path(digest)
    assert path is not None
    if old:
        os.utime(path, (LONG_AGO, LONG_AGO))
    return digest


def name_picture(conn: Connection, digest: str) -> None:
    conn.execute("insert into pictures (subject, digest) values (%s, %s)", (digest, digest))


def test_missing_and_unnamed_blobs_are_found(conn: Connection, blobs: ObjectStoreBlobs) -> None:
    named, unnamed = store(blobs, b"named"), store(blobs, b"unnamed")
    young = store(blobs, b"its row comes soon", old=False)
    name_picture(conn, named)
    name_picture(conn, "f" * 64)
    report = check_blobs(conn, blobs)
    assert report.blobs == 3
    assert report.missing == (("pictures", "f" * 64),)
    assert report.unnamed == (unnamed,)
    delete_unnamed(conn, report)
    assert delete_queued_blobs(conn, blobs) == 1
    assert [blobs.exists(each) for each in (named, unnamed, young)] == [True, False, True]


def test_a_blob_that_got_a_row_meanwhile_is_kept(conn: Connection, blobs: ObjectStoreBlobs) -> None:
    digest = store(blobs, b"uploaded again")
    report = check_blobs(conn, blobs)
    name_picture(conn, digest)
    delete_unnamed(conn, report)
    delete_queued_blobs(conn, blobs)
    assert blobs.exists(digest)
