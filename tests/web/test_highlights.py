"""Games worth watching: ranked from real replays, pinned by hosts, as page, API and feed."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import httpx
import pytest

from ladder.database import db
from ladder.enums import ReplayVisibility
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import MatchId
from ladder.leagues import leagues
from ladder.matches import history
from ladder.people.records import STRANGER
from ladder.reports import highlights, next_match
from tests.web.conftest import Site, sign_in
from workers import pictures

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture(scope="module")
def judged(site: Site) -> Site:
    """The site after a worker has looked at its matches."""
    with db.connect(site.database_url) as conn:
        assert pictures.judge_matches(conn, site.blobs, lambda: False, lambda: None) > 10
        assert pictures.judge_matches(conn, site.blobs, lambda: False, lambda: None) == 0
    return site


def listed(site: Site, path: str, token: str | None = None) -> list[MatchId]:
    page = site.get(path, token).text
    return [MatchId(part[:30]) for part in page.split('class="name" href="/matches/')[1:]]


def test_lead_changes_and_closeness_come_from_the_replay(judged: Site) -> None:
    with db.connect(judged.database_url) as conn:
        match = history.get_match(conn, judged.contest.rated[3])
    frames = judged.get(f"/matches/{match.id}/episode.json").json()["frames"]
    leads: list[int] = []
    for lengths in ([len(body) for body in frame["geese"]] for frame in frames):
        best = [seat for seat, length in enumerate(lengths) if length == max(lengths)]
        if len(best) == 1 and leads[-1:] != best:
            leads += best
    found = pictures.judge_match(judged.blobs, match)
    assert found.lead_changes == len(leads) - 1
    assert found.steps == len(frames) - 1
    assert 0 <= found.upset <= 1
    assert 0 <= found.closeness <= 1


def test_matches_are_ranked_and_show_no_result(judged: Site) -> None:
    with db.connect(judged.database_url) as conn:
        found = highlights.list_highlights(conn, STRANGER, league=judged.contest.league)
    scores = [one.interest.score for one in found if one.interest]
    assert len(scores) > 5
    assert scores == sorted(scores, reverse=True)
    slug = judged.contest.league.slug
    assert listed(judged, f"/leagues/{slug}/watch") == [one.match.id for one in found]
    assert " beats " not in judged.get("/watch").text
    assert f"/pictures/matches/{found[0].match.id}/card.png" in judged.get("/watch").text
    told = httpx.get(f"{judged.address}/v1/leagues/{slug}/highlights").json()["items"]
    assert [one["match_id"] for one in told] == [one.match.id for one in found]
    assert listed(judged, f"/leagues/{slug}/watch?day=2021-01-01") == []
    assert judged.get(f"/leagues/{slug}/watch?day=yesterday").status_code == 422


def test_leagues_take_turns_in_the_list_of_all(judged: Site) -> None:
    with db.connect(judged.database_url) as conn:
        found = highlights.list_highlights(conn, STRANGER)
    named = [one.league.slug for one in found]
    count = len(set(named))
    assert count > 1
    assert len(set(named[:count])) == count
    turns = [named[: place + 1].count(slug) for place, slug in enumerate(named)]
    assert turns == sorted(turns)  # each league's best, then each league's second best


def test_no_match_of_another_game_follows(judged: Site) -> None:
    with db.connect(judged.database_url) as conn:
        shown = history.get_match(conn, judged.contest.other_games["battlesnake"])
        league = leagues.get_league(conn, shown.league_id)
        follows = next_match.match_after(conn, STRANGER, shown, league)
    assert follows is None or follows.game == "battlesnake"


def test_after_a_validation_follows_the_first_rated_match_of_the_entry(judged: Site) -> None:
    contest = judged.contest
    assert contest.rejected is not None
    with db.connect(judged.database_url) as conn:
        for entry, wanted in ((contest.own[-1], contest.failed_match), (contest.rejected, None)):
            assert entry.validation_match_id is not None
            shown = history.get_match(conn, entry.validation_match_id)
            follows = next_match.match_after(conn, STRANGER, shown, contest.league)
            assert (follows.id if follows else None) == wanted


def test_nobody_who_goes_on_and_on_sees_a_replay_twice(judged: Site) -> None:
    contest = judged.contest
    with db.connect(judged.database_url) as conn:
        best = highlights.list_highlights(conn, STRANGER, league=contest.league)
        walked = [best[0].match]
        while len(walked) < 10:
            follows = next_match.match_after(conn, STRANGER, walked[-1], contest.league)
            if follows is None:  # an old match with other agents may follow early
                break
            walked.append(follows)
    assert [one.id for one in walked[:5]] == [one.match.id for one in best[:5]]
    assert len({one.id for one in walked}) == len(walked) > 5
    page = judged.get(f"/matches/{walked[0].id}").text
    label = "Older" if walked[1].id < walked[0].id else "Newer"
    assert re.search(f'data-next href="/matches/{walked[1].id}"[^>]*>{label} match<', page)


def test_tv_shows_one_replay_after_another_while_nothing_is_played(judged: Site) -> None:
    past, shown = "", []
    for _ in range(15):
        page = judged.get(f"/tv?seen={past}").text
        past = page.split('data-past="')[1].split('"')[0]
        shown.append(page.split('data-page="/matches/')[1].split('"')[0])
    assert len(set(shown[:13])) == 13
    assert judged.get(f"/tv?seen={past}&live=true").status_code == 204


def test_the_feed_lists_the_same_games(judged: Site) -> None:
    slug = judged.contest.league.slug
    answer = judged.get(f"/leagues/{slug}/watch.atom")
    assert answer.headers["content-type"].startswith("application/atom+xml")
    entries = ElementTree.fromstring(answer.content).findall(f"{ATOM}entry")
    paths = [entry.find(f"{ATOM}link").get("href") for entry in entries]  # type: ignore[union-attr]
    ids = listed(judged, f"/leagues/{slug}/watch")
    assert [str(path).rpartition("/")[2] for path in paths] == ids
    again = httpx.get(
        f"{judged.address}/leagues/{slug}/watch.atom",
        headers={"If-None-Match": answer.headers["etag"]},
    )
    assert again.status_code == 304


def test_games_of_hidden_replays_are_not_listed(judged: Site) -> None:
    contest = judged.contest
    path = f"/leagues/{contest.league.slug}/watch"
    with db.connect(judged.database_url) as conn:
        leagues.update_league(conn, contest.league.id, replay_visibility=ReplayVisibility.OWN)
    try:
        assert listed(judged, path) == []
        assert set(listed(judged, path, contest.host_token)) > set()
        assert "/pictures/matches/" not in judged.get(path, contest.host_token).text
        assert not set(listed(judged, "/watch")) & set(contest.rated)
    finally:
        with db.connect(judged.database_url) as conn:
            leagues.update_league(
                conn, contest.league.id, replay_visibility=ReplayVisibility.PUBLIC
            )
    private = contest.private.slug
    for end in ("watch", "watch.atom"):
        assert judged.get(f"/leagues/{private}/{end}").status_code == 404
        assert judged.get(f"/leagues/{private}/{end}", contest.host_token).status_code == 200


def test_a_host_pins_a_match_to_the_top(judged: Site) -> None:
    contest = judged.contest
    path = f"/leagues/{contest.league.slug}/watch"
    last = listed(judged, path)[-1]
    assert "Pin to the league" not in judged.get(f"/matches/{last}", contest.owner_token).text

    def press(token: str, act: str) -> int:
        with httpx.Client(base_url=judged.address, headers={"Accept": "text/html"}) as client:
            sign_in(client, token)
            page = client.get(f"/matches/{last}").text
            proof = page.split('name="form_token" value="', 1)[1].split('"', 1)[0]
            return client.post(f"/matches/{last}/{act}", data={"form_token": proof}).status_code

    assert press(contest.owner_token, "pin") == 403
    assert press(contest.host_token, "pin") == 303
    assert press(contest.host_token, "pin") == 303
    assert listed(judged, path)[0] == last
    assert listed(judged, path).count(last) == 1
    assert press(contest.host_token, "unpin") == 303
    assert listed(judged, path)[0] != last


def test_only_finished_rated_matches_of_the_league_are_pinned(judged: Site) -> None:
    contest = judged.contest
    with db.connect(judged.database_url) as conn:
        scrim = conn.execute("select id from matches where kind = 'scrim' limit 1").fetchone()
        assert scrim is not None
        with pytest.raises(Invalid, match="rated"):
            highlights.pin_match(conn, contest.league.id, scrim[0], None)
        with pytest.raises(NotFound):
            highlights.pin_match(conn, contest.private.id, contest.rated[0], None)
        for match in contest.rated[: highlights.MOST_PINS]:
            highlights.pin_match(conn, contest.league.id, match, None)
        with pytest.raises(Conflict, match="at most"):
            highlights.pin_match(conn, contest.league.id, contest.rated[highlights.MOST_PINS], None)
        conn.rollback()
