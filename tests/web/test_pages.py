"""The server's responses: headers, escaping, access control. No browser needed."""

from __future__ import annotations

import html
import json
import re
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from ladder.database.db import connect
from ladder.enums import ReplayVisibility
from ladder.leagues import leagues
from ladder.people import tokens
from services.api_client import tls_context
from services.web import charts, formatting
from tests.web.conftest import Site, sign_in
from tests.web.empty_contest import empty_contest
from tests.web.seeding import SCRIPT_NAME

SCRIPT = '<script type="module" fetchpriority="low" src="/'
ESCAPED = "&lt;script&gt;alert(&#39;name&#39;)&lt;/script&gt;"


def test_the_content_policy_allows_only_our_own_files(site: Site) -> None:
    contest = site.contest
    paths = ["/", "/leagues/hungry-geese", f"/matches/{contest.rated[-1]}", "/sign-in", "/nothing"]
    for path in paths:
        answer = site.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert " style=" not in answer.text
        assert answer.text.count("<script") == answer.text.count(SCRIPT)


def test_the_address_of_a_form_leads_to_the_nearest_page(site: Site) -> None:
    tournament = f"/tournaments/{site.contest.tournament}"
    for address, page in (
        ("/teams/odo/invite", "/teams/odo"),
        (f"{tournament}/shows", tournament),
        (f"{tournament}/shows/shw_1/revoke", tournament),
        ("/leagues/hungry-geese/people/role", "/leagues/hungry-geese/people"),
        ("/sign-out", "/"),
        ("/team-merges/tme_1/accept", "/me#teams"),
        ("/team-invitations/tin_1/accept", "/me#teams"),
        ("/me/password", "/me/account"),
        ("/me/passkeys/pky_1/remove", "/me/account"),
        ("/me/data/delete", "/me/data"),
        ("/me/mail/remove", "/me/account#mail"),
        ("/recover/code", "/recover"),
        ("/recover/mail", "/recover"),
        ("/teams/a%0d%0ab%3f%5c/invite", "/teams/a%0D%0Ab%3F%5C"),
    ):
        answer = site.get(address)
        assert (answer.status_code, answer.headers["location"]) == (303, page)
    assert site.get("/teams/nobody").status_code == 404
    headers = {"Accept": "text/html"}
    assert httpx.head(f"{site.address}/teams/odo", headers=headers).status_code == 200
    elsewhere = f"{site.address}//elsewhere.example/teams/odo/invite"
    assert httpx.get(elsewhere, headers=headers).status_code == 404
    program = httpx.get(f"{site.address}/teams/odo/invite")
    assert (program.status_code, program.json()["type"]) == (405, "/problems/method-not-allowed")


def test_a_form_that_an_address_does_not_take_gets_a_link_to_the_page(site: Site) -> None:
    answer = httpx.post(f"{site.address}/teams/odo", headers={"Accept": "text/html"})
    assert answer.status_code == 405
    assert "This address takes no forms." in answer.text
    assert 'href="/teams/odo">Open the page</a>' in answer.text


def test_the_description_of_a_league_keeps_its_paragraphs_and_links(site: Site) -> None:
    text = "Two lines\nof one <b>paragraph</b>.\r\n \r\nRules: https://rules.example/a?b=1&c=2."
    with connect(site.database_url) as conn:
        league = empty_contest(conn, site, "described").league
        conn.execute("update leagues set description = %s where id = %s", (text, league.id))
    link = "https://rules.example/a?b=1&amp;c=2"
    shown = (
        "<p>Two lines<br>of one &lt;b&gt;paragraph&lt;/b&gt;.</p>"
        f'<p>Rules: <a href="{link}" rel="nofollow noopener">{link}</a>.</p>'
    )
    assert shown in site.get("/leagues/described", site.contest.host_token).text


