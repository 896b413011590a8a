"""Walks the main path through the public API: real servers, workers, rater and boxes.

A league of four seats has two teams and four agents. One upload is rejected with a reason. Twelve
rated matches fill the leaderboard. kaggle_environments loads a replay, a stranger sees no logs, and
a scrim is played.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from services.api_client import ApiError, Client, Json
from tests.drills import deadline
from tests.stack import Stack
from tests.waiting import wait_until

AGENTS = Path(__file__).resolve().parents[2] / "agents" / "hungry_geese"
CRASHES = b"def agent(observation):\n    print('about to fail')\n    return 1 // 0\n"
SCOPES = ["read", "agents:write", "scrims:write", "leagues:write"]
MATCHES = 12


def team(stack: Stack, name: str) -> Client:
    """A client of the API for a new user with a new team."""
    admin = stack.client(stack.admin_token)
    user = admin.create_user(name)
    admin.create_team(f"Team {name}", name, owner=user["id"])
    return stack.client(admin.mint_token("test", SCOPES, user=user["id"])["token"])


def validated(ladder: Client, made: Json) -> Json:
    """The entry of an upload after its validation."""
    entry: Json = made["entry"]

    def is_over() -> bool:
        entry.update(ladder.entry(made["entry"]["id"]))
        return bool(entry["state"] != "pending")

    wait_until(is_over, "validation")
    return entry


def test_uploaded_agents_reach_leaderboard_replay_and_scrim(stack: Stack) -> None:
    ada, bob, stranger = team(stack, "ada"), team(stack, "bob"), stack.client()
    season = ada.create_season(
        ada.create_league("geese", "Geese", "hungry_geese", replay_visibility="public")["id"],
        seats=4,
        configuration={"episodeSteps": 30},
    )
    # Two teams cannot fill four seats with one entry each.
    ada.patch("/v1/leagues/geese", {"same_team_lineups": True})

    agents: dict[str, Json] = {}
    entries: dict[str, Json] = {}
    for ladder, name in (
        (ada, "greedy"),
        (ada, "survivor"),
        (bob, "random_legal"),
        (bob, "greedy"),
    ):
        agent = ladder.create_agent(f"{name} {'ada' if ladder is ada else 'bob'}")
        bundle = (AGENTS / name / "main.py").read_bytes() + f"# {agent['id']}\n".encode()
        made = ladder.upload(agent["id"], bundle, season="geese")
        assert made["limits"]["left"] == made["limits"]["allowed"] - made["limits"]["used"]
        agents[agent["name"]], entries[agent["name"]] = agent, made
    for name, made in entries.items():
        entry = validated(ada if name.endswith("ada") else bob, made)
        assert entry["state"] == "active", entry["reason"]

    # A bad upload is rejected with a reason that only its owner can read.
    broken = validated(bob, bob.upload(agents["greedy bob"]["id"], CRASHES, season="geese"))
    assert broken["state"] == "rejected"
    assert "ZeroDivisionError" in broken["reason"]
    log = bob.get(f"/v1/entries/{broken['id']}/log")
    assert "about to fail" in log["moves"][0]["stdout"]
    assert "1 // 0" in log["traceback"]
    for other in (ada, stranger):
        with pytest.raises(ApiError) as refused:
            other.get(f"/v1/entries/{broken['id']}/log")
        assert refused.value.status in (401, 403, 404)

    # The ladder fills without further requests.
    def finished() -> list[Json]:
        rows = stranger.matches(season=season["id"], kind="rated", most=200)
        return [row for row in rows if row["state"] == "finished"]

    wait_until(lambda: len(finished()) >= MATCHES, f"{MATCHES} rated matches")
    numbers = sorted(row["accepted_no"] for row in finished())
    assert len(set(numbers)) == len(numbers)

    def is_rated() -> bool:
        return any(row["games"] > 0 for row in stranger.leaderboard("geese"))

    wait_until(is_rated, "the leaderboard")
    board = list(stranger.leaderboard("geese"))
    assert [row["team_name"] for row in board if row["rank"] is not None]
    assert len(board) == 2
    # The official score decides, once the rater has fitted the season.
    scores = [(row["official"] or row)["score"] for row in board]
    assert scores == sorted(scores, reverse=True)

    check_replay_and_logs(ada, bob, stranger, finished()[0])
    check_scrim(ada, bob, season["id"], agents)


def check_replay_and_logs(ada: Client, bob: Client, stranger: Client, match: Json) -> None:
    """The replay is public and Kaggle's software plays it; only the owner sees each log."""
    replay = stranger.replay(match["id"], form="kaggle")
    environments = pytest.importorskip("kaggle_environments")
    made = environments.make(
        "hungry_geese",
        configuration=replay["configuration"],
        info=replay["info"],
        steps=replay["steps"],
    )
    exported = made.toJSON()
    assert exported["rewards"] == replay["rewards"]
    assert exported["statuses"] == replay["statuses"]
    assert [len(step) for step in exported["steps"]] == [4] * len(replay["steps"])
    teams = {"Team ada": ada, "Team bob": bob}
    for seat in match["seats"]:
        for name, ladder in teams.items():
            if seat["team_name"] == name:
                log = ladder.seat_log(match["id"], seat["seat"])
                assert log["format"] == "peck-log/1"
            else:
                with pytest.raises(ApiError) as refused:
                    ladder.seat_log(match["id"], seat["seat"])
                assert refused.value.status == 403
        with pytest.raises(ApiError) as refused:
            stranger.seat_log(match["id"], seat["seat"])
        assert refused.value.status == 401


def check_scrim(ada: Client, bob: Client, season: str, agents: dict[str, Json]) -> None:
    """A closed agent takes no scrim of another team; an opened one plays in private."""
    mine, theirs = agents["survivor ada"]["id"], agents["random_legal bob"]["id"]
    lineup = [mine, theirs, agents["greedy ada"]["id"], theirs]
    with pytest.raises(ApiError, match="not open") as refused:
        ada.request_scrim(season, lineup, games=3)
    assert refused.value.status == 409
    bob.set_scrim_policy(theirs, {"whom": "anyone", "accepts_automatically": True})
    scrim = ada.request_scrim(season, lineup, games=3, seeds=[f"{n:032x}" for n in range(3)])

    def is_over() -> bool:
        scrim.update(ada.scrim(scrim["id"]))
        return bool(scrim["state"] != "running")

    wait_until(is_over, "the scrim")
    assert scrim["finished_games"] == 3
    assert sum(score["wins"] for score in scrim["summary"]) == pytest.approx(3)
    played = list(ada.matches(scrim=scrim["id"]))
    assert sorted(row["seed"] for row in played) == [f"{n:032x}" for n in range(3)]
    own = next(seat for seat in played[0]["seats"] if seat["agent_id"] == mine)
    other = next(seat for seat in played[0]["seats"] if seat["agent_id"] == theirs)
    assert ada.replay(played[0]["id"])["format"] == "peck-replay/1"
    assert ada.seat_log(played[0]["id"], own["seat"])["verdict"] == own["verdict"]
    with pytest.raises(ApiError) as refused:
        ada.seat_log(played[0]["id"], other["seat"])
    assert refused.value.status == 403
    with pytest.raises(ApiError) as refused:
        bob.match(played[0]["id"])
    assert refused.value.status == 404


def test_every_upload_that_begins_before_the_deadline_is_accepted(stack: Stack) -> None:
    outcome = deadline.run(stack, students=8, seconds=4.0, late=2, episodeSteps=30)
    assert outcome.faults == []
    accepted = sum(one.is_accepted for one in outcome.students)
    assert 0 < accepted == len(outcome.validated_seconds)
