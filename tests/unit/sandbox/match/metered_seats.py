"""Seats whose meters read files that the test writes."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox.match import move_cost
from sandbox.match.cpu_meter import CpuMeter, OwnRunQueue, StolenTime
from sandbox.match.move_cost import MoveCosts


class Files:
    """A seat's kernel files, written by the test in seconds."""

    def __init__(self, folder: Path, *, without: str = "", by_wall: bool = False) -> None:
        folder.mkdir()
        self._folder = folder
        names = ("cpu_stat", "cpu_pressure", "schedstat", "freeze", "kill", "lost")
        kept = [name for name in names if name != without]
        for name in kept:
            (folder / name).write_text("")
        self.at(0, 0, 0)
        self.lost(0.0, 0.0)
        opened = {name: os.open(folder / name, os.O_RDWR) for name in kept}
        self.meter = CpuMeter(opened, 1.0, by_wall)

    def at(
        self, cpu: float, pressure: float = 0.0, queue: float = 0.0, some: float | None = None
    ) -> None:
        """Set the counters. ``pressure`` is the full line, ``some`` the other (default: equal)."""
        text = f"usage_usec {cpu * 1e6:.0f}\nuser_usec 0\nsystem_usec 0\n"
        (self._folder / "cpu_stat").write_text(text)
        totals = {"some": pressure if some is None else some, "full": pressure}
        lines = [
            f"{name} avg10=0.00 avg60=0.00 avg300=0.00 total={total * 1e6:.0f}\n"
            for name, total in totals.items()
        ]
        (self._folder / "cpu_pressure").write_text("".join(lines))
        (self._folder / "schedstat").write_text(f"1 {queue * 1e9:.0f} 3\n")

    def lost(self, first: float, second: float, due: float = math.inf) -> None:
        """Two cores' losses and moments, after the steal monitor's own two words."""
        with (self._folder / "lost").open("r+b") as file:
            file.write(struct.pack("6d", 1.0, 1.0, first, second, math.inf, due))

    @property
    def is_frozen(self) -> bool:
        return (self._folder / "freeze").read_text() == "1"


@pytest.fixture(autouse=True)
def stolen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the seconds that a hypervisor has taken; this machine's own would interfere."""
    path = tmp_path / "stat"

    def at(seconds: float) -> None:
        ticks = seconds * os.sysconf("SC_CLK_TCK") * (os.cpu_count() or 1)
        path.write_text(f"cpu  7 7 7 7 7 7 7 {ticks:.0f} 0 0\ncpu0\n")

    at(0.0)
    monkeypatch.setattr(move_cost, "_STOLEN", StolenTime(str(path)))
    return at


@pytest.fixture
def own() -> OwnRunQueue:
    """The queue of no thread: it never waits."""
    queue = OwnRunQueue()
    queue.close()
    return queue


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    made = Files(tmp_path / "seat")
    yield made
    made.meter.close()


def seat_costs(
    files: Files, own: OwnRunQueue, *others: Files, patience: float = math.inf
) -> MoveCosts:
    return MoveCosts(files.meter, [other.meter for other in others], own, patience)
