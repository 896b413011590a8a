"""Draws the bracket of an elimination stage as SVG. The style sheet gives the colours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from markupsafe import Markup

from ladder.tournaments.formats.drawing import bracket
from ladder.tournaments.formats.records import Key, Pairing, Takes
from ladder.tournaments.views import TournamentView

COLUMN: Final = 172
"""Width of a column, in pixels, with the gap after it."""
BOX: Final = 150
LINE: Final = 20
"""Height of an entrant's line."""
ROW: Final = 52
HEAD: Final = 46
WIDE: Final = "mwMW@%\N{EM DASH}"
NARROW: Final = "fijlrt.,:;'|!()[]-I "


def draw_bracket(
    view: TournamentView, stage: int, address_of: Callable[[Key], str] | None
) -> Markup:
    """The bracket as one ``<svg>``. With ``address_of`` each pairing is a link."""
    assert view.inputs is not None
    assert view.course is not None
    drawn = bracket(view.course, stage)
    places = {box.key: (box.column * COLUMN + 1, HEAD + box.y * ROW - LINE) for box in drawn.boxes}
    pairings = {pairing.key: pairing for pairing in view.course.pairings}
    width = max((x for x, _ in places.values()), default=0) + BOX + 2
    height = HEAD + drawn.height * ROW
    parts = [_titles(drawn.columns)]
    parts += [
        _link(places[link.source], places[link.target])
        for link in drawn.links
        if link.takes is Takes.WINNER
    ]
    for box in drawn.boxes:
        pairing = pairings[box.key]
        drawing = _box(view, pairing, *places[box.key])
        if address_of:
            drawing = _linked(view, pairing, drawing, address_of(pairing.key))
        parts.append(drawing)
    return Markup(
        '<svg class="bracket" role="group" aria-label="Bracket" width="{w}" height="{h}"'
        ' viewBox="0 0 {w} {h}">{parts}</svg>'
    ).format(w=round(width), h=round(height), parts=Markup("").join(parts))


def anchor(key: Key) -> str:
    """The id of a pairing in the page."""
    return f"p{key.stage}-{key.round}-{key.number}"


def _short(text: str, room: float) -> str:
    """The text, or its beginning with ``…`` if it does not fit into so many pixels."""
    if sum(map(_width, text)) <= room:
        return text
    kept = ""
    for letter in text:
        room -= _width(letter)
        if room < _width("…"):
            break
        kept += letter
    return f"{kept}…"


def _width(letter: str) -> float:
    """Pixels that a bold letter takes at most in a usual font of the style sheet's size."""
    if letter in WIDE or ord(letter) > 0x2E7F:
        return 14.4
    return 6.5 if letter in NARROW else 11.0 if letter.isupper() or letter == "…" else 9.3


def _titles(columns: tuple[str, ...]) -> Markup:
    """The names of the rounds; two rounds in a column stand below each other."""
    return Markup("").join(
        Markup('<text class="title" x="{}" y="{}">{}</text>').format(
            n * COLUMN + 4, 16 * (m + 1), part
        )
        for n, title in enumerate(columns)
        for m, part in enumerate(title.split(" / ")[:2])
    )


def _link(source: tuple[float, float], target: tuple[float, float]) -> Markup:
    x, y = source[0] + BOX, source[1] + LINE
    to_x, to_y = target[0], target[1] + LINE
    middle = to_x - (COLUMN - BOX) / 2
    return Markup('<path d="M{:.0f} {:.1f}H{:.0f}V{:.1f}H{:.0f}"/>').format(
        x, y, middle, to_y, to_x
    )


def _box(view: TournamentView, pairing: Pairing, x: float, y: float) -> Markup:
    lines = []
    points: dict[int | None, float] = {}
    if pairing.outcome is not None and str(pairing.key) in view.games:
        points = dict(zip(pairing.outcome.order, pairing.outcome.points, strict=False))
    entrants = pairing.entrants if len(pairing.entrants) > 1 else (*pairing.entrants, None)
    for n, number in enumerate(entrants[:2]):
        is_bye = n >= len(pairing.entrants)
        name = "bye" if is_bye else view.name(number)
        if number is None and not is_bye and n < len(pairing.origins):
            name = pairing.origins[n].text()
        won = pairing.outcome is not None and pairing.outcome.order[:1] == (number,)
        score = f"{points[number]:g}" if number in points else ""
        short = _short(name, BOX - 20 - 9.3 * len(score))
        whole = Markup("<title>{}</title>").format(name) if short != name else ""
        lines.append(
            Markup(
                '<text class="{}" x="{:.0f}" y="{:.1f}">{}{}</text>'
                '<text class="{} points" x="{:.0f}" y="{:.1f}">{}</text>'
            ).format(
                "won" if won else "open" if number is None else "lost" if pairing.outcome else "",
                x + 8,
                y + LINE * n + 14.5,
                whole,
                short,
                "won" if won else "",
                x + BOX - 8,
                y + LINE * n + 14.5,
                score,
            )
        )
    return Markup(
        '<rect x="{:.0f}" y="{:.1f}" width="{}" height="{}" rx="5"/>'
        '<line x1="{:.0f}" x2="{:.0f}" y1="{:.1f}" y2="{:.1f}"/>{}'
    ).format(
        x,
        y,
        BOX,
        2 * LINE,
        x,
        x + BOX,
        y + LINE,
        y + LINE,
        Markup("").join(lines),
    )


def _linked(view: TournamentView, pairing: Pairing, box: Markup, address: str) -> Markup:
    names = " against ".join(view.name(number) for number in pairing.entrants)
    return Markup('<a href="{}" aria-label="{}">{}</a>').format(
        address, f"{pairing.title}: {names}", box
    )
