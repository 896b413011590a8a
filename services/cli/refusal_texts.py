"""The text of a refusal, with the option or argument of the command instead of the API's field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from services.api_client import ApiError, Json

PARTS: Final = ("body", "query", "path", "header")
"""First part of a place in a request of the API: ``body.season.closes_at``."""


class Parameter(Protocol):
    """An option or argument of a command, as typer describes it."""

    name: str | None
    opts: list[str]
    param_type_name: str


def refusal_lines(error: ApiError, parameters: Sequence[Parameter]) -> list[str]:
    """The sentence of the refusal, then a line for each refused value if there are several."""
    detail = str(error)
    places: list[Json] = list(error.problem.get("errors") or ())
    if not places:
        return [detail]
    named = [f"{name_of_place(one['where'], parameters)}: {one['message']}" for one in places]
    first = places[0]["where"]
    if detail.startswith((f"{first}: ", f"{without_part(first)}: ")):
        more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
        detail = named[0] + more
    if len(places) == 1 and places[0]["message"] in detail:
        return [detail]
    return [detail, *named]


def without_part(where: str) -> str:
    """The place without the part of the request: ``season.closes_at``."""
    part, _, rest = where.partition(".")
    return rest if part in PARTS and rest else where


def name_of_place(where: str, parameters: Sequence[Parameter]) -> str:
    """The option or argument that sets this value: ``--closes``. Else the field:
    ``season.medals``."""
    field = without_part(where)
    names = [part for part in field.split(".") if not part.isdecimal()]
    for name in _parameter_names(names[-1]) if names else ():
        for parameter in parameters:
            if parameter.name == name:
                return _shown_name(parameter)
    return field


def _parameter_names(field: str) -> Iterator[str]:
    """The names that a parameter for this field may have."""
    yield field
    yield field.removesuffix("_at")
    yield field.removesuffix("s")


def _shown_name(parameter: Parameter) -> str:
    if parameter.param_type_name == "argument":
        return (parameter.name or "").upper()
    return max(parameter.opts, key=len)
