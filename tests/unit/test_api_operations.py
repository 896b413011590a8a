"""What `peck api` reads from the OpenAPI document: help, values and names of all operations."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from services.application import openapi_document
from services.cli.api import print_help, show_answer
from services.cli.operations import Document, Request, plain, read_values, without_answers
from services.cli.saved_login import MissingInput

DOCUMENT = Document(without_answers(openapi_document()), "http://ladder")
OPERATIONS = DOCUMENT.operations
SERVICES = Path(__file__).parents[2] / "services"


def test_every_operation_has_a_command() -> None:
    declared = {
        details["operationId"].replace("_", "-")
        for path, methods in openapi_document()["paths"].items()
        for details in methods.values()
        if path.startswith("/v1/")
    }
    assert OPERATIONS.keys() == declared


@pytest.mark.parametrize("name", OPERATIONS)
def test_help_names_each_value(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    operation = OPERATIONS[name]
    print_help(operation)
    shown = capsys.readouterr().out
    assert operation.summary in shown
    for item in operation.fields():
        if item.name != "cursor":
            label = item.name.upper() if item.place in ("path", "file") else item.name
            assert f"  {label} " in shown, item
            assert item.bounds()


@pytest.mark.parametrize("name", OPERATIONS)
def test_values_of_the_path_stand_in_its_order(name: str) -> None:
    operation = OPERATIONS[name]
    places = [item.name for item in operation.fields() if item.place == "path"]
    assert places == re.findall(r"\{(\w+)\}", operation.path)


@pytest.mark.parametrize("name", OPERATIONS)
def test_default_is_a_value_that_may_be_typed(name: str) -> None:
    for item in OPERATIONS[name].fields():
        if item.default():
            assert item.parse(item.default()) == item.schema["default"], item


def test_form_that_asks_for_a_name_again_belongs_to_an_act_that_confirms() -> None:
    features = {path.parent.name for path in SERVICES.glob("*/operations.py")} - {"cli", "http"}
    declared = [import_module(f"services.{name}.operations").operations for name in features]
    asking = {
        operation.name
        for operations in declared
        for operation in operations.all.values()
        if any(form.type_again for form in operation.forms)
    }
    assert asking
    assert all(OPERATIONS[name.replace("_", "-")].confirms for name in asking)


def test_values_are_read_by_their_types() -> None:
    request = Request()
    texts = ["slug=geese", "seats=2", "act_seconds=1.5", "anchors=greedy,survivor", "fill=no"]
    texts += ["season.team_active_limit=null", "configuration.rows=9", 'medals={"kind":"table"}']
    read_values(OPERATIONS["create-league"].fields(), texts, request)
    season = {
        **{"seats": 2, "clock": {"act_seconds": 1.5}, "team_active_limit": None},
        **{"configuration": {"rows": 9}, "medals": {"kind": "table"}},
    }
    lists = {"anchors": ["greedy", "survivor"], "fill": False}
    assert request.body == {"slug": "geese", "season": season, **lists}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("create-league", "seats=17", "season.seats: use whole number, 1 to 16"),
        ("create-league", "seats=many", "season.seats: write a whole number, not 'many'"),
        ("create-league", "visibility=secret", "visibility: choose public, invitation, private"),
        ("create-league", "colour=red", "there is no colour; names: title, description"),
        ("create-league", "red", "write NAME=VALUE, not 'red'"),
        ("create-league", "title=@none.txt", "title: name a text file after @"),
        ("create-fork", "", "give MATCH"),
    ],
)
def test_wrong_value_names_field_and_remedy(name: str, text: str, message: str) -> None:
    with pytest.raises(MissingInput) as refused:
        read_values(OPERATIONS[name].fields(), [text] if text else [], Request())
    assert str(refused.value).startswith(message)


def test_search_finds_operations_by_words() -> None:
    assert "create-team-invitation" in {row.name for row in DOCUMENT.search("invitation team")}
    assert DOCUMENT.search("no such word") == []


@pytest.mark.parametrize(
    "answer",
    [
        *(None, [], {}, "text", 3, [1, {"a": 1}], {"items": None}, {"items": [1]}),
        {"items": [{"a": [{"b": 1}], "c": {"d": None}}], "next": 7, "x_at": 5},
    ],
)
def test_answer_of_any_shape_is_shown(answer: object, capsys: pytest.CaptureFixture[str]) -> None:
    show_answer(answer, as_json=False)
    assert capsys.readouterr().out


def test_items_of_a_list_are_shown_without_references() -> None:
    schemas = {"Topic": {"type": "string", "enum": ["agents", "team"]}}
    topics = {"type": "array", "items": {"$ref": "#/components/schemas/Topic"}}
    assert plain(topics, schemas)[0] == {"type": "array", "items": schemas["Topic"]}
