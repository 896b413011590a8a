"""Requests every route as every person, in a public and in a private league.

Replays are private to the teams in both leagues. A route that is missing from the table fails the
test. A new row goes into a module of ``route_walk`` and names the statuses of five people; the
statuses of the other people follow from these (``statuses``), except those in EXCEPTIONS.
"""

from __future__ import annotations

import itertools

import pytest

from services.api_client import ApiError
from tests.integration.api.route_walk import (
    agents,
    closing,
    leagues,
    matches,
    moderation,
    operation,
    people,
    scrims,
    seasons,
    teams,
    tournaments,
)
from tests.integration.api.route_walk.row import JSON, Row
from tests.integration.api.route_walk.statuses import is_of_no_league, statuses
from tests.integration.api.route_walk.words import fill, words
from tests.integration.api.world import GOOD, SCOPES, World

WALK: tuple[Row, ...] = (
    *people.ROWS,
    *operation.ROWS,
    *teams.ROWS,
    *leagues.ROWS,
    *seasons.ROWS,
    *agents.ROWS,
    *matches.ROWS,
    *scrims.ROWS,
    *tournaments.ROWS,
    *moderation.ROWS,
    *closing.ROWS,
)
"""The whole table, in the order of the walk."""


@pytest.mark.parametrize("league", ["public", "private"])
def test_every_route_answers_each_person_as_the_table_says(world: World, league: str) -> None:
    known, fresh = words(world, league), itertools.count()
    spare = world.client("member").mint_token("revoked", SCOPES)
    world.client("member").send("DELETE", f"/v1/users/me/tokens/{spare['id']}")
    world.tokens["revoked"] = spare["token"]
    admin, blocked = world.client("admin"), world.client("admin").create_user("blocked")["id"]
    world.tokens["blocked"] = admin.mint_token("test", SCOPES, user=blocked)["token"]
    admin.send("PUT", f"/v1/users/{blocked}/block", json={"reason": "a walk"})
    uploads = world.client("host").mint_token("uploads", ["read", "agents:write"])
    world.tokens["uploader"] = uploads["token"]
    wrong = []
    for row in WALK:
        method, path, body, *_ = row
        for person, status in statuses(row, league).items():
            if league == "private" and (person in ("revoked", "blocked") or is_of_no_league(row)):
                continue  # the same answer in every league; the public one shows it
            here = {**known, "n": f"{league[:3]}{next(fresh)}"}
            options: JSON = {}
            if body is not None and "bytes" in body:
                options["content"] = GOOD + here["n"].encode()
            elif body is not None:
                options["json"] = fill(body, here)
            client = world.client(person)
            try:
                got = client.send(method, fill(path, here), **options).status_code
            except ApiError as error:
                got = error.status if error.problem["status"] == error.status else 0
            if got != status:
                wrong.append(f"{method} {path} as {person}: {got}, not {status}")
    assert wrong == [], "\n".join(wrong)


def test_the_table_has_every_route_of_the_api(world: World) -> None:
    document = world.http.get("/openapi.json").json()
    declared = {
        (method.upper(), len(path.split("/")), shape(path))
        for path, methods in document["paths"].items()
        for method in methods
    }
    walked = {
        (method, len(path.split("/")), shape(path.split("?")[0])) for method, path, *_ in WALK
    }
    assert declared - walked == set()


def shape(path: str) -> str:
    """A path without the names of its parameters."""
    return "/".join(
        "*" if part.startswith("{") or part.isdigit() else part for part in path.split("/")
    )
