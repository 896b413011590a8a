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
    user = admin.post("/v1/users", {"name": name})
    admin.post("/v1/teams", {"name": f"Team {name}", "slug": name, "owner": user["id"]})
    return stack.client(
        admin.post(f"/v1/users/{user['id']}/tokens", {"label": "test", "scopes": SCOPES})["token"]
    )


def validated(ladder: Client, made: Json) -> Json:
    """The entry of an upload after its validation."""
    entry: Json = made["entry"]

    def is_over() -> bool:
        entry.update(ladder.get(f"/v1/entries/{made['entry']['id']}"))
        return bool(entry["state"] != "pending")

    wait_until(is_over, "validation")
    return entry


def test_uploaded_agents_reach_leaderboard_replay_and_scrim(stack: Stack) -> None:
    ada, bob, stranger = team(stack, "ada"), team(stack, "bob"), stack.client()
    league = {"slug": "geese", "title": "Geese", "game": "hungry_geese"}
    ada.post("/v1/leagues", {**league, "replay_visibility": "public"})
    season = ada.post(
        "/v1/leagues/geese/seasons",
        {"seats": 4, "configuration": {"episodeSteps": 30}},
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
        agent = ladder.post("/v1/agents", {"name": f"{name} {'ada' if ladder is ada else 'bob'}"})
        bundle = (AGENTS / name / "main.py").read_bytes() + f"# {agent['id']}\n".encode()
        made = ladder.upload(f"/v1/agents/{agent['id']}/submissions", bundle, season="geese")
        assert made["limits"]["left"] == made["limits"]["allowed"] - made["limits"]["used"]
        agents[agent["name"]], entries[agent["name"]] = agent, made
    for name, made in entries.items():
        entry = validated(ada if name.endswith("ada") else bob, made)
        assert entry["state"] == "active", entry["reason"]

    # A bad upload is rejected with a reason that only its owner can read.
    broken = validated(
        bob,
        bob.upload(f"/v1/agents/{agents['greedy bob']['id']}/submissions", CRASHES, season="geese"),
    )
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
        rows = stranger.list_items("/v1/matches", most=200, season=season["id"], kind="rated")
        return [row for row in rows if row["state"] == "finished"]

    wait_until(lambda: len(finished()) >= MATCHES, f"{MATCHES} rated matches")
    numbers = sorted(row["accepted_no"] for row in finished())
    assert len(set(numbers)) == len(numbers)

    def is_rated() -> bool:
        return any(row["games"] > 0 for row in stranger.list_items("/v1/seasons/geese/leaderboard"))

    wait_until(is_rated, "the leaderboard")
    board = list(stranger.list_items("/v1/seasons/geese/leaderboard"))
    assert [row["team_name"] for row in board if row["rank"] is not None]
    assert len(board) == 2
    # The official score decides, once the rater has fitted the season.
    scores = [(row["official"] or row)["score"] for row in board]
    assert scores == sorted(scores, reverse=True)

    check_replay_and_logs(ada, bob, stranger, finished()[0])
    check_scrim(ada, bob, season["id"], agents)


def check_replay_and_logs(ada: Client, bob: Client, stranger: Client, match: Json) -> None:
    """The replay is public and Kaggle's software plays it; only the owner sees each log."""
    replay = stranger.get(f"/v1/matches/{match['id']}/replay", format="kaggle")
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
                log = ladder.get(f"/v1/matches/{match['id']}/seats/{seat['seat']}/log")
                assert log["format"] == "peck-log/1"
            else:
                with pytest.raises(ApiError) as refused:
                    ladder.get(f"/v1/matches/{match['id']}/seats/{seat['seat']}/log")
                assert refused.value.status == 403
        with pytest.raises(ApiError) as refused:
            stranger.get(f"/v1/matches/{match['id']}/seats/{seat['seat']}/log")
        assert refused.value.status == 401


def check_scrim(ada: Client, bob: Client, season: str, agents: dict[str, Json]) -> None:
    """A closed agent takes no scrim of another team; an opened one plays in private."""
    mine, theirs = agents["survivor ada"]["id"], agents["random_legal bob"]["id"]
    lineup = [mine, theirs, agents["greedy ada"]["id"], theirs]
    with pytest.raises(ApiError, match="not open") as refused:
        ada.post("/v1/scrims", {"season": season, "lineup": lineup, "games": 3})
    assert refused.value.status == 409
    policy = {"whom": "anyone", "accepts_automatically": True}
    bob.put(f"/v1/agents/{theirs}/scrim-policy", policy)
    scrim = ada.post(
        "/v1/scrims",
        {"season": season, "lineup": lineup, "games": 3, "seeds": [f"{n:032x}" for n in range(3)]},
    )

    def is_over() -> bool:
        scrim.update(ada.get(f"/v1/scrims/{scrim['id']}"))
        return bool(scrim["state"] != "running")

    wait_until(is_over, "the scrim")
    assert scrim["finished_games"] == 3
    assert sum(score["wins"] for score in scrim["summary"]) == pytest.approx(3)
    played = list(ada.list_items("/v1/matches", scrim=scrim["id"]))
    assert sorted(row["seed"] for row in played) == [f"{n:032x}" for n in range(3)]
    own = next(seat for seat in played[0]["seats"] if seat["agent_id"] == mine)
    other = next(seat for seat in played[0]["seats"] if seat["agent_id"] == theirs)
    assert ada.get(f"/v1/matches/{played[0]['id']}/replay")["format"] == "peck-replay/1"
    assert (
        ada.get(f"/v1/matches/{played[0]['id']}/seats/{own['seat']}/log")["verdict"]
        == own["verdict"]
    )
    with pytest.raises(ApiError) as refused:
        ada.get(f"/v1/matches/{played[0]['id']}/seats/{other['seat']}/log")
    assert refused.value.status == 403
    with pytest.raises(ApiError) as refused:
        bob.get(f"/v1/matches/{played[0]['id']}")
    assert refused.value.status == 404


def test_every_upload_that_begins_before_the_deadline_is_accepted(stack: Stack) -> None:
    outcome = deadline.run(stack, students=8, seconds=4.0, late=2, episodeSteps=30)
    assert outcome.faults == []
    accepted = sum(one.is_accepted for one in outcome.students)
    assert 0 < accepted == len(outcome.validated_seconds)
