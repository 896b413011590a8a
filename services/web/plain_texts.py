"""Texts that people wrote, as HTML: paragraphs, lines and links. Other text is unchanged."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Final

from markupsafe import Markup, escape

_BRACKETS: Final = r"""\([^\s<>"'()]*\)"""
ADDRESS: Final = re.compile(
    rf"""(\b[Hh][Tt][Tt][Pp][Ss]?://(?:{_BRACKETS}|[^\s<>"'()])*"""
    rf"""(?:{_BRACKETS}|[^\s<>"'()\[\]{{}}.,:;!?…”。*]))"""
)
"""An address in a text, without the punctuation after it. It may have round brackets in pairs."""
LINK: Final = Markup('<a href="{0}" rel="nofollow noopener">{0}</a>')


def plain_text_html(text: str) -> Markup:
    """The paragraphs and lines of a text; its http and https addresses become links."""
    lines = (line.strip() for line in text.splitlines())
    return Markup("").join(
        Markup("<p>{}</p>").format(Markup("<br>").join(map(linked_html, block)))
        for is_filled, block in groupby(lines, bool)
        if is_filled
    )


def first_paragraph(text: str) -> str:
    """The first paragraph of a text, on one line."""
    lines = (line.strip() for line in text.splitlines())
    blocks = (list(block) for is_filled, block in groupby(lines, bool) if is_filled)
    return " ".join(next(blocks, []))


def linked_html(line: str) -> Markup:
    """A line whose addresses are links."""
    parts = enumerate(ADDRESS.split(line))
    return Markup("").join(LINK.format(part) if at % 2 else escape(part) for at, part in parts)
