"""The message of a refused value. Pydantic's messages are for programmers, so most are replaced.

Each message names the remedy and begins with a small letter, because the field stands before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ladder import field_types

EMPTY: Final = "give a value"
"""The message for a value that is missing, empty or blank."""
OTHER_CHARACTERS: Final = "use only the characters that this field allows"
WORD_CHARACTERS: Final = "use only the characters a-z, 0-9 and -, and begin with a letter or digit"
BY_PATTERN: Final = {
    field_types.SLUG: f"{WORD_CHARACTERS}; at most 40 characters",
    field_types.KEY: "use only the characters a-z, 0-9, _ and -; at most 64 characters",
    field_types.NAME: "use only visible characters, on one line, without a space at either end",
    field_types.LINE: "use only visible characters, on one line",
    field_types.TEXT: "use only visible characters",
}
BY_TYPE: Final = {
    "missing": EMPTY,
    "string_type": "give a text",
    "bool_parsing": "write true or false",
    "bool_type": "write true or false",
    "float_parsing": "write a number",
    "float_type": "write a number",
    "finite_number": "write a number",
    "extra_forbidden": "leave this out: the service does not know it",
}
WHOLE_NUMBER: Final = "write a whole number"
MOMENT: Final = "write date, time and time zone, as in 2026-12-01T18:00+01:00"
BOUNDS: Final = {
    "greater_than_equal": ("ge", "use {} or more"),
    "greater_than": ("gt", "use more than {}"),
    "less_than_equal": ("le", "use {} or less"),
    "less_than": ("lt", "use less than {}"),
    "string_too_short": ("min_length", "use at least {} characters"),
    "string_too_long": ("max_length", "use at most {} characters"),
    "too_short": ("min_length", "give at least {}"),
    "too_long": ("max_length", "give at most {}"),
    "enum": ("expected", "choose {}"),
    "literal_error": ("expected", "choose {}"),
}
"""For a type of Pydantic's errors: the name of its bound, and the message."""


def field_message(error: Mapping[str, Any]) -> str:
    """The message of one of Pydantic's errors."""
    kind, context = str(error["type"]), error.get("ctx") or {}
    if kind in ("too_short", "too_long") and isinstance(error.get("input"), str):
        kind = f"string_{kind}"  # the length was checked after another check of the text
    if kind in BY_TYPE:
        return BY_TYPE[kind]
    if kind.startswith(("string_", "int_", "datetime_")) and is_blank(error.get("input")):
        return EMPTY
    if kind == "string_pattern_mismatch":
        return BY_PATTERN.get(str(context.get("pattern")), OTHER_CHARACTERS)
    if kind.startswith("int_"):
        return WHOLE_NUMBER
    if kind.startswith("datetime_"):
        return MOMENT
    if kind in BOUNDS and BOUNDS[kind][0] in context:
        name, text = BOUNDS[kind]
        bound = context[name]
        is_whole = isinstance(bound, float) and bound.is_integer()
        return text.format(int(bound) if is_whole else bound)
    return str(error["msg"]).removeprefix("Value error, ")


def is_blank(value: object) -> bool:
    return isinstance(value, str) and not value.strip()
