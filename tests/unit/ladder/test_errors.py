from __future__ import annotations

from ladder.errors import Conflict, Invalid, LadderError, NotFound


def test_an_invalid_error_names_the_field() -> None:
    error = Invalid("seats", "Snake takes 1 seat")
    assert (error.field, error.message) == ("seats", "Snake takes 1 seat")
    assert str(error) == "seats: Snake takes 1 seat"


def test_a_nested_invalid_value_has_both_names() -> None:
    error = Invalid("gold", "lower it").within("medals").within("season")
    assert (error.field, error.message) == ("season.medals.gold", "lower it")


def test_a_conflict_has_a_field_only_if_given() -> None:
    assert Conflict("taken", field="slug").field == "slug"
    assert Conflict("the season is over").field is None


def test_an_error_without_a_message_shows_the_docstring() -> None:
    class Broken(LadderError):
        """It is broken."""

    assert str(Broken()) == Broken().message == "It is broken."


def test_a_not_found_error_names_the_missing_object() -> None:
    assert NotFound.of("league").what == "league"
    assert str(NotFound.of("league")) == "there is no such league"