def test_the_card_of_a_league_shows_the_start_of_its_description(site: Site) -> None:
    first = "\nTwo lines\n of one <b>paragraph</b>.\r\n \r\nRules: no."
    with connect(site.database_url, autocommit=True) as conn:
        league = empty_contest(conn, site, "carded").league
        for text, shown in (
            (first, "Two lines of one &lt;b&gt;paragraph&lt;/b&gt;."),
            ("words " * 100, "words " * 32 + "words…"),
            ("word " * 40 + "words", "word " * 38 + "word…"),
        ):
            conn.execute("update leagues set description = %s where id = %s", (text, league.id))
            page = site.get("/leagues", site.contest.host_token).text
            card = page.partition('<a href="/leagues/carded">')[2].partition("</article>")[0]
            assert f'<p class="muted small">{shown}</p>' in card


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("javascript:alert(1) data:text/html,x //a.example mailto:a@a.example", []),
        ("xhttps://a.example https:// http://.", []),
        ("<script>https://a.example</script>", ["https://a.example"]),
        (
            """https://a.example/"onclick='x' https://b.example/'b""",
            ["https://a.example/", "https://b.example/"],
        ),
        ("(HTTPS://a.example/b), [http://c.example]!", ["HTTPS://a.example/b", "http://c.example"]),
        ("https://a.example/&quot;onclick", ["https://a.example/&quot;onclick"]),
        ("(a https://a.example/goose_(bird)).", ["https://a.example/goose_(bird)"]),
    ],
)
def test_hostile_text_yields_only_links(text: str, addresses: list[str]) -> None:
    shown = str(formatting.plain_text_html(text))
    links = re.findall(r'<a href="([^"]*)" rel="nofollow noopener">([^<]*)</a>', shown)
    assert [(html.unescape(to), html.unescape(name)) for to, name in links] == [
        (address, address) for address in addresses
    ]
    rest = re.sub(r'<a href="[^"]*" rel="nofollow noopener">([^<]*)</a>', r"\1", shown)
    assert html.unescape(rest) == f"<p>{text}</p>"
    assert not re.search("[<>\"']", rest.removeprefix("<p>").removesuffix("</p>"))


def test_a_script_in_an_agent_name_is_shown_as_text(site: Site) -> None:
    with connect(site.database_url) as conn:
        row = conn.execute("select id from agents where name = %s", (SCRIPT_NAME,)).fetchone()
        assert row is not None
        played = conn.execute(
            "select t.match_id from seats t join matches m on m.id = t.match_id"
            " where t.agent_id = %s and m.kind = 'rated' limit 1",
            row,
        ).fetchone()
    assert played is not None
    for path in ("/leagues/hungry-geese", f"/agents/{row[0]}", f"/matches/{played[0]}"):
        text = site.get(path).text
        assert ESCAPED in text
        assert SCRIPT_NAME not in text


def test_a_log_is_visible_only_to_the_owner(site: Site) -> None:
    contest = site.contest
    path = f"/logs/{contest.failed_match}/0"
    mine = site.get(path, contest.owner_token)
    assert mine.status_code == 200
    assert "&lt;script&gt;alert(&#39;log&#39;)&lt;/script&gt;" in mine.text
    assert "3 times" in mine.text
    assert "Step 2 took 0.7 s &amp; more" in mine.text
    assert "<script>alert" not in mine.text
    assert "Traceback" in mine.text
    for column in ("Charged", "Wall", "CPU", "Waited", "Bank"):
        assert column in mine.text
    for token in (None, contest.stranger_token, contest.host_token):
        assert site.get(path, token).status_code == 404
    assert site.get(f"/logs/{contest.failed_match}/1", contest.owner_token).status_code == 404
    assert site.get(f"/logs/{contest.failed_match}/9", contest.owner_token).status_code == 404


def test_the_reason_of_a_failure_is_visible_only_to_the_owner(site: Site) -> None:
    path = f"/matches/{site.contest.failed_match}"
    reason = "raised ValueError"
    assert reason in site.get(path, site.contest.owner_token).text
    for token in (None, site.contest.stranger_token, site.contest.host_token):
        answer = site.get(path, token)
        assert answer.status_code == 200
        assert reason not in answer.text
        assert "/logs/" not in answer.text


def test_submission_states_are_visible_only_to_the_owner(
    site: Site,
) -> None:
    contest = site.contest
    path = f"/agents/{contest.own[0].agent_id}"
    mine = site.get(path, contest.owner_token).text
    assert "in validation" in mine
    assert "Next for validation" in mine
    assert "ERROR at step 4: raised ValueError" in mine
    assert "tries a longer look-ahead" in mine
    others = site.get(path, contest.stranger_token).text
    for secret in ("in validation", "ERROR at step", "rejected", "tries a longer look-ahead"):
        assert secret not in others


def test_a_private_league_is_not_found_for_non_members(site: Site) -> None:
    contest = site.contest
    for token, status in ((None, 404), (contest.stranger_token, 404), (contest.host_token, 200)):
        for path in ("/leagues/club", "/leagues/club/board", "/leagues/club/recent"):
            assert site.get(path, token).status_code == status
        assert ("Ornithologists" in site.get("/leagues", token).text) == (status == 200)


