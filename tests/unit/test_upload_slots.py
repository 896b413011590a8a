"""Uploads wait for a place; a person has few at a time."""

from __future__ import annotations

import asyncio
import time

import pytest
from fastapi import Request

from ladder.ids import UserId
from services.http import uploads
from services.http.problems import ProblemError
from services.http.uploads import UploadSlots
from tests.loops import run_coroutine


def request(seconds_ago: float = 0.0) -> Request:
    """A request that began to arrive some seconds ago."""
    return Request({"type": "http", "state": {"began": time.monotonic() - seconds_ago}})


def user(number: int) -> UserId:
    return UserId(f"usr_{number}")


def test_an_upload_waits_until_another_one_ends() -> None:
    async def scene() -> list[str]:
        slots, seen = UploadSlots(1), list[str]()
        free = asyncio.Event()

        async def first(number: int) -> None:
            async with slots.hold_upload_slot(user(number), request()):
                await free.wait()
                seen.append("first")

        async def next_one() -> None:
            async with slots.hold_upload_slot(user(100), request()):
                seen.append("next")

        holders = [asyncio.create_task(first(n)) for n in range(uploads.MOST_UPLOADS)]
        await asyncio.sleep(0)
        waiting = asyncio.create_task(next_one())
        await asyncio.sleep(0)
        assert not seen
        free.set()
        await asyncio.gather(*holders, waiting)
        assert slots.senders.total() == 0
        return seen

    assert run_coroutine(scene()) == ["first"] * uploads.MOST_UPLOADS + ["next"]


def test_an_upload_that_waited_too_long_is_sent_away() -> None:
    async def scene() -> None:
        slots = UploadSlots(1)
        for _ in range(uploads.MOST_UPLOADS):
            await slots.receiving.acquire()
        with pytest.raises(ProblemError, match="many bundles"):
            async with slots.hold_upload_slot(user(1), request(uploads.RECEIVE_SECONDS)):
                pass
        assert slots.senders.total() == 0

    run_coroutine(scene())


def test_a_person_has_few_uploads_at_a_time() -> None:
    async def scene() -> None:
        slots = UploadSlots(1)
        slots.senders[user(1)] = uploads.MOST_UPLOADS_PER_USER
        with pytest.raises(ProblemError, match="your uploads"):
            async with slots.hold_upload_slot(user(1), request()):
                pass

    run_coroutine(scene())
