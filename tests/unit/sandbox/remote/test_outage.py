"""Several hosts out of reach at once are our own trouble, fewer are theirs."""

from __future__ import annotations

import pytest

from sandbox.remote import outage
from sandbox.remote.outage import HOSTS, MOST_HOSTS, OutageDetector


def test_one_host_asked_again_and_again_proves_nothing() -> None:
    outage_detector = OutageDetector()
    for _ in range(10 * HOSTS):
        outage_detector.record("one", is_reached=False)
    assert not outage_detector.is_own_network_down


def test_so_many_hosts_out_of_reach_look_like_us_until_one_is_reached() -> None:
    outage_detector = OutageDetector()
    for number in range(HOSTS):
        assert not outage_detector.is_own_network_down
        outage_detector.record(f"host {number}", is_reached=False)
    assert outage_detector.is_own_network_down
    outage_detector.record("host 0", is_reached=True)
    assert not outage_detector.is_own_network_down


def test_what_was_seen_long_ago_is_no_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    outage_detector = OutageDetector()
    outage_detector.record("reached", is_reached=True)
    for number in range(MOST_HOSTS):
        outage_detector.record(f"host {number}", is_reached=False)
    assert outage_detector.is_own_network_down, "the oldest is forgotten first"
    monkeypatch.setattr(outage, "WINDOW_SECONDS", 0.0)
    assert not outage_detector.is_own_network_down
