"""Several hosts out of reach at once mean our own outage; fewer mean theirs."""

from __future__ import annotations

import pytest

from sandbox.remote import daemon
from sandbox.remote.daemon import HOSTS, MOST_HOSTS, OutageDetector


def test_failures_of_one_host_are_not_an_outage() -> None:
    outage_detector = OutageDetector()
    for _ in range(10 * HOSTS):
        outage_detector.record("one", is_reached=False)
    assert not outage_detector.is_own_network_down


def test_several_unreachable_hosts_are_an_outage() -> None:
    outage_detector = OutageDetector()
    for number in range(HOSTS):
        assert not outage_detector.is_own_network_down
        outage_detector.record(f"host {number}", is_reached=False)
    assert outage_detector.is_own_network_down
    outage_detector.record("host 0", is_reached=True)
    assert not outage_detector.is_own_network_down


def test_old_failures_do_not_count_as_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    outage_detector = OutageDetector()
    outage_detector.record("reached", is_reached=True)
    for number in range(MOST_HOSTS):
        outage_detector.record(f"host {number}", is_reached=False)
    assert outage_detector.is_own_network_down, "the oldest is forgotten first"
    monkeypatch.setattr(daemon, "WINDOW_SECONDS", 0.0)
    assert not outage_detector.is_own_network_down
