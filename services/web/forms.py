"""Forms that send a request of the API: each field has the name of its place in the request.

The field ``season.clock.act_seconds`` is ``body.season.clock.act_seconds`` of the API. The API's
own models and functions read the values. The page shows each error beside its field.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import Annotated, Any, Final, Self
from zoneinfo import ZoneInfo, available_timezones

from fastapi import Depends, Request
from pydantic import AfterValidator, BaseModel, TypeAdapter, ValidationError
from starlette.datastructures import FormData

from ladder.database.db import Connection
from ladder.errors import Invalid, LadderError
from ladder.field_types import KEY, UNSEEN, Name
from ladder.people.records import Viewer
from services.http import problems
from services.http.idempotency import IdempotentRequest
from services.http.problems import ProblemError
from services.web import form_texts, session

MOST_FIELDS: Final = 200
PART: Final = re.compile(rf"[^/\x00-\x1f{UNSEEN}]{{1,60}}")
NAME: Final[TypeAdapter[str]] = TypeAdapter(Name)
SHOWN: Final[TypeAdapter[dict[str, str]]] = TypeAdapter(dict[str, str])


async def sent_form(request: Request) -> FormData:
    """The form that the browser sent. Raises ProblemError if it is not from one of our pages."""
    sent = await request.form(max_files=0, max_fields=MOST_FIELDS)
    session.check_form(request, str(sent.get("form_token", "")))
    return sent


Sent = Annotated[FormData, Depends(sent_form)]


class DoneAct(BaseModel):
    """The stored result of an act, so that it is not done twice."""

    made: str = ""
    """Name of the thing that the act made."""


@dataclass
class Form:
    """Values of a form's fields, and the error of each field."""

    values: dict[str, str]
    lists: dict[str, list[str]] = field(default_factory=dict)
    """Ticked values of boxes that share a name."""
    wrong: dict[str, str] = field(default_factory=dict)
    """Error messages by field. Errors without a field have the empty name."""
    prefix: str = ""
    """What the ids of the fields in HTML begin with, if two forms of a page share a name."""
    key: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    """Random key of the page: a form that is sent twice acts once."""

    @classmethod
    def of(cls, sent: FormData, defaults: Mapping[str, str], lists: Iterable[str] = ()) -> Self:
        """Reads the fields in ``defaults`` and ignores others."""
        values = {name: str(sent.get(name, "")).strip() for name in defaults}
        ticked = {name: [str(text) for text in sent.getlist(name)] for name in lists}
        form = cls(values, ticked)
        form.key = str(sent.get("key", ""))[:40] or form.key
        return form

    def id_of(self, name: str) -> str:
        """The id of a field in HTML."""
        return form_texts.field_id(self.prefix + name)

    def word_of(self, name: str) -> str:
        """The label of a field inside a sentence."""
        return form_texts.field_word(name)

    def make_idempotent_request(
        self, request: Request, conn: Connection, viewer: Viewer
    ) -> IdempotentRequest:
        """The request that acts once for this page and these values. Other values are another
        request."""
        values = json.dumps([request.url.path, self.values, self.lists], sort_keys=True)
        digest = hashlib.sha256(values.encode()).hexdigest()
        key = hashlib.sha256(f"{self.key} {digest}".encode()).hexdigest()
        return IdempotentRequest(conn, viewer, key, request, digest)

    def run_once(
        self, request: Request, conn: Connection, viewer: Viewer, act: Callable[[], object]
    ) -> str:
        """Acts once for this page and these values, in a transaction of its own.

        Returns the name that the act returned, the first time or now; empty if it was no text.
        """

        def create() -> DoneAct:
            answer = act()
            return DoneAct(made=answer if isinstance(answer, str) else "")

        with conn.transaction():
            answer = self.make_idempotent_request(request, conn, viewer).run(create)
        return DoneAct.model_validate_json(bytes(answer.body)).made

    def refuse_changed(self, sent: FormData, present: Mapping[str, str]) -> None:
        """Adds an error to each field whose stored value changed after the page showed the form.

        The page keeps the values that it showed in the hidden field ``shown`` (`shown_values`). A
        field that the visitor left alone gets the present value. Raises ProblemError if the page
        showed other fields, for example because the visitor was a host then and is a co-host now.
        """
        try:
            shown = SHOWN.validate_json(str(sent.get("shown", "")))
        except ValidationError:
            shown = {}
        if shown.keys() != present.keys():
            raise ProblemError("invalid", form_texts.STALE_FORM)
        for name, now in present.items():
            if now == shown[name]:
                continue
            self.wrong[name] = form_texts.CHANGED_MEANWHILE.format(now, self.values[name])
            if plain_text(self.values[name]) == plain_text(shown[name]):
                self.values[name] = now

    def add_errors(self, error: ValidationError | ProblemError | LadderError) -> None:
        """Stores each error beside its field."""
        if isinstance(error, ValidationError):
            for item in error.errors():
                place = ".".join(str(part) for part in item["loc"])
                self._add(place, field_message(item))
            return
        if isinstance(error, ProblemError):
            self._add("", error.detail)
            return
        self._add(error.field or "", error.message)

    def _add(self, place: str, message: str) -> None:
        name = self._field_of_place(place)
        if place and not name and not any(text.startswith(f"{place}.") for text in self.values):
            message = f"{place}: {message}"
        self.wrong.setdefault(name, message[:1].upper() + message[1:])

    def _field_of_place(self, place: str) -> str:
        """The field of this place. A union's tag may be part of the place
        (``medals.lines.gold``)."""
        fields = [*self.values, *self.lists]
        start, _, last = place.rpartition(".")
        for name in (place, f"{start.rpartition('.')[0]}.{last}", f"{place}.kind", start):
            if name in fields:
                return name
        return ""


