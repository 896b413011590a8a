"""A short form of the drill ``starved-host``, with a few busy processes."""

from __future__ import annotations

import pytest

from tests.drills import starved_host
from tests.integration import real_node


@pytest.mark.bubblewrap
def test_short_drill_on_a_starved_host_passes() -> None:
    real_node.require("bubblewrap")
    options = ["--busy", "8", "--seconds", "0", "--least", "1", "--work", "0.05"]
    assert starved_host.main(options) == 0
