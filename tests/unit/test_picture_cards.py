"""Picture cards with long titles."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw

from workers.pictures import Card, draw_card, font, join_titles

LONG = "The open championship of all geese " * 6
PEN = ImageDraw.Draw(Image.new("RGB", (1, 1)))


@pytest.mark.parametrize(
    ("league", "tournament"),
    [(LONG, "Cup"), ("Geese", LONG), (LONG, LONG), ("W" * 200, "W" * 64), ("i" * 200, "i" * 200)],
)
def test_the_round_stays_on_a_card_with_long_titles(league: str, tournament: str) -> None:
    cards = [
        draw_card(Card(f"Round {number}", "A against B", [], "", within=(league, tournament)))
        for number in (11, 12)
    ]
    assert cards[0] != cards[1]


@pytest.mark.parametrize("room", [520, 1120])
def test_joined_titles_fill_their_room(room: int) -> None:
    text = join_titles(PEN, (LONG, "Spring cup", "Round 2"), size=26, room=room, lines=1)
    assert text.endswith("…, Spring cup, Round 2")
    assert room - 30 < PEN.textlength(text, font=font(26)) <= room


def test_titles_with_room_are_whole() -> None:
    titles = ("Geese", "Spring cup", "")
    assert join_titles(PEN, titles, size=26, room=520, lines=2) == "Geese, Spring cup"
