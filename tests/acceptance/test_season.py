"""Runs a small season from the first day to the last through the public API.

It opens with its terms and four teams. Then come a resubmission, locked uploads, finals and a
rejudgement with its preview. The final standing stays unchanged.
"""

from __future__ import annotations

import time
from typing import Final

import pytest

from services.api_client import ApiError, Client, Json
from tests.acceptance.test_main_path import AGENTS, team, validated
from tests.stack import Stack
from tests.waiting import wait_until

FIRST_GAMES: Final = 6
FINAL_GAMES: Final = 12
QUIET_SECONDS: Final = 4.0


def upload(ladder: Client, agent: str, name: str, version: int) -> Json:
    bundle = (AGENTS / name / "main.py").read_bytes() + f"# {agent} {version}\n".encode()
    entry = validated(
        ladder, ladder.upload(f"/v1/agents/{agent}/submissions", bundle, season="cup")
    )
    assert entry["state"] == "active", entry["reason"]
    return entry


def board(ladder: Client, season: str) -> Json:
    """The whole board with its metadata."""
    return ladder.get(f"/v1/seasons/{season}/leaderboard", limit=1000)


def test_a_season_runs_from_opening_to_final_standing(stack: Stack) -> None:
    ann, ben = team(stack, "ann"), team(stack, "ben")
    cy, dee = team(stack, "cy"), team(stack, "dee")
    league = ann.post(
        "/v1/leagues",
        {"slug": "cup", "title": "Cup", "game": "hungry_geese", "replay_visibility": "public"},
    )
    season = ann.post(
        f"/v1/leagues/{league['id']}/seasons",
        {
            "seats": 4,
            "configuration": {"episodeSteps": 20},
            "medals": {"kind": "counts", "gold": 1, "silver": 1, "bronze": 1},
        },
    )
    key = season["id"]
    agents = {
        name: (ladder, ladder.post("/v1/agents", {"name": name})["id"])
        for ladder, name in (
            (ann, "greedy"),
            (ben, "survivor"),
            (cy, "random_legal"),
            (dee, "greedy_again"),
        )
    }
    first = {name: upload(*who, name.removesuffix("_again"), 1) for name, who in agents.items()}

    def accepted(count: int) -> bool:
        return bool(board(ann, key)["accepted_no"] >= count)

    wait_until(lambda: accepted(FIRST_GAMES), f"{FIRST_GAMES} results")
    wait_until(lambda: board(ann, key)["fitted"] is not None, "the official standing")
    shown = board(ann, key)["items"]
    found = [row["rank"] for row in shown]  # equal agents may share one
    assert len(found) == len(agents)
    assert found == sorted(found)
    assert {*found} == {*range(1, found[-1] + 1)}
    assert {row["status"] for row in shown if row["medal"]} == {"likely"}

    second = upload(*agents["random_legal"], "random_legal", 2)
    assert second["id"] != first["random_legal"]["id"]

    ann.patch(f"/v1/seasons/{key}", {"state": "locked"})
    with pytest.raises(ApiError) as late:
        ben.upload(
            f"/v1/agents/{agents['survivor'][1]}/submissions",
            b"def agent(o): return 'EAST'\n",
            season="cup",
        )
    assert late.value.status == 409
    assert "locked" in str(late.value)
    wait_until(lambda: accepted(FINAL_GAMES), f"{FINAL_GAMES} results")

    check_repair(ann, ben, key, agents["greedy"][1])
    ann.patch(f"/v1/seasons/{key}", {"state": "finished"})
    check_end(ann, key)


def check_repair(host: Client, other: Client, key: str, agent: str) -> None:
    """A preview changes nothing; then matches of one agent are judged again and logged."""
    played = [row for row in host.list_items("/v1/matches", most=500, season=key, kind="rated")]
    moments = sorted(row["finished_at"] for row in played if row["state"] == "finished")
    predicate = {"agent": agent, "until": moments[5]}
    before = board(host, key)["accepted_no"]
    preview = host.post(f"/v1/seasons/{key}/rejudgements/preview", {"predicate": {**predicate}})
    assert 1 <= preview["total"] <= 5
    assert {match["match_id"] for match in preview["matches"]} <= {row["id"] for row in played}
    with pytest.raises(ApiError) as refused:
        other.post(
            f"/v1/seasons/{key}/rejudgements", {"reason": "I lost", "predicate": {**predicate}}
        )
    assert refused.value.status == 403
    act = host.post(
        f"/v1/seasons/{key}/rejudgements",
        {"reason": "The node was broken.", "predicate": {**predicate}},
    )
    wait_until(
        lambda: host.get(f"/v1/rejudgements/{act['id']}")["done"] == act["total"],
        "matches judged again",
    )
    assert board(host, key)["accepted_no"] >= before + 2 * act["total"]
    acts = [audit["act"] for audit in host.list_items("/v1/leagues/cup/audits")]
    assert acts == ["rejudge", "lock-season", "new-season"]


def check_end(host: Client, key: str) -> None:
    """Running matches end, the last standing is fitted, and then nothing changes."""

    def is_final() -> bool:
        live = [
            row
            for row in host.list_items("/v1/matches", most=500, season=key, kind="rated")
            if row["state"] in ("queued", "running")
        ]
        now = board(host, key)
        awarded = all(row["status"] != "likely" for row in now["items"] if row["medal"])
        return not live and now["fitted"]["log_no"] == now["accepted_no"] and awarded

    wait_until(is_final, "the final standing")
    last = board(host, key)
    assert sum(row["medal"] is not None for row in last["items"]) >= 1
    time.sleep(QUIET_SECONDS)  # the scheduler and the rater find no work
    again = board(host, key)
    assert again["items"] == last["items"]
    assert again["fitted"] == last["fitted"]
