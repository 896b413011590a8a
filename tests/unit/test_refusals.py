"""Errors of the contest as problems, and as sentences beside the fields of a form."""

from __future__ import annotations

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import pytest
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, ValidationError

from ladder.errors import Conflict, Forbidden, Invalid, LadderError
from ladder.field_types import AwareDatetime, Name, Slug
from services.api_client import ApiError
from services.cli.__main__ import find_command
from services.cli.refusals import refusal_lines
from services.http.problems import WORD_CHARACTERS, on_invalid, problem_of_refusal
from services.leagues import pages
from services.web import form_texts
from services.web.forms import Form

TEMPLATES = Path(pages.__file__).parent
FIELD_WITH_LABEL = re.compile(r'\b(?:text|number|choose|radios|tick)\(form, "([\w.]+)", "([^"]+)"')


def problem_of(error: LadderError) -> dict[str, Any]:
    answer = problem_of_refusal(error)
    problem: dict[str, Any] = json.loads(bytes(answer.body))
    assert problem["status"] == answer.status_code
    return problem


def test_an_invalid_value_is_a_422_with_the_field() -> None:
    problem = problem_of(Invalid("season.seats", "it takes 1 to 8 seats"))
    assert problem["status"] == 422
    assert problem["detail"] == "body.season.seats: it takes 1 to 8 seats"
    assert problem["errors"] == [{"where": "body.season.seats", "message": "it takes 1 to 8 seats"}]


def test_a_conflict_over_a_field_is_a_409_with_the_field() -> None:
    problem = problem_of(Conflict("there is one already", field="slug"))
    assert problem["status"] == 409
    assert problem["detail"] == "slug: there is one already"
    assert problem["errors"] == [{"where": "body.slug", "message": "there is one already"}]


def test_a_conflict_without_a_field_names_no_field() -> None:
    assert "errors" not in problem_of(Conflict("the season is over"))


def test_a_forbidden_action_is_a_403() -> None:
    assert problem_of(Forbidden("ask its host"))["status"] == 403


def test_a_form_shows_an_error_beside_the_field() -> None:
    form = Form({"season.seats": "9", "slug": "geese"})
    form.add_errors(Invalid("season.seats", "it takes 1 to 8 seats"))
    form.add_errors(Conflict("there is one already", field="slug"))
    assert form.wrong == {"season.seats": "It takes 1 to 8 seats", "slug": "There is one already"}


@pytest.mark.parametrize(
    "template",
    ["edit_league.html", "new_league.html", "new_season.html", "season_fields.html"],
)
def test_an_error_of_a_form_names_the_field_by_words_of_its_label(template: str) -> None:
    fields = FIELD_WITH_LABEL.findall((TEMPLATES / template).read_text(encoding="utf-8"))
    assert fields
    for name, label in fields:
        words = form_texts.field_word(name).lower().split()
        assert set(words) <= set(re.findall(r"\w+", label.lower())), name


def test_a_form_takes_no_field_from_an_error_message() -> None:
    form = Form({"slug": "geese"})
    form.add_errors(Conflict("slug: is only a word of this sentence"))
    assert form.wrong == {"": "Slug: is only a word of this sentence"}


def refused(problem: dict[str, Any], *arguments: str) -> list[str]:
    """What the command line prints about this problem after this command."""
    _, parameters = find_command(arguments)
    return refusal_lines(ApiError(problem, problem["status"]), parameters)


def refused_body(model: type[BaseModel], **values: object) -> dict[str, Any]:
    """The problem for a body with these values."""
    with pytest.raises(ValidationError) as found:
        model.model_validate(values)
    errors = [{**each, "loc": ("body", *each["loc"])} for each in found.value.errors()]
    answering = on_invalid(Request({"type": "http"}), RequestValidationError(errors))
    with ThreadPoolExecutor(1) as pool:  # this thread may have the event loop of a browser test
        answer = pool.submit(asyncio.run, answering).result()
    problem: dict[str, Any] = json.loads(bytes(answer.body))
    return problem


@pytest.mark.parametrize(
    ("where", "command", "shown"),
    [
        ("url", "submit", "--url"),
        ("slug", "league create", "SLUG"),
        ("locks_at", "tournament create", "--locks"),
        ("anchors.0", "league fill", "--anchor"),
        ("season.closes_at", "league create", "season.closes_at"),
    ],
)
def test_the_command_line_names_the_option_of_a_refused_field(
    where: str, command: str, shown: str
) -> None:
    problem = problem_of(Invalid(where, "try another"))
    assert refused(problem, *command.split()) == [f"{shown}: try another"]


def test_the_command_line_names_each_refused_field() -> None:
    problem = refused_body(FieldsOfTest, name=" ", slug="Bad Name!")
    assert refused(problem, "league", "create") == [
        "name: give a value (and 1 more)",
        "name: give a value",
        f"SLUG: {WORD_CHARACTERS}; at most 40 characters",
    ]


def test_the_command_line_shows_a_problem_without_fields_unchanged() -> None:
    problem = problem_of(Conflict("url: the season is over"))
    assert refused(problem, "submit") == ["url: the season is over"]


class FieldsOfTest(BaseModel):
    name: Name = "A"
    slug: Slug = "a"
    closes_at: AwareDatetime | None = None
    seats: Annotated[int, Field(le=16)] = 4
    text: Annotated[str, Field(max_length=4)] = ""


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", "", "give a value"),
        ("name", "  ", "give a value"),
        ("name", "a ", "without a space at either end"),
        ("slug", "Bad Name!", "only the characters a-z"),
        ("closes_at", "tomorrow", "date, time and time zone, as in 2026"),
        ("closes_at", "2026-12-01", "add a time zone"),
        ("seats", "many", "a whole number"),
        ("seats", 17, "use 16 or less"),
        ("text", "abcde", "use at most 4 characters"),
    ],
)
def test_a_refused_value_gets_a_remedy(field: str, value: object, message: str) -> None:
    (place,) = refused_body(FieldsOfTest, **{field: value})["errors"]
    assert message in place["message"]
    assert not place["message"].startswith(("String", "Input", "Value"))


def test_a_form_asks_to_fill_in_a_blank_field() -> None:
    form = Form({"name": ""})
    with pytest.raises(ValidationError) as found:
        FieldsOfTest.model_validate({"name": ""})
    form.add_errors(found.value)
    assert form.wrong == {"name": "Fill in this field."}
