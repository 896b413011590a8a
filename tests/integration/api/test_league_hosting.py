"""How a host edits, pauses, resumes, ends and continues a league on the command line."""

from __future__ import annotations

import subprocess

import pytest

from tests.integration.api.browsing import browse
from tests.integration.api.commands import Peck, read
from tests.integration.api.commands import fresh_peck as fresh_peck
from tests.integration.api.commands import peck as peck
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.world import World

NEXT = "peck season create"


@pytest.fixture
def league(world: World, request: pytest.FixtureRequest) -> str:
    """A league of the member with its first season, named after the test."""
    slug: str = request.node.name.removeprefix("test_").replace("_", "-")[:40].strip("-")
    world.client("member").post(
        "/v1/leagues",
        {
            "slug": slug,
            "title": "Geese",
            "game": "hungry_geese",
            "season": {
                "seats": 2,
                "configuration": {"rows": 9},
                "clock": {"act_seconds": 0.5},
                "daily_limit": 7,
                "medals": {"kind": "counts", "gold": 1, "silver": 1, "bronze": 2},
            },
        },
    )
    return slug


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_host_edits_a_league(peck: Peck, world: World, league: str) -> None:
    done = peck(
        *("league", "set", league, "title=Swans", "description=Every day"),
        *("visibility=invitation", "replay_visibility=members"),
    )
    assert lines(done) == [
        f"Swans ({league}), hungry_geese",
        "invitation, replays members, open",
        "Every day",
    ]
    changed = read(peck("league", "set", league, "description=", "--json"))
    assert (changed["title"], changed["description"]) == ("Swans", "")
    assert peck("league", "set", league).returncode == 2
    wrong = peck("league", "set", league, "visibility=secret")
    assert wrong.returncode == 1
    assert "visibility" in wrong.stderr


def test_host_pauses_and_resumes_a_league(peck: Peck, world: World, league: str) -> None:
    assert read(peck("league", "set", league, "state=paused", "--json"))["state"] == "paused"
    assert read(peck("league", "set", league, "state=open", "--json"))["state"] == "open"


def test_closed_league_opens_only_by_a_new_season(peck: Peck, world: World, league: str) -> None:
    member = world.client("member")
    member.patch(f"/v1/leagues/{league}", {"state": "closed"})
    for state in ("open", "paused"):
        refused = peck("league", "set", league, f"state={state}")
        assert refused.returncode == 1
        assert f"this league is closed; a new season opens it again: {NEXT} {league}" in (
            refused.stderr
        )
        assert member.get(f"/v1/leagues/{league}")["state"] == "closed"
    with browse(world, "member") as browser:
        page = browser.get(f"/leagues/{league}").text
        assert "Resume the league" not in page
        assert "A new season opens it again" in page
    lines(peck("season", "create", league, "--no-fill"))
    assert member.get(f"/v1/leagues/{league}")["state"] == "open"


def test_audit_log_says_who_ran_the_league_and_how(peck: Peck, world: World, league: str) -> None:
    member = world.client("member")
    first = member.get(f"/v1/seasons/{league}")["id"]
    edit, pause = ("title=Swans", "replay_visibility=members"), ("state=paused",)
    for settings in (edit, edit, pause, pause, ("state=open",)):
        lines(peck("league", "set", league, *settings))
    for state in ("locked", "locked", "open"):
        member.patch(f"/v1/seasons/{first}", {"state": state})
    lines(peck("season", "end", league, "--yes"))
    lines(peck("season", "end", league, "--yes"))
    lines(peck("season", "create", league, "--no-fill"))
    found = list(member.list_items(f"/v1/leagues/{league}/audits"))[::-1]
    assert [(row["act"], row["reason"]) for row in found] == [
        ("edit", "title, replay visibility: public becomes members"),
        ("pause", "open becomes paused"),
        ("resume", "paused becomes open"),
        ("lock-season", "season 1: open becomes locked"),
        ("reopen-season", "season 1: locked becomes open"),
        ("end-season", "season 1: open becomes finished"),
        ("new-season", "season 2"),
    ]
    ids = (
        [member.get(f"/v1/leagues/{league}")["id"]] * 3
        + [first] * 3
        + [member.get(f"/v1/seasons/{league}")["id"]]
    )
    assert [row["subject"] for row in found] == ids
    assert {row["by_user"] for row in found} == {world.users["member"]}
    member.patch(f"/v1/leagues/{league}", {"takes_requests": True, "live_delay_seconds": 5})
    assert next(iter(member.list_items(f"/v1/leagues/{league}/audits")))["reason"] == (
        "takes requests: no becomes yes, live delay seconds: 0 becomes 5"
    )


