"""Checks a game's configuration field by field, with JSON Schema's idea of a number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from games.protocol import ConfigurationError, Json


@dataclass(frozen=True, slots=True)
class ConfigurationField:
    """One number or switch of a configuration: its name, type, default and smallest value."""

    name: str
    type: type[int] | type[float] | type[bool]
    default: float
    minimum: float = 0


def configure(
    fields: Iterable[ConfigurationField], overrides: Mapping[str, Json]
) -> dict[str, Json]:
    """All fields in their order, with ``overrides`` applied. null means the default.

    Raises ConfigurationError naming the field for unknown names and values out of range.
    """
    by_name = {field.name: field for field in fields}
    for name in overrides:
        if name not in by_name:
            raise ConfigurationError(str(name), f"unknown; there are {', '.join(by_name)}")
    return {
        field.name: field.default
        if overrides.get(field.name) is None
        else _check_value(field, overrides[field.name])
        for field in by_name.values()
    }


def _check_value(field: ConfigurationField, value: Json) -> float:
    if field.type is bool:
        if not isinstance(value, bool):
            raise ConfigurationError(field.name, f"must be true or false, got {value!r:.100}")
        return value
    # JSON Schema: true is no number, and 11.0 is an integer.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value):
        raise ConfigurationError(field.name, f"must be a number, got {value!r:.100}")
    if field.type is int:
        if value != int(value):
            raise ConfigurationError(field.name, f"must be a whole number, got {value!r}")
        value = int(value)
    if value < field.minimum:
        raise ConfigurationError(field.name, f"must be at least {field.minimum}, got {value!r}")
    number: float = value
    return number
