"""Comparisons through the API, the pages and the command line, with replays of random moves."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from games.episode import first_different_move, from_document
from ladder.ids import MatchId
from ladder.scrims import comparison_progress
from services.api_client import ApiError
from tests import typed
from tests.integration.api.browsing import browse
from tests.integration.api.commands import member_environment
from tests.integration.api.shared import world as world
from tests.integration.api.world import OPEN, World, finish, older_submission

LIST = "/v1/leagues/public/comparisons"


def play_on(world: World) -> None:
    """One round of the scheduler, and all queued games of comparisons; each has its own moves."""
    with world.connect() as conn:
        for comparison in comparison_progress.comparisons_to_advance(conn):
            comparison_progress.advance(conn, comparison)
    with world.connect() as conn:
        rows = conn.execute(
            "select m.id from matches m join scrims c on c.id = m.scrim_id"
            " where c.comparison_id is not null and m.state = 'queued' order by m.id"
        ).fetchall()
    for number, (match_id,) in enumerate(rows):
        with world.connect() as conn:
            finish(conn, world.blobs, MatchId(match_id), chance=number)


@pytest.fixture(scope="module")
def ended(world: World) -> dict[str, Any]:
    """A comparison of two pairs, which cannot tell."""
    member = world.client("member")
    made = member.post(
        "/v1/leagues/public/comparisons",
        {
            "old": older_submission(world, "public"),
            "new": world.submissions["public.member"],
            "opponents": [world.agents["public.host"]],
            "pairs": 2,
        },
    )
    assert (made["state"], made["verdict"]) == ("running", None)
    for _ in range(2):
        play_on(world)
    found: dict[str, Any] = member.get(f"/v1/comparisons/{made['id']}")
    assert made.keys() < found.keys()
    return found


def test_ended_comparison_shows_where_the_versions_differ(
    world: World, ended: dict[str, Any]
) -> None:
    assert (ended["verdict"], ended["ended_by"], ended["pairs"]) == ("cannot_tell", "pairs", 2)
    assert [point["pairs"] for point in ended["course"]] == [1, 2]
    assert ended["course"][-1]["low"] == pytest.approx(ended["low"])
    assert ended["old"]["mean_move_seconds"] == pytest.approx(0.01)
    assert sum(gain["games"] for gain in ended["seats"]) == 2
    assert [gain["name"] for gain in ended["opponents"]] == ["Flood public.host"]
    member = world.client("member")
    for first in ended["first_differences"]:
        old, new = (
            from_document(member.get(f"/v1/matches/{first[f'{side}_match_id']}/replay"))
            for side in ("old", "new")
        )
        assert first_different_move(old, new, first["seat"]) == first["step"]
    with browse(world, "member") as browser:
        page = browser.get(f"/comparisons/{ended['id']}").text
    assert "cannot tell" in page
    if ended["first_differences"]:
        first = ended["first_differences"][0]
        assert f'/matches/{first["old_match_id"]}#step={first["step"]}"' in page


def test_only_the_team_sees_a_comparison_and_its_games(world: World, ended: dict[str, Any]) -> None:
    games = world.client("member").list_items(
        "/v1/matches", kind="scrim", season=world.seasons["public"]
    )
    (first, *_) = [game["id"] for game in games]
    for person in ("host", "rival", "cohost", "stranger"):
        client = world.client(person)
        with pytest.raises(ApiError) as refused:
            client.get(f"/v1/comparisons/{ended['id']}")
        assert refused.value.status in (401, 404)
        with pytest.raises(ApiError):
            client.get(f"/v1/matches/{first}/replay")
        with browse(world, person) as browser:
            assert browser.get(f"/comparisons/{ended['id']}").status_code == 404
            assert ended["id"] not in browser.get("/leagues/public/better").text
    listed = {
        person: [one["id"] for one in world.client(person).get(LIST)["items"]]
        for person in ("host", "member")
    }
    assert listed == {"host": [], "member": [ended["id"]]}


def test_form_starts_and_cancels_a_comparison(world: World) -> None:
    older = older_submission(world, "public")
    with browse(world, "member") as browser:
        form = "/leagues/public/better"
        wrong = browser.send(form, form, new=older, old=older, margin="0.5", variants="1")
        assert "both have the same files" in wrong.text
        wrong = browser.send(
            form, form, new=world.submissions["public.member"], old=older, margin="7", variants="1"
        )
        assert "Use a number from 0.01 to 0.5" in wrong.text
        newer = world.submissions["public.member"]
        made = browser.send(form, form, new=newer, old=older, margin="0.5", variants="1")
        assert "No pair has ended yet" in made.text
        path = made.url.path
        cancelled = browser.send(path, f"{path}/cancel")
        assert "cancelled" in cancelled.text


def test_command_waits_for_the_verdict_of_the_service(world: World, tmp_path: Path) -> None:
    over = threading.Event()

    def schedule() -> None:
        while not over.wait(0.1):
            play_on(world)

    plays = threading.Thread(target=schedule)
    plays.start()
    try:
        done = typed.peck(
            tmp_path,
            member_environment(world, tmp_path),
            *("better", older_submission(world, "public"), world.submissions["public.member"]),
            *("--league", "public", "--pairs", "1", "--json"),
        )
    finally:
        over.set()
        plays.join()
    assert done.returncode == 3, done.stderr
    assert "The limit is your team's scrim games a day:" in done.stderr
    assert json.loads(done.stdout)["verdict"] == "cannot_tell"


def test_page_and_api_show_the_pairs_that_today_allows(world: World) -> None:
    opponent = world.agents["public.host"]
    newer, older = world.submissions["public.member"], older_submission(world, "public")
    world.client("host").put(f"/v1/agents/{opponent}/scrim-policy", {**OPEN, "games_daily": 21})
    try:
        plan = world.client("member").post(
            "/v1/leagues/public/comparisons/plan",
            {"old": older, "new": newer, "opponents": [opponent]},
        )
        with browse(world, "member") as browser:
            form = browser.get("/leagues/public/better").text
    finally:
        world.client("host").put(f"/v1/agents/{opponent}/scrim-policy", OPEN)
    used = plan["used"]
    assert (plan["pairs"], plan["allowed"]) == ((21 - used) // 2, 21)
    assert plan["limit"] == "scrim games a day of Flood public.host with all teams"
    assert f"at most {plan['pairs']} pairs today" in form
    assert "The limit is your team&#39;s scrim games a day:" in form


def test_waiting_comparison_names_the_limit_and_plays_nothing(world: World) -> None:
    opponent = world.agents["public.host"]
    member = world.client("member")
    world.client("host").put(f"/v1/agents/{opponent}/scrim-policy", {**OPEN, "games_daily": 400})
    made = member.post(
        "/v1/leagues/public/comparisons",
        {
            "old": older_submission(world, "public"),
            "new": world.submissions["public.member"],
            "opponents": [opponent],
        },
    )
    used = member.get(f"/v1/comparisons/{made['id']}")["today"]["used"]
    policy = {**OPEN, "games_daily": used + 3}
    world.client("host").put(f"/v1/agents/{opponent}/scrim-policy", policy)
    try:
        with world.connect() as conn:
            comparison_progress.advance(conn, made["id"])
        with browse(world, "member") as browser:
            ending = browser.get(f"/comparisons/{made['id']}").text
            play_on(world)
            waiting = browser.get(f"/comparisons/{made['id']}").text
            listed = browser.get("/leagues/public/better").text
        found = member.get(f"/v1/comparisons/{made['id']}")
    finally:
        world.client("host").put(f"/v1/agents/{opponent}/scrim-policy", OPEN)
        member.post(f"/v1/comparisons/{made['id']}/cancel")
    limit = "The limit is used up: scrim games a day of Flood public.host with all teams"
    for page in (ending, waiting):
        assert limit in page
        assert "games are being played" not in page
    assert "the pairs that have begun are being finished" in ending
    assert "No answer yet: it waits" in waiting
    assert '<span class="chip warn">waiting</span>' in listed
    assert (found["unfinished_pairs"], found["today"]["pairs"]) == (0, 0)


def test_command_without_an_answer_gives_status_2(world: World, tmp_path: Path) -> None:
    one = world.submissions["public.member"]
    environment = member_environment(world, tmp_path)
    for given in (
        ("better", one, one, "--league", "public"),
        ("better", "nobody", one, "--league", "public"),
        ("better", one, one),
    ):
        assert typed.peck(tmp_path, environment, *given).returncode == 2
