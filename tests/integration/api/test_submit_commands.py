"""The commands that submit bundles and addresses, and follow their entries."""

from __future__ import annotations

import re
from pathlib import Path

from ladder.entries import entries
from services.cli.submissions import is_being_retried
from tests.integration.api.commands import Peck, read
from tests.integration.api.commands import fresh_peck as fresh_peck
from tests.integration.api.commands import peck as peck
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.test_profiles import serve
from tests.integration.api.world import GOOD, World, finish


def test_a_folder_is_submitted_entered_and_listed(peck: Peck, world: World, tmp_path: Path) -> None:
    (tmp_path / "goose").mkdir()
    (tmp_path / "goose" / "main.py").write_bytes(GOOD)
    (tmp_path / "goose" / "weights.txt").write_text("1 2 3")
    first = read(peck("submit", "goose", "--agent", "New goose", "--league", "public", "--json"))
    again = read(peck("submit", "goose", "--agent", "new-goose", "--league", "public", "--json"))
    assert first["submission"]["filename"] == "goose.tar.gz"
    assert first["submission"]["id"] == again["submission"]["id"]
    assert first["entry"]["state"] == "pending"
    listed = read(peck("submissions", "--agent", "New goose", "--json"))
    assert [row["id"] for row in listed] == [first["submission"]["id"]]
    with world.connect() as conn:
        found = entries.get_entry(conn, first["entry"]["id"])
        assert found.validation_match_id is not None
        said = {0: " in step 1. Details: the agent divided 1 by 0 (observation.step 0)"}
        finish(conn, world.blobs, found.validation_match_id, failed_seat=0, said=said)
    waited = peck("submit", "goose", "--agent", "new-goose", "--league", "public", "--wait")
    assert waited.returncode == 1
    short = "rejected: ZeroDivisionError: division by zero in step 1."
    page = f"{world.http.base_url}/matches/{found.validation_match_id}".replace("//m", "/m")
    assert f"entry {found.id}: {short}\n" in waited.stdout
    assert f"reason and logs: {page}\n" in waited.stdout
    assert "Traceback" not in waited.stderr
    shown = peck("entries")
    assert short in shown.stdout
    assert "Details" not in shown.stdout + peck("feed").stdout
    hint = "`peck entries ENTRY --json` prints the whole reason of a rejection"
    assert hint in shown.stderr
    assert hint in peck("submissions").stderr
    assert "Details" in peck("entries", found.id, "--json").stdout
    words = "Copied code. Details: see the forum (observation.step 3)"
    with world.connect() as conn:
        change = "update entries set state = 'retired', reason = %s where id = %s"
        conn.execute(change, (words, found.id))
    shown = peck("entries")
    assert f"retired: {words}" in re.sub(r"\s+", " ", shown.stdout)
    assert hint not in shown.stderr + peck("submissions").stderr


def test_a_submission_over_the_daily_limit_leaves_no_new_agent(
    fresh_peck: Peck, fresh_world: World, tmp_path: Path
) -> None:
    season = fresh_world.client("host").post(
        "/v1/leagues/public/seasons", {"seats": 2, "daily_limit": 1}
    )["id"]
    (tmp_path / "main.py").write_bytes(GOOD)
    submit = ("submit", "main.py", "--league", season, "--agent")
    assert fresh_peck(*submit, "First").returncode == 0
    before = [row["id"] for row in fresh_world.client("member").list_items("/v1/agents", limit=200)]
    (tmp_path / "main.py").write_bytes(GOOD + b"# 2")
    refused = fresh_peck(*submit, "Second")
    assert refused.returncode == 1
    assert "uploads a day" in refused.stderr
    assert "removed the new agent Second" in refused.stderr
    assert [
        row["id"] for row in fresh_world.client("member").list_items("/v1/agents", limit=200)
    ] == before
    assert fresh_peck(*submit, "First").returncode == 1
    assert [
        row["id"] for row in fresh_world.client("member").list_items("/v1/agents", limit=200)
    ] == before


def test_hidden_files_of_a_folder_are_uploaded_and_named(peck: Peck, tmp_path: Path) -> None:
    (tmp_path / "goose").mkdir()
    (tmp_path / "goose" / "main.py").write_bytes(GOOD)
    submit = ("submit", "goose", "--league", "public", "--agent", "Hidden files")
    assert "hidden" not in peck(*submit).stderr
    (tmp_path / "goose" / ".env").write_text("KEY=1")
    assert "it holds hidden files: .env\n" in peck(*submit).stderr


def test_a_folder_that_cannot_be_packed_makes_no_agent(
    peck: Peck, world: World, tmp_path: Path
) -> None:
    before = [row["id"] for row in world.client("member").list_items("/v1/agents", limit=200)]
    (tmp_path / "main.py").symlink_to("/etc/hostname")
    refused = peck("submit", ".", "--league", "public", "--agent", "New")
    assert refused.returncode == 1
    assert "main.py: a link that leads out of the folder" in refused.stderr
    assert [
        row["id"] for row in world.client("member").list_items("/v1/agents", limit=200)
    ] == before


def test_submitting_to_an_unserved_profile_reports_the_wait(
    peck: Peck, world: World, tmp_path: Path
) -> None:
    serve(world, "numpy")
    (tmp_path / "main.py").write_bytes(GOOD)
    submit = ("submit", "main.py", "--agent", "Net", "--league", "public", "--profile")
    waiting = peck(*submit, "torch")
    assert waiting.returncode == 0
    assert "no node serves profile torch now; it waits until one does" in waiting.stdout
    refused = peck(*submit, "keras")
    assert refused.returncode == 1
    assert "profile" in refused.stderr
    assert "'numpy', 'science', 'torch' or 'torch-gpu'" in refused.stderr


def test_the_address_of_a_paused_agent_is_resumed(peck: Peck, world: World) -> None:
    made = read(
        peck(
            *("league", "create", "far", "game=battlesnake", "seats=2"),
            *("remote_agents=true", "--json"),
            PECK_TOKEN=world.tokens["host"],
        )
    )
    assert made["season"]["remote_agents"]
    submit = ("submit", "--agent", "Far", "--league", "far", "--url")
    sent = read(peck(*submit, "https://snake.example.org/k3J9/", "--api", "2017", "--json"))
    assert sent["submission"]["url"] == "https://snake.example.org/k3J9"
    refused = peck(*submit, "https://user@snake.example.org")
    assert refused.returncode == 1
    assert "peck: --url: leave out the user and password" in refused.stderr
    unknown = peck(*submit, "https://snake.example.org", "--api", "3").stderr
    assert "--api: " in unknown
    assert unknown.count("'2017'") == 1
    with world.connect() as conn:
        conn.execute(
            "update entries set state = 'paused', pause_cause = 'unreachable',"
            " paused_at = now(), deadline_at = null,"
            " reason = 'no connection', next_try_at = now() + interval '1 hour' where id = %s",
            (sent["entry"]["id"],),
        )
    listed = peck("entries").stdout
    assert "paused: no connection; next try at" in listed
    assert "Far (remote)" in listed
    assert re.search(r"far +Far \(remote\)", listed)
    nameless = peck("dataset").stderr
    assert "name a league (peck dataset LEAGUE): " in nameless
    resumed = read(peck("api", "resume-entry", sent["entry"]["id"], "--json"))
    assert (resumed["id"], resumed["state"]) == (sent["entry"]["id"], "paused")
    assert resumed["next_try_at"] is None
    assert is_being_retried({**resumed, "queue": None})  # its match is over and not yet judged
