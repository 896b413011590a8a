"""Boxes of bubblewrap that share a device, and what nvidia-smi would tell of it.

The device is /dev/null under the name of a GPU, and a script prints nvidia-smi's tables.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from games.protocol import Json, Verdict
from sandbox import profiles
from sandbox.errors import HostFault, SeatRefused
from sandbox.launchers import gpu, gpu_shares
from sandbox.launchers.base import UID_BASE
from sandbox.launchers.gpu import GpuPool
from sandbox.match import referee
from sandbox.match.clock import Clock
from sandbox.match.episode_request import EpisodeRequest
from sandbox.match.loans import Loan
from sandbox.match.match_record import PlayedMatch
from sandbox.node import gpu_memory
from sandbox.node.pooled_box import PooledBox
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
    """A node with one card of four shares."""
    (tmp_path / "nvidia.json").write_text(json.dumps(CDI))
    found = gpu.find_gpus((tmp_path,))
    monkeypatch.setattr(gpu, "find_gpus", lambda: found)
    monkeypatch.setattr(profiles, "PROFILES", {**profiles.PROFILES, ON_GPU.name: ON_GPU})
    shares = gpu_shares.divide_gpus(found, {"0": 8188}, 4, ON_GPU.gpu_mb)
    with lend_boxes(short_folder(), ON_GPU.name, GpuPool(shares)) as lending:
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


def test_seats_on_one_gpu_compute_one_after_another_also_in_two_matches(
    node: LendingNode,
) -> None:
    together = threading.Barrier(2)
    lent = [node.borrow(one, two, agent=COMPUTING) for one, two in ("ab", "cd")]
    with ThreadPoolExecutor(2) as threads:
        played = [*threads.map(lambda one: play(one, on_step=lambda _: together.wait(60)), lent)]
    spans = sorted(move for one in played for step in one.episode.steps for move in step.moves)
    assert len(spans) == 2 * 2 * 12
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))


def test_one_card_serves_as_many_seats_as_it_has_shares(node: LendingNode) -> None:
    lent = node.borrow(*"abcd")
    gpus = [place.box.spec.gpu for place in node.pool.busy]
    assert {gpu.share for gpu in gpus if gpu is not None} == {0, 1, 2, 3}
    for loan in lent:
        loan.end()
    with pytest.raises(HostFault, match="5 boxes with 5 GPUs are more than this node has"):
        node.borrow(*"abcde")


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
    monkeypatch.setattr(gpu_memory, "LOOK_SECONDS", 0.05)
    stop = threading.Event()
    watching = threading.Thread(
        target=gpu_memory.watch, args=(node.pool, stop, lambda sentence: None)
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
            use.write_text(f"{found[0][-1]}, 2048\n{found[1][-1]}, 2047\n")
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
    assert re.match(r"The agent used more than its 2047 MB of GPU memory in step [34]\b", reason)
    node.settle()
    assert len(node.pool.idle) == 1, "its box is thrown away"
