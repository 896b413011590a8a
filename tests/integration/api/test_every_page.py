"""Requests every page, and sends every form, with a session that ended in the middle.

The answer must be that of a browser that is not signed in. A page whose path has a new parameter
fails until the parameter has a value in PARAMETERS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import httpx
import pytest
from fastapi.routing import APIRoute

from services.web import routes
from tests.integration.api.browsing import Browser, browse
from tests.integration.api.route_walk.words import make_tournament
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.world import World, comparison_of_member

PARAMETERS: dict[str, Callable[[World], str]] = {
    "league": lambda world: "private",
    "agent": lambda world: world.agents["private.host"],
    "opponent": lambda world: world.agents["private.member"],
    "match": lambda world: world.matches["private.rated"],
    "seat": lambda world: "1",
    "scrim": lambda world: world.scrims["private"],
    "comparison": lambda world: comparison_of_member(world, "private"),
    "user": lambda world: world.users["member"],
    "season": lambda world: world.seasons["private"],
    "team": lambda world: world.teams["host"],
    "tournament": lambda world: tournament_of(world),
    "batch": lambda world: batch_of(world),
    "slug": lambda world: "not-found",
}
"""What stands in the path of a page; other parameters get an id that does not exist."""
FOR_ALL = ("/sign-in", "/sign-up", "/sign-out")
"""Forms that work without a session."""


def tournament_of(world: World) -> str:
    """A tournament that runs in the private league, the same at each call."""
    with world.connect() as conn:
        found = conn.execute("select id from tournaments limit 1").fetchone()
    return found[0] if found else make_tournament(world, "private", is_started=True)


def batch_of(world: World) -> str:
    """A batch of scrims of the member in the private league, the same at each call."""
    with world.connect() as conn:
        found = conn.execute("select id from scrim_batches limit 1").fetchone()
    if found:
        return str(found[0])
    pair = [world.agents[f"private.{person}"] for person in ("member", "host")]
    wanted = {"season": world.seasons["private"], "kind": "gauntlet", "agents": pair, "games": 1}
    return str(world.client("member").post("/v1/scrim-batches", wanted)["id"])


def values_of(world: World) -> dict[str, str]:
    """The values of PARAMETERS."""
    return {name: made(world) for name, made in PARAMETERS.items()}


def requests(known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Method and path of every page and form, with these values in the path."""
    for route in (one for router in routes.ROUTERS for one in router.routes):
        assert isinstance(route, APIRoute)
        names = route.param_convertors
        values = {name: known.get(name, "none") for name in names}
        for method in sorted((route.methods or set()) - {"HEAD"}):
            yield method, route.path_format.format(**values)


Answers = dict[tuple[str, str], tuple[int, str]]


def answers(world: World, browser: Browser, token: str) -> Answers:
    """Status and redirect of each page and form."""
    found = {}
    for method, path in requests(values_of(world)):
        if method == "POST" and path in FOR_ALL:
            continue
        data = {"form_token": token} if method == "POST" else None
        answer = browser.http.request(method, path, data=data, follow_redirects=False)
        location = answer.headers.get("location", "")
        found[method, path] = (answer.status_code, location)
    return found


def end_by_revoking(world: World) -> None:
    world.client("admin").send("DELETE", f"/v1/users/{world.users['host']}/sessions")


def end_by_blocking(world: World) -> None:
    path = f"/v1/users/{world.users['host']}/block"
    world.client("admin").send("PUT", path, json={"reason": "a walk"})


@pytest.fixture(scope="module")
def expected(world: World) -> Answers:
    """The answers to a browser that is not signed in."""
    with browse(world, "stranger") as stranger:
        found = answers(world, stranger, stranger.form_token("/sign-in"))
    acted = [
        (path, status)
        for (method, path), (status, location) in found.items()
        if method == "POST" and status < 400 and not location.startswith("/sign-in")
    ]
    assert acted == []
    return found


@pytest.mark.parametrize("end", [end_by_revoking, end_by_blocking])
def test_a_session_that_ends_in_the_middle_opens_no_page(
    world: World, expected: Answers, end: Callable[[World], None]
) -> None:
    with browse(world, "host") as host:
        token = host.form_token("/leagues/private/people")
        assert token, "the host has a form"
        end(world)
        got = answers(world, host, token)
    wrong = [
        f"{each}: {answer}, not {expected[each]}"
        for each, answer in got.items()
        if answer != expected[each]
    ]
    assert wrong == [], "\n".join(wrong)


def test_a_blocked_person_reads_the_reason_at_the_sign_in(world: World) -> None:
    with browse(world, "stranger") as browser:
        world.client("admin").send(
            "PUT", f"/v1/users/{world.users['rival']}/block", json={"reason": "two accounts"}
        )
        answer = browser.send("/sign-in", "/sign-in", token=world.tokens["rival"])
        assert isinstance(answer, httpx.Response)
        assert answer.status_code == 403
        assert "your account is blocked. The reason: two accounts" in answer.text


def test_control_characters_in_forms_of_a_tournament_are_refused(fresh_world: World) -> None:
    page = f"/tournaments/{tournament_of(fresh_world)}"
    with browse(fresh_world, "host") as browser:
        for act, field in (("acts", "act"), ("cancel", "reason"), ("reveal", "pairing")):
            answer = browser.send(page, f"{page}/{act}", **{field: "a\0b"}, sure="true")
            assert answer.status_code == 422, act


def test_head_answers_every_page_as_get_does(fresh_world: World) -> None:
    wrong = []
    with browse(fresh_world, "host") as browser:
        for method, path in requests(values_of(fresh_world)):
            if method != "GET":
                continue
            got, head = (
                browser.http.request(one, path, follow_redirects=False) for one in ("GET", "HEAD")
            )
            same = (
                (answer.status_code, answer.headers.get("content-type")) for answer in (got, head)
            )
            if len(set(same)) != 1 or head.content:
                wrong.append(f"{path}: {head.status_code}, not {got.status_code}")
    assert wrong == [], "\n".join(wrong)
