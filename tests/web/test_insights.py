"""The pages' reports to a competitor about an entry's games and about a stalled league."""

from __future__ import annotations

import re

from ladder.database.db import connect
from tests.web.conftest import Site


def test_an_agent_page_shows_times_only_to_the_owner(
    site: Site,
) -> None:
    path = f"/agents/{site.contest.own[0].agent_id}"
    mine = site.get(path, site.contest.owner_token).text
    others = site.get(path).text
    for text in (mine, others):
        for words in (">Insights</h2>", "Head to head", "By seat", "its score"):
            assert words in text
    progress = '<p class="small notice warn">'  # of the version that waits for its validation
    assert progress in mine
    assert progress not in others
    assert "Slowest move" in mine
    assert "Slowest move" not in others


def last_match(site: Site, ago: str) -> None:
    with connect(site.database_url) as conn:
        conn.execute(
            "update entries set last_match_at = now() - %s::interval"
            " where last_match_at is not null",
            (ago,),
        )


def test_a_stalled_league_page_explains_the_cause(site: Site) -> None:
    path = "/leagues/hungry-geese"
    last_match(site, "10 seconds")
    assert "No match has finished" not in site.get(path).text
    last_match(site, "1 hour")
    stranger, host = site.get(path).text, site.get(path, site.contest.host_token).text
    last_match(site, "10 seconds")
    assert "No match has finished for 60 min" in stranger
    assert "For you as host" not in stranger
    assert "For you as host" in host


def test_the_league_page_labels_official_and_live_scores(site: Site) -> None:
    text = site.get("/leagues/hungry-geese").text
    assert "<strong>official</strong>" in text
    assert "<strong>live</strong>" in text


def test_the_personal_page_shows_events_of_own_agents(site: Site) -> None:
    text = site.get("/me", site.contest.owner_token).text
    assert "What happened" in text
    assert re.search(r"placed (shared )?\d of \d", text)
    assert "Nothing yet" in site.get("/me", site.contest.stranger_token).text
