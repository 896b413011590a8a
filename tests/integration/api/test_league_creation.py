"""Creation of a league with its first season, by one request and by one command."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from services.api_client import ApiError
from tests.integration.api.browsing import browse
from tests.integration.api.commands import Peck, read
from tests.integration.api.commands import peck as peck
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.world import World

TOMORROW = datetime.now(UTC) + timedelta(days=1)


def test_one_request_makes_a_league_its_season_and_its_anchors(world: World) -> None:
    host, mine = world.client("host"), world.submissions["public.host"]
    made = host.post(
        "/v1/leagues",
        {
            "slug": "course",
            "title": "The course",
            "game": "hungry_geese",
            "visibility": "invitation",
            "season": {
                "seats": 2,
                "configuration": {"rows": 9},
                "clock": {"act_seconds": 0.5},
                "opens_at": TOMORROW.isoformat(),
                "closes_at": "2999-12-01T18:00:00+01:00",
            },
            "anchors": ["greedy", mine, "greedy"],
        },
    )
    assert (made["role"], made["current_season"]) == ("host", None)
    season = made["season"]
    assert season["configuration"]["rows"] == 9
    assert season["closes_at"] == "2999-12-01T17:00:00Z"
    assert [row["agent_name"] for row in made["anchors"]] == ["Greedy", "Flood public.host"]
    assert all(row["is_anchor"] for row in made["anchors"])
    assert host.get(f"/v1/seasons/{season['id']}")["seats"] == 2


def test_season_of_a_missing_game_is_refused_with_the_remedy(fresh_world: World) -> None:
    made = fresh_world.client("host").post(
        "/v1/leagues", {"slug": "gone", "title": "Gone", "game": "hungry_geese"}
    )
    with fresh_world.connect() as conn:
        conn.execute("update leagues set game = 'lost_game' where id = %s", (made["id"],))
    remedy = "Ask the operator to add it to PECK_GAMES."
    with pytest.raises(ApiError, match=remedy) as refused:
        fresh_world.client("host").post("/v1/leagues/gone/seasons", {})
    assert refused.value.status == 409
    with browse(fresh_world, "host") as browser:
        answer = browser.get("/leagues/gone/new-season")
    assert (answer.status_code, remedy in answer.text) == (409, True)


def test_a_reference_agent_is_one_submission_in_all_leagues(world: World) -> None:
    host = world.client("host")
    one, other = (
        host.post(
            "/v1/leagues",
            {
                "slug": f"l{n}",
                "title": "L",
                "game": "hungry_geese",
                "season": {"seats": 2},
                "anchors": ["greedy"],
            },
        )
        for n in range(2)
    )
    first, second = one["anchors"][0], other["anchors"][0]
    assert first["submission_id"] == second["submission_id"]
    assert first["validation_match_id"] is None  # only the owner sees it
    with pytest.raises(ApiError) as hidden:
        host.get(f"/v1/submissions/{first['submission_id']}")
    assert hidden.value.status == 404


def test_a_season_with_too_many_seats_for_its_board_is_refused(world: World) -> None:
    crowded = {"seats": 12, "configuration": {"width": 5, "height": 5}}
    with pytest.raises(ApiError) as refused:
        world.client("host").post(
            "/v1/leagues", {"slug": "crowd", "title": "L", "game": "battlesnake", "season": crowded}
        )
    assert refused.value.status == 422
    assert "seats: a board of 5x5 is for at most 8 snakes" in str(refused.value)


def test_an_invalid_request_makes_no_league(world: World) -> None:
    host = world.client("host")
    naive = {"seats": 2, "closes_at": "2999-12-01T18:00:00"}
    early = {"seats": 2, "closes_at": "2999-12-01T18:00Z", "ends_at": "2999-12-01T18:00+01:00"}
    for season, anchors, word in (
        (naive, [], "body.season.closes_at: add a time zone: Z for UTC or an offset"),
        (
            early,
            [],
            "body.season.ends_at: give a moment after the upload lock, 2999-12-01 18:00 UTC",
        ),
        ({"seats": 99}, [], "body.season.seats"),
        ({"seats": 9}, [], "body.season.seats: give 1 to 8 seats for Hungry Geese"),
        ({"seats": 2}, ["grim"], "no reference agent 'grim'; choose from bank-spender, convol"),
        ({"seats": 2}, ["sub_01j8x6m3c2k4v9q0w7r5t1y8z3"], "no such submission"),
        (None, ["greedy"], "body.anchors: anchors need a season"),
    ):
        with pytest.raises(ApiError, match=word):
            host.post(
                "/v1/leagues",
                {
                    "slug": "broken",
                    "title": "B",
                    "game": "hungry_geese",
                    "season": season,
                    "anchors": anchors,
                },
            )
    with pytest.raises(ApiError, match="no such league"):
        host.get("/v1/leagues/broken")


def test_the_command_names_the_refused_option_and_the_remedy(peck: Peck) -> None:
    for arguments, told in (
        (("night", "game=chess"), "game: choose one of battlesnake, golad, hungry_geese,"),
        (("Bad Name!", "game=snake"), "SLUG: use only the characters a-z, 0-9 and -,"),
        (("night", "closes_at=tomorrow"), "season.closes_at: write date, time and time zone, as"),
        (("night", "seats=99"), "season.seats: use whole number, 1 to 16"),
    ):
        refused = peck("league", "create", *arguments)
        assert refused.returncode == 1
        assert refused.stderr.startswith(f"peck: {told}")
    assert "peck: --verdict: choose " in peck("matches", "--verdict", "FOO").stderr


def test_one_command_makes_a_whole_league(peck: Peck) -> None:
    create = ("league", "create", "night", "seats=2", "active_limit=2", "configuration.rows=9")
    dates = ("closes_at=2999-12-01T18:00+01:00", "ends_at=2999-12-02T18:00+01:00")
    rest = ("anchors=greedy", "visibility=invitation", "replay_visibility=own", "--json")
    made = read(peck(*create, *dates, *rest))
    assert made["season"]["active_limit"] == 2
    assert (made["league"]["visibility"], made["league"]["replay_visibility"]) == (
        "invitation",
        "own",
    )
    assert made["season"]["configuration"]["rows"] == 9
    assert [row["agent_name"] for row in made["anchors"]] == ["Greedy", "Random Legal"]
    refused = peck("league", "create", "day", "closes_at=2999-12-01 18:00")
    assert "add a time zone: Z for UTC" in refused.stderr
    assert "write NAME=VALUE" in peck("league", "create", "day", "rows").stderr
    dawn = peck("league", "create", "dawn", "anchors=greedy").stdout
    assert "anchors: Greedy, Random Legal, Survivor, Numpy Heuristic" in dawn
    assert "cannot play yet: 4 of 4 seats can be filled, by anchors alone: add an agent" in dawn
    assert "peck submit main.py --agent NAME --league dawn" in dawn


def test_a_league_without_fill_reports_its_empty_seats(peck: Peck) -> None:
    made = peck("league", "create", "autumn", "anchors=greedy,survivor", "fill=false")
    assert "cannot play yet: 2 of 4 seats can be filled: add an agent or an anchor" in made.stdout
    watched = peck("watch", "autumn")
    assert watched.returncode == 1
    assert "cannot play: 2 of 4 seats can be filled: add an agent or an anchor" in watched.stdout
    assert "scheduler" not in watched.stdout
    stranger = peck("watch", "autumn", PECK_TOKEN="").stdout
    assert "cannot play: Too few different agents take part" in stranger


def test_reference_agents_fill_an_existing_season(peck: Peck, world: World) -> None:
    made = read(peck("league", "create", "winter", "fill=no", "--json"))
    assert (made["anchors"], made["lacking"][:20]) == ([], "0 of 4 seats can be ")
    named = read(peck("league", "fill", "winter", "--anchor", "greedy", "--json"))
    assert [row["agent_name"] for row in named["anchors"]] == ["Greedy"]
    filled = read(peck("league", "fill", "winter", "--json"))
    assert len(filled["anchors"]) == 3
    assert all(row["is_anchor"] for row in filled["anchors"])
    assert read(peck("league", "fill", "winter", "--json"))["anchors"] == []
    member = world.client("member")
    agent = member.post("/v1/agents", {"name": "Newcomer"})
    sent = member.upload(
        f"/v1/agents/{agent['id']}/submissions", b"agent = 1", season=made["season"]["id"]
    )
    assert sent["entry"]["state"] == "pending"
    assert member.get("/v1/seasons/winter/health")["lacking"] is None
    world.client("host").post(
        "/v1/leagues", {"slug": "none", "title": "N", "game": "battlesnake", "season": {"seats": 8}}
    )
    assert (
        "of 8 seats can be filled: add an agent"
        in world.client("host").get("/v1/seasons/none/health")["lacking"]
    )


def test_a_host_rehearses_before_the_league_opens(peck: Peck, world: World) -> None:
    host, member = world.client("host"), world.client("member")
    made = host.post(
        "/v1/leagues",
        {
            "slug": "rehearsed",
            "title": "C",
            "game": "hungry_geese",
            "season": {"seats": 4, "opens_at": TOMORROW.isoformat()},
            "anchors": ["greedy", "survivor"],
            "fill": False,
        },
    )
    with pytest.raises(ApiError, match="reference agents are still in validation"):
        host.post("/v1/leagues/rehearsed/rehearsals")
    with world.connect() as conn:
        conn.execute(
            "update entries set state = 'active' where season_id = %s", (made["season"]["id"],)
        )
    with browse(world, "host") as browser:
        page = browser.http.get("/leagues/rehearsed").text
        assert "Season 1 opens at" in page
        data = {"form_token": browser.form_token("/leagues/rehearsed")}
        shown = browser.http.post("/leagues/rehearsed/rehearsal", data=data, follow_redirects=False)
    assert (shown.status_code, shown.headers["location"][:13]) == (303, "/matches/mat_")
    asked = peck("league", "rehearse", "rehearsed", "--no-wait", PECK_TOKEN=world.tokens["host"])
    assert "queued" in asked.stdout
    assert asked.stdout.count("Greedy") == 2
    rehearsal = host.post("/v1/leagues/rehearsed/rehearsals")
    assert rehearsal["agents"] == ["Greedy", "Survivor", "Greedy", "Survivor"]
    assert (
        host.get(f"/v1/matches/{rehearsal['match_id']}")["kind"],
        host.get("/v1/me")["teams"][0]["id"],
    ) == (
        "scrim",
        host.get(f"/v1/scrims/{rehearsal['scrim_id']}")["team_id"],
    )
    with pytest.raises(ApiError, match="no such match"):
        member.get(f"/v1/matches/{rehearsal['match_id']}")
    assert peck("league", "rehearse", "rehearsed").returncode == 1  # the member is no host


def test_competing_or_medal_moving_anchors_are_refused(fresh_world: World) -> None:
    host = fresh_world.client("host")
    with pytest.raises(ApiError, match="competes in this season"):
        host.post(
            "/v1/seasons/public/anchors", {"anchors": [fresh_world.submissions["public.host"]]}
        )
    with fresh_world.connect() as conn:
        conn.execute(
            "update seasons set medals = %s where id = %s",
            (
                '{"kind": "lines", "gold": 3, "silver": 2, "bronze": 1}',
                fresh_world.seasons["public"],
            ),
        )
    with pytest.raises(ApiError, match="before its first match"):
        host.post("/v1/seasons/public/anchors", {"fill": True})
    host.patch(f"/v1/seasons/{fresh_world.seasons['private']}", {"state": "locked"})
    with pytest.raises(ApiError, match="uploads of this season are locked"):
        host.post("/v1/seasons/private/anchors", {"fill": True})


def test_anchors_of_a_league_are_open_for_scrims(fresh_world: World) -> None:
    host, member = fresh_world.client("host"), fresh_world.client("member")
    mine = fresh_world.submissions["public.host"]
    agent = fresh_world.agents["public.host"]
    host.put(f"/v1/agents/{agent}/scrim-policy", {"whom": "nobody"})
    made = host.post(
        "/v1/leagues",
        {
            "slug": "course",
            "title": "C",
            "game": "hungry_geese",
            "season": {"seats": 2},
            "anchors": [mine, "random-legal"],
        },
    )
    season = made["season"]["id"]
    with fresh_world.connect() as conn:
        conn.execute("update entries set state = 'active' where season_id = %s", (season,))
    for anchor in made["anchors"]:
        lineup = [fresh_world.submissions["public.member"], anchor["submission_id"]]
        assert (
            member.post("/v1/scrims", {"season": season, "lineup": lineup, "games": 1})["state"]
            == "running"
        )
    # It is no anchor there.
    with pytest.raises(ApiError, match="lets no other team play it"):
        member.post(
            "/v1/scrims", {"season": fresh_world.seasons["public"], "lineup": [lineup[0], mine]}
        )


def test_a_reference_agent_is_named_with_hyphens_or_underscores(world: World) -> None:
    host = world.client("host")
    made = [
        host.post(
            "/v1/leagues",
            {
                "slug": f"m{n}",
                "title": "L",
                "game": "hungry_geese",
                "season": {"seats": 2},
                "anchors": [name],
            },
        )
        for n, name in enumerate(("random-legal", "random_legal", "Random Legal"))
    ]
    assert len({one["anchors"][0]["submission_id"] for one in made}) == 1
