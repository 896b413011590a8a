"""After an engine restart during a match, the match is repeated and no agent is blamed."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ladder.database.blobs import Blobs
from ladder.entries import entries
from ladder.entries.records import EntryState
from ladder.matches import history, workers
from sandbox.match import attempt, referee
from sandbox.match.match_record import PlayedMatch
from tests.integration import own_engine, real_node
from tests.integration.ladder.contest import Contest, hello
from tests.integration.test_workers import SLOW, enter, station_at
from tests.integration.test_workers import blobs as blobs
from tests.integration.test_workers import conn as conn
from tests.integration.test_workers import contest as contest
from workers import match_attempt

pytestmark = pytest.mark.docker


def test_a_match_is_played_again_after_an_engine_restart(
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
    with own_engine.running() as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.address)
        with real_node.running("docker") as node:
            first = station_at(node.socket, tmp_path, worker_database_url, blobs)
            outcomes: list[str] = []
            thread = threading.Thread(
                target=lambda: outcomes.append(match_attempt.play_match(first, match_id))
            )
            thread.start()
            assert begun.wait(60)
            engine.end(signal.SIGKILL)
            engine.start()
            thread.join(60)
            assert outcomes == ["host_fault"]
            assert match_attempt.play_match(replace(first, worker="w2"), match_id) == "accepted"
    match = history.get_match(contest.conn, match_id)
    assert (match.state, match.attempt) == ("finished", 2)
    assert entries.get_entry(contest.conn, entry_id).state is EntryState.ACTIVE
    blamed = "select verdict, reason from seats where match_id = %s and verdict <> 'DONE'"
    assert contest.conn.execute(blamed, (match_id,)).fetchall() == []
