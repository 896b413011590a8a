"""Pages of a list: an opaque cursor in, the items and a ``next`` link out."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Generic, TypeVar

from fastapi import Depends, Query, Request
from pydantic import BaseModel, Field

from services.http.problems import ProblemError

T = TypeVar("T")
R = TypeVar("R")
KEY: Final = re.compile(r"[a-z0-9_.:-]{1,80}")
WRONG_CURSOR: Final = "take it from the `next` link of the previous page."


class Page(BaseModel, Generic[T]):
    """Some items of a list. ``next`` is the address of the next page, null at the end."""

    items: list[T]
    next: str | None = Field(default=None, examples=["/v1/leagues?cursor=bGVhXzAx&limit=50"])


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The requested part of a list: up to ``limit`` items after the key ``after``."""

    request: Request
    after: str | None
    limit: int

    def page(self, rows: Sequence[R], key: Callable[[R], str], show: Callable[[R], T]) -> Page[T]:
        """The page of ``rows``, which were read with ``self.limit``. ``rows`` must hold only what
        the reader may see, because the cursor contains the last key."""
        return self.page_before(rows, key(rows[-1]) if len(rows) >= self.limit else None, show)

    def part(self, rows: Sequence[R], show: Callable[[R], T]) -> Page[T]:
        """The page of ``rows``, which are the whole list. The cursor is a number of rows.

        Raises ProblemError if the cursor is not one of this list.
        """
        first = self.after or "0"
        if not (first.isascii() and first.isdigit() and len(first) < 10):
            raise ProblemError("invalid", WRONG_CURSOR, where="cursor")
        end = int(first) + self.limit
        following = str(end) if end < len(rows) else None
        return self.page_before(rows[int(first) : end], following, show)

    def page_before(
        self, rows: Sequence[R], following: str | None, show: Callable[[R], T]
    ) -> Page[T]:
        """The page of ``rows``; the next one goes on at the key ``following``. None: no more."""
        address = None
        if following is not None:
            url = self.request.url.include_query_params(
                cursor=encode_cursor(following), limit=self.limit
            )
            address = f"{url.path}?{url.query}"
        return Page(items=[show(row) for row in rows], next=address)


def encode_cursor(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> str:
    """The key in a cursor. Raises ProblemError if the cursor is not one of ours."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        key = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        key = ""
    if not KEY.fullmatch(key):
        raise ProblemError("invalid", WRONG_CURSOR, where="cursor")
    return key


async def page_request(
    request: Request,
    cursor: Annotated[
        str | None, Query(max_length=120, description="from the `next` link of the previous page")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> PageRequest:
    return PageRequest(request, None if cursor is None else decode_cursor(cursor), limit)


Paging = Annotated[PageRequest, Depends(page_request)]
