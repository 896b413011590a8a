"""Shows of a tournament whose results are hidden: a secret address that tells them in order."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest

from ladder.errors import NotFound
from ladder.ids import AgentId, TournamentId
from ladder.tournaments import course_acts, courses, shows
from ladder.tournaments.shows import Direction, SceneKind
from tests.integration.api.browsing import Browser, browse
from tests.integration.api.test_tournament_spoilers import make_cup, play
from tests.integration.api.world import World
from tests.integration.ladder.cup import better_seed_wins

WINS = re.compile(r"<h1>(.*?)</h1>", re.DOTALL)


@pytest.fixture
def cup(world: World) -> TournamentId:
    """A finished single elimination of three; member and host play the final."""
    with world.connect() as conn:
        made = make_cup(conn, world)
        play(conn, world, made, better_seed_wins)
    return made


def make_show(world: World, cup: TournamentId, **terms: float) -> str:
    """The path of a new show."""
    made = world.client("host").post(f"/v1/tournaments/{cup}/shows", terms)
    return urlsplit(made["address"]).path


def heading(browser: Browser, path: str) -> str:
    found = WINS.search(browser.get(path).text)
    assert found is not None
    return " ".join(re.sub("<[^>]+>", "", found[1]).split())


def move(browser: Browser, path: str, start: int, go: str) -> None:
    assert browser.send(path, path, **{"from": str(start), "go": go}).status_code == 200


def test_a_show_plays_the_games_and_then_tells_the_result(world: World, cup: TournamentId) -> None:
    path = make_show(world, cup)
    with browse(world, "stranger") as browser:
        seen = [heading(browser, path)]
        for start in range(11):
            move(browser, path, start, "next")
            seen.append(heading(browser, path))
    names = [one.split(" against ") for one in (seen[1], seen[6])]
    assert seen[0] == "Cup"
    assert seen[1:5] == [seen[1]] * 4, "four games of two pairs"
    assert seen[5] == f"{names[0][0]} wins"
    assert seen[6:10] == [seen[6]] * 4
    assert seen[10] == f"{names[1][0]} wins"
    assert seen[11] == names[1][0]


def test_keys_of_two_screens_move_a_show_by_one_scene(world: World, cup: TournamentId) -> None:
    path = make_show(world, cup)
    with browse(world, "stranger") as browser:
        for _ in range(2):
            move(browser, path, 0, "result")
        assert heading(browser, path).endswith(" wins")
        assert browser.get(f"{path}?was=5").status_code == 204
        assert browser.get(f"{path}?was=4").status_code == 200
        move(browser, path, 5, "back")
        assert " against " in heading(browser, path)


def test_a_replay_is_sent_only_once_the_show_has_come_to_it(
    world: World, cup: TournamentId
) -> None:
    secret = make_show(world, cup).rpartition("/")[2]
    with world.connect() as conn:
        games = courses.read_games(conn, cup)
        last = max(games, key=lambda one: one.pairing)
        with pytest.raises(NotFound):
            shows.shown_game(conn, secret, last.match_id, 0)
        for start in (0, 5):
            shows.move_show(conn, secret, start, Direction.ROUND)
        assert shows.shown_game(conn, secret, last.match_id, 0)[0] == last.match_id
        with pytest.raises(NotFound):  # no episode of the match goes before its scene
            shows.shown_game(conn, secret, last.match_id, 1)
        assert shows.read_screen(conn, secret).scene.kind is SceneKind.RESULT
    with browse(world, "stranger") as browser:
        assert browser.get(f"/matches/{last.match_id}").status_code == 404


def test_an_ended_address_looks_like_one_that_never_was(world: World, cup: TournamentId) -> None:
    revoked, expired, orphaned = (make_show(world, cup) for _ in range(3))
    host = world.client("host")
    listed = host.get(f"/v1/tournaments/{cup}/shows")["items"]
    host.send("DELETE", f"/v1/tournaments/{cup}/shows/{listed[0]['id']}")
    with world.connect() as conn:
        conn.execute(
            "update tournament_shows set expires_at = now() where id = %s", (listed[1]["id"],)
        )
    with browse(world, "stranger") as browser:
        unknown = browser.get(f"/shows/{'x' * 32}")
        assert unknown.status_code == 404
        assert browser.get(orphaned).status_code == 200
        for path in (revoked, expired):
            assert browser.get(path).text.replace(path, "") == unknown.text.replace(
                f"/shows/{'x' * 32}", ""
            )
        with world.connect() as conn:
            conn.execute(
                "delete from league_members where league_id = %s and user_id = %s",
                (world.leagues["public"], world.users["host"]),
            )
        assert browser.get(orphaned).status_code == 404, "its maker hosts the league no more"


def test_a_show_ends_without_a_champion_if_all_left(world: World, cup: TournamentId) -> None:
    with world.connect() as conn:
        for person in ("member", "host", "rival"):
            agent = AgentId(world.agents[f"public.{person}"])
            course_acts.disqualify(conn, cup, agent, None, "a test")
        conn.commit()
    path = make_show(world, cup)
    with browse(world, "stranger") as browser:
        for start in (0, 5, 10):
            move(browser, path, start, "round" if start < 10 else "next")
        assert heading(browser, path) == "No champion"
        assert "All agents withdrew or were disqualified" in browser.get(path).text
