"""The leaderboard and its ETag."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from ladder.ids import SeasonId, TeamId
from ladder.leagues import seasons
from ladder.moderation import suspects
from ladder.ratings.fitting import OfficialFitter
from ladder.ratings.medal_sealing import STANDINGS_THAT_MUST_AGREE
from ladder.standings import board_updates
from ladder.standings.board_ranking import Board
from services import application
from services.api_client import ApiError
from services.http import leaderboard_cache
from tests.integration.api.browsing import browse
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.world import World, play_rated
from tests.waiting import wait_until


def test_an_unchanged_board_is_not_sent_again(fresh_world: World) -> None:
    path = f"/v1/seasons/{fresh_world.seasons['public']}/leaderboard"
    first = fresh_world.http.get(path)
    tag = first.headers["etag"]
    assert fresh_world.http.get(path, headers={"If-None-Match": tag}).status_code == 304
    play_rated(fresh_world, "public")
    after = fresh_world.http.get(path, headers={"If-None-Match": tag})
    assert after.status_code == 200
    assert after.headers["etag"] != tag
    assert after.json()["revision"] > first.json()["revision"]
    assert max(row["games"] for row in after.json()["items"]) == 2


def test_the_board_is_paged_in_order(world: World) -> None:
    rows = list(world.client("stranger").list_items("/v1/seasons/public/leaderboard"))
    paged = list(
        world.client("stranger").list_items(
            f"/v1/seasons/{world.seasons['public']}/leaderboard", limit=1
        )
    )
    assert paged == rows
    assert [row["rank"] for row in rows] == [1, 2, None]


def test_the_board_is_compressed_on_request(world: World) -> None:
    path = f"/v1/seasons/{world.seasons['public']}/leaderboard"
    packed = world.http.get(path, headers={"Accept-Encoding": "gzip"})
    plain = world.http.get(path, headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.json() == plain.json()


def test_a_board_becomes_hidden_with_its_league(fresh_world: World) -> None:
    path = f"/v1/seasons/{fresh_world.seasons['public']}/leaderboard"
    tag = fresh_world.http.get(path).headers["etag"]
    fresh_world.client("host").patch("/v1/leagues/public", {"visibility": "private"})
    assert fresh_world.http.get(path, headers={"If-None-Match": tag}).status_code == 404


def test_an_agent_page_names_rows_of_the_same_score(fresh_world: World) -> None:
    world = fresh_world
    twins = [f"private.{person}" for person in ("member", "insider")]
    same = "exactly this score"
    on_board = "exactly the same score. Agents with the same file share one score."
    board = "/leagues/private"
    page = f"/agents/{world.agents[twins[0]]}"
    with world.connect() as conn:
        conn.execute(
            "update submissions set digest = 'twins' where id = any (%s)",
            ([world.submissions[twin] for twin in twins],),
        )
    world.entries["private.member"], mine = world.entries[twins[1]], world.entries[twins[0]]
    play_rated(world, "private")
    world.entries["private.member"] = mine
    with browse(world, "member") as browser:
        assert same not in browser.get(page).text
        assert on_board not in browser.get(board).text
        with world.connect() as conn:
            OfficialFitter().refit(conn, SeasonId(world.seasons["private"]))
        shown = browser.get(page).text
        assert f"Flood {twins[1]}</a> of Team insider has {same}" in shown
        assert on_board in browser.get(board).text
        season = SeasonId(world.seasons["private"])
        teams = [TeamId(world.teams[person]) for person in ("member", "insider")]
        with world.connect() as conn:
            suspects.share_place(conn, season, teams, by=None, reason="copies")
            OfficialFitter().refit(conn, season)
        assert same not in browser.get(page).text, "they share a place by an act of a host"
        assert on_board not in browser.get(board).text
        with world.connect() as conn:
            (place,) = suspects.list_shared_places(conn, season)
            suspects.separate(conn, season, place.id, by=None, reason="an error")
            OfficialFitter().refit(conn, season)
        assert same in browser.get(page).text
        assert on_board in browser.get(f"{board}/board").text
        world.client("host").delete(f"/v1/leagues/private/members/{world.users['member']}")
        shown = browser.get(page).text
        assert "Live score" in shown
        assert same not in shown, "a person outside the league sees none of its leaderboard"


def test_an_answer_from_memory_equals_that_of_the_route(world: World) -> None:
    path = "/v1/seasons/public/leaderboard?limit=2"
    by_route = world.http.get(path, headers=world.client("rival").headers)
    from_memory = world.http.get(path)
    names = set(by_route.headers) - {"date"}
    assert from_memory.content == by_route.content
    assert set(from_memory.headers) - {"date"} == names
    assert {from_memory.headers[name] == by_route.headers[name] for name in names} == {True}


def test_a_private_board_in_memory_stays_hidden_from_strangers(world: World) -> None:
    path = f"/v1/seasons/{world.seasons['private']}/leaderboard"
    member = world.client("host").headers
    for _ in range(2):
        assert world.http.get(path, headers=member).status_code == 200
        assert world.http.get(path).status_code == 404


def test_a_league_shows_its_current_season(fresh_world: World) -> None:
    league = fresh_world.client("stranger").get("/v1/leagues/public")
    with fresh_world.connect() as conn:
        assert seasons.get_season(conn, SeasonId(league["current_season"])).number == 1
    made = fresh_world.client("host").post("/v1/leagues/public/seasons", {"seats": 4})
    assert fresh_world.client("stranger").get("/v1/leagues/public")["current_season"] == made["id"]
    assert fresh_world.client("stranger").get("/v1/seasons/public")["id"] == made["id"]


def test_a_season_refuses_an_unknown_configuration_key(world: World) -> None:
    response = world.http.post(
        "/v1/leagues/public/seasons",
        json={"configuration": {"row": 3}},
        headers=world.client("host").headers,
    )
    assert response.status_code == 422
    assert "row" in response.json()["detail"]


def test_a_season_gives_medals_by_the_rules_of_its_host(fresh_world: World) -> None:
    host = fresh_world.client("host")
    assert host.get("/v1/seasons/public")["medals"] == {"kind": "table"}
    lines = {"kind": "lines", "gold": 1210.0, "silver": 500.0, "bronze": 100.0}
    season = host.post("/v1/leagues/public/seasons", {"seats": 2, "medals": lines})
    assert season["medals"] == lines
    assert host.get(f"/v1/seasons/{season['id']}/leaderboard")["medals"] == lines
    with fresh_world.connect() as conn:
        conn.execute(
            "update seasons set medals = %s where id = %s",
            (json.dumps(lines), fresh_world.seasons["public"]),
        )
    rows = host.get(f"/v1/seasons/{fresh_world.seasons['public']}/leaderboard")["items"]
    assert [row["medal"] for row in rows] == ["silver", "silver", None]


@pytest.mark.parametrize(
    ("medals", "where", "words"),
    [
        ({"kind": "lines", "gold": 9, "silver": 10, "bronze": 1}, "medals.silver", "above that of"),
        ({"kind": "shares", "gold": 0.6, "silver": 0.6, "bronze": 0}, "medals.bronze", "more than"),
        (
            {"kind": "counts", "gold": -1, "silver": 1, "bronze": 1},
            "medals.counts.gold",
            "0 or more",
        ),
        ({"kind": "luck"}, "medals", "does not match"),
    ],
)
def test_an_invalid_medal_rule_is_refused_with_the_field_named(
    world: World, medals: dict[str, Any], where: str, words: str
) -> None:
    with pytest.raises(ApiError) as refused:
        world.client("host").post("/v1/leagues/public/seasons", {"seats": 2, "medals": medals})
    assert refused.value.status == 422
    told = json.dumps(refused.value.problem)
    assert f"body.{where}" in told
    assert words in told


def test_a_medal_of_a_locked_season_is_shown_as_sealed(fresh_world: World) -> None:
    season = SeasonId(fresh_world.seasons["public"])
    with fresh_world.connect() as conn:
        conn.execute(
            "update seasons set medals = %s where id = %s",
            (json.dumps({"kind": "lines", "gold": 9000, "silver": -8000, "bronze": -9000}), season),
        )
    for _ in range(STANDINGS_THAT_MUST_AGREE):
        play_rated(fresh_world, "public")
        with fresh_world.connect() as conn:
            OfficialFitter().refit(conn, season)
            conn.commit()
    path = f"/v1/seasons/{season}/leaderboard"
    board = fresh_world.http.get(path).json()
    assert (board["medal_confidence"], board["is_final"]) == (0.95, False)
    assert {row["status"] for row in board["items"][:2]} == {"likely"}
    fresh_world.client("host").patch(f"/v1/seasons/{season}", {"state": "locked"})
    with fresh_world.connect() as conn:
        conn.execute(  # an entry without games is not sealed out of medals
            "update entries set state = 'retired', deadline_at = null where season_id = %s"
            " and games = 0 and state in ('pending', 'active')",
            (season,),
        )
        OfficialFitter().refit(conn, season)
        conn.commit()
    board = fresh_world.http.get(path).json()
    shown = [(row["medal"], row["status"], row["sealed"]) for row in board["items"][:2]]
    assert shown == [("silver", "sealed", "silver")] * 2
    seals = fresh_world.client("stranger").get(f"/v1/seasons/{season}/seals")["items"]
    assert {row["team_id"] for row in seals} == {row["team_id"] for row in board["items"][:2]}
    page = fresh_world.http.get("/leagues/public").text
    assert page.count(">sealed<") == 2
    assert "2 of 2 medals sealed" in page
    with pytest.raises(ApiError) as refused:
        fresh_world.client("host").patch(f"/v1/seasons/{season}", {"state": "open"})
    assert refused.value.status == 409


def test_only_visible_leagues_are_listed(world: World) -> None:
    seen = {row["slug"] for row in world.client("rival").list_items("/v1/leagues", limit=200)}
    assert seen == {"public"}
    assert {row["slug"] for row in world.client("member").list_items("/v1/leagues", limit=200)} == {
        "public",
        "private",
    }


def test_a_page_with_a_previous_leaderboard_asks_for_the_next(
    fresh_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_read = threading.Event()

    def read_late(*given: Any) -> Board:
        assert may_read.wait(60)
        return board_updates.read_next_board(*given)

    before = fresh_world.http.get("/leagues/public/board")
    monkeypatch.setattr(leaderboard_cache, "LARGE", 1)
    monkeypatch.setattr(application, "read_next_board", read_late)
    play_rated(fresh_world, "public")
    assert fresh_world.http.get("/leagues/public/board").headers["etag"] == before.headers["etag"]
    may_read.set()

    def has_changed() -> bool:
        tag = {"If-None-Match": before.headers["etag"]}
        return fresh_world.http.get("/leagues/public/board", headers=tag).status_code == 200

    wait_until(has_changed, "the next leaderboard")