def test_season_ends_only_after_a_yes(peck: Peck, world: World, league: str) -> None:
    refused = peck("season", "end", league)
    assert refused.returncode == 1
    assert "--yes" in refused.stderr
    assert world.client("member").get(f"/v1/seasons/{league}")["state"] == "open"
    ended = lines(peck("season", "end", league, "--yes"))
    assert ended[0] == f"season 1 of {league} is finished"
    assert ended[-1] == f"next season: peck season create {league}"
    assert world.client("member").get(f"/v1/seasons/{league}")["state"] == "finished"
    assert "was finished already" in lines(peck("season", "end", league))[0]


def test_new_season_keeps_settings(peck: Peck, world: World, league: str) -> None:
    member = world.client("member")
    first = member.get(f"/v1/seasons/{league}")
    done = lines(peck("season", "create", league, "closes_at=2999-12-01T18:00+01:00"))
    assert f"season 1 is not finished: peck season end {first['id']}" in done
    assert any(line.startswith("anchors: ") for line in done)
    second = member.get(f"/v1/seasons/{league}")
    kept = ("configuration", "clock", "seats", "daily_limit", "medals", "team_active_limit")
    assert {name: second[name] for name in kept} == {name: first[name] for name in kept}
    assert (second["number"], second["closes_at"]) == (2, "2999-12-01T17:00:00Z")


def test_options_of_new_season_change_settings(peck: Peck, league: str) -> None:
    made = read(
        peck(
            *("season", "create", league, "--no-fill", "configuration.rows=11", "seats=4"),
            *("bank_seconds=5", "daily_limit=3", "team_active_limit=null", "--json"),
        )
    )
    season = made["season"]
    assert (season["configuration"]["rows"], season["seats"]) == (11, 4)
    assert (season["clock"]["act_seconds"], season["clock"]["bank_seconds"]) == (0.5, 5)
    assert (season["daily_limit"], season["team_active_limit"]) == (3, None)
    assert made["anchors"] == []
    early = peck("season", "create", league, "ends_at=2001-01-01T00:00Z")
    assert early.returncode == 1
    assert "ends_at: give a moment" in early.stderr


@pytest.mark.parametrize("game", ["battlesnake", "snake"])
def test_new_season_of_another_game(peck: Peck, world: World, game: str) -> None:
    world.client("member").post(
        "/v1/leagues", {"slug": f"next-{game}", "title": "L", "game": game, "season": {}}
    )
    made = read(peck("season", "create", f"next-{game}", "--json"))
    assert made["season"]["number"] == 2


def test_only_hosts_run_a_league(peck: Peck) -> None:
    for command in (
        ("league", "set", "public", "state=paused"),
        ("season", "set", "public", "state=locked"),
        ("season", "create", "public"),
    ):
        refused = peck(*command)
        assert refused.returncode == 1
        assert "next: " in refused.stderr
    assert peck("season", "end", "public", "--yes").returncode == 1


def test_watch_and_leaderboard_say_that_a_season_is_finished(
    fresh_peck: Peck, fresh_world: World
) -> None:
    assert "finished" not in "".join(lines(fresh_peck("leaderboard", "public")))
    fresh_world.client("host").patch("/v1/seasons/public", {"state": "finished"})
    watched = lines(fresh_peck("watch", "public"))
    assert watched[0].startswith("season 1 of public is finished; last match ")
    assert "expected" not in "".join(watched)
    assert read(fresh_peck("watch", "public", "--json"))["season_state"] == "finished"
    waiting = lines(fresh_peck("leaderboard", "public"))
    assert waiting[0] == "season 1 is finished; the service still computes its final standing"
    season = fresh_world.client("host").get("/v1/seasons/public")
    empty = fresh_world.client("host").post("/v1/leagues/public/seasons", {"seats": 2})
    fresh_world.client("host").patch(f"/v1/seasons/{empty['id']}", {"state": "finished"})
    assert lines(fresh_peck("leaderboard", "public"))[0] == (
        "season 2 is finished; this standing is final"
    )
    assert lines(fresh_peck("leaderboard", season["id"]))[0] == waiting[0]


def test_watch_says_first_that_a_league_is_paused(peck: Peck, league: str) -> None:
    peck("league", "set", league, "state=paused")
    watched = peck("watch", league).stdout.splitlines()
    assert watched[0] == f"{league} is paused: it pairs no new rated matches"
    assert watched[1].endswith(f"peck league set {league} state=open")


