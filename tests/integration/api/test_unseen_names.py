"""Names that people cannot read, at each operation and form that takes a name."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape

import pytest

from services.application import openapi_document
from tests.integration.api.browsing import browse
from tests.integration.api.world import World

FIELDS = ("name", "title", "label", "device")
UNREADABLE = {
    "\u3164": "use at least one letter, digit or sign that people can see",
    "\u2800": "use at least one letter, digit or sign that people can see",
    "\u0301": "begin with a letter, a digit or a sign",
    "e" + "\u0301" * 59: "put at most 4 accents on a letter",
}
OWN_RULES = {
    "delete_account": "the present name, as a confirmation",
    "join_machine": "ASCII alone",
}
"""Operations whose field has another rule, and why."""


class Words(dict[str, str]):
    """The words of a path; a word that is not given stands for itself."""

    def __missing__(self, word: str) -> str:
        return word


def naming_operations() -> Iterator[tuple[str, str, str]]:
    """Method, path and field of each operation whose body has a name."""
    document = openapi_document()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            schema = content.get("application/json", {}).get("schema", {})
            named = schema.get("$ref", "").rpartition("/")[2]
            properties = document["components"]["schemas"].get(named, {}).get("properties", {})
            for field in FIELDS:
                if field in properties and operation["operationId"] not in OWN_RULES:
                    yield method, path, field


def test_every_operation_that_takes_a_name_refuses_an_unreadable_one(world: World) -> None:
    taken = list(naming_operations())
    head = {"Authorization": f"Bearer {world.tokens['admin']}"}
    assert len(taken) >= 10
    for method, path, field in taken:
        words = Words(
            team=world.teams["host"],
            league="public",
            season=world.seasons["public"],
            agent=world.agents["public.host"],
            user=world.users["host"],
        )
        for name, message in UNREADABLE.items():
            answer = world.http.request(
                method,
                path.format_map(words),
                json={field: name},
                headers=head,
            )
            told = {error["where"]: error["message"] for error in answer.json().get("errors", [])}
            assert message in told.get(f"body.{field}", ""), (method, path, name, answer.text)


@pytest.mark.parametrize(
    ("person", "path", "fields"),
    [
        ("stranger", "/sign-up", {"name": "", "password": "four geese on a torus"}),
        ("member", "/teams/new", {"name": ""}),
        ("host", "/new-league", {"title": "", "game": "hungry_geese"}),
    ],
)
def test_every_form_that_takes_a_name_refuses_an_unreadable_one(
    world: World, person: str, path: str, fields: dict[str, str]
) -> None:
    with browse(world, person) as browser:
        for name, message in UNREADABLE.items():
            answer = browser.send(path, path, **{key: fields[key] or name for key in fields})
            assert answer.status_code == 422
            assert message in unescape(answer.text).lower()
