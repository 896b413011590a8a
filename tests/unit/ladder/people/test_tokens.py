from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ladder.people.tokens import LETTERS, is_well_formed, new_token_text


def test_a_token_is_the_prefix_43_random_characters_and_a_checksum() -> None:
    text = new_token_text()
    assert text.startswith("peck_")
    assert len(text) == 5 + 43 + 6
    assert is_well_formed(text)
    assert new_token_text() != text


@given(st.integers(5, 53), st.sampled_from(LETTERS))
def test_one_wrong_character_fails_the_checksum(place: int, letter: str) -> None:
    text = new_token_text()
    changed = text[:place] + letter + text[place + 1 :]
    assert is_well_formed(changed) == (changed == text)


@given(st.text(max_size=80))
def test_malformed_tokens_are_refused(text: str) -> None:
    assert not is_well_formed(text)
