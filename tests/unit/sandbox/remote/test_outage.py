"""Several hosts out of reach at once are our own trouble, fewer are theirs."""

from __future__ import annotations

import pytest

from sandbox.remote import outage
from sandbox.remote.outage import HOSTS, MOST_HOSTS, OutageDetector


def test_one_host_asked_again_and_again_proves_nothing() -> None:
    way_out = OutageDetector()
    for _ in range(10 * HOSTS):
        way_out.heard("one", is_reached=False)
    assert not way_out.looks_cut


def test_so_many_hosts_out_of_reach_look_like_us_until_one_is_reached() -> None:
    way_out = OutageDetector()
    for number in range(HOSTS):
        assert not way_out.looks_cut
        way_out.heard(f"host {number}", is_reached=False)
    assert way_out.looks_cut
    way_out.heard("host 0", is_reached=True)
    assert not way_out.looks_cut


def test_what_was_seen_long_ago_is_no_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    way_out = OutageDetector()
    way_out.heard("reached", is_reached=True)
    for number in range(MOST_HOSTS):
        way_out.heard(f"host {number}", is_reached=False)
    assert way_out.looks_cut, "the oldest is forgotten first"
    monkeypatch.setattr(outage, "WINDOW_SECONDS", 0.0)
    assert not way_out.looks_cut
