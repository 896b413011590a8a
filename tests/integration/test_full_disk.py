"""A blob store on a disk without room: real bytes on a small file system."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ladder.database import blobs as blob_stores
from ladder.database.blobs import Blobs
from ladder.matches import history, workers
from tests.integration.ladder.contest import Contest, hello
from tests.integration.real_node import RealNode
from tests.integration.worker_stage import EAST, enter, station_at
from tests.integration.worker_stage import blobs as blobs
from tests.integration.worker_stage import conn as conn
from tests.integration.worker_stage import contest as contest
from workers import match_attempt

pytestmark = pytest.mark.bubblewrap

CHECKOUT = Path(__file__).resolve().parents[2]
FILLS_A_DISK = """
import os
from pathlib import Path
from ladder.database.blobs import BlobsFull, open_blobs
store = open_blobs("file:///small/blobs")
digest = store.put_bytes(b"kept").digest
for store_bytes in (
    lambda: store.put((bytes([n]) * (1 << 20) for n in range(64)), limit_bytes=1 << 30),
    lambda: store.put_bytes(os.urandom(8 << 20)),
):
    try:
        store_bytes()
    except BlobsFull as error:
        print("full:", error)
print(b"".join(store.open(digest)), store.put_bytes(b"small").size)
files = [path for path in Path("/small").rglob("*") if path.is_file()]
print([path.name for path in files if path.stat().st_size > 9])
"""


def test_full_disk_keeps_only_complete_blobs() -> None:
    command = [
        *("bwrap", "--dev-bind", "/", "/", "--size", str(4 << 20), "--tmpfs", "/small"),
        *(sys.executable, "-P", "-c", FILLS_A_DISK),
    ]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(CHECKOUT)}, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    first, second, kept, left = done.stdout.splitlines()
    assert first.startswith("full: the blob store failed")
    assert second.startswith("full: the blob store failed")
    assert (kept, left) == ("b'kept' 5", "[]")


def test_a_worker_begins_no_match_while_the_disk_is_full(
    node: RealNode,
    contest: Contest,
    blobs: Blobs,
    worker_database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workers.register_worker(contest.conn, hello("w1", profiles=("python",)))
    _, match_id = enter(contest, blobs, EAST)
    context = station_at(node.socket, tmp_path, worker_database_url, blobs)
    with monkeypatch.context() as full:
        full.setattr(blob_stores, "LEAST_FREE_BYTES", 1 << 60)
        assert match_attempt.play_match(context, match_id) == "no_storage"
        assert history.get_match(contest.conn, match_id).attempt == 0
    assert match_attempt.play_match(context, match_id) == "accepted"
