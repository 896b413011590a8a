"""A season with one seat in its board, its export, its pages and its command."""

from __future__ import annotations

import csv
import io
import json

import pytest

from ladder.entries import entries
from ladder.ids import EntryId, SeasonId
from ladder.leagues import seasons
from ladder.ratings import live_ratings, solo_seasons
from services.api_client import ApiError, Json
from tests.integration.api.browsing import browse
from tests.integration.api.commands import Peck
from tests.integration.api.commands import peck as peck
from tests.integration.api.world import GOOD, World, finish


@pytest.fixture
def alone(world: World) -> str:
    """The entry of the member in the league ``alone``, with three games."""
    host = world.client("host")
    host.post("/v1/leagues", {"slug": "alone", "title": "Alone", "game": "hungry_geese"})
    season_id = SeasonId(host.post("/v1/leagues/alone/seasons", {"seats": 1})["id"])
    member = world.client("member")
    agent = member.post("/v1/agents", {"name": "Hermit"})
    made = member.upload(
        f"/v1/agents/{agent['id']}/submissions", GOOD + b"# alone", season=season_id
    )
    entry_id = EntryId(made["entry"]["id"])
    with world.connect() as conn:
        validation = entries.get_entry(conn, entry_id).validation_match_id
        assert validation is not None
        finish(conn, world.blobs, validation)
        season = seasons.get_season(conn, season_id)
        for number in (1, 2, 3):
            [runner] = solo_seasons.entry_rounds(conn, season)[0]
            match_id = solo_seasons.queue_round_match(conn, season, runner.candidate, number, 0)
            conn.commit()
            finish(conn, world.blobs, match_id)
        live_ratings.rate_season(conn, season_id)
    return entry_id


def board_row(world: World) -> Json:
    """The only row of the board."""
    rows: list[Json] = world.http.get("/v1/seasons/alone/leaderboard").json()["items"]
    [row] = rows
    return row


def form_token(world: World, page: str) -> str:
    form = world.http.get(page).text
    return form.split('name="form_token" value="', 1)[1].split('"', 1)[0]


def sign_in(world: World, name: str) -> None:
    proof = form_token(world, "/sign-in")
    signed = {"token": world.tokens[name], "form_token": proof, "next": "/me"}
    assert world.http.post("/sign-in", data=signed).status_code == 303


def test_a_single_seat_board_answers_estimates_in_place_of_scores(world: World, alone: str) -> None:
    board = world.http.get("/v1/seasons/alone/leaderboard").json()
    assert [each["name"] for each in board["measures"]] == ["reward"]
    [row] = board["items"]
    assert (row["rank"], row["games"], row["score"], row["sigma"]) == (1, 3, None, None)
    [one] = row["estimates"]
    assert one["games"] == 3
    assert one["low"] <= one["value"] <= one["high"]
    member = world.client("member")
    assert member.get(f"/v1/entries/{alone}/insights")["estimates"] == [one]
    entry = member.get(f"/v1/entries/{alone}")
    assert (entry["games"], entry["mu"], entry["sigma"]) == (3, None, None)
    assert world.http.get(f"/v1/entries/{alone}/ratings").json()["items"] == []
    match = world.http.get("/v1/matches", params={"entry": alone}).json()["items"][0]
    assert match["seats"][0]["mu_after"] is None


def test_exported_standings_of_a_single_seat_season_contain_its_estimates(
    world: World, alone: str
) -> None:
    [one] = board_row(world)["estimates"]
    document = json.loads(world.client("host").send("GET", "/v1/seasons/alone/standings").text)
    assert document["items"][0]["estimates"] == [one]
    [line] = csv.DictReader(
        io.StringIO(
            world.client("host")
            .send("GET", "/v1/seasons/alone/standings", params={"format": "csv"})
            .text
        )
    )
    assert float(line["reward"]) == one["value"]
    assert float(line["reward_low"]) == one["low"]


def test_pages_of_a_single_seat_league_show_intervals_and_no_live_score(
    world: World, alone: str
) -> None:
    agent = board_row(world)["agent_id"]
    match = world.http.get("/v1/matches", params={"entry": alone}).json()["items"][0]
    for address in ("/leagues/alone", f"/agents/{agent}", f"/matches/{match['id']}"):
        page = world.http.get(address)
        assert page.status_code == 200
        assert "Live score" not in page.text
    assert "95&nbsp;% interval" in world.http.get("/leagues/alone").text
    sign_in(world, "member")
    mine = world.http.get("/me")
    assert mine.status_code == 200
    assert "Hermit" in mine.text


def test_commands_print_the_measures_of_a_single_seat_league(
    world: World, alone: str, peck: Peck
) -> None:
    as_member = {"PECK_TOKEN": world.tokens["member"]}
    assert "reward" in peck("leaderboard", "alone").stdout
    assert "reward: " in peck("insights", alone, **as_member).stdout
    for verb in ("entries", "submissions"):
        listed = peck(verb, **as_member).stdout.splitlines()
        [hermit] = [line for line in listed if "Hermit" in line]
        assert "600" not in hermit
    assert "Hermit played" in peck("feed", **as_member).stdout


def test_a_preview_shows_a_single_seat_board_without_the_results(world: World, alone: str) -> None:
    host = world.client("host")
    row = board_row(world)
    [match, *_] = world.http.get("/v1/matches", params={"entry": alone, "kind": "rated"}).json()[
        "items"
    ]
    until = match["finished_at"]  # the newest match; the others are all in question
    season = host.get(f"/v1/entries/{alone}")["season_id"]
    seen = host.post(f"/v1/seasons/{season}/rejudgements/preview", {"predicate": {"until": until}})
    assert (seen["total"], seen["version"]) == (2, None)
    assert [one["name"] for one in seen["measures"]] == ["reward"]
    [change] = seen["changes"]
    assert change["before"]["estimates"] == row["estimates"]
    assert (change["after"]["score"], change["after"]["rank"]) == (None, 1)
    [left] = change["after"]["estimates"]
    assert (left["games"], left["value"]) == (1, match["seats"][0]["reward"])
    assert world.http.get("/v1/seasons/alone/leaderboard").json()["items"] == [row]
    sign_in(world, "host")
    form = form_token(world, "/leagues/alone/moderation")
    asked = {"form_token": form, "until": until, "key": "the same page"}
    for _ in range(2):  # a reload shows the preview again
        page = world.http.post(f"/seasons/{season}/preview-rejudgement", data=asked)
        assert page.status_code == 200
    assert '<th scope="col" class="right">Reward</th>' in page.text
    assert f"→ {left['value']:.1f}</td>" in page.text


def test_a_single_seat_season_refuses_settings_based_on_scores(world: World) -> None:
    host = world.client("host")
    host.post("/v1/leagues", {"slug": "alone", "title": "Alone", "game": "hungry_geese"})
    lines = {"kind": "lines", "gold": 3, "silver": 2, "bronze": 1}
    for terms, told in (({"medals": lines}, "lines"), ({"stops_when_sealed": True}, "ends_at")):
        with pytest.raises(ApiError, match=told):
            host.post("/v1/leagues/alone/seasons", {"seats": 1, **terms})


def test_a_solo_tournament_says_that_chance_numbers_its_entrants(world: World, alone: str) -> None:
    wanted = {"title": "Solo", "plan": {"stages": [{"format": "solo"}]}}
    cup = world.client("host").post("/v1/leagues/alone/tournaments", wanted)["id"]
    with browse(world, "host") as browser:
        for page in ("/leagues/alone/new-tournament", f"/tournaments/{cup}"):
            assert "Chance numbers the entrants" in browser.get(page).text
