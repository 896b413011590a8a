"""The visitor's agents with every entry, and the reason of a missing rank."""

from __future__ import annotations

import re
import secrets

from markupsafe import escape

from ladder.database.db import connect
from ladder.entries import agents, entries
from ladder.people import tokens, users
from services.web.formatting import STANDS_BY_TEXTS
from tests.web.conftest import Site
from tests.web.seeding import enter


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
    brittle = card.split(">Brittle</a>", 1)[1]
    assert " has rank " not in brittle  # another agent has it
    assert "no rank of its own." in brittle


def test_my_agents_are_newest_first_and_name_the_ranked_agent_once(site: Site) -> None:
    contest = site.contest
    own = {entry.team_id for entry in contest.own}
    ranked = next(one for one in contest.active if not one.is_anchor and one.team_id not in own)
    with connect(site.database_url, autocommit=True) as conn:
        user = users.create_user(conn, "Newest First")
        token = tokens.mint_token(conn, user.id, "laptop", ["read"])[1]
        membership = (ranked.team_id, user.id)
        conn.execute("insert into memberships (team_id, user_id) values (%s, %s)", membership)
        made = {}
        for name in ("Fen", "Moor", "Fen"):
            if name not in made:
                made[name] = agents.create_agent(conn, ranked.team_id, name, name.lower()).id
            newest = enter(conn, contest, made[name], secrets.token_bytes(8), "")
        card = _agents_card(site, token)
        entries.retire_entry(conn, newest.id)
        once_retired = _agents_card(site, token)
        for entry in entries.list_entries(conn, team_id=ranked.team_id, state="pending"):
            entries.retire_entry(conn, entry.id)
        all_retired = _agents_card(site, token)
        conn.execute("delete from memberships where team_id = %s and user_id = %s", membership)
    names = re.findall(r'<h3><a class="name" href="[^"]+">([^<]+)</a>', card)
    assert names == ["Fen", "Moor", ranked.agent_name]
    for shown in (card, once_retired):
        assert shown.count("no rank of its own.") == 1
        assert shown.index(">Fen</a>") < shown.index("no rank of its own.")
        assert shown.index("no rank of its own.") < shown.index(">Moor</a>")
    assert "no rank of its own." not in all_retired


def _agents_card(site: Site, token: str) -> str:
    page = site.get("/me", token).text
    return page.split('id="agents-title"', 1)[1].split("</section>", 1)[0]


def test_the_page_of_an_entry_says_why_it_has_no_rank(site: Site) -> None:
    contest = site.contest
    first, second, brittle = [
        site.get(f"/agents/{entry.agent_id}?entry={entry.id}", contest.owner_token).text
        for entry in contest.own
    ]
    assert "Odo and Friends is represented by" in brittle  # by another agent
    assert any(str(escape(text)) in brittle for text in STANDS_BY_TEXTS.values())
    lent = re.compile(r"of \d+, by <a href=[^>]+>version (\d)</a>")
    assert {bool(lent.search(page)) for page in (first, second)} == {True, False}
    [found] = filter(None, (lent.search(page) for page in (first, second)))
    own = 1 if lent.search(first) else 2
    assert int(found[1]) == 3 - own
    told = "Until version 2 has 10 games." if own == 2 else "newer entries have not played 10 games"
    assert told in (first if own == 1 else second)
    assert contest.rejected is not None
    refused = f"/agents/{contest.rejected.agent_id}?entry={contest.rejected.id}"
    assert "It failed its validation." in site.get(refused, contest.owner_token).text


def test_a_reference_agent_says_that_it_has_no_rank(site: Site) -> None:
    anchor = next(entry for entry in site.contest.active if entry.is_anchor)
    assert "Reference agents have no rank." in site.get(f"/agents/{anchor.agent_id}").text
