"""Sends every form of the site, and reads every export, as each person in the private league.

The forms have a few fields that are right for many of them. The table names what each person
gets: 303 leads on, to the sign-in or after an act; 404 hides the thing; 403 refuses the person; 422
shows the page with what is wrong, or with the fields that are missing. 200 shows a page.
"""

from __future__ import annotations

from collections.abc import Mapping

from services.web import form_texts
from services.web.page_rendering import FORMS_WITH_FILES
from tests.integration.api.browsing import browse
from tests.integration.api.route_walk.forms import EXPORTS, FORMS, PEOPLE
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.test_every_page import requests, values_of
from tests.integration.api.test_read_sessions import path_of
from tests.integration.api.world import World, make_reader_and_foreign


def fields_of(world: World, name: str) -> dict[str, str]:
    """Fields about the host's agent, and a name that is free."""
    return {
        "season": world.seasons["private"],
        "subject": world.agents["private.host"],
        **{name: world.entries["private.host"] for name in ("entry", "entry_id")},
        **{name: world.agents["private.host"] for name in ("agent", "entrant")},
        **{name: "A walk" for name in ("title", "reason", "message")},
        "name": name,
        **{"user": world.users["member"], "role": "competitor", "name_again": "none"},
    }


def test_every_form_answers_each_person_as_the_table_says(fresh_world: World) -> None:
    make_reader_and_foreign(fresh_world)
    forms = [path for method, path in requests(values_of(fresh_world)) if method == "POST"]
    assert {path_of(each) for each in forms} == FORMS.keys()
    got: dict[str, list[str]] = {path: [] for path in FORMS}
    for person in PEOPLE:
        with browse(fresh_world, person) as browser:
            token = browser.form_token("/join") or browser.form_token("/sign-in")
            for address in forms:
                if path_of(address) == "/sign-out":
                    continue
                name = f"{person} {forms.index(address)}"
                sent = {**fields_of(fresh_world, name), "form_token": token}
                answer = browser.http.post(address, data=sent, follow_redirects=False)
                got[path_of(address)].append(str(answer.status_code))
    assert differences(got, FORMS) == []


def test_every_form_without_its_token_is_refused(fresh_world: World) -> None:
    with browse(fresh_world, "host") as browser:
        accepted = [
            address
            for method, address in requests(values_of(fresh_world))
            if method == "POST" and path_of(address) not in FORMS_WITH_FILES
            if form_texts.STALE_FORM not in browser.http.post(address, data={"name": "x"}).text
        ]
    assert accepted == []


def test_every_export_answers_each_person_as_the_table_says(fresh_world: World) -> None:
    make_reader_and_foreign(fresh_world)
    values = values_of(fresh_world)
    got: dict[str, list[str]] = {path: [] for path in EXPORTS}
    for person in PEOPLE:
        with browse(fresh_world, person) as browser:
            for path in EXPORTS:
                answer = browser.http.get(path.format(**values), follow_redirects=False)
                got[path].append(str(answer.status_code))
    assert differences(got, EXPORTS) == []


def differences(got: Mapping[str, list[str]], told: Mapping[str, str]) -> list[str]:
    return [
        f"{path}: {' '.join(got[path])}, not {told[path]}"
        for path in told
        if " ".join(got[path]) != told[path]
    ]
