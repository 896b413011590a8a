"""Names that look like another name, and reserved names."""

from __future__ import annotations

import pytest

from ladder.errors import Invalid
from ladder.people.users import look_alike_key, refuse_reserved_name


@pytest.mark.parametrize(
    "other",
    ["ADA", "Ádá", "a d a", "a.d.a", "Аda", "ａｄａ", "ada\u0301", "a\u200dda", "ad\u3164a"],
    ids=[
        *("case", "accents", "spaces", "dots", "Cyrillic", "full width", "combining"),
        *("zero width", "filler"),
    ],
)
def test_names_that_look_alike_have_one_key(other: str) -> None:
    assert look_alike_key(other) == look_alike_key("ada")


@pytest.mark.parametrize("other", ["b0ss", "ʙoss", "воss", "Bøss", "B0SS"], ids=str.encode)
def test_names_of_letters_with_one_shape_have_one_key(other: str) -> None:
    assert look_alike_key(other) == look_alike_key("boss")


@pytest.mark.parametrize(
    ("one", "other"), [("BiIl", "bill"), ("adm1n", "ADMIN"), ("rnike", "mike")]
)
def test_characters_that_look_alike_in_most_fonts_have_one_key(one: str, other: str) -> None:
    assert look_alike_key(one) == look_alike_key(other)


@pytest.mark.parametrize("other", ["adam", "adb", "用户", "дада", "..."])
def test_other_names_have_other_keys(other: str) -> None:
    assert look_alike_key(other) != look_alike_key("ada")


@pytest.mark.parametrize(("one", "other"), [("й", "и"), ("が", "か"), ("ดี", "ดี่")])
def test_marks_of_other_scripts_make_other_names(one: str, other: str) -> None:
    assert look_alike_key(one) != look_alike_key(other)


@pytest.mark.parametrize(
    "name", ["РЕСК", "Нost", "demo", "Administrator", "p.e.c.k", "аdmin", "Pecking Order", "r00t"]
)
def test_reserved_names_are_refused(name: str) -> None:
    with pytest.raises(Invalid, match="reserved"):
        refuse_reserved_name(name)


def test_an_ordinary_name_is_allowed() -> None:
    refuse_reserved_name("Ada Lovelace")
