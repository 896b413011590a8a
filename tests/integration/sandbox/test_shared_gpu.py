"""Boxes of one match share a device, and what nvidia-smi would tell of it.

The device is /dev/null under the name of a GPU, and a script prints nvidia-smi's tables.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from games.protocol import Json, Verdict
from sandbox import profiles
from sandbox.errors import BoxLate, HostFault, SeatRefused
from sandbox.launchers import gpu
from sandbox.launchers.base import UID_BASE
from sandbox.match import referee
from sandbox.match.clock import Clock
from sandbox.match.loans import Loan
from sandbox.match.match_record import PlayedMatch
from sandbox.match.referee import EpisodeRequest
from sandbox.node import box_pool
from sandbox.node.box_pool import PooledBox
from sandbox.profiles import Profile
from tests.integration.counting import Counting, State
from tests.integration.sandbox.census import wait_until
from tests.integration.sandbox.lending import LendingNode, lend_boxes

pytestmark = pytest.mark.bubblewrap
ON_GPU = Profile("python-gpu", "a device for tests", ("json",), None, gpu_mb=2000)
CDI = {
    "cdiVersion": "0.5.0",
    "kind": "nvidia.com/gpu",
    "devices": [
        {
            "name": "0",
            "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0", "hostPath": "/dev/null"}]},
        }
    ],
}
COMPUTING = """
import os, time
def agent(obs):
    began = time.monotonic()
    os.stat("/dev/nvidia0")
    if obs["step"] >= 6:  # others may be asked together with an agent that was quick so far
        time.sleep(0.01)
    return [began, time.monotonic()]
"""
FORKING = f"""
import os, time
if os.fork() == 0:
    time.sleep(1000)
{COMPUTING}
"""


class Timed(Counting):
    """A game of all seats at once, whose moves are (begin, end) of the agent's work."""

    def parse(self, state: State, seat: int, raw: Json) -> Json:
        return raw


GAME: Any = Timed()


@pytest.fixture
def node(
    short_folder: Callable[[], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LendingNode]:
    """A node with one card of 8188 MB."""
    (tmp_path / "nvidia.json").write_text(json.dumps(CDI))
    found = gpu.find_gpus((tmp_path,))
    monkeypatch.setattr(gpu, "find_gpus", lambda: found)
    monkeypatch.setattr(profiles, "PROFILES", {**profiles.PROFILES, ON_GPU.name: ON_GPU})
    cards = [replace(card, memory_mb=8188) for card in found]
    with lend_boxes(short_folder(), ON_GPU.name, cards) as lending:
        yield lending


def play(lent: Sequence[Loan | SeatRefused], on_step: Callable[[int], Any]) -> PlayedMatch:
    return referee.play_episode(
        EpisodeRequest(
            GAME,
            {"steps": 12},
            Clock(),
            bytes(16),
            lent,
            max_parallel_seats=4,
            stop_after_seconds=120.0,
            on_step=on_step,
        )
    )


def test_seats_of_one_match_compute_one_after_another(node: LendingNode) -> None:
    played = play(node.borrow(*"ab", agent=COMPUTING), on_step=lambda _: None)
    spans = sorted(move for step in played.episode.steps for move in step.moves)
    assert len(spans) == 2 * 12
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))


def test_seats_share_the_memory_of_the_gpu_of_their_match(node: LendingNode) -> None:
    lent = node.borrow(*"abcd")
    gpus = [place.box.spec.gpu for place in node.pool.busy]
    assert [gpu.memory_mb for gpu in gpus if gpu is not None] == [2047] * 4
    for loan in lent:
        loan.end()


def test_two_matches_do_not_share_a_gpu(node: LendingNode) -> None:
    (first,) = node.borrow("a")
    with first, pytest.raises(BoxLate, match="no box was free in time"):
        node.borrow("b", seconds=1.0)
    node.settle()
    (second,) = node.borrow("b")
    second.end()


def test_a_match_whose_seats_need_too_much_gpu_memory_is_refused(
    node: LendingNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    greedy = replace(ON_GPU, gpu_mb=5000)
    monkeypatch.setattr(profiles, "PROFILES", {**profiles.PROFILES, ON_GPU.name: greedy})
    with pytest.raises(HostFault, match="2 boxes need 10000 MB of a GPU: none here has that"):
        node.borrow(*"ab")


def processes_of(place: PooledBox) -> list[int]:
    """Pids of the agent's processes, oldest first: only they have a uid of a match."""
    assert place.box.group is not None
    return sorted(
        pid
        for pid in place.box.group.processes()
        if int(Path(f"/proc/{pid}/status").read_text().split("Uid:")[1].split()[0]) >= UID_BASE
    )


@pytest.fixture
def use(node: LendingNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The table of nvidia-smi, which the node looks at."""
    table = tmp_path / "use.csv"
    table.touch()
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\nexec /bin/cat {table}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(box_pool, "LOOK_SECONDS", 0.05)
    stop = threading.Event()
    watching = threading.Thread(
        target=box_pool.watch_gpu_memory, args=(node.pool, stop, lambda sentence: None)
    )
    watching.start()
    yield table
    stop.set()
    watching.join()


def play_over_share(node: LendingNode, use: Path, agent: str, processes: int) -> PlayedMatch:
    """A match in which the newest process of one agent uses more than the share."""

    def fill_memory(step: int) -> None:
        if step == 2:
            greedy, modest = node.pool.busy
            found = [processes_of(greedy), processes_of(modest)]
            assert [len(pids) for pids in found] == [processes, processes]
            use.write_text(f"{found[0][-1]}, 4095\n{found[1][-1]}, 4094\n")
            group = greedy.box.group
            assert group is not None
            wait_until(
                lambda: greedy.exceeded_gpu_mb > 0 and not group.processes() & {*found[0]},
                lambda: "nobody was ended",
            )

    return play(node.borrow("a", "b", agent=agent), on_step=fill_memory)


@pytest.mark.parametrize(("agent", "processes"), [(COMPUTING, 1), (FORKING, 2)])
def test_an_agent_over_its_share_of_the_memory_loses_alone(
    node: LendingNode, use: Path, agent: str, processes: int
) -> None:
    played = play_over_share(node, use, agent, processes)
    assert sorted(seat.verdict for seat in played.seats) == [Verdict.DONE, Verdict.ERROR]
    (reason,) = [seat.reason for seat in played.seats if seat.reason is not None]
    # The node ends it after its answer of step 3, at the latest while it computes the next one.
    assert re.match(r"The agent used more than its 4094 MB of GPU memory in step [34]\b", reason)
    node.settle()
    assert len(node.pool.idle) == 1, "its box is thrown away"
