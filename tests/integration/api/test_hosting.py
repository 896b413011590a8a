"""A league with its first season in one request, and in one command."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from services.client import ApiError
from tests.integration.api.test_cli import Peck, read
from tests.integration.api.test_cli import peck as peck
from tests.integration.api.world import World

TOMORROW = datetime.now(UTC) + timedelta(days=1)


def test_one_request_makes_a_league_its_season_and_its_anchors(world: World) -> None:
    host, mine = world.client("host"), world.submissions["public.host"]
    made = host.create_league(
        "course",
        "The course",
        "hungry_geese",
        visibility="invitation",
        season={
            "seats": 2,
            "configuration": {"rows": 9},
            "clock": {"act_seconds": 0.5},
            "opens_at": TOMORROW.isoformat(),
            "closes_at": "2999-12-01T18:00:00+01:00",
        },
        anchors=["greedy", mine, "greedy"],
    )
    assert (made["role"], made["current_season"]) == ("host", None)
    season = made["season"]
    assert season["configuration"]["rows"] == 9
    assert season["closes_at"] == "2999-12-01T17:00:00Z"
    assert [row["agent_name"] for row in made["anchors"]] == ["Greedy", "Flood public.host"]
    assert all(row["is_anchor"] for row in made["anchors"])
    assert host.season(season["id"])["seats"] == 2


def test_a_reference_agent_is_one_submission_in_all_leagues_and_nobodys_own(world: World) -> None:
    host = world.client("host")
    one, other = (
        host.create_league(f"l{n}", "L", "hungry_geese", season={"seats": 2}, anchors=["greedy"])
        for n in range(2)
    )
    (first,), (second,) = one["anchors"], other["anchors"]
    assert first["submission_id"] == second["submission_id"]
    assert first["validation_match_id"] is None  # its owner's eyes only
    with pytest.raises(ApiError) as hidden:
        host.submission(first["submission_id"])
    assert hidden.value.status == 404


def test_a_season_with_more_seats_than_its_board_has_room_for_is_refused(world: World) -> None:
    crowded = {"seats": 12, "configuration": {"width": 5, "height": 5}}
    with pytest.raises(ApiError) as refused:
        world.client("host").create_league("crowd", "L", "battlesnake", season=crowded)
    assert refused.value.status == 422
    assert "seats: a board of 5x5 is for at most 8 snakes" in str(refused.value)


def test_all_of_a_league_is_made_or_nothing_and_the_place_is_named(world: World) -> None:
    host = world.client("host")
    naive = {"seats": 2, "closes_at": "2999-12-01T18:00:00"}
    early = {"seats": 2, "closes_at": "2999-12-01T18:00Z", "ends_at": "2999-12-01T18:00+01:00"}
    for season, anchors, word in (
        (naive, [], "body.season.closes_at: .* no time zone; add Z for UTC or an offset"),
        (
            early,
            [],
            "body.season.ends_at: it lies before closes_at, 2999-12-01T18:00.*; make it later",
        ),
        ({"seats": 99}, [], "body.season.seats"),
        ({"seats": 9}, [], "body.season.seats: Hungry Geese takes"),
        ({"seats": 2}, ["grim"], "no reference agent 'grim'; choose from bank_spender, convol"),
        ({"seats": 2}, ["sub_01j8x6m3c2k4v9q0w7r5t1y8z3"], "no such submission"),
        (None, ["greedy"], "body.anchors: they enter a season"),
    ):
        with pytest.raises(ApiError, match=word):
            host.create_league("broken", "B", "hungry_geese", season=season, anchors=anchors)
    with pytest.raises(ApiError, match="no such league"):
        host.league("broken")


def test_one_command_makes_all_of_a_league(peck: Peck) -> None:
    seats = ("--seats", "2", "--active", "2")
    create = ("league", "create", "night", *seats, "--set", "rows=9", "--anchor", "greedy")
    dates = ("--closes", "2999-12-01T18:00+01:00", "--ends", "2999-12-02T18:00+01:00")
    made = read(peck(*create, *dates, "--visibility", "invitation", "--replays", "own", "--json"))
    assert made["season"]["active_limit"] == 2
    assert (made["league"]["visibility"], made["league"]["replay_visibility"]) == (
        "invitation",
        "own",
    )
    assert made["season"]["configuration"]["rows"] == 9
    assert [row["agent_name"] for row in made["anchors"]] == ["Greedy"]
    refused = peck("league", "create", "day", "--closes", "2999-12-01 18:00")
    assert "add Z for UTC" in refused.stderr
    assert "not NAME=VALUE" in peck("league", "create", "day", "--set", "rows").stderr
    assert "anchors: Greedy" in peck("league", "create", "dawn", "--anchor", "greedy").stdout
