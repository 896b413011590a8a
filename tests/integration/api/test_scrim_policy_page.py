"""How a team says on a page whom its agent plays in scrims."""

from __future__ import annotations

from html import unescape

from tests.integration.api.browsing import FIELD, browse
from tests.integration.api.shared import world as world
from tests.integration.api.world import OPEN, World


def test_policy_that_a_teammate_changed_meanwhile_is_not_overwritten(world: World) -> None:
    agent, host = world.agents["public.host"], world.client("host")
    path = f"/agents/{agent}/scrim-policy"
    address = f"/v1{path}"
    host.put(address, OPEN)
    with browse(world, "host") as browser:
        hidden = {name: unescape(value) for name, value in FIELD.findall(browser.get(path).text)}
        sent = {"whom": "anyone", "accepts_automatically": "true", "games_daily": "7"}
        host.put(address, {**OPEN, "games_daily": 5})
        refused = browser.http.post(path, data={**hidden, **sent})
        assert refused.status_code == 422
        assert "this is '5' now, and your form said '7'" in unescape(refused.text)
        assert host.get(address)["policy"]["games_daily"] == 5
        hidden = {name: unescape(value) for name, value in FIELD.findall(refused.text)}
        assert browser.http.post(path, data={**hidden, **sent}).status_code == 200
    assert host.get(address)["policy"]["games_daily"] == 7
    host.put(address, OPEN)
