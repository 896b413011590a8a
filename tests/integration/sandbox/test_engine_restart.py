"""After an engine restart nothing stays, the match is repeated, and no agent is blamed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ladder.database.blobs import Blobs
from ladder.entries import entries
from ladder.entries.records import EntryState
from ladder.matches import history, workers
from sandbox.errors import HostFault
from sandbox.match import attempt, referee
from sandbox.match.match_record import PlayedMatch
from tests.integration.ladder.contest import Contest, hello
from tests.integration.own_engine import OwnEngine, running
from tests.integration.sandbox.census import Taker, wait_until
from tests.integration.sandbox.nodes import Player, start_node
from tests.integration.sandbox.test_nothing_left import WatchedNode, print_wait
from tests.integration.worker_stage import SLOW, enter, station_at
from tests.integration.worker_stage import blobs as blobs
from tests.integration.worker_stage import conn as conn
from tests.integration.worker_stage import contest as contest
from workers import match_attempt

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def own_engine() -> Iterator[OwnEngine]:
    with running() as engine:
        yield engine


@pytest.fixture(scope="module")
def movable(own_engine: OwnEngine, short_folder: Callable[[], Path]) -> Iterator[WatchedNode]:
    """A node whose engine the tests may restart."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", own_engine.address)
        node = start_node(short_folder(), "docker", "--warm", "0", "--profile", "python")
    yield WatchedNode(node, Taker(node, own_engine.address))
    assert node.stop() == 0, node.log.read_text()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_restarted_engine_leaves_nothing_of_the_match(
    own_engine: OwnEngine, movable: WatchedNode, how: signal.Signals
) -> None:
    movable.idle()
    player, _ = movable.match()
    own_engine.end(how)
    own_engine.start()
    with pytest.raises(EOFError):
        player.act(30, step=1)
    with pytest.raises(HostFault, match=r"engine was restarted|from outside"):
        player.loan.end()

    kept = {str(movable.node.socket), str(movable.node.run_dir / "boxes")}
    shown_to_all = str(movable.node.run_dir / "facts")  # the node's own file, made once

    def left() -> list[str]:
        census = movable.taker.take()
        files = {file for file in census.files if not file.startswith(shown_to_all)}
        return sorted({*census.uids, *census.mounts, *census.containers, *files} - kept)

    print_wait(wait_until(lambda: not left(), left), f"the engine answers again after {how.name}")
    again, _ = movable.match()
    assert again.loan.end().clean
    assert len(movable.taker.take().containers) == 1


def test_a_loan_waits_for_a_stopped_engine(own_engine: OwnEngine, movable: WatchedNode) -> None:
    movable.idle()
    own_engine.end(signal.SIGTERM)
    with pytest.raises(HostFault, match="in time"):
        movable.borrow(seconds=1.0)
    asked = threading.Event()

    def ask() -> Player:
        asked.set()
        return movable.borrow()

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask)
        asked.wait()
        own_engine.start()
        assert waiting.result().loan.end().clean


def test_a_match_is_played_again_after_an_engine_restart(
    own_engine: OwnEngine,
    movable: WatchedNode,
    contest: Contest,
    blobs: Blobs,
    worker_database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("w1", "w2"):
        workers.register_worker(contest.conn, hello(name, profiles=("python",)))
    entry_id, match_id = enter(contest, blobs, SLOW)
    begun = threading.Event()

    def play(*given: Any, **named: Any) -> PlayedMatch:
        begun.set()  # every seat has its box
        return referee.play_episode(*given, **named)

    monkeypatch.setattr(
        attempt, "referee", SimpleNamespace(**{**vars(referee), "play_episode": play})
    )
    first = station_at(movable.node.socket, tmp_path, worker_database_url, blobs)
    outcomes: list[str] = []
    thread = threading.Thread(
        target=lambda: outcomes.append(match_attempt.play_match(first, match_id))
    )
    thread.start()
    assert begun.wait(300)
    own_engine.end(signal.SIGKILL)
    own_engine.start()
    thread.join(300)
    assert outcomes == ["host_fault"]
    assert match_attempt.play_match(replace(first, worker="w2"), match_id) == "accepted"
    match = history.get_match(contest.conn, match_id)
    assert (match.state, match.attempt) == ("finished", 2)
    assert entries.get_entry(contest.conn, entry_id).state is EntryState.ACTIVE
    blamed = "select verdict, reason from seats where match_id = %s and verdict <> 'DONE'"
    assert contest.conn.execute(blamed, (match_id,)).fetchall() == []