def shown_values(present: Mapping[str, str]) -> str:
    """The hidden field ``shown`` of a form, for `Form.refuse_changed`."""
    return SHOWN.dump_json(dict(present)).decode()


def plain_text(text: str) -> str:
    """The text without what a browser changes in a field: line ends and spaces around it."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def field_message(error: Mapping[str, Any]) -> str:
    """The message of one of Pydantic's errors: the API's, or the form's for an empty field."""
    message = problems.field_message(error)
    return form_texts.FIELD_MISSING if message == problems.EMPTY else message


def parse_name(text: str) -> str:
    """A name as the API takes it. Raises Invalid."""
    try:
        return NAME.validate_python(text)
    except ValidationError as error:
        raise Invalid("name", field_message(error.errors()[0])) from None


def parse_part(sent: Mapping[str, Any], name: str) -> str:
    """A part of an operation's path from a field: an id or a name. Empty if it cannot be one."""
    text = str(sent.get(name, "")).strip()
    return text if PART.fullmatch(text) else ""


def parse_key(sent: Mapping[str, Any], name: str) -> str:
    """An id or slug from a hidden field. Empty if it cannot be one; no thing has the empty id."""
    text = str(sent.get(name, ""))
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


UTC_NAME: Final = "UTC"


def parse_moment(text: str, zone: tzinfo) -> str:
    """The moment in the API's format. Leaves an invalid text as it is, for the API to refuse."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).isoformat()


def parse_zone(name: str) -> tzinfo:
    """The time zone of this name. Raises Invalid."""
    if name == UTC_NAME:
        return UTC
    if name not in time_zones():
        raise Invalid("zone", form_texts.UNKNOWN_ZONE)
    return ZoneInfo(name)


def check_zone(name: str) -> str:
    """Returns the name of a time zone. Raises Invalid."""
    parse_zone(name)
    return name


ZoneName = Annotated[str, AfterValidator(check_zone)]


@cache
def time_zones() -> tuple[str, ...]:
    """Names of time zones to choose from."""
    names = (name for name in available_timezones() if "/" in name)
    return UTC_NAME, *sorted(name for name in names if not name.startswith(("Etc/", "US/")))
