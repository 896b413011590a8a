"""The commands that play scrims, with games that end in faults."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ladder.enums import MatchKind, MatchState
from ladder.matches import history
from tests.integration.api.commands import Peck
from tests.integration.api.commands import fresh_peck as fresh_peck
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.world import World, finish


@contextmanager
def playing_broken_scrims(world: World, seat: int) -> Iterator[None]:
    """Plays the member's scrims meanwhile. The agent in this seat of each game breaks."""
    ended = threading.Event()

    def play() -> None:
        while not ended.is_set():
            with world.connect() as conn:
                for match in history.list_matches(
                    conn, kind=MatchKind.SCRIM, state=MatchState.QUEUED
                ):
                    finish(conn, world.blobs, match.id, failed_seat=seat)
            time.sleep(0.05)

    player = threading.Thread(target=play)
    player.start()
    try:
        yield
    finally:
        ended.set()
        player.join()


def test_a_scrim_names_the_faults_of_its_agents(fresh_peck: Peck, fresh_world: World) -> None:
    with playing_broken_scrims(fresh_world, seat=0):
        names = ("flood-public-member", "flood-public-host", "--league", "public")
        shown = fresh_peck("scrim", *names, "--games", "1").stdout
    assert (
        "Flood public.member had faults in 1 of 1 games; the newest is ERROR: ZeroDivisionError"
        in shown
    )
    assert "see peck logs mat_" in shown
    assert "faults" in shown
