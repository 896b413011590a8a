"""The form in which a team declares its entry for the standings."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from ladder.database.db import connect
from ladder.entries import declared_entry
from services.api_client import tls_context
from tests.web.conftest import Site, Tab, press, sign_in


@pytest.mark.browser
def test_an_owner_declares_an_entry_by_keyboard(site: Site, tab: Callable[..., Tab]) -> None:
    contest = site.contest
    entry = contest.own[0]
    mine = tab(width=360, script=False)
    mine.sign_in(contest.owner_token)
    page = mine.open(f"/agents/{entry.agent_id}")
    form = page.get_by_role("region", name="Your team's entry")
    assert form.get_by_label("Its newest entry, or one that is surely better").is_checked()
    wanted = form.get_by_label("Gosling, version").first
    wanted.focus()
    wanted.press("Space")
    chosen = wanted.get_attribute("value")
    press(page, "Declare")
    assert wanted.is_checked()
    with connect(site.database_url) as conn:
        assert (
            declared_entry.declared_entry_of_team(conn, contest.season.id, entry.team_id) == chosen
        )
    form.get_by_label("Its newest entry, or one that is surely better").check()
    press(page, "Declare")
    with connect(site.database_url) as conn:
        assert declared_entry.declared_entry_of_team(conn, contest.season.id, entry.team_id) is None


def test_only_the_owning_team_can_declare_an_entry(site: Site) -> None:
    contest = site.contest
    path = f"/agents/{contest.own[0].agent_id}"
    with httpx.Client(base_url=site.address, verify=tls_context(site.address)) as client:
        for token, status, said in (
            (contest.owner_token, 422, "this entry is rejected; declare an active one"),
            (contest.stranger_token, 403, "token of this session can only read"),
            (contest.host_token, 403, "use a token with the scope"),
        ):
            client.cookies.clear()
            sign_in(client, token)
            page = client.get(path).text
            assert ("Your team's entry" in page) == (token == contest.owner_token)
            proof = page.split('name="form_token" value="', 1)[1].split('"', 1)[0]
            data = {"form_token": proof, "season": contest.season.id}
            data["team"] = contest.own[0].team_id
            assert contest.rejected is not None
            data["entry"] = contest.rejected.id
            answer = client.post(f"{path}/declare", data=data)
            assert answer.status_code == status
            assert said in answer.text.replace("&#39;", "'").lower()
            assert client.post(f"{path}/declare", data={**data, "form_token": "x"}).is_error
            answer = client.post(f"{path}/declare", data={**data, "season": "sea_\0"})
            assert answer.status_code == status
    assert "Your team's entry" not in site.get(path).text
