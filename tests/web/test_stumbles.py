"""What new users stumbled over, and no longer do. Other stumbles have tests beside their pages."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from ladder.database.db import Connection, connect
from ladder.enums import LeagueRole, MatchKind
from ladder.leagues import invitations, leagues, staff
from ladder.matches import lease, live_matches, matches, workers
from ladder.matches.records import LineupSeat
from ladder.people import tokens, users
from ladder.people.records import STRANGER
from ladder.ratings import live_ratings
from services.web import form_texts, sign_in
from tests.integration.ladder.contest import hello
from tests.web import seeding
from tests.web.conftest import Site, Tab, press
from tests.web.games_played import play_queued
from tests.web.seeding import Contest
from tests.web.test_accessibility import CONTRAST, NAMES

pytestmark = pytest.mark.browser
HEIGHT = "document.documentElement.scrollHeight"


def test_pages_that_were_endless_have_an_end(site: Site, tab: Callable[..., Tab]) -> None:
    mine = tab(width=1280)
    mine.sign_in(site.contest.owner_token)
    logs = [f"/logs/{one.validation_match_id}/{n}" for one in site.contest.own for n in range(4)]
    token = site.contest.owner_token
    log = next(path for path in logs if "Page 1 of" in site.get(path, token).text)
    for path, most in ((log, 6_000), ("/docs/api", 10_000), ("/docs/api/leagues", 40_000)):
        assert mine.open(path).evaluate(HEIGHT) < most, path


def test_a_team_reads_why_its_agent_failed_beside_the_match(site: Site) -> None:
    path = f"/agents/{site.contest.own[-1].agent_id}"  # it raised in a rated match
    link = f'/logs/{site.contest.failed_match}/0">Log</a>'
    mine, others = site.get(path, site.contest.owner_token).text, site.get(path).text
    assert link in mine
    assert "ValueError" in mine.split(link)[0].rsplit("<tr>", 1)[1]
    assert "ValueError" not in others
    assert "/logs/" not in others


def test_a_desktop_shows_no_half_empty_league(site: Site, tab: Callable[..., Tab]) -> None:
    page = tab(width=1280).open("/leagues/hungry-geese")
    left, right = page.evaluate(
        "[...document.querySelectorAll('.columns > .stack')].map((one) =>"
        " [...one.children].reduce((sum, card) => sum + card.offsetHeight, 0))"
    )
    assert left > 0.6 * right


def test_a_host_types_in_the_font_of_the_page(site: Site, tab: Callable[..., Tab]) -> None:
    mine = tab()
    mine.sign_in(site.contest.host_token)
    page = mine.open("/new-league")
    fonts = page.evaluate(
        "[...document.querySelectorAll('main input[type=text], main textarea, main select')]"
        ".map((one) => getComputedStyle(one).fontFamily)"
    )
    assert fonts
    assert not any("mono" in font.lower() for font in fonts)


def test_a_phone_shows_no_hints_about_keys(site: Site, browser: Browser) -> None:
    address = f"{site.address}/matches/{site.contest.failed_match}"
    for is_phone in (True, False):
        context = browser.new_context(
            viewport={"width": 390 if is_phone else 1280, "height": 844}, has_touch=is_phone
        )
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector("[data-ready]")
        assert page.locator(".hints").is_visible() is not is_phone
        context.close()


def test_a_signed_out_visitor_reads_sign_in_and_no_page_of_their_own(
    tab: Callable[..., Tab],
) -> None:
    page = tab(width=1280).open("/")
    top = page.get_by_role("banner").inner_text()
    assert "Sign in" in top
    assert "My page" not in top
    assert page.get_by_role("banner").get_by_role("link").count() >= 6


def test_who_follows_an_invitation_reads_so_at_the_sign_in(site: Site) -> None:
    invited = "next=%2Fjoin%3Fcode%3Djoin_x"
    assert "You have an invitation to a league" in site.get(f"/sign-in?{invited}").text
    assert "join the league that invited you" in site.get(f"/sign-up?{invited}").text
    assert "invitation to a league" not in site.get("/sign-in").text


def empty_contest(conn: Connection, site: Site, slug: str) -> Contest:
    """A contest in a new private league of the host, without agents."""
    host_id = tokens.owner_of_token(conn, site.contest.host_token)
    assert host_id is not None
    host = users.get_user(conn, host_id)
    league, season = seeding.make_league(conn, host, slug, slug.title(), "private")
    return replace(site.contest, league=league, season=season, active=[], players={}, rated=[])


def test_a_league_without_ranks_says_what_its_new_agents_do(site: Site) -> None:
    token = site.contest.host_token
    with connect(site.database_url) as conn:
        new = empty_contest(conn, site, "new-pond")
        assert "Be the first: submit" in site.get("/leagues/new-pond", token).text
        teams = [seeding.team_of(conn, name) for name in ("Early Birds", "Late Birds")]
        seated = [seeding.add(conn, site.blobs, new, one, "First", "greedy") for one in teams]
        conn.commit()
        tag = site.get("/leagues/new-pond/board", token).headers["etag"]
        seeding.enter(conn, new, seated[0].agent_id, b"new here", "waits")
        conn.commit()
        assert site.get("/leagues/new-pond/board", token).headers["etag"] != tag
        waiting = "2 agents are waiting for their first match, and 1 agent is in validation."
        for path in ("/leagues/new-pond", "/leagues/new-pond/board", "/"):
            page = site.get(path, token).text
            assert waiting in page
            assert "Be the first: submit" not in page
        lineup = [LineupSeat(e.id, e.submission_id, e.agent_id, e.team_id) for e in 2 * seated]
        matches.create_match(conn, season=new.season, kind=MatchKind.RATED, lineup=lineup)
        conn.commit()
    playing = "2 agents are in their first matches, and 1 agent is in validation."
    assert playing in site.get("/leagues/new-pond", token).text


def test_an_uploads_progress_ends_with_its_first_rated_match_and_rank(site: Site) -> None:
    with connect(site.database_url) as conn:
        nia = users.create_user(conn, "Nia New", is_admin=True)  # sees the private league
        _, token = tokens.mint_token(conn, nia.id, "laptop", ["read"])
        new = empty_contest(conn, site, "first-pond")
        mine = users.create_team(conn, "Nia and Friends", "nia", nia.id)
        seated = [
            seeding.add(conn, site.blobs, new, team, "Debut", "greedy")
            for team in (mine, seeding.team_of(conn, "Nia's Neighbours"))
        ]
        path = f"/agents/{seated[0].agent_id}"
        assert "Its first rated match comes when" in site.get(path, token).text
        lineup = [LineupSeat(e.id, e.submission_id, e.agent_id, e.team_id) for e in 2 * seated]
        made = matches.create_match(conn, season=new.season, kind=MatchKind.RATED, lineup=lineup)
        conn.commit()
        link = f'Its first rated match: <a href="/matches/{made}'
        part = site.get(f"{path}/submissions?stage=first_match", token).text
        assert f'{link}">Debut against Debut, Debut and Debut</a>. It waits for a machine.' in part
        play_queued(conn, site.blobs, made, [new.players[one.id]() for one in 2 * seated])
        assert "Its rank follows in some seconds" in site.get(path, token).text
        live_ratings.rate_season(conn, new.season.id)
        conn.commit()
    assert site.get(f"{path}/submissions?stage=first_match", token).status_code == 205
    page = site.get(path, token).text
    assert f"{link}?results=shown" in page
    assert 'class="columns agent waits"' in page  # the list comes first on a phone
    assert re.search(r"\(<strong>(shared )?[1-4](st|nd|rd|th) of 4</strong>\)", page)
    assert re.search(r"Its rank is <strong>[12] of 2</strong> now", page)
    assert link not in site.get(path, site.contest.host_token).text  # for its team alone


def test_a_list_without_running_matches_says_what_waits(site: Site) -> None:
    token = site.contest.host_token
    path = "/leagues/busy-pond/playing"
    with connect(site.database_url) as conn:
        new = empty_contest(conn, site, "busy-pond")
        conn.commit()
        idle = site.get(path, token)
        assert "No match is being played now." in idle.text
        teams = [seeding.team_of(conn, name) for name in ("Busy Birds", "Waiting Birds")]
        seated = [seeding.add(conn, site.blobs, new, one, "First", "greedy") for one in teams]
        lineup = [LineupSeat(e.id, e.submission_id, e.agent_id, e.team_id) for e in 2 * seated]
        matches.create_match(conn, season=new.season, kind=MatchKind.RATED, lineup=lineup)
        lived = conn.execute("select id, live_until from workers").fetchall()
        conn.execute("update workers set live_until = now()")
        conn.commit()
        assert "1 match waits for a machine." in site.get(path, token).text
        assert live_matches.count_waiting(conn, STRANGER, league_id=new.league.id) == 0
        upload = seeding.enter(conn, new, seated[0].agent_id, b"slow", "sleeps")
        assert upload.validation_match_id is not None
        workers.register_worker(conn, hello("one-slot", slots=1))
        assert lease.claim_match(conn, upload.validation_match_id, "one-slot") is not None
        conn.commit()
        busy = site.get(path, token)
        assert "The machines are busy. 1 match waits for a free one." in busy.text
        assert busy.headers["etag"] != idle.headers["etag"]
        matches.void_matches(conn, [upload.validation_match_id], "the test is over")
        conn.execute("update workers set live_until = now() where id = 'one-slot'")
        for worker, until in lived:
            conn.execute("update workers set live_until = %s where id = %s", (until, worker))


def test_an_invited_stranger_reads_who_invites_and_keeps_the_invitation(site: Site) -> None:
    with connect(site.database_url) as conn:
        host_id = tokens.owner_of_token(conn, site.contest.host_token)
        guest_id = tokens.owner_of_token(conn, site.contest.stranger_token)
        assert host_id is not None
        assert guest_id is not None
        host = users.get_user(conn, host_id)
        league, _ = seeding.make_league(conn, host, "guests", "Pond of Guests", "invitation")
        _, code = invitations.create_invitation(
            conn, league.id, role="competitor", created_by=host.id
        )
        conn.commit()
        link = f"/join?code={code}"
        onward = quote(link, safe="")
        page = site.get(link).text
        assert "Pond of Guests</h1>" in page
        assert f"You are invited to this league by {host.name}." in page
        assert page.index("Sign up and join") < page.index("I have an account")
        for path in (link, f"/sign-in?next={onward}"):
            assert site.get(path).text.count(f'href="/sign-up?next={onward}"') == 2, path
        header = site.get(f"/sign-up?next={onward}").text.split("</header>")[0]
        assert f'href="/sign-in?next={onward}"' in header
        folded = '<details class="card fold">\n    <summary><strong>Or with a token'
        assert folded in site.get(f"/sign-in?next={onward}").text
        wrong = site.get(f"{link}x")
        assert wrong.status_code == 422
        assert "Pond of Guests" not in wrong.text
        wrong = site.get("/join?code=join_typed", site.contest.stranger_token)
        assert "This code is mistyped, expired, revoked or used up; ask" in wrong.text
        assert 'value="join_typed"' in wrong.text
        digest = staff.current_digest(conn, league)
        invitations.join_league(conn, guest_id, code, digest)
        conn.commit()
        again = site.get(link, site.contest.stranger_token).text
        assert "You are already in this league, as competitor." in again


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


def test_hosts_of_a_private_league_find_how_to_add_people(site: Site) -> None:
    token = site.contest.host_token
    with connect(site.database_url) as conn:
        new = empty_contest(conn, site, "class-pond")
        conn.commit()
    league = site.get("/leagues/class-pond", token).text
    assert 'class="columns hosted"' in league  # before the first match its card comes first
    assert "Live matches are shown without delay" in league
    assert 'href="/leagues/class-pond/people">Add people</a>' in league
    people = site.get("/leagues/class-pond/people", token).text
    assert "Add a person, or change a role" in people
    assert f"./peck league import {new.league.slug} roster.csv" in people
    assert "People join with an invitation" not in people
    links = site.get("/leagues/class-pond/invitations", token).text
    assert "A link admits people" not in links
    assert "No link yet" not in links
    assert 'class="columns hosted"' not in site.get("/leagues/hungry-geese", token).text


def test_hosts_see_when_people_joined_and_how_their_agents_do(site: Site) -> None:
    token = site.contest.host_token
    with connect(site.database_url) as conn:
        new = empty_contest(conn, site, "seen-pond")
        mia = users.create_user(conn, "Mia Member")
        leagues.set_member_role(conn, new.league.id, mia.id, LeagueRole.COMPETITOR)
        conn.commit()
        page = site.get("/leagues/seen-pond/people", token).text
        assert "2 people" in page
        assert page.index('id="members"') < page.index('id="requests"')  # nobody waits
        mine = page.split("Mia Member</strong>")[1].split("</li>")[0]
        assert "joined <time" in mine
        assert "no agent yet" in mine
        team = users.create_team(conn, "Mia's Team", "mia", mia.id)
        seeding.add(conn, site.blobs, new, team, "First", "greedy")
        conn.commit()
    page = site.get("/leagues/seen-pond/people", token).text
    link = f'<a class="name" href="/teams/{team.id}">Mia Member</a>'
    mine = page.split(link)[1].split("</li>")[0]
    assert "passed validation" in mine
    assert "team Mia&#39;s Team" in mine


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


def test_a_new_league_asks_for_its_deadline_before_the_other_settings(site: Site) -> None:
    page = site.get("/new-league", site.contest.host_token).text
    assert page.index('name="season.closes_at"') < page.index("More settings</strong>")
    assert page.count("only they see the league") == 2


def test_a_page_of_rules_has_its_contents_first_on_a_phone(tab: Callable[..., Tab]) -> None:
    page = tab(width=360).open("/games/hungry_geese")
    contents = page.get_by_text("On this page")
    assert contents.is_visible()
    contents.click()
    assert page.get_by_role("link", name="A complete agent").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_header_on_a_phone_cuts_no_name(site: Site, tab: Callable[..., Tab]) -> None:
    for width in (360, 1280):
        mine = tab(width=width)
        mine.sign_in(site.contest.host_token)
        page = mine.open("/leagues")
        link = page.get_by_role("navigation", name="Account").locator('a[href="/me"]')
        assert (link.inner_text() == "My page") is (width == 360)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_links_of_lists_are_large_enough_for_a_finger(tab: Callable[..., Tab]) -> None:
    page = tab(width=360)
    small = (
        "[...document.querySelectorAll('a')].filter((one) => one.checkVisibility()"
        " && !one.closest('p.small, p.about, .body > p')"
        " && one.getBoundingClientRect().height < 24).map((one) => one.outerHTML)"
    )
    for path in ("/leagues", "/leagues/hungry-geese", "/games/hungry_geese", "/matches"):
        assert page.open(path).evaluate(small) == [], path


def test_the_code_of_an_invitation_link_fills_the_form_of_a_new_account() -> None:
    assert sign_in.code_of_path("/join?code=join_x") == "join_x"
    assert sign_in.code_of_path("/join") == ""
    assert sign_in.code_of_path("/upload?code=join_x") == ""


def test_the_page_of_an_invitation_is_accessible_on_a_small_phone(
    site: Site, tab: Callable[..., Tab]
) -> None:
    with connect(site.database_url) as conn:
        host_id = tokens.owner_of_token(conn, site.contest.host_token)
        assert host_id is not None
        host = users.get_user(conn, host_id)
        league, _ = seeding.make_league(conn, host, "small-pond", "Small Pond", "invitation")
        _, code = invitations.create_invitation(
            conn, league.id, role="competitor", created_by=host.id
        )
        conn.commit()
    for scheme in ("light", "dark"):
        page = tab(width=360, scheme=scheme).open(f"/join?code={code}")
        assert page.evaluate(NAMES) + page.evaluate(CONTRAST) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_role("link", name="Sign up and join").click()
    page.get_by_label("Name").fill("Small Guest")
    page.get_by_label("Password").fill("three geese on a torus")
    press(page, "Sign up")
    press(page, "Agree and join")
    assert page.url.endswith("/leagues/small-pond?joined=true")


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


def test_the_next_match_is_offered_below_the_final_position(
    site: Site, tab: Callable[..., Tab]
) -> None:
    page = tab(width=390).open(f"/matches/{site.contest.rated[3]}#step=9999")
    page.wait_for_selector("[data-ready]")
    board, offer = page.locator(".arena").bounding_box(), page.locator(".up-next").bounding_box()
    assert board is not None
    assert offer is not None
    assert offer["y"] >= board["y"] + board["height"]


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
