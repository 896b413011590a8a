"""The abilities that no live node has for a match, in words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ladder import runtime_profiles
from ladder.matches import worker_availability
from ladder.matches.workers import Worker

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GPU: dict[str, Any] = {"queue": "play.gpu", "needed": {"torch-gpu"}}


def worker(*served: str, gpu: int = 0, queue: str = "validate", speed_class: str = "any") -> Worker:
    return Worker("w", "host", "node", [queue], 1, list(served), gpu, speed_class, [], {}, NOW, NOW)


@pytest.mark.parametrize(
    ("workers", "match", "sentence"),
    [
        ([worker("numpy")], {"needed": {"numpy"}}, None),
        ([], {"needed": {"numpy"}}, "no node serves profile numpy now; it waits until one does"),
        ([worker("numpy")], {"needed": {"torch"}}, "no node serves profile torch now; it waits"),
        ([worker("torch", queue="scrim")], {"needed": {"torch"}}, "no node serves profile torch"),
        (
            [worker("numpy"), worker("torch")],
            {"needed": {"torch", "numpy"}},
            "no node serves profiles numpy and torch together now",
        ),
        (
            [worker("torch-gpu", queue="play.gpu")],
            GPU,
            "its match needs a GPU and no node has one now",
        ),
        ([worker("torch-gpu", gpu=1, queue="play.gpu")], GPU, None),
        (
            [worker("numpy", speed_class="slow")],
            {"needed": {"numpy"}, "speed_class": "fast"},
            "no node of speed class fast serves this now",
        ),
    ],
)
def test_the_first_missing_capacity_is_named(
    workers: list[Worker], match: dict[str, Any], sentence: str | None
) -> None:
    told = worker_availability.why_no_worker_fits(workers, **{"queue": "validate", **match})
    assert told == sentence if sentence is None else told is not None and sentence in told


def test_one_seat_of_a_gpu_profile_needs_a_gpu() -> None:
    assert runtime_profiles.needs_gpu(["numpy", "torch-gpu"])
    assert not runtime_profiles.needs_gpu(["numpy", "torch"])
