"""The arithmetic of lost cores, and where there is anybody who takes them."""

from __future__ import annotations

import array
from pathlib import Path

import pytest

from sandbox.match.steal_monitor import may_have_hypervisor, most_lost_seconds


def _read(*seconds: float) -> bytes:
    return array.array("d", seconds).tobytes()


def test_the_core_with_the_most_lost_time_counts() -> None:
    assert most_lost_seconds(_read(1.0, 5.0, 0.0), _read(1.25, 5.5, 0.0)) == 0.5


def test_without_readings_no_core_time_is_lost() -> None:
    assert most_lost_seconds(b"", b"") == 0
    assert most_lost_seconds(b"", _read(3.0)) == 0


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("processor: 0\nflags\t\t: fpu vme hypervisor lm\n", True),
        ("processor: 0\nflags\t\t: fpu vme lm\n", False),
        ("processor: 0\nFeatures\t: fp asimd\n", True),
    ],
)
def test_a_possible_hypervisor_needs_the_steal_monitor(
    tmp_path: Path, text: str, needed: bool
) -> None:
    (tmp_path / "cpuinfo").write_text(text)
    assert may_have_hypervisor(tmp_path / "cpuinfo") == needed
    assert may_have_hypervisor(tmp_path / "missing")