def test_watch_and_leaderboard_say_that_a_league_is_closed(
    peck: Peck, world: World, league: str
) -> None:
    world.client("member").patch(f"/v1/leagues/{league}", {"state": "closed"})
    closed = f"{league} is closed: it plays no rated matches"
    watched = lines(peck("watch", league))
    assert watched[0].startswith(f"{closed}; ")
    assert watched[1].endswith(f"peck season create {league}")
    assert lines(peck("leaderboard", league))[0] == closed


def test_page_of_a_paused_league_says_so(world: World, league: str) -> None:
    world.client("member").patch(f"/v1/leagues/{league}", {"state": "paused"})
    with browse(world, "member") as browser:
        page = browser.get(f"/leagues/{league}").text
    assert "This league is paused" in page
    assert "Resume the league" in page
    assert "The league is paused: it makes no new rated matches." in page
    assert "The next one appears here" not in page
    assert 'id="pulse"' not in page


def test_page_of_a_finished_season_does_not_look_as_if_it_plays(world: World, league: str) -> None:
    member = world.client("member")
    with browse(world, "member") as browser:
        before = browser.get(f"/leagues/{league}").text
        member.patch(f"/v1/seasons/{league}", {"state": "finished"})
        page = browser.get(f"/leagues/{league}").text
        playing = browser.get(f"/leagues/{league}/playing").text
        cards = browser.get("/leagues").text
    assert "Matches begin when" in before
    assert '<span class="chip good">open</span>' in before
    for phrase in ('class="chip good">open<', 'id="pulse"', "Matches begin when", "<dt>Ends<"):
        assert phrase not in page
    assert f"/leagues/{league}/new-season" in page
    assert '<span class="chip good">final</span>' in page
    assert "The season is finished: it plays no more matches." in page
    assert "The season is finished: it plays no more matches." in playing
    assert '<span class="chip good">finished</span>' in cards


def test_host_pauses_and_resumes_on_the_page(world: World, league: str) -> None:
    member, page = world.client("member"), f"/leagues/{league}"
    with browse(world, "member") as browser:
        for state in ("paused", "open"):
            browser.submit(page, f"{page}/state")
            assert member.get(f"/v1/leagues/{league}")["state"] == state
        wrong = browser.send(page, f"{page}/state", state="asleep")
        assert (wrong.status_code, "&#39;paused&#39;" in wrong.text) == (422, True)
    with browse(world, "rival") as other:
        assert "Pause the league" not in other.get(page).text
        assert other.send("/me/account", f"{page}/state", state="paused").status_code == 403


def test_host_ends_a_season_on_the_page_after_a_tick(world: World, league: str) -> None:
    member, page = world.client("member"), f"/leagues/{league}"
    with browse(world, "rival") as other:
        end = f"/seasons/{member.get(f'/v1/seasons/{league}')['id']}/end"
        assert other.send("/me/account", end, sure="yes").status_code == 403
    with browse(world, "member") as browser:
        foreign = browser.send(page, f"/seasons/{world.seasons['public']}/end", sure="yes")
        assert foreign.status_code == 403
        unsure = browser.submit(page, end)
        assert (unsure.status_code, "tick the box" in unsure.text.lower()) == (422, True)
        assert member.get(f"/v1/seasons/{league}")["state"] == "open"
        ended = browser.submit(page, end, sure="yes")
        assert "End the season" not in ended.text
    assert member.get(f"/v1/seasons/{league}")["state"] == "finished"


def test_page_of_a_league_without_tournaments_asks_only_its_host_to_make_one(
    world: World, league: str
) -> None:
    with browse(world, "stranger") as browser:
        assert 'id="tournaments-title"' not in browser.get(f"/leagues/{league}").text
    with browse(world, "member") as browser:
        page = browser.get(f"/leagues/{league}").text
    card = page.split('id="tournaments-title"', 1)[1].split("</section>", 1)[0]
    assert "No tournaments yet" in card
    assert "enter one" not in card
    assert f"/leagues/{league}/new-tournament" in card
    plan = {"stages": [{"format": "single_elimination"}]}
    asked = {"title": "Cup", "plan": plan}
    world.client("member").post(f"/v1/leagues/{league}/tournaments", asked)
    with browse(world, "stranger") as browser:
        assert "and enter one" in browser.get(f"/leagues/{league}").text


def test_page_says_when_a_season_ended(world: World, league: str) -> None:
    member = world.client("member")
    season = member.post(
        f"/v1/leagues/{league}/seasons",
        {"opens_at": "2026-01-01T00:00Z", "ends_at": "2026-01-02T00:00Z"},
    )
    member.patch(f"/v1/seasons/{season['id']}", {"state": "finished"})
    with browse(world, "member") as browser:
        page = browser.get(f"/leagues/{league}").text
    assert "<dt>Ended</dt>" in page
    assert "2 Jan 2026" in page
