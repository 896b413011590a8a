"""What newcomers and hosts of new leagues read before the first match."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

import pytest

from ladder.database.db import connect
from ladder.enums import LeagueRole, MatchKind, VoidCause
from ladder.leagues import invitations, leagues, seasons, terms
from ladder.matches import lease, live_matches, matches, workers
from ladder.matches.records import LineupSeat
from ladder.people import tokens, users
from ladder.people.records import STRANGER
from ladder.ratings import live_ratings
from services.web import sign_in
from tests.integration.ladder.contest import hello
from tests.web import seeding
from tests.web.conftest import Site, Tab
from tests.web.empty_contest import empty_contest
from tests.web.games_played import play_queued

pytestmark = pytest.mark.browser


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


@pytest.mark.parametrize(
    ("league_state", "season_state", "told"),
    [
        ("closed", "open", "The league is closed: it takes no uploads."),
        ("open", "locked", "Uploads are closed."),
        ("open", "finished", "The season is finished: it takes no uploads."),
        ("paused", "open", "The league is paused. You can submit"),
    ],
)
def test_only_an_open_league_without_agents_asks_for_the_first(
    site: Site, league_state: str, season_state: str, told: str
) -> None:
    slug, token = f"{league_state}-{season_state}-pond", site.contest.host_token
    with connect(site.database_url) as conn:
        new = empty_contest(conn, site, slug)
        seasons.set_season_state(conn, new.season.id, season_state)
        leagues.set_league_state(conn, new.league.id, league_state)
    for path in (f"/leagues/{slug}", f"/leagues/{slug}/board"):
        page = site.get(path, token).text
        assert told in page
        assert "Be the first" not in page
    assert f'<a href="/upload?league={slug}">Be the first</a>' not in site.get("/", token).text


def test_new_agents_of_a_finished_season_wait_for_nothing(site: Site) -> None:
    token = site.contest.host_token
    with connect(site.database_url) as conn:
        new = empty_contest(conn, site, "over-pond")
        team = seeding.team_of(conn, "Over")
        entry = seeding.add(conn, site.blobs, new, team, "Over", "greedy")
        conn.commit()
        assert "waiting for its first match" in site.get("/leagues/over-pond", token).text
        seasons.set_season_state(conn, new.season.id, "finished")
    assert "waiting for its first match" not in site.get("/leagues/over-pond", token).text
    assert "Wait some minutes" not in site.get(f"/agents/{entry.agent_id}", token).text


def test_an_uploads_progress_ends_with_its_first_rated_match_and_rank(site: Site) -> None:
    with connect(site.database_url) as conn:
        nia = users.create_user(conn, "Nia New")
        _, token = tokens.mint_token(conn, nia.id, "laptop", ["read"])
        new = empty_contest(conn, site, "first-pond")
        leagues.set_member_role(conn, new.league.id, nia.id, LeagueRole.COMPETITOR)
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
        assert "It passed its validation." in part
        assert made not in part  # who plays in a queued match is hidden
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
        matches.void_matches(
            conn, [upload.validation_match_id], VoidCause.NOT_NEEDED, "the test is over"
        )
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
        digest = terms.terms_digest(terms.settings_of_league(league))
        invitations.join_league(conn, guest_id, code, digest)
        conn.commit()
        again = site.get(link, site.contest.stranger_token).text
        assert "You are already in this league, as competitor." in again


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
    assert f'href="/leagues/{new.league.slug}/roster"' in people
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


def test_a_new_league_asks_for_its_deadline_before_the_other_settings(site: Site) -> None:
    page = site.get("/new-league", site.contest.host_token).text
    assert page.index('name="season.closes_at"') < page.index("More settings</strong>")
    assert page.count("only they see the league") == 2


def test_the_code_of_an_invitation_link_fills_the_form_of_a_new_account() -> None:
    assert sign_in.code_of_path("/join?code=join_x") == "join_x"
    assert sign_in.code_of_path("/join") == ""
    assert sign_in.code_of_path("//[::1") == ""
    assert sign_in.code_of_path("/upload?code=join_x") == ""
