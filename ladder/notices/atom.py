"""Writes Atom feeds (RFC 4287)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, Protocol
from urllib.parse import urlsplit
from xml.etree import ElementTree

ATOM: Final = "http://www.w3.org/2005/Atom"
MEDIA_TYPE: Final = "application/atom+xml"
EMPTY_AT: Final = datetime(2020, 1, 1, tzinfo=UTC)
"""Time of the last change of a feed without entries."""


class FeedEntry(Protocol):
    """A notice, or another thing that a feed lists."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> StrEnum: ...
    @property
    def title(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...


def write_feed(title: str, feed_id: str, base_url: str, entries: Sequence[FeedEntry]) -> bytes:
    """Returns the feed as XML in UTF-8. ``feed_id`` is the same at every request."""
    feed = ElementTree.Element("feed", {"xmlns": ATOM})
    _add(feed, "title", title)
    _add(feed, "id", _tag(base_url, feed_id))
    _add(feed, "updated", _time_text(max((e.created_at for e in entries), default=EMPTY_AT)))
    ElementTree.SubElement(feed, "link", {"rel": "alternate", "href": base_url + "/"})
    author = ElementTree.SubElement(feed, "author")
    _add(author, "name", "Pecking Order")
    for each in entries:
        entry = ElementTree.SubElement(feed, "entry")
        _add(entry, "title", each.title)
        _add(entry, "id", _tag(base_url, each.id))
        _add(entry, "updated", _time_text(each.created_at))
        ElementTree.SubElement(entry, "link", {"rel": "alternate", "href": base_url + each.path})
        ElementTree.SubElement(entry, "category", {"term": each.kind.value})
        _add(entry, "summary", each.text)
    content: bytes = ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True)
    return content


def _add(parent: ElementTree.Element, name: str, text: str) -> None:
    """Adds an element. XML has no place for control characters and halves of surrogates."""
    child = ElementTree.SubElement(parent, name)
    child.text = "".join(char if char.isprintable() else " " for char in text)


def _tag(base_url: str, name: str) -> str:
    """A tag URI (RFC 4151), which does not change with the path."""
    return f"tag:{urlsplit(base_url).hostname},2026:{name}"


def _time_text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
