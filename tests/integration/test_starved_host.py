"""A short form of the drill ``starved-host``, with a few busy processes and a short clock."""

from __future__ import annotations

import pytest

from sandbox.match import move_cost
from sandbox.match.clock import Clock
from tests.drills import starved_host
from tests.integration import real_node


@pytest.mark.bubblewrap
def test_short_drill_on_a_starved_host_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    real_node.require("bubblewrap")
    monkeypatch.setattr(starved_host, "CLOCK", Clock(act_seconds=0.4, bank_seconds=0.4))
    monkeypatch.setattr(move_cost, "MOST_DOUBT_SECONDS", 1.0)
    options = ["--busy", "6", "--seconds", "0", "--least", "1", "--work", "0.05"]
    assert starved_host.main(options) == 0
