"""Cards, clips, embedded players and oEmbed: what other sites show, and only of what is public."""

from __future__ import annotations

import io
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import httpx
import pytest
from PIL import Image
from playwright.sync_api import Browser, expect

from ladder.database import db
from ladder.entries import agents
from ladder.enums import ReplayVisibility
from ladder.leagues import leagues
from ladder.reports import pictures
from tests.web.conftest import Site
from workers.pictures import MOST_CLIP_BYTES, draw_wanted, judge_matches


def draw_all(site: Site) -> int:
    """Draw what is wanted, as the worker does."""
    with db.connect(site.database_url) as conn:
        return draw_wanted(conn, site.blobs, lambda: False, lambda: None)


@contextmanager
def drawing_worker(site: Site) -> Iterator[None]:
    """Draws in a thread until the end."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.05):
            draw_all(site)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield
    finally:
        over.set()
        worker.join()


def drawn(site: Site, path: str) -> httpx.Response:
    """The picture, once the worker has drawn it."""
    until = time.monotonic() + 60
    while (answer := get(site, path)).status_code == 202:
        assert time.monotonic() < until
        time.sleep(0.2)
    return answer


def get(site: Site, path: str, **headers: str) -> httpx.Response:
    return httpx.get(site.address + path, headers=headers, timeout=60)


def test_cards_and_clips_are_drawn_once_and_then_kept(site: Site) -> None:
    match = site.contest.rated[4]
    agent, league = site.contest.own[0].agent_id, site.contest.league.slug
    other = site.contest.active[0].agent_id
    early = get(site, f"/pictures/matches/{match}/clip.gif")
    assert early.status_code == 202
    assert early.headers["cache-control"] == "no-store"
    assert Image.open(io.BytesIO(early.content)).size == (1200, 630)
    with drawing_worker(site):
        cards = [
            drawn(site, f"/pictures/{path}/card.png")
            for path in (
                f"matches/{match}",
                f"agents/{agent}",
                f"leagues/{league}",
                f"compare/{agent}/{other}",
            )
        ]
        made = {
            form: drawn(site, f"/pictures/matches/{match}/clip.{form}") for form in ("webp", "gif")
        }
    for card in cards:
        assert (card.status_code, card.headers["content-type"]) == (200, "image/png")
        assert card.headers["cross-origin-resource-policy"] == "cross-origin"
        assert "set-cookie" not in card.headers
        assert Image.open(io.BytesIO(card.content)).size == (1200, 630)
        assert len(card.content) < 200_000
    assert len({card.content for card in [early, *cards]}) == 5
    compared = f"/compare?agent={agent}&opponent={other}"
    assert f"/pictures/compare/{agent}/{other}/card.png" in site.get(compared).text
    for form, clip in made.items():
        picture = Image.open(io.BytesIO(clip.content))
        assert picture.format == form.upper()
        assert getattr(picture, "n_frames", 1) > 20
        assert len(clip.content) <= MOST_CLIP_BYTES
    path = f"/pictures/matches/{match}/card.png"
    again = get(site, path, **{"If-None-Match": cards[0].headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert draw_all(site) == 0


def test_the_page_shows_pictures_once_they_are_drawn(site: Site, browser: Browser) -> None:
    with db.connect(site.database_url) as conn:
        judge_matches(conn, site.blobs, lambda: False, lambda: None)
        conn.execute("delete from pictures")  # an earlier test may have drawn them
    page = browser.new_page()
    page.goto(f"{site.address}/watch")
    picture = page.locator("img[data-drawn]").first
    expect(picture).to_have_js_property("complete", True, timeout=30_000)
    expect(picture).not_to_have_attribute("src", re.compile("drawn"))
    with drawing_worker(site):
        expect(picture).to_have_attribute("src", re.compile(r"#drawn$"), timeout=60_000)
    page.close()


def test_a_changed_name_changes_the_card(site: Site) -> None:
    match = site.contest.rated[5]
    path = f"/pictures/matches/{match}/card.png"
    with drawing_worker(site):
        before = drawn(site, path)
    with db.connect(site.database_url) as conn:
        subject = pictures.match_subject(match)
        conn.execute(
            "update pictures set made_at = now() - interval '2 h', wanted_at = null"
            " where subject = %s",
            (subject,),
        )
        seat = conn.execute("select agent_id from seats where match_id = %s", (match,)).fetchone()
        assert seat is not None
        name = conn.execute("select name from agents where id = %s", seat).fetchone()
        assert name is not None
        conn.execute("update agents set name = 'Renamed' where id = %s", seat)
    try:
        assert get(site, path).content == before.content  # shown until the new one is drawn
        assert draw_all(site) == 1
        assert get(site, path).content != before.content
    finally:
        with db.connect(site.database_url) as conn:
            conn.execute("update agents set name = %s where id = %s", (*name, *seat))


def hidden_matches(site: Site) -> list[str]:
    """A scrim and a validation match, which no stranger may see."""
    with db.connect(site.database_url) as conn:
        rows = conn.execute(
            "select distinct on (kind) id from matches where kind <> 'rated' and state = 'finished'"
        ).fetchall()
    assert len(rows) == 2
    return [row[0] for row in rows]


def paths_of(site: Site, match: str) -> list[str]:
    page = quote(f"{site.address}/matches/{match}", safe="")
    return [
        f"/pictures/matches/{match}/card.png",
        f"/pictures/matches/{match}/clip.webp",
        f"/pictures/matches/{match}/clip.gif",
        f"/embed/matches/{match}",
        f"/embed/matches/{match}/episode.json",
        f"/oembed?url={page}",
    ]


def test_nothing_is_shared_that_a_stranger_may_not_see(site: Site) -> None:
    contest = site.contest
    open_match = contest.failed_match
    assert open_match is not None
    for path in paths_of(site, open_match)[3:]:
        assert site.get(path).status_code == 200, path
    assert 'property="og:image"' in site.get(f"/matches/{open_match}").text
    for match in (*hidden_matches(site), "mat_00000000000000000000000000"):
        for path in paths_of(site, match):
            for token in (None, contest.owner_token):
                assert site.get(path, token).status_code == 404, path
        assert "og:image" not in site.get(f"/matches/{match}", contest.owner_token).text
    seen = contest.own[0].agent_id
    with db.connect(site.database_url) as conn:
        hidden = agents.create_agent(conn, contest.own[0].team_id, "Unseen", "unseen").id
    for pair in (f"{seen}/{hidden}", f"{hidden}/{seen}", f"{hidden}/{hidden}"):
        for token in (None, contest.owner_token):
            assert site.get(f"/pictures/compare/{pair}/card.png", token).status_code == 404
    compared = f"/compare?agent={seen}&opponent={hidden}"
    assert "og:image" not in site.get(compared, contest.owner_token).text
    private = contest.private.slug
    assert site.get(f"/pictures/leagues/{private}/card.png").status_code == 404
    assert site.get(f"/pictures/leagues/{private}/card.png", contest.host_token).status_code == 404
    with db.connect(site.database_url) as conn:
        leagues.update_league(conn, contest.league.id, replay_visibility=ReplayVisibility.OWN)
    try:
        for path in paths_of(site, open_match):
            assert site.get(path, contest.owner_token).status_code == 404, path
        assert "og:image" not in site.get(f"/matches/{open_match}", contest.owner_token).text
    finally:
        with db.connect(site.database_url) as conn:
            leagues.update_league(
                conn, contest.league.id, replay_visibility=ReplayVisibility.PUBLIC
            )


def test_a_picture_of_a_match_that_became_hidden_is_not_drawn(site: Site) -> None:
    (match, *_) = hidden_matches(site)
    draw_all(site)
    with db.connect(site.database_url) as conn:
        subject = pictures.match_subject(match)  # type: ignore[arg-type]
        assert pictures.ask_for_picture(conn, subject) is None
        conn.commit()
        assert draw_all(site) == 1
        assert (
            conn.execute("select 1 from pictures where subject = %s", (subject,)).fetchone() is None
        )


def test_oembed_answers_for_our_matches_alone(site: Site) -> None:
    match = site.contest.failed_match
    page = f"{site.address}/matches/{match}"

    def ask(**query: str) -> httpx.Response:
        return httpx.get(f"{site.address}/oembed", params=query)

    told = ask(url=f"{page}?step=7", maxwidth="300", format="json").json()
    assert (told["type"], told["version"], told["width"]) == ("rich", "1.0", 300)
    assert f'src="{site.address}/embed/matches/{match}?step=7"' in told["html"]
    assert ask(url=page, format="xml").status_code == 501
    elsewhere, malformed = f"https://elsewhere.example/matches/{match}", "http://[::1"
    for url in (elsewhere, f"{site.address}/leagues/x", "x", malformed):
        assert ask(url=url).status_code == 404
    hostile = ask(url=f'{page}?step=1"><script>').json()
    assert "<script>" not in hostile["html"]
    assert "oembed?url=" in site.get(f"/matches/{match}").text


@contextmanager
def page_elsewhere(body: str) -> Iterator[str]:
    """A page of another origin."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f"<!doctype html><title>x</title>{body}".encode())

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.browser
def test_a_page_of_another_origin_embeds_the_player_without_cookies(
    site: Site, browser: Browser
) -> None:
    match = site.contest.failed_match
    frames = "".join(
        f'<iframe name="{name}" src="{site.address}/{path}matches/{match}" width="640"'
        ' height="480"></iframe>'
        for name, path in (("embed", "embed/"), ("whole", ""))
    )
    with page_elsewhere(frames) as address:
        context = browser.new_context(reduced_motion="no-preference")
        page = context.new_page()
        page.goto(address)
        player = page.frame_locator("iframe[name=embed]").locator("[data-player]")
        expect(player).to_have_attribute("data-ready", "true")
        expect(player).not_to_have_attribute("data-step", "0")
        whole = page.frame(name="whole")
        assert whole is not None
        assert whole.locator("[data-player]").count() == 0  # our own pages refuse to be framed
        assert context.cookies() == []
        context.close()
