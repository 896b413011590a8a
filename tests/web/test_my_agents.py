"""The visitor's agents with every entry, and the reason of a missing rank."""

from __future__ import annotations

import re

from markupsafe import escape

from services.web.formatting import STANDS_BY_TEXTS
from tests.web.conftest import Site


def test_my_agents_lists_every_entry_with_what_it_waits_for(site: Site) -> None:
    contest = site.contest
    page = site.get("/me", contest.owner_token).text
    card = page.split('id="agents-title"', 1)[1].split("</section>", 1)[0]
    assert card.count(">Version ") == 5  # pending, rejected, two active, and Brittle's
    assert "in validation" in card
    assert "ERROR at step 4: raised ValueError" in card  # the rejected one hides no other
    assert re.search(r"Odo and Friends has rank <strong class=\"num\">\d+</strong> of \d+", card)
    assert card.count("represents Odo and Friends") == 1
    assert "It represents the team: " in card
    assert 'href="/leagues/hungry-geese"' in card


def test_the_page_of_an_entry_says_why_it_has_no_rank(site: Site) -> None:
    contest = site.contest
    pages = [
        site.get(f"/agents/{entry.agent_id}?entry={entry.id}", contest.owner_token).text
        for entry in contest.own
    ]
    without = [page for page in pages if "Odo and Friends is represented by" in page]
    assert len(without) == len(pages) - 1  # one of them has the rank
    texts = [str(escape(text)) for text in STANDS_BY_TEXTS.values()]
    assert all(any(text in page for text in texts) for page in without)
    assert contest.rejected is not None
    refused = f"/agents/{contest.rejected.agent_id}?entry={contest.rejected.id}"
    assert "It failed its validation." in site.get(refused, contest.owner_token).text


def test_a_reference_agent_says_that_it_has_no_rank(site: Site) -> None:
    anchor = next(entry for entry in site.contest.active if entry.is_anchor)
    assert "Reference agents have no rank." in site.get(f"/agents/{anchor.agent_id}").text
