"""The deadline of uploads through the API and the command line."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx
from fastapi import FastAPI

from ladder.leagues import seasons
from tests.integration.api.commands import Peck, read
from tests.integration.api.commands import peck as peck
from tests.integration.api.world import GOOD, World
from tests.waiting import wait_until


def set_closing(world: World, moment: datetime) -> None:
    with world.connect() as conn:
        conn.execute(
            "update seasons set closes_at = %s where id = %s", (moment, world.seasons["public"])
        )


def send(world: World, body: Iterator[bytes]) -> httpx.Response:
    return world.http.post(
        f"/v1/agents/{world.agents['public.member']}/submissions?season=public",
        content=body,
        headers=world.client("member").headers,
    )


def test_an_upload_counts_from_its_first_byte(world: World, app: FastAPI) -> None:
    def slow() -> Iterator[bytes]:
        yield GOOD
        wait_until(lambda: app.state.peck.intake.senders.total() == 1, "the upload arrives")
        set_closing(world, datetime.now(UTC))
        with world.connect() as conn:
            assert seasons.lock_and_finish_due_seasons(conn) == [world.seasons["public"]]
        yield b"# late"

    assert send(world, slow()).status_code == 201
    refused = send(world, iter([GOOD + b"# later still"]))
    assert refused.status_code == 409
    assert "locked" in refused.json()["detail"]


def test_a_host_extends_the_deadline_of_a_team(peck: Peck, world: World) -> None:
    set_closing(world, datetime.now(UTC) - timedelta(minutes=1))
    as_host = {"PECK_TOKEN": world.tokens["host"]}
    extend = ("api", "put-extension", "public", "member", "reason=ill")
    until = "closes_at=2999-12-01T18:00+01:00"
    assert peck(*extend, until).returncode == 1
    assert peck(*extend, until, **as_host).returncode == 0
    (row,) = read(peck("api", "list-extensions", "public", "--json", **as_host))["items"]
    assert row["team_id"] == world.teams["member"]
    assert (
        world.client("member").get("/v1/seasons/public/limits")["closes_at"]
        == "2999-12-01T17:00:00Z"
    )
    assert send(world, iter([GOOD + b"# extended"])).status_code == 201
    naive = peck(*extend, "closes_at=2999-12-01", **as_host)
    assert "add a time zone: Z for UTC" in naive.stderr
