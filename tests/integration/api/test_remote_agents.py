"""Remote agents in API, pages and command line: submission, visibility and resumption."""

from __future__ import annotations

from typing import Any

import pytest

from ladder.entries import entries, remote_agents
from ladder.enums import MatchKind
from ladder.ids import EntryId
from ladder.leagues import seasons
from ladder.leagues.hosting import REMOTE_KEYS
from ladder.matches import lease, matches, workers
from ladder.matches.records import LineupSeat
from sandbox.box import http_contract
from services.api_client import ApiError
from tests.integration.api.world import World, finish

URL = "https://snake.example.org/k3J9"


def refused(status: int, text: str) -> Any:
    return pytest.raises(ApiError, match=rf"(?s){text}.*")


def snakes(world: World, slug: str = "snakes") -> str:
    """A public league of Battlesnake whose season takes remote agents."""
    made = world.client("host").post(
        "/v1/leagues",
        {
            "slug": slug,
            "title": "Snakes",
            "game": "battlesnake",
            "season": {"seats": 2, "remote_agents": True, "daily_limit": 3},
        },
    )
    season: str = made["season"]["id"]
    assert made["season"]["remote_agents"]
    return season


def agent(world: World, person: str) -> str:
    made: str = world.client(person).post("/v1/agents", {"name": f"far away {person}"})["id"]
    return made


def play(world: World, entry: str, *, failed_seat: int | None = None) -> None:
    """Play the validation match of the entry."""
    with world.connect() as conn:
        workers.register_worker(
            conn, workers.WorkerHello("far", "h", "n", matches.QUEUES, 1, ("remote",))
        )
        found = entries.get_entry(conn, EntryId(entry)).validation_match_id
        assert found is not None
        finish(conn, world.blobs, found, failed_seat=failed_seat, worker="far")


def be_away(world: World, season: str, entry_ids: list[str]) -> None:
    """Make the first of these two unreachable in three matches, each after its rest."""
    with world.connect() as conn:
        found = [entries.get_entry(conn, EntryId(one)) for one in entry_ids]
        played_in = seasons.get_season(conn, found[0].season_id)
        for _ in range(3):
            match_id = matches.create_match(
                conn,
                season=played_in,
                kind=MatchKind.RATED,
                lineup=[
                    LineupSeat(e.id, e.submission_id, e.agent_id, e.team_id, e.profile)
                    for e in found
                ],
            )
            order = lease.claim_match(conn, match_id, "far")
            assert order is not None
            assert remote_agents.void_for_unreachable_agents(
                conn, match_id, order.attempt, "far", {0: "no connection"}
            )
            conn.execute("update entries set struck_at = struck_at - interval '1 minute'")
        conn.commit()


def test_an_address_is_submitted_like_a_bundle(world: World) -> None:
    season, member, mine = snakes(world), world.client("member"), agent(world, "member")
    made = member.post(
        f"/v1/agents/{mine}/remotes?season=snakes", {"url": "HTTPS://Snake.Example.org:443/k3J9/"}
    )
    assert made["submission"]["url"] == URL
    entry = made["entry"]
    assert (entry["profile"], entry["remote"], entry["state"]) == ("remote", True, "pending")
    assert made["limits"]["used"] == 1
    again = member.post(f"/v1/agents/{mine}/remotes?season=snakes", {"url": URL})
    assert again["entry"]["id"] == entry["id"]
    assert again["limits"]["used"] == 1
    assert "no node serves profile remote" in again["entry"]["reason"]
    old = member.post(
        f"/v1/agents/{mine}/remotes?season=snakes", {"url": URL, "api": "2017"}
    )  # an API version with other messages
    assert old["submission"]["id"] != made["submission"]["id"]
    order_bytes = b"".join(world.blobs.open(made["submission"]["digest"]))
    assert order_bytes == b'{"api":"1","contract":"http","url":"https://snake.example.org/k3J9"}'
    member.post(f"/v1/agents/{mine}/remotes?season=snakes", {"url": URL + "/3"})
    with refused(429, "3 of 3 used"):
        member.post(f"/v1/agents/{mine}/remotes?season=snakes", {"url": URL + "/4"})
    with refused(409, "upload a bundle: .* cannot express Hungry Geese"):
        member.post(f"/v1/agents/{mine}/remotes?season=public", {"url": URL})
    world.client("host").post(
        "/v1/leagues",
        {"slug": "boxed", "title": "B", "game": "battlesnake", "season": {"seats": 2}},
    )
    with refused(409, "upload a bundle: this season takes no remote agents; or ask the host"):
        member.post(f"/v1/agents/{mine}/remotes?season=boxed", {"url": URL})
    with refused(422, r"body\.url: begin with http"):
        member.post(f"/v1/agents/{mine}/remotes", {"url": "ftp://snake.example.org"})
    assert world.client("stranger").get(f"/v1/seasons/{season}")["remote_agents"]
    # Only its team reads the address; administrators do not.
    listed = {
        person: [
            row["url"] for row in world.client(person).list_items(f"/v1/agents/{mine}/submissions")
        ]
        for person in ("member", "admin")
    }
    assert len(listed["member"]) == 3
    assert URL in listed["member"]
    assert listed["admin"] == [None] * 3