def test_a_scrim_is_visible_only_to_the_requesting_team(site: Site) -> None:
    contest = site.contest
    with connect(site.database_url) as conn:
        row = conn.execute(
            "select id from matches where scrim_id = %s and state = 'finished' limit 1",
            (contest.scrim,),
        ).fetchone()
    assert row is not None
    match = f"/matches/{row[0]}"
    paths = [f"/scrims/{contest.scrim}", match, f"{match}/episode.json", f"{match}/replay"]
    for path in paths:
        assert site.get(path, contest.owner_token).status_code == 200
        for token in (None, contest.stranger_token, contest.host_token):
            assert site.get(path, token).status_code == 404
    assert match not in site.get(f"/agents/{contest.own[0].agent_id}").text
    assert match in site.get(f"/agents/{contest.own[0].agent_id}", contest.owner_token).text


def test_a_restricted_replay_is_hidden_from_other_teams(site: Site) -> None:
    contest = site.contest
    match = f"/matches/{contest.failed_match}"
    with connect(site.database_url) as conn:
        leagues.update_league(conn, contest.league.id, replay_visibility=ReplayVisibility.OWN)
    try:
        mine = site.get(match, contest.owner_token).text
        assert "data-player" in mine
        others = site.get(match, contest.stranger_token).text
        assert "may not see the replay" in others
        assert "data-player" not in others
        assert " ms<" not in others
        for path in (f"{match}/episode.json", f"{match}/replay"):
            assert site.get(path, contest.owner_token).status_code == 200
            assert site.get(path, contest.stranger_token).status_code == 403
    finally:
        with connect(site.database_url) as conn:
            leagues.update_league(
                conn, contest.league.id, replay_visibility=ReplayVisibility.PUBLIC
            )


def test_scrim_progress_is_visible_only_to_the_team(site: Site) -> None:
    path = f"/scrims/{site.contest.scrim}/progress"
    answer = site.get(path, site.contest.owner_token)
    assert answer.status_code == 200
    assert "Win rate" in answer.text
    assert site.get(path, site.contest.stranger_token).status_code == 404


def test_a_forged_sign_in_form_is_refused(site: Site) -> None:
    token = site.contest.owner_token
    with httpx.Client(base_url=site.address, verify=tls_context(site.address)) as client:
        for proof in ("", "0" * 64):
            answer = client.post("/sign-in", data={"token": token, "form_token": proof})
            assert answer.status_code == 403
        assert "peck_session" not in client.cookies
        stolen = httpx.get(f"{site.address}/sign-in").text.split('form_token" value="')[1][:64]
        answer = client.post("/sign-in", data={"token": token, "form_token": stolen})
        assert answer.status_code == 403


def test_a_session_cookie_ends_with_the_token(site: Site) -> None:
    with connect(site.database_url) as conn:
        token, text = tokens.mint_token(conn, site.contest.owner.id, "borrowed", ["read"])
    with httpx.Client(base_url=site.address, verify=tls_context(site.address)) as client:
        answer = sign_in(client, text)
        assert answer.status_code == 303
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert text not in cookie
        assert "Odo Owner" in client.get("/me").text
        value = client.cookies["peck_session"]
        forged = f"{value[:-1]}{'0' if value[-1] != '0' else '1'}"
        assert httpx.get(f"{site.address}/me", cookies={"peck_session": forged}).status_code == 303
        odd = {b"Cookie": "peck_session=é.x".encode()}
        assert httpx.get(f"{site.address}/me", headers=odd).status_code == 303
        with connect(site.database_url) as conn:
            tokens.revoke_token(conn, site.contest.owner.id, token.id)
        assert client.get("/me").status_code == 303


def test_signing_out_ends_the_session(site: Site) -> None:
    with httpx.Client(base_url=site.address, verify=tls_context(site.address)) as client:
        sign_in(client, site.contest.owner_token)
        assert client.post("/sign-out", data={"form_token": "x"}).status_code == 403
        page = client.get("/me").text
        proof = page.split('name="form_token" value="', 1)[1].split('"', 1)[0]
        assert client.post("/sign-out", data={"form_token": proof}).status_code == 303
        assert client.get("/me").status_code == 303


@pytest.mark.parametrize("onward", ["//evil.example", "https://evil.example", "/\\evil", "x\ny"])
def test_sign_in_never_redirects_to_another_site(site: Site, onward: str) -> None:
    with httpx.Client(base_url=site.address, verify=tls_context(site.address)) as client:
        form = client.get("/sign-in", params={"next": onward}).text
        proof = form.split('name="form_token" value="', 1)[1].split('"', 1)[0]
        data = {"token": site.contest.owner_token, "form_token": proof, "next": onward}
        assert client.post("/sign-in", data=data).headers["location"] == "/me"


