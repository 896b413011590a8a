"""The page of a tournament: what it tells visitors, and the forms of its hosts."""

from __future__ import annotations

from tests.integration.api.browsing import browse
from tests.integration.api.test_tournament_lists import make
from tests.integration.api.world import World


def test_a_tournament_is_cancelled_only_after_a_host_ticks_the_box(world: World) -> None:
    path = f"/tournaments/{make(world, 'Cup')}"
    with browse(world, "host") as browser:
        refused = browser.submit(path, f"{path}/cancel", end_reason="rain")
        assert refused.status_code == 422
        assert "Tick the box first: a cancelled tournament cannot go on" in refused.text
        assert "Cancelled: rain." not in browser.get(path).text
        done = browser.submit(path, f"{path}/cancel", end_reason="rain", sure="true")
    assert "Cancelled: rain." in done.text
