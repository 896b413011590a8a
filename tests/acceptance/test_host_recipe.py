"""Runs the README's host commands as printed; one agent plays matches."""

from __future__ import annotations

import subprocess
from pathlib import Path

from services.api_client import Client
from tests import typed
from tests.acceptance.test_main_path import AGENTS, SCOPES
from tests.stack import Stack
from tests.waiting import wait_until

CHECKOUT = Path(__file__).resolve().parents[2]
SETTINGS = (
    *("anchors=greedy,survivor", "configuration.episodeSteps=20"),
    *("closes_at=2999-12-01T18:00+01:00", "ends_at=2999-12-08T18:00+01:00"),
)


def peck(host: Client, token: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": "/nonexistent", "PECK_URL": host.address, "PECK_TOKEN": token}
    return typed.peck(CHECKOUT, environment, *arguments)


def test_readme_league_plays_with_one_copy_of_an_anchor(
    stack: Stack,
) -> None:
    admin = stack.client(stack.admin_token)
    user = admin.post("/v1/users", {"name": "hal"})["id"]
    admin.post("/v1/teams", {"name": "Team hal", "slug": "hal", "owner": user})
    token = admin.post(f"/v1/users/{user}/tokens", {"label": "test", "scopes": SCOPES})["token"]
    hal = stack.client(token)

    made = peck(hal, token, "league", "create", "autumn", *SETTINGS)
    assert made.returncode == 0, made.stderr
    assert "anchors: Greedy, Survivor, Random Legal, Numpy Heuristic" in made.stdout
    assert "cannot play yet: 4 of 4 seats can be filled, by anchors alone" in made.stdout

    greedy = str(AGENTS / "greedy")
    sent = peck(hal, token, "submit", greedy, "--league", "autumn", "--agent", "mine", "--wait")
    assert sent.returncode == 0, sent.stdout + sent.stderr
    assert hal.get("/v1/seasons/autumn/health")["lacking"] is None

    wait_until(
        lambda: bool(next(hal.list_items("/v1/seasons/autumn/leaderboard"))["games"]),
        "the first rated match",
    )
    rows = list(hal.list_items("/v1/seasons/autumn/leaderboard"))
    assert [row["rank"] for row in rows if not row["is_anchor"]] == [1]
    assert {row["rank"] for row in rows if row["is_anchor"]} == {None}
    assert "<dt>Teams</dt><dd>1</dd>" in hal.http.get("/leagues").text
