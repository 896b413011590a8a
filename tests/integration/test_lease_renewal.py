"""A host renews the leases of its players, and releases the lease of a killed one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ladder.ids import MatchId
from tests.waiting import wait_until
from workers.lease_renewal import HeldLease, LeaseRenewal, held_leases, hold_lease

pytestmark = pytest.mark.bubblewrap


HOLDER = """
import sys, time
from pathlib import Path
from ladder.ids import MatchId
from workers.lease_renewal import HeldLease, hold_lease
with hold_lease(Path(sys.argv[1]), HeldLease(MatchId("mat_a"), 3, 3.0)):
    print("held", flush=True)
    time.sleep(600)
"""


def test_the_lease_of_a_killed_player_is_released_at_once(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE
    ) as player:
        assert player.stdout is not None
        player.stdout.readline()
        assert held_leases(tmp_path) == [HeldLease(MatchId("mat_a"), 3, 3.0, player.pid)]
        player.send_signal(signal.SIGKILL)
        player.wait()
    assert held_leases(tmp_path) == []
    assert list((tmp_path / "leases").iterdir()) == []


def test_one_thread_renews_all_leases_of_a_host(
    tmp_path: Path,
) -> None:
    calls: list[list[tuple[MatchId, int]]] = []

    def renew(leases: list[HeldLease]) -> list[tuple[MatchId, int]]:
        calls.append([(lease.match_id, lease.attempt) for lease in leases])
        return calls[-1]

    def fail() -> None:
        raise OSError("the node is away")

    first, second = LeaseRenewal(tmp_path, renew, fail), LeaseRenewal(tmp_path, renew, fail)
    mine = [HeldLease(MatchId(f"mat_{n}"), 1, 0.3, os.getpid()) for n in "ab"]
    with hold_lease(tmp_path, mine[0]), hold_lease(tmp_path, mine[1]):
        first.start()
        wait_until(lambda: len(calls) > 2, "leases are renewed")
        second.start()
        assert calls[0] == [(MatchId("mat_a"), 1), (MatchId("mat_b"), 1)]
        first.stop()
        before = len(calls)
        wait_until(lambda: len(calls) > before, "the other thread takes over")
        second.stop()


def test_a_lease_that_ended_before_its_renewal_is_not_logged_as_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[list[HeldLease]] = []

    def renew(leases: list[HeldLease]) -> list[tuple[MatchId, int]]:
        calls.append(leases)
        return []  # the match was finished a moment ago

    renewal = LeaseRenewal(tmp_path, renew, lambda: None)
    with hold_lease(tmp_path, HeldLease(MatchId("mat_a"), 1, 0.3)):
        renewal.start()
        wait_until(lambda: len(calls) > 1, "the lease is renewed")
        renewal.stop()
    assert "lease_lost" not in capsys.readouterr().err


def test_a_renewal_restarts_the_time_of_the_lease(tmp_path: Path) -> None:
    renewed = LeaseRenewal(
        tmp_path, lambda leases: [(lease.match_id, lease.attempt) for lease in leases], lambda: None
    )
    with hold_lease(tmp_path, HeldLease(MatchId("mat_a"), 1, 0.3)) as unrenewed_seconds:
        os.utime(tmp_path / "leases" / "mat_a.1", (1, 1))
        assert unrenewed_seconds() > 1000
        renewed.start()
        wait_until(lambda: unrenewed_seconds() < 1000, "the lease is renewed")
        renewed.stop()
