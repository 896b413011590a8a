"""Documents of replays: each is made once, and the cache is bounded."""

from __future__ import annotations

import gzip
import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from services.http.app_state import ReplayCache


def test_concurrent_requests_build_a_replay_once() -> None:
    replays, made = ReplayCache(), list[str]()

    def make(key: str) -> bytes:
        made.append(key)
        return key.encode() * 1000

    keys = ["a", "b"] * 20
    with ThreadPoolExecutor(8) as pool:
        sent = list(pool.map(lambda key: replays.get_or_compress(key, lambda: make(key)), keys))
    assert sorted(made) == ["a", "b"]
    assert [gzip.decompress(each)[:1].decode() for each in sent] == keys


def test_the_replay_cache_has_a_size_limit() -> None:
    replays, made = ReplayCache(most_bytes=5000), list[int]()

    def make(key: int) -> bytes:
        made.append(key)
        return random.Random(key).randbytes(2000)

    for key in (1, 2, 1, 3, 1, 2):
        replays.get_or_compress(key, partial(make, key))
    assert made == [1, 2, 3, 2]
    with pytest.raises(ZeroDivisionError):
        replays.get_or_compress(4, lambda: bytes(1 // 0))
    assert len(gzip.decompress(replays.get_or_compress(4, lambda: make(4)))) == 2000
    assert (
        len(gzip.decompress(replays.get_or_compress(5, lambda: bytes(20_000) + make(6)))) == 22_000
    )