def test_the_owner_resumes_a_paused_remote_entry(world: World) -> None:
    season = snakes(world)
    made = {}
    for person in ("member", "rival"):
        entered = world.client(person).post(
            f"/v1/agents/{agent(world, person)}/remotes?season={season}", {"url": URL}
        )
        made[person] = entered["entry"]["id"]
        play(world, made[person])
    be_away(world, season, [made["member"], made["rival"]])
    mine = world.client("member").get(f"/v1/entries/{made['member']}")
    assert (mine["state"], mine["strikes"]) == ("paused", 3)
    assert mine["reason"] == "three strikes; the last: no connection"
    assert mine["next_try_at"] > mine["paused_at"]
    theirs = world.client("rival").get(f"/v1/entries/{made['member']}")
    assert (theirs["state"], theirs["paused_at"]) == ("paused", mine["paused_at"])
    assert [theirs[name] for name in ("strikes", "reason", "next_try_at")] == [None] * 3
    board = {
        row["entry_id"]: row
        for row in world.client("stranger").list_items(f"/v1/seasons/{season}/leaderboard")
    }
    assert [board[made[who]]["paused"] for who in ("member", "rival")] == [True, False]
    assert all(row["remote"] for row in board.values())
    (void, *_) = world.client("stranger").list_items("/v1/matches", season=season)
    assert void["void_reason"] == "a remote agent was away, in seat 0"
    assert [seat["remote"] for seat in void["seats"]] == [True, True]
    away = mine["agent_id"]
    with refused(409, "is paused because its address did not answer"):
        world.client("member").post("/v1/scrims", {"season": season, "lineup": [away, away]})
    with refused(403, "Only the owner"):
        world.client("rival").post(f"/v1/entries/{made['member']}/resume")
    tried = world.client("member").post(f"/v1/entries/{made['member']}/resume")
    assert (tried["state"], tried["next_try_at"]) == ("paused", None)
    assert tried["queue"]["position"] >= 0  # validations of other tests may come first
    with refused(409, "wait for the end of the running try"):
        world.client("member").post(f"/v1/entries/{made['member']}/resume")
    play(world, made["member"])
    back = world.client("member").get(f"/v1/entries/{made['member']}")
    assert (back["state"], back["strikes"]) == ("active", 3)
    assert back["reason"] == "after three strikes an unanswered match is a loss"
    kinds = [item["kind"] for item in world.client("member").list_items("/v1/me/feed")]
    assert kinds[:2] == ["agent_resumed", "agent_paused"]


def test_a_season_takes_remote_agents_only_with_consent(
    world: World,
) -> None:
    host = world.client("host")
    assert REMOTE_KEYS == http_contract.NEEDED
    with refused(422, r"body\.season\.remote_agents: leave it out: Battlesnake's API"):
        host.post(
            "/v1/leagues",
            {
                "slug": "geese",
                "title": "G",
                "game": "hungry_geese",
                "season": {"remote_agents": True},
            },
        )
    with refused(422, r"body\.season\.remote_agents: take 2 seats or more"):
        host.post(
            "/v1/leagues",
            {
                "slug": "one",
                "title": "O",
                "game": "battlesnake",
                "season": {"seats": 1, "remote_agents": True},
            },
        )
    host.post(
        "/v1/leagues",
        {"slug": "club", "title": "Club", "game": "battlesnake", "season": {"seats": 2}},
    )
    plain = host.get("/v1/leagues/club/terms")
    member = world.client("member")
    member.put("/v1/leagues/club/consent", {"terms": plain["digest"]})
    asked = {"seats": 2, "remote_agents": True}
    with refused(409, "remote_agents: 1 member .* --remote-agents"):
        host.post("/v1/leagues/club/seasons", asked)
    wider = member.get("/v1/leagues/club/terms", remote_agents="true")
    assert "may run at addresses of their owners" in wider["text"]
    assert "addresses" not in plain["text"]
    member.put("/v1/leagues/club/consent", {"terms": wider["digest"]})
    assert host.post("/v1/leagues/club/seasons", asked)["remote_agents"]
    assert member.get("/v1/leagues/club/terms")["agreed"]
