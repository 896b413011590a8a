"""Sends every form of the site as each person, to things of the private league.

The forms are empty, so they act only where a button is enough. The table names what each person
gets: 303 leads on, to the sign-in or after an act; 404 hides the thing; 422 asks for fields.
"""

from __future__ import annotations

from tests.integration.api.browsing import browse
from tests.integration.api.route_walk.forms import FORMS, PEOPLE
from tests.integration.api.shared import fresh_world as fresh_world
from tests.integration.api.test_every_page import requests, values_of
from tests.integration.api.test_read_sessions import path_of
from tests.integration.api.world import World, make_reader_and_foreign


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
                answer = browser.http.post(
                    address, data={"form_token": token}, follow_redirects=False
                )
                got[path_of(address)].append(str(answer.status_code))
    wrong = [
        f"{path}: {' '.join(got[path])}, not {told}"
        for path, told in FORMS.items()
        if " ".join(got[path]) != told
    ]
    assert wrong == [], "\n".join(wrong)
