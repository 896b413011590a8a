"""Entity tags: an unchanged answer is not sent again (RFC 9110, section 13)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Annotated, Final

from fastapi import Header

LONGEST: Final = 1000
IfNoneMatch = Annotated[
    str | None,
    Header(
        alias="If-None-Match",
        description="ETag of an earlier answer; the answer is 304 if nothing changed",
        max_length=LONGEST,
    ),
]


def names_tag(names: Iterable[str]) -> str:
    """A part of a tag that changes with these names: a deleted account leaves a pseudonym."""
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]


def matches(header: str | None, etag: str) -> bool:
    """Whether one of the tags in an If-None-Match header is ``etag``, compared weakly."""
    if not header:
        return False
    bare = etag.removeprefix("W/")
    tags = {tag.strip().removeprefix("W/") for tag in header.split(",")}
    return "*" in tags or bare in tags
