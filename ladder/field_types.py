"""Types of values that people send, with their bounds, and what their records have in common."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, is_dataclass, replace
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Final, get_args, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    WithJsonSchema,
)

from ladder.slugs import normal_text

KEY: Final = r"^[a-z0-9][a-z0-9_-]{0,63}$"
SLUG: Final = r"^[a-z0-9][a-z0-9-]{0,39}$"
UNSEEN: Final = r"\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
"""For a character class: terminal controls, and characters that hide or reverse text."""
NAME: Final = rf"^[^\x00-\x20{UNSEEN}]([^\x00-\x1f{UNSEEN}]*[^\x00-\x20{UNSEEN}])?$"
LINE: Final = rf"^[^\x00-\x1f{UNSEEN}]*$"
SPEED_CLASS: Final = r"^[a-z0-9][a-z0-9.-]{0,19}$"
TEXT: Final = rf"^[^\x00-\x08\x0b-\x1f{UNSEEN}]*$"

BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0\U0001d159")
"""Letters and signs without a shape, which Unicode does not class as spaces or formats."""
MOST_ACCENTS: Final = 4


def check_shown(text: str) -> str:
    """Returns a text that people can see, or an empty one.

    Raises ValueError, with the remedy, for a text without a visible character, for one that begins
    with an accent, and for more than ``MOST_ACCENTS`` accents on a letter.
    """
    accents = None
    for character in text:
        kind = unicodedata.category(character)
        if kind in ("Mn", "Mc", "Me"):
            if accents is None:
                raise ValueError("begin with a letter, a digit or a sign, and not with an accent")
            accents += kind != "Mc"  # Mc: vowels of Indian scripts, which stand beside the letter
            if accents > MOST_ACCENTS:
                raise ValueError(f"put at most {MOST_ACCENTS} accents on a letter")
        elif kind[0] in "LNPS" and character not in BLANK:
            accents = 0
    if text and accents is None:
        raise ValueError("use at least one letter, digit or sign that people can see")
    return text


def _compose(value: Any) -> Any:
    return normal_text(value) if isinstance(value, str) else value


Slug = Annotated[str, StringConstraints(pattern=SLUG, min_length=1, max_length=40)]
Name = Annotated[
    str,
    StringConstraints(pattern=NAME, max_length=60),
    AfterValidator(check_shown),
    BeforeValidator(_compose),
]
Line = Annotated[
    str,
    StringConstraints(pattern=LINE, max_length=200),
    AfterValidator(check_shown),
    BeforeValidator(_compose),
]
FilledLine = Annotated[Line, Field(min_length=1)]
Text = Annotated[str, StringConstraints(pattern=TEXT, max_length=4000), BeforeValidator(_compose)]


def require_timezone(moment: datetime) -> datetime:
    """Checks that a time has a zone and a year that Postgres and every client can store.

    Raises ValueError with the remedy.
    """
    if moment.tzinfo is None:
        raise ValueError("add a time zone: Z for UTC or an offset, as in 2026-12-01T18:00:00+01:00")
    if not 1970 <= moment.year < 9000:
        raise ValueError("the year must be between 1970 and 8999")
    return moment


SpeedClass = Annotated[str, StringConstraints(pattern=SPEED_CLASS)]
Reason = Annotated[FilledLine, Field(description="one sentence, stored in the audit log")]
AwareDatetime = Annotated[datetime, AfterValidator(require_timezone)]
Key = Annotated[str, StringConstraints(pattern=KEY)]

RECORD: Final = ConfigDict(
    use_attribute_docstrings=True, json_schema_serialization_defaults_required=True
)
"""For ``__pydantic_config__`` of a dataclass that the API answers. The text below a field describes
it in the OpenAPI document."""


@dataclass(frozen=True)
class KeptAs:
    """Marks a field of an answer: the copy that is stored for a repeated request has this value."""

    value: object


ShownOnce = Annotated[
    str, WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]}), KeptAs(None)
]
"""A secret of an answer. A repeat of the request is answered with null."""
WordsOfPerson = Annotated[str, KeptAs("")]
"""Words of a person, which no second place stores. A repeat is answered with an empty text."""


def stored_copy(answer: Any) -> Any:
    """The copy of an answer that is stored for a repeated request."""
    if isinstance(answer, (list, tuple)):
        return type(answer)([stored_copy(item) for item in answer])
    if isinstance(answer, BaseModel):
        lists = {name: value for name, value in answer if isinstance(value, (list, tuple))}
        return answer.model_copy(update={name: stored_copy(lists[name]) for name in lists})
    if not is_dataclass(answer) or isinstance(answer, type):
        return answer
    kinds: dict[str, Any] = get_type_hints(type(answer), include_extras=True)
    values = ((name, getattr(answer, name)) for name in kinds)
    lists = {name: stored_copy(value) for name, value in values if isinstance(value, (list, tuple))}
    marks = {name: mark.value for name, kind in kinds.items() for mark in marks_of(kind)}
    return replace(answer, **{**lists, **marks})


def json_of_answer(answer: Any) -> Any:
    """The answer as the API sends it: without excluded fields, and with computed ones."""
    kind: Any = type(answer)
    return adapter_of(kind).dump_python(answer, mode="json", warnings=False)


@cache
def adapter_of(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def marks_of(kind: Any) -> list[KeptAs]:
    """The mark of a field's type, also inside a union."""
    inner = [mark for part in get_args(kind) for mark in marks_of(part)]
    return [mark for mark in getattr(kind, "__metadata__", ()) if isinstance(mark, KeptAs)] or inner


class RequestModel(BaseModel):
    """What a person asks for: the body of a request, and the fields of a form."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
