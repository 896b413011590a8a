"""Types of values that people send."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import Field, TypeAdapter, ValidationError, computed_field

from ladder.field_types import Line, Name, ShownOnce, WordsOfPerson, json_of_answer, stored_copy
from services.web import forms

UNSEEN = "use at least one letter, digit or sign that people can see"


@pytest.mark.parametrize("kind", [Name, Line], ids=["name", "line"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\u3164", UNSEEN),
        ("\u2800", UNSEEN),
        ("\u00a0", UNSEEN),
        ("\u00ad\u200d", UNSEEN),
        ("\u0301", "begin with a letter, a digit or a sign"),
        ("\u0301a", "begin with a letter, a digit or a sign"),
        ("e" + "\u0301" * 59, "at most 4 accents on a letter"),
        ("e" + "\u200d\u0301" * 6, "at most 4 accents on a letter"),
    ],
)
def test_a_name_that_people_cannot_read_is_refused(kind: Any, text: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        TypeAdapter(kind).validate_python(text)


@pytest.mark.parametrize(
    "name",
    ["Ế", "शक्ति", "ကြွေ့", "ก็", "שָׁלוֹם", "👩‍👧", "1️⃣", "...", "⠁⠃", "김철수"],
)
def test_a_name_of_any_script_is_allowed(name: str) -> None:
    assert TypeAdapter(Name).validate_python(name)


def test_a_name_is_stored_in_its_composed_form() -> None:
    assert TypeAdapter(Name).validate_python("E\u0301quipe") == "\u00c9quipe"


@dataclass(frozen=True)
class Answer:
    name: str
    secret: ShownOnce | None
    words: WordsOfPerson


@dataclass(frozen=True)
class Answers:
    hidden: Annotated[str, Field(exclude=True)]
    answers: tuple[Answer, ...]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def count(self) -> int:
        return len(self.answers)


def test_stored_copy_has_no_words_of_people_in_its_lists() -> None:
    stored = stored_copy(Answers("seed", (Answer("Ada", "peck_1", "let me in"),)))
    assert stored.answers == (Answer("Ada", None, ""),)


def test_sent_answer_has_no_excluded_field() -> None:
    sent = json_of_answer(Answers("seed", (Answer("Ada", None, ""),)))
    assert sent == {"answers": [{"name": "Ada", "secret": None, "words": ""}], "count": 1}


def test_stored_copy_of_an_answer_has_no_secret_and_no_words_of_people() -> None:
    answer = Answer("Ada", "peck_1", "let me in")
    assert stored_copy(answer) == Answer("Ada", None, "")


@pytest.mark.parametrize("name", ["علی\u200cرضا", "Ada\u00a0L", "山田\u3000太郎", "Night Geese"])
def test_name_in_a_form_is_read_as_it_was_typed(name: str) -> None:
    assert forms.parse_part({"user": name}, "user") == name


def test_text_that_names_nothing_is_read_as_an_empty_name() -> None:
    assert [forms.parse_part({"user": text}, "user") for text in ("a\0", "a/b", "", "a" * 61)] == [
        ""
    ] * 4
