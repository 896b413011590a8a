"""Runtime profiles: competitors list them, name them in an upload and wait for a node."""

from __future__ import annotations

import pytest

from ladder import runtime_profiles
from ladder.entries import entries
from ladder.matches import history, lease, matches, wake_up_messages, workers
from ladder.matches.workers import WorkerHello
from sandbox import profiles as sandboxed
from services.api_client import ApiError
from tests.integration.api.world import GOOD, World

UNSERVED = "no node serves profile torch now; it waits until one does"


def serve(
    world: World, *names: str, gpu: int = 0, queues: tuple[str, ...] = matches.QUEUES
) -> None:
    """Register a live worker whose node has these profiles."""
    digests = {name: f"sha256:{name}" for name in names}
    hello = WorkerHello(
        "worker-more", "there", "node-more", queues, 1, names, gpu=gpu, image_digests=digests
    )
    with world.connect() as conn:
        workers.register_worker(conn, hello)


def test_contest_and_sandbox_know_the_same_profiles() -> None:
    assert set(runtime_profiles.NAMES) == set(sandboxed.PROFILES)
    assert {name for name, one in sandboxed.PROFILES.items() if one.gpu} == runtime_profiles.ON_GPU


def test_the_libraries_of_a_profile_are_public(world: World) -> None:
    listed = {row["name"]: row for row in world.client("stranger").get("/v1/profiles")["items"]}
    assert tuple(listed) == runtime_profiles.NAMES
    assert listed["numpy"]["libraries"] == {"numpy": "2.4.6"}
    assert listed["python"]["libraries"] == {}
    assert listed["torch"]["libraries"]["torch"].startswith("2.13.0")
    assert {name for name, row in listed.items() if row["gpu"]} == {"torch-gpu"}


def test_a_profile_is_served_while_a_live_worker_has_it(world: World) -> None:
    serve(world, "torch", "torch-gpu")
    listed = {row["name"]: row for row in world.client("stranger").get("/v1/profiles")["items"]}
    assert (listed["torch"]["served"], listed["python"]["served"]) == (True, False)
    assert listed["torch"]["image_digests"] == ["sha256:torch"]
    assert not listed["torch-gpu"]["served"], "the node has no GPU"
    serve(world, "torch", "torch-gpu", gpu=2)
    listed = {row["name"]: row for row in world.client("stranger").get("/v1/profiles")["items"]}
    assert listed["torch-gpu"]["served"]


def test_an_unknown_profile_is_refused_with_the_known_ones(world: World) -> None:
    member = world.client("member")
    agent = world.agents["public.member"]
    with pytest.raises(ApiError) as refused:
        member.upload(
            f"/v1/agents/{agent}/submissions", GOOD + b"#p", season="public", profile="tensorflow"
        )
    assert refused.value.status == 422
    (place,) = refused.value.problem["errors"]
    assert place["where"] == "query.profile"
    for name in runtime_profiles.NAMES:
        assert name in place["message"]


def test_an_unserved_profile_is_reported_to_the_uploader(world: World) -> None:
    member = world.client("member")
    made = member.upload(
        f"/v1/agents/{world.agents['public.member']}/submissions",
        GOOD + b"#torch",
        season="public",
        profile="torch",
    )
    entry = made["entry"]
    assert (entry["state"], entry["profile"], entry["reason"]) == ("pending", "torch", UNSERVED)
    page = f"/agents/{world.agents['public.member']}"
    assert UNSERVED not in world.http.get(page).text, "its owner's eyes only"
    form = world.http.get("/sign-in").text
    proof = form.split('name="form_token" value="', 1)[1].split('"', 1)[0]
    signed = {"token": world.tokens["member"], "form_token": proof, "next": "/me"}
    assert world.http.post("/sign-in", data=signed).status_code == 303
    shown = world.http.get(page).text
    assert f"Waits for its validation match: {UNSERVED}." in shown
    assert "profile torch" in shown
    serve(world, "torch")
    assert member.get(f"/v1/entries/{entry['id']}")["reason"] is None


def test_a_lineup_of_gpu_seats_waits_for_a_node_with_a_gpu(world: World) -> None:
    member = world.client("member")
    serve(world, "torch-gpu")
    made = member.upload(
        f"/v1/agents/{world.agents['public.member']}/submissions",
        GOOD + b"#gpu",
        season="public",
        profile="torch-gpu",
    )
    reason = made["entry"]["reason"]
    assert reason.startswith("its match needs a GPU and no node has one")
    with world.connect() as conn:
        found = entries.get_entry(conn, made["entry"]["id"])
        assert found.validation_match_id is not None
        match = history.get_match(conn, found.validation_match_id)
        assert match.queue == "play.gpu"
        assert lease.claim_match(conn, match.id, "worker-more") is None
    serve(world, "torch-gpu", gpu=1)
    assert member.get(f"/v1/entries/{made['entry']['id']}")["reason"] is None
    with world.connect() as conn:
        assert lease.claim_match(conn, match.id, "worker-more") is not None


def test_a_wake_up_message_to_the_wrong_node_is_repeated_at_once(world: World) -> None:
    made = world.client("member").upload(
        f"/v1/agents/{world.agents['public.member']}/submissions",
        GOOD + b"#bell",
        season="public",
        profile="torch",
    )
    serve(world, "torch")
    with world.connect() as conn:
        match_id = entries.get_entry(conn, made["entry"]["id"]).validation_match_id
        assert match_id is not None
        assert wake_up_messages.mark_matches_woken(conn, {"validate": 9}) == [
            ("validate", match_id)
        ]
        assert wake_up_messages.mark_matches_woken(conn, {"validate": 9}) == []
        assert lease.claim_match(conn, match_id, "worker-of-the-tests") is None
        assert wake_up_messages.mark_matches_woken(conn, {"validate": 9}) == [
            ("validate", match_id)
        ]