def test_a_wrong_token_is_reported(site: Site) -> None:
    with httpx.Client(base_url=site.address, verify=tls_context(site.address)) as client:
        answer = sign_in(client, "peck_wrong")
        assert answer.status_code == 422
        assert "mistyped, expired or revoked" in answer.text


def test_an_unchanged_leaderboard_is_not_sent_again(site: Site) -> None:
    first = site.get("/leagues/hungry-geese/board")
    assert first.status_code == 200
    again = httpx.get(
        f"{site.address}/leagues/hungry-geese/board",
        headers={"If-None-Match": first.headers["etag"]},
    )
    assert again.status_code == 304
    assert again.content == b""


def test_the_leaderboard_shows_anchors_without_a_rank(site: Site) -> None:
    text = site.get("/leagues/hungry-geese").text
    rows = [row.split("</tr>")[0] for row in text.split("<tr")[2:]]
    anchor = next(row for row in rows if "Anchor: greedy" in row)
    assert ">ref<" in anchor
    assert "medal" not in anchor
    assert [row.count('class="medal"') for row in rows if "Anchor" not in row][:5] == [1] * 4 + [0]


def test_unknown_addresses_give_proper_responses(site: Site) -> None:
    assert site.get("/leagues/hungry-geese?page=99999").status_code == 200
    for path in (
        "/leagues/hungry-geese?season=7",
        "/leagues/nope",
        "/agents/age_nope",
        "/agents/%00",
        "/matches/mat_nope",
        "/scrims/scr_nope",
        "/logs/mat_nope/0",
        "/problems/nope",
    ):
        answer = site.get(path)
        assert answer.status_code == 404, path
        assert "<h1>" in answer.text


def test_page_errors_are_html_pages(site: Site) -> None:
    headers = {"Accept": "text/html"}
    api = httpx.get(f"{site.address}/v1/nothing", headers=headers)
    assert api.headers["content-type"] == "application/problem+json"
    page = httpx.get(f"{site.address}/nothing", headers=headers)
    assert page.headers["content-type"].startswith("text/html")
    assert httpx.get(f"{site.address}/problems/not-found").status_code == 200


def test_the_kaggle_download_equals_the_api_episode(site: Site) -> None:
    match = site.contest.rated[0]
    own = site.get(f"/matches/{match}/episode.json?download=1")
    assert own.headers["content-disposition"].startswith('attachment; filename="episode-')
    api = httpx.get(f"{site.address}/v1/matches/{match}/replay", params={"format": "kaggle"})
    assert json.loads(own.text)["steps"] == api.json()["steps"]


def test_an_episode_is_sent_compressed_with_an_etag(site: Site) -> None:
    path = f"{site.address}/matches/{site.contest.other_games['golad']}/episode.json"
    packed, plain = (
        httpx.get(path, headers={"Accept-Encoding": accepted}) for accepted in ("gzip", "identity")
    )
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.content == plain.content
    assert int(packed.headers["content-length"]) < len(plain.content) / 5
    assert "Accept-Encoding" in packed.headers["vary"]
    known = httpx.get(path, headers={"If-None-Match": packed.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")


def test_times_and_numbers_have_readable_formats() -> None:
    now = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
    for seconds, text in (
        (3, "just now"),
        (59, "59 s ago"),
        (61, "1 min ago"),
        (90_000, "1 d ago"),
    ):
        assert formatting.ago_text(now - timedelta(seconds=seconds), now) == text
    assert [formatting.seconds_text(one) for one in (0.00004, 0.0012, 0.25, 1.0, 61.5, 600)] == [
        "<0.1 ms",
        "1.2 ms",
        "250 ms",
        "1 s",
        "61.5 s",
        "10 min",
    ]
    assert str(formatting.change_text(-7.6)) == '<span class="num down">\N{MINUS SIGN}8</span>'


def test_a_rating_curve_links_every_match() -> None:
    at = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
    start = charts.CurvePoint(600, 200, 0, "mat_a", at)
    drawn = str(charts.draw_curves([charts.CurvePoint(650, 150, 50, "mat_a", at)], start))
    assert "from 600 to 650, now plus or minus 294" in drawn
    assert drawn.count('href="/matches/mat_a"') == 2
    assert "style=" not in drawn
    assert charts.axis_ticks(0, 1000) == [0, 250, 500, 750, 1000]
