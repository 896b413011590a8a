"""Pages state results, labels, failures and refusals in words, and order their lists."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from ladder.database.db import connect
from ladder.entries import agents
from ladder.enums import MatchKind
from ladder.matches import lease, matches, workers
from ladder.matches.records import EpisodeResult, LineupSeat
from ladder.people import tokens, users
from services.web import form_texts
from tests.integration.ladder.contest import digest, results
from tests.web import seeding
from tests.web.conftest import Site, Tab
from tests.web.empty_contest import empty_contest
from tests.web.games_played import WORKER, play_queued

pytestmark = pytest.mark.browser


def test_a_team_reads_why_its_agent_failed_beside_the_match(site: Site) -> None:
    failed = site.contest.failed_match
    # The agent raised in this rated match. Other tests may have made many newer ones.
    path = f"/agents/{site.contest.own[-1].agent_id}?before={failed}0"
    link = f'/logs/{failed}/0">Log</a>'
    mine, others = site.get(path, site.contest.owner_token).text, site.get(path).text
    assert link in mine
    assert "ValueError" in mine.split(link)[0].rsplit("<tr>", 1)[1]
    assert "ValueError" not in others
    assert "/logs/" not in others


def test_an_error_page_is_for_people_and_tells_nothing_of_private_things(site: Site) -> None:
    pages = [site.get(path) for path in ("/leagues/club", "/leagues/no-such-league", "/no-page")]
    assert {page.status_code for page in pages} == {404}
    for page in pages:
        assert "If you have an invitation link, open it." in page.text
        assert "names the kind" not in page.text
        assert "sign in: you may see more" in page.text
    assert "sign in: you" not in site.get("/leagues/club", site.contest.stranger_token).text


def test_a_refused_filter_is_named_with_its_remedy_above_the_list(site: Site) -> None:
    page = site.get("/matches?kind=validation").text
    assert '<a href="#kind">Kind</a>: Name an agent or a league too' in page
    assert page.index("Name an agent or a league too") < page.index("The filters do not fit")
    assert "who earns a medal" not in page
    assert form_texts.field_word("season.medals.kind") == "who earns a medal"
    assert form_texts.field_word("season.closes_at") == "uploads lock"


def test_the_leaderboard_says_in_words_what_its_small_labels_mean(site: Site) -> None:
    page = site.get("/leagues/hungry-geese").text
    assert "bronze from 3 teams, silver from 5, gold from 10" in page
    assert re.search(r'<abbr title="With a probability of 95 % the true rank is \d', page)
    assert re.search(r"<abbr title=[^>]+>gold [<>&\d]", page)
    assert "no later game changes a sealed medal" in page
    assert "wrong class" not in page
    assert ("Reference agent: part of the league" in page) == ('<tr class=" anchor' in page)


def test_the_card_of_a_league_shows_its_leaders(site: Site) -> None:
    page = site.get("/leagues").text
    card = page.split("<article")[1:]
    geese = next(one for one in card if 'href="/leagues/hungry-geese"' in one)
    top = geese.split('<ol class="top-three"')[1].split("</ol>")[0]
    assert top.count("<li>") == 3
    assert '<span class="place num">1</span>' in top


def test_a_rejected_version_leads_to_its_log(site: Site) -> None:
    one, token = site.contest.rejected, site.contest.owner_token
    assert one is not None
    page = site.get(f"/agents/{one.agent_id}", token).text
    link = f'<a href="/logs/{one.validation_match_id}/0">Read the traceback and the log</a>'
    assert link in page
    assert "Traceback (most recent call last)" in site.get(link.split('"')[1], token).text
    assert "/logs/" not in site.get(f"/agents/{one.agent_id}").text


def test_a_failed_validation_tells_its_error_once(site: Site) -> None:
    one = site.contest.rejected
    assert one is not None
    path = f"/matches/{one.validation_match_id}"
    result = site.get(path, site.contest.owner_token).text.split('id="result-title"')[1]
    assert "All 4 copies" in result
    assert result.count("raised ValueError") == 1
    assert result.count("(step 4)") == 1
    assert result.count(">Log of copy ") == 4
    assert ">Place<" not in result
    others = site.get(path, site.contest.host_token).text.split('id="result-title"')[1]
    assert "Only its team reads why." in others
    assert "ValueError" not in others


def test_a_warning_of_a_passed_validation_is_shown_to_its_team(site: Site) -> None:
    warning = "Your agent answered None in all 9 turns."
    with connect(site.database_url) as conn:
        new = empty_contest(conn, site, "silent-pond")
        person = users.create_user(conn, "quiet")
        _, token = tokens.mint_token(conn, person.id, "laptop", ["read"])
        team = users.create_team(conn, "Quiet Birds", "quiet-birds", person.id)
        agent = agents.create_agent(conn, team.id, "Mute", "mute").id
        entry = seeding.enter(conn, new, agent, b"no return", "forgets its return")
        assert entry.validation_match_id is not None
        validation = entry.validation_match_id
        workers.register_worker(conn, WORKER)
        conn.execute("update matches set turn = 0 where id = %s", (validation,))
        order = lease.claim_match(conn, validation, WORKER.id)
        assert order is not None
        lease.finish_match(
            conn,
            validation,
            order.attempt,
            WORKER.id,
            [replace(seat, reason=warning, log_digest=None) for seat in results([1] * 4)],
            [EpisodeResult(9, digest("replay"))],
            node=WORKER.node,
            image_digest="",
            rules_digest="",
        )
    lists, result = f"/agents/{agent}/submissions", f"/matches/{validation}?results=shown"
    for path in (lists, result):
        assert site.get(path, token).text.count(warning) == 1
        assert warning not in site.get(path, site.contest.host_token).text


def test_a_result_shows_what_decided_and_marks_the_asked_agent(
    site: Site, tab: Callable[..., Tab]
) -> None:
    asked = site.contest.own[-1].agent_id
    path = f"/matches/{site.contest.failed_match}?results=shown&agent={asked}"
    page = tab(width=390).open(path)
    page.wait_for_selector("[data-ready]")
    ends = page.locator("[data-ended]")
    expect(ends.filter(has_text="survived")).to_have_text([re.compile(r"^survived, length \d+$")])
    expect(ends.filter(has_text="out at step").first).to_have_text(
        re.compile(r"^out at step \d+: \w")
    )
    assert "no fault" not in page.locator(".result").inner_text()
    expect(page.locator("tr.asked a.name")).to_have_text("Brittle")
    expect(page.locator(".moments > summary")).to_have_text("Moments", use_inner_text=True)
    ends.filter(has_text="out at step").first.get_by_role("link").click()
    expect(page.locator(".arena")).to_be_in_viewport(ratio=1)


def test_lists_of_matches_are_in_the_order_of_the_times_shown(site: Site) -> None:
    with connect(site.database_url) as conn:
        new = empty_contest(conn, site, "late-pond")
        teams = [seeding.team_of(conn, name) for name in ("Slow Birds", "Quick Birds")]
        seated = [seeding.add(conn, site.blobs, new, one, "Late", "greedy") for one in teams]
        lineup = [LineupSeat(e.id, e.submission_id, e.agent_id, e.team_id) for e in 2 * seated]
        made = []
        for _ in range(2):
            made.append(
                matches.create_match(conn, season=new.season, kind=MatchKind.RATED, lineup=lineup)
            )
            conn.commit()
            time.sleep(1.1)  # pages show whole seconds
        for match in reversed(made):
            play_queued(conn, site.blobs, match, [new.players[one.id]() for one in 2 * seated])
            time.sleep(1.1)
    for path in ("/matches?season=late-pond&kind=rated", f"/agents/{seated[0].agent_id}"):
        page = site.get(path, site.contest.host_token).text
        part = page.split('id="found-title"' if "/matches" in path else 'id="matches-title"')[1]
        part = part.split("</section>")[0]
        assert [part.find(one) > 0 for one in made] == [True, True]
        times = re.findall(r'<time data-ago datetime="([^"]+)"', part)
        assert times == sorted(times, reverse=True), path


def test_an_agents_list_leaves_out_games_of_batches_and_names_versions(site: Site) -> None:
    gosling, token = site.contest.own[1], site.contest.owner_token
    with connect(site.database_url) as conn:
        rows = conn.execute(
            "select m.id from matches m join scrims s on s.id = m.scrim_id where s.batch_id = %s",
            (site.contest.batch,),
        ).fetchall()
    page = site.get(f"/agents/{gosling.agent_id}", token).text
    listed = page.split('id="matches-title"')[1].split("</section>")[0]
    assert rows
    assert not any(f"/matches/{row[0]}" in listed for row in rows)
    assert re.search(rf'>{gosling.agent_name}</a> <span class="muted">version \d<', listed)


def test_the_newest_version_leads_to_its_comparison_with_the_one_before(site: Site) -> None:
    contest = site.contest
    assert contest.pending is not None
    new, old = contest.pending.submission_id, contest.own[1].submission_id
    path = f"/leagues/hungry-geese/better?new={new}&amp;old={old}"
    page = site.get(f"/agents/{contest.pending.agent_id}", contest.owner_token).text
    assert page.count(path) == 1
    form = site.get(path.replace("&amp;", "&"), contest.owner_token).text
    for one in (new, old):
        assert f'<option value="{one}" selected>' in form
    assert "/better?" not in site.get(f"/agents/{contest.pending.agent_id}").text
    names = "agent=gosling&opponent=lattice"
    compared = site.get(f"/compare?{names}", contest.owner_token).text
    assert '<a href="/leagues/hungry-geese/better">' in compared
