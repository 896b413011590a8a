"""Forms that stand for a request of the API: their fields bear the names of its places.

``season.clock.act_seconds`` on a page is ``body.season.clock.act_seconds`` of the API. What
is typed goes through the API's own models and functions; what those refuse comes back to its field.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Self

from fastapi import Depends, Request
from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData

from ladder.database.db import Connection
from ladder.errors import LadderError
from ladder.field_types import KEY
from ladder.people.records import Viewer
from services.http.idempotency import IdempotentRequest
from services.http.problems import ProblemError
from services.web import session

MOST_FIELDS: Final = 200


async def sent_form(request: Request) -> FormData:
    """What the browser sent. Raises ProblemError for a form that none of our pages made."""
    given = await request.form(max_files=0, max_fields=MOST_FIELDS)
    session.check_form(request, str(given.get("form_token", "")))
    return given


Sent = Annotated[FormData, Depends(sent_form)]


class DoneAct(BaseModel):
    """What is kept of an act, so that it is not done twice."""


@dataclass
class Form:
    """What stands in the fields of a form, and what is wrong with it, by field."""

    values: dict[str, str]
    lists: dict[str, list[str]] = field(default_factory=dict)
    """Of boxes that share a name: those that are ticked."""
    wrong: dict[str, str] = field(default_factory=dict)
    """By field; what belongs to none stands under the empty name."""
    key: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    """Drawn with the page: a form that is sent twice acts once."""

    @classmethod
    def of(cls, given: FormData, defaults: Mapping[str, str], lists: Iterable[str] = ()) -> Self:
        """The sent values of the fields in ``defaults``; others are not read."""
        values = {name: str(given.get(name, "")).strip() for name in defaults}
        ticked = {name: [str(each) for each in given.getlist(name)] for name in lists}
        made = cls(values, ticked)
        made.key = str(given.get("key", ""))[:40] or made.key
        return made

    def once(self, request: Request, conn: Connection, who: Viewer) -> IdempotentRequest:
        """Acts once for this page and these values; other values are another act."""
        told = json.dumps([self.values, self.lists], sort_keys=True)
        digest = hashlib.sha256(told.encode()).hexdigest()
        key = hashlib.sha256(f"{self.key} {digest}".encode()).hexdigest()
        return IdempotentRequest(conn, who, key, request, digest)

    def act(
        self, request: Request, conn: Connection, who: Viewer, act: Callable[[], object]
    ) -> None:
        """Acts in a transaction of its own, and once for this page and these values."""

        def create() -> DoneAct:
            act()
            return DoneAct()

        with conn.transaction():
            self.once(request, conn, who).run(create)

    def refuse(self, error: ValidationError | ProblemError | LadderError) -> None:
        """Puts what was refused beside its field."""
        if isinstance(error, ValidationError):
            for item in error.errors():
                place = ".".join(str(part) for part in item["loc"])
                self._add(place, field_message(item["type"], item["msg"]))
            return
        if isinstance(error, ProblemError):
            self._add("", error.detail)
            return
        self._add(error.field or "", error.message)

    def _add(self, place: str, message: str) -> None:
        name = self._name(place)
        if place and not name and not any(one.startswith(f"{place}.") for one in self.values):
            message = f"{place}: {message}"
        self.wrong.setdefault(name, message[:1].upper() + message[1:])

    def _name(self, place: str) -> str:
        """The field of this place; a choice's own name may stand in it (``medals.lines.gold``)."""
        known = [*self.values, *self.lists]
        start, _, last = place.rpartition(".")
        for name in (place, f"{start.rpartition('.')[0]}.{last}", f"{place}.kind", start):
            if name in known:
                return name
        return ""


def field_message(kind: str, message: str) -> str:
    """Pydantic's sentence, or ours where it shows what only programmers read."""
    if kind == "missing":
        return "This is needed."
    if kind == "string_pattern_mismatch":
        return "It has characters that cannot stand here."
    return message.removeprefix("Value error, ")


def parse_key(given: FormData, name: str) -> str:
    """An id or slug that a page put there; empty, which is nobody's, where it can be none."""
    text = str(given.get(name, ""))
    return text if re.fullmatch(KEY, text) else ""


def nest_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """``{"season.seats": 4}`` as ``{"season": {"seats": 4}}``."""
    tree: dict[str, Any] = {}
    for name, value in values.items():
        *way, last = name.split(".")
        at = tree
        for step in way:
            at = at.setdefault(step, {})
        at[last] = value
    return tree
