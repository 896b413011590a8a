"""A POST under an Idempotency-Key happens once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx

from tests.integration.api.shared import world as world
from tests.integration.api.world import World


def post(world: World, key: str, name: str) -> httpx.Response:
    headers = {**world.client("member").headers, "Idempotency-Key": key}
    return world.http.post("/v1/agents", json={"name": name}, headers=headers)


def test_a_repeated_request_gets_the_first_answer(world: World) -> None:
    first, again = post(world, "k1", "Once"), post(world, "k1", "Once")
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    names = [
        agent["name"]
        for agent in world.client("member").list_items("/v1/agents", team="member", limit=200)
    ]
    assert names.count("Once") == 1


def test_a_key_of_another_request_is_refused(world: World) -> None:
    post(world, "k2", "This")
    other = post(world, "k2", "That")
    assert other.status_code == 409
    assert other.json()["type"] == "/problems/idempotency-mismatch"


def test_keys_of_different_users_are_independent(world: World) -> None:
    post(world, "k3", "Mine")
    headers = {**world.client("rival").headers, "Idempotency-Key": "k3"}
    assert world.http.post("/v1/agents", json={"name": "Theirs"}, headers=headers).is_success


def test_a_refused_request_leaves_its_key_unused(world: World) -> None:
    taken = world.client("member").post("/v1/agents", {"name": "Taken"})
    assert post(world, "k4", "Taken").status_code == 409
    world.client("member").patch(f"/v1/agents/{taken['id']}", {"name": "Renamed"})
    with world.connect() as conn:
        conn.execute("update agents set slug = 'other' where id = %s", (taken["id"],))
    assert post(world, "k4", "Taken").status_code == 201


def test_simultaneous_repeats_make_one_agent(world: World) -> None:
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: post(world, "k5", "Racing"), range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1


def test_a_repeated_answer_omits_the_token_text(world: World) -> None:
    headers = {**world.client("member").headers, "Idempotency-Key": "k6"}
    body = {"label": "secret", "scopes": ["read"]}
    first = world.http.post("/v1/users/me/tokens", json=body, headers=headers)
    again = world.http.post("/v1/users/me/tokens", json=body, headers=headers)
    assert first.json()["token"].startswith("peck_")
    assert again.json()["token"] is None
    assert again.json()["id"] == first.json()["id"]
