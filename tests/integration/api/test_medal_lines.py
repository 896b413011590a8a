"""Medal lines that reference agents name: on the board from the first day, and moved by a host."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ladder.ids import SeasonId
from ladder.ratings import standing_versions
from ladder.ratings.fitting import OfficialFitter, recompute_digest
from services.api_client import ApiError
from tests.integration.api.browsing import browse
from tests.integration.api.commands import Peck
from tests.integration.api.commands import peck as peck
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.world import World, play_rated

LINES = {"kind": "lines", "gold": "survivor+100", "silver": "survivor", "bronze": "greedy-50"}
NUMBERS = {"kind": "lines", "gold": 1210.0, "silver": 1080.0, "bronze": 1050.0}


def league_with_lines(world: World, slug: str, lines: dict[str, Any] = LINES, **more: Any) -> str:
    """A league without matches; returns the id of its season."""
    made = world.client("host").post(
        "/v1/leagues",
        {
            "slug": slug,
            "title": slug,
            "game": "hungry_geese",
            "season": {"seats": 2, "medals": lines, **more},
            "fill": False,
        },
    )
    return str(made["season"]["id"])


def lines_of(world: World, season: str) -> Any:
    return world.http.get(f"/v1/seasons/{season}/leaderboard").json()["medal_lines"]


def give_lines(world: World, lines: dict[str, Any]) -> SeasonId:
    """The public season, which has matches, with these lines."""
    with world.connect() as conn:
        conn.execute(
            "update seasons set medals = %s where id = %s",
            (json.dumps(lines), world.seasons["public"]),
        )
    return SeasonId(world.seasons["public"])


def fit(world: World, season: SeasonId) -> int:
    with world.connect() as conn:
        return OfficialFitter().refit(conn, season)


def test_reference_agents_that_lines_name_become_anchors(world: World) -> None:
    season = league_with_lines(world, "anchored")
    board = world.http.get(f"/v1/seasons/{season}/leaderboard").json()
    assert board["medals"] == LINES
    with world.connect() as conn:
        names = conn.execute(
            "select a.name from entries e join agents a on a.id = e.agent_id"
            " where e.season_id = %s and e.is_anchor order by a.name",
            (season,),
        ).fetchall()
    assert [name for (name,) in names] == ["Greedy", "Survivor"]


def test_lines_are_on_the_board_before_the_first_match(world: World) -> None:
    season = league_with_lines(world, "first-day")
    with world.connect() as conn:
        conn.execute("update entries set state = 'active' where season_id = %s", (season,))
        conn.execute("update seasons set revision = revision + 1 where id = %s", (season,))
    found = lines_of(world, season)
    assert [(line["medal"], line["score"], line["agent"]) for line in found["lines"]] == [
        ("gold", 700.0, "survivor+100"),
        ("silver", 600.0, "survivor"),
        ("bronze", 550.0, "greedy-50"),
    ]
    assert (found["best_score"], found["is_out_of_reach"]) == (None, False)
    page = world.http.get("/leagues/first-day").text
    assert page.index("Line of gold") < page.index("Line of silver") < page.index("Line of bronze")
    assert "survivor + 100" in page


def test_next_season_enters_the_agents_of_its_lines(world: World) -> None:
    league_with_lines(world, "second", NUMBERS)
    season = world.client("host").post("/v1/leagues/second/seasons", {"seats": 2, "medals": LINES})
    rows = list(world.client("host").list_items(f"/v1/seasons/{season['id']}/leaderboard"))
    with world.connect() as conn:
        entered = conn.execute(
            "select count(*) from entries where season_id = %s and is_anchor", (season["id"],)
        ).fetchone()
    assert (entered, rows) == ((2,), [])


def test_line_of_an_unknown_agent_is_refused_by_its_field(world: World) -> None:
    with pytest.raises(ApiError) as refused:
        league_with_lines(world, "unknown", {**LINES, "gold": "nobody+5"})
    told = json.dumps(refused.value.problem)
    assert "season.medals.gold" in told
    assert "choose from" in told
    with pytest.raises(ApiError, match=r"medals\.gold"):
        world.client("host").post(
            "/v1/leagues/public/seasons", {"medals": {**LINES, "gold": "nobody+5"}}
        )


def test_host_moves_lines_with_an_audit(fresh_world: World) -> None:
    season = give_lines(fresh_world, NUMBERS)
    changed = fresh_world.client("host").patch(
        f"/v1/seasons/{season}", {"medals": {**NUMBERS, "gold": 700, "silver": 650, "bronze": 0}}
    )
    assert changed["medals"]["gold"] == 700.0
    board = fresh_world.http.get(f"/v1/seasons/{season}/leaderboard").json()
    assert [line["score"] for line in board["medal_lines"]["lines"]] == [700.0, 650.0, 0.0]
    assert {row["medal"] for row in board["items"] if row["rank"]} <= {"gold", "silver", "bronze"}
    (audit,) = [
        row
        for row in fresh_world.client("host").list_items("/v1/leagues/public/audits")
        if row["act"] == "change-medals"
    ]
    assert audit["reason"] == "season 1: medal lines 1210, 1080, 1050 become 700, 650, 0"
    with pytest.raises(ApiError) as refused:
        fresh_world.client("member").patch(f"/v1/seasons/{season}", {"medals": NUMBERS})
    assert refused.value.status == 403


def test_standing_made_before_a_change_of_lines_is_reproducible(fresh_world: World) -> None:
    season = give_lines(fresh_world, NUMBERS)
    play_rated(fresh_world, "public")
    before = fit(fresh_world, season)
    fresh_world.client("host").patch(
        f"/v1/seasons/{season}", {"medals": {**NUMBERS, "bronze": 600}}
    )
    after = fit(fresh_world, season)
    with fresh_world.connect() as conn:
        for version in (before, after):
            kept = standing_versions.get_version(conn, season, version)
            assert recompute_digest(conn, season, version) == kept.digest


def test_lines_cannot_move_after_uploads_close(fresh_world: World) -> None:
    season = give_lines(fresh_world, NUMBERS)
    host = fresh_world.client("host")
    host.patch(f"/v1/seasons/{season}", {"state": "locked"})
    with pytest.raises(ApiError, match="until uploads close"):
        host.patch(f"/v1/seasons/{season}", {"medals": {**NUMBERS, "bronze": 1}})
    host.patch(f"/v1/seasons/{season}", {"state": "open"})
    with fresh_world.connect() as conn:
        conn.execute("update seasons set closes_at = now() where id = %s", (season,))
    with pytest.raises(ApiError, match="until uploads close"):
        host.patch(f"/v1/seasons/{season}", {"medals": {**NUMBERS, "bronze": 1}})


def test_agent_that_a_line_names_cannot_be_disqualified(world: World) -> None:
    season, host = league_with_lines(world, "measured"), world.client("host")
    with world.connect() as conn:
        row = conn.execute(
            "select e.id, e.agent_id, e.team_id from entries e join agents a on a.id = e.agent_id"
            " where e.season_id = %s and a.name = 'Survivor'",
            (season,),
        ).fetchone()
    assert row is not None
    for subject in row:
        with pytest.raises(ApiError, match="line of gold") as refused:
            host.post(
                f"/v1/seasons/{season}/disqualifications",
                {"subject": subject, "reason": "no reason"},
            )
        assert refused.value.slug == "conflict"
    host.patch(f"/v1/seasons/{season}", {"medals": {**LINES, "gold": 700, "silver": 600}})
    assert host.post(
        f"/v1/seasons/{season}/disqualifications", {"subject": row[0], "reason": "no line names it"}
    )["entries"] == [row[0]]


def test_line_moves_only_to_an_anchor_of_the_season(fresh_world: World) -> None:
    season = give_lines(fresh_world, NUMBERS)
    with pytest.raises(ApiError) as refused:
        fresh_world.client("host").patch(f"/v1/seasons/{season}", {"medals": LINES})
    told = json.dumps(refused.value.problem)
    assert "medals.gold" in told
    assert "the season has no reference agent 'survivor'" in told


def test_board_warns_when_no_team_is_near_a_line(fresh_world: World) -> None:
    season = give_lines(fresh_world, {**NUMBERS, "bronze": 700})
    for _ in range(3):
        play_rated(fresh_world, "public")
    fit(fresh_world, season)
    assert not lines_of(fresh_world, season)["is_out_of_reach"]
    assert "No team is near" not in fresh_world.http.get("/leagues/public").text
    changed = {"kind": "lines", "gold": 9000, "silver": 8000, "bronze": 7000}
    fresh_world.client("host").patch(f"/v1/seasons/{season}", {"medals": changed})
    fit(fresh_world, season)
    assert lines_of(fresh_world, season)["is_out_of_reach"]
    assert "No team is near a medal" in fresh_world.http.get("/leagues/public").text
    with browse(fresh_world, "host") as browser:
        assert "/leagues/public/edit#medals-title" in browser.get("/leagues/public").text


def test_command_moves_lines_and_shows_them(peck: Peck, world: World) -> None:
    token = world.tokens["host"]
    league_with_lines(world, "commanded", NUMBERS)
    moved = peck("season", "set", "commanded", "medals=lines:700,650,500", PECK_TOKEN=token)
    assert moved.returncode == 0, moved.stderr
    assert "medals lines:700,650,500" in moved.stdout
    shown = peck("leaderboard", "commanded", PECK_TOKEN=token).stdout
    assert "medals by score: gold from 700.0, silver from 650.0, bronze from 500.0" in shown


def test_form_moves_lines(world: World) -> None:
    league_with_lines(world, "formed", NUMBERS)
    with browse(world, "host") as browser:
        path = "/leagues/formed/edit"
        page = browser.get(path).text
        shown = {"medals.gold": "1210", "medals.silver": "1080", "medals.bronze": "1050"}
        assert 'name="medals.gold" type="text" value="1210"' in page
        present = {
            "title": "formed",
            "description": "",
            "visibility": "public",
            "replay_visibility": "public",
            "same_team_lineups": "",
        }
        data = {
            "form_token": browser.form_token(path),
            "shown": json.dumps({**present, **shown}),
            **present,
            **shown,
        }
        data["medals.bronze"] = "nobody+1"
        refused = browser.http.post(path, data=data)
        assert refused.status_code == 422
        assert "the season has no reference agent" in refused.text.lower()
        data["medals.bronze"] = "640"
        saved = browser.http.post(path, data=data, follow_redirects=False)
        assert saved.status_code == 303
    assert world.client("host").get("/v1/seasons/formed")["medals"]["bronze"] == 640.0
