from __future__ import annotations

from ladder.errors import Conflict, Invalid, LadderError, NotFound


def test_invalid_names_its_field_and_its_sentence() -> None:
    error = Invalid("seats", "Snake takes 1 seat")
    assert (error.field, error.message) == ("seats", "Snake takes 1 seat")
    assert str(error) == "seats: Snake takes 1 seat"


def test_invalid_value_inside_another_one_has_both_names() -> None:
    error = Invalid("gold", "lower it").within("medals").within("season")
    assert (error.field, error.message) == ("season.medals.gold", "lower it")


def test_conflict_has_a_field_only_where_one_is_given() -> None:
    assert Conflict("taken", field="slug").field == "slug"
    assert Conflict("the season is over").field is None


def test_error_without_a_sentence_says_its_docstring() -> None:
    class Broken(LadderError):
        """It is broken."""

    assert str(Broken()) == Broken().message == "It is broken."


def test_missing_thing_is_named() -> None:
    assert NotFound.of("league").what == "league"
    assert str(NotFound.of("league")) == "there is no such league"
