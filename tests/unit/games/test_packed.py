"""What a machine may have stored in place of a gzip."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from games.episode import EpisodeError, from_bytes, unpack
from ladder.database.blobs import open_blobs
from services.http import seat_logs
from services.http.problems import ProblemError

BOMB = gzip.compress(bytes(seat_logs.MOST_BYTES + 1), 1)
BROKEN = {
    "nothing": b"",
    "text": b"x",
    "cut": gzip.compress(b"1234")[:-1],
    "bomb": BOMB,
    "two": gzip.compress(b"1") + BOMB,
    "more": gzip.compress(b"1") + b"x",
}


@pytest.mark.parametrize("packed", BROKEN.values(), ids=BROKEN)
def test_what_is_no_small_gzip_is_not_unpacked(packed: bytes, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"gzip|bytes unpacked"):
        unpack(packed, 4)
    with pytest.raises(EpisodeError):
        from_bytes(packed)
    blobs = open_blobs(tmp_path.as_uri())
    with pytest.raises(ProblemError):
        seat_logs.unpack_stored(blobs, blobs.put_bytes(packed).digest)


def test_a_gzip_of_the_permitted_size_is_unpacked() -> None:
    assert unpack(gzip.compress(b"1234"), 4) == b"1234"
