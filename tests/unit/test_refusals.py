"""Errors of the contest as problems, and as sentences beside the fields of a form."""

from __future__ import annotations

import json
from typing import Any

from ladder.errors import Conflict, Forbidden, Invalid, LadderError
from services.cli.submissions import with_option_names
from services.http.problems import problem_of_refusal
from services.web.forms import Form


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


def test_a_form_takes_no_field_from_an_error_message() -> None:
    form = Form({"slug": "geese"})
    form.add_errors(Conflict("slug: is only a word of this sentence"))
    assert form.wrong == {"": "Slug: is only a word of this sentence"}


def test_the_command_line_names_the_option_of_a_refused_field() -> None:
    told = with_option_names(problem_of(Invalid("url", "begin with http:// or https://")))
    assert told["detail"] == "--url: begin with http:// or https://"
    assert told["errors"] == [{"where": "--url", "message": "begin with http:// or https://"}]


def test_the_command_line_shows_a_problem_without_fields_unchanged() -> None:
    problem = problem_of(Conflict("url: the season is over"))
    assert with_option_names(problem) == problem
