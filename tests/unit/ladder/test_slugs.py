from __future__ import annotations

import pytest

from ladder.entries import agents
from ladder.errors import Invalid
from ladder.people import users
from ladder.slugs import is_named, name_key, slug_of
from services.cli.name_lookup import find_agent


def test_slug_keeps_letters_that_have_accents() -> None:
    assert slug_of("Über Goose") == "uber-goose"
    assert agents.agent_slug("Über Goose") == users.team_slug("Über Goose") == "uber-goose"


def test_cut_slug_does_not_end_with_a_hyphen() -> None:
    assert slug_of("Random Legal", 7) == "random"
    assert len(slug_of("a" * 60)) == 40


def test_agent_without_latin_letters_needs_a_slug() -> None:
    assert slug_of("雪") == ""
    with pytest.raises(Invalid, match="give a slug"):
        agents.agent_slug("雪")


def test_command_finds_the_agent_of_a_name_with_accents() -> None:
    row = {"id": "age_1", "name": "Goose", "slug": "uber-goose"}
    assert find_agent([row], "Über_Goose") is row


def test_names_without_latin_letters_differ() -> None:
    assert is_named("雪", "雪")
    assert not is_named("雪", "火")
    assert is_named("Über Goose", "uber_goose")


@pytest.mark.parametrize(
    "other", ["E\u0301quipe A", "\u00e9quipe a", "\u00c9QUIPE\u00a0 A", "\u00c9quipe \uff21"]
)
def test_spellings_of_one_name_have_one_key(other: str) -> None:
    assert name_key(other) == name_key("\u00c9quipe A")
    assert is_named("\u00c9quipe A", other)


@pytest.mark.parametrize("other", ["Equipe A", "\u00c9quipe", "\u00c9quipeA"])
def test_other_names_have_other_keys(other: str) -> None:
    assert name_key(other) != name_key("\u00c9quipe A")
