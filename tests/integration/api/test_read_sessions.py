"""A session that began with a token that only reads changes nothing through a form."""

from __future__ import annotations

import re

from fastapi.routing import APIRoute

from services.web import form_texts, routes
from services.web.session import FORMS_OF_READERS
from tests.integration.api.browsing import Browser, browse
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.shared import world as world
from tests.integration.api.test_every_page import requests, values_of
from tests.integration.api.world import World

FORMS = {
    route.path: route.path_regex
    for router in routes.ROUTERS
    for route in router.routes
    if isinstance(route, APIRoute) and "POST" in (route.methods or ())
}
"""The pattern of each form, by the path of its route."""
OF_SCRIMS = re.compile(r"scrim|/better$|/comparisons/|/fork$")
"""Forms of unrated games, which a token for scrims may send."""
FIELDS = {
    "/device/answer": {"answer": "confirm"},
    "/me/notices/channels/{channel}": {"act": "test"},
}
"""Fields that a form needs before it asks for a scope."""
CHANGES_NOTHING = ("/join",)
"""Forms that only show a page."""
LACKS_SCOPE = "this token lacks it"


def sent(world: World, scopes: list[str]) -> dict[str, tuple[int, str]]:
    """Status and text of each form, sent with a session of a token of the host with these
    scopes."""
    world.tokens["limited"] = world.client("host").post(
        "/v1/users/me/tokens", {"label": "limited", "scopes": scopes}
    )["token"]
    answers = {}
    with browse(world, "limited") as browser:
        token = browser.form_token("/me/account") or browser.form_token("/me")
        assert token, "the session has a form"
        for method, address in requests(values_of(world)):
            if method == "POST" and path_of(address) not in FORMS_OF_READERS:
                path = path_of(address)
                answers[path] = answer(browser, address, token, **FIELDS.get(path, {}))
    return answers


def path_of(address: str) -> str:
    return next(path for path, pattern in FORMS.items() if pattern.match(address))


def answer(browser: Browser, address: str, token: str, **fields: str) -> tuple[int, str]:
    sent = {"form_token": token, **fields}
    given = browser.http.post(address, data=sent, follow_redirects=False)
    return given.status_code, given.text


def test_a_read_session_gets_403_from_every_form_but_a_short_list(world: World) -> None:
    answers = sent(world, ["read"])
    assert answers.keys() == FORMS.keys() - FORMS_OF_READERS.keys()
    wrong = {
        path: status
        for path, (status, text) in answers.items()
        if status != 403 or form_texts.ONLY_READS not in text
    }
    assert wrong == {}


def test_the_short_list_names_forms_that_exist() -> None:
    assert FORMS_OF_READERS.keys() <= FORMS.keys()
    assert all(FORMS_OF_READERS.values())


def test_a_session_for_scrims_sends_no_other_form(world: World) -> None:
    answers = sent(world, ["read", "scrims:write"])
    wrong = {
        path: status
        for path, (status, text) in answers.items()
        if not OF_SCRIMS.search(path) and path not in CHANGES_NOTHING
        if status != 403 and LACKS_SCOPE not in text
    }
    assert wrong == {}
