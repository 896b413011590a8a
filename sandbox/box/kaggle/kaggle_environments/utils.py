"""Dicts with attribute access, as agents get them, and their deep copy."""

from __future__ import annotations

from typing import Any


class Struct(dict[str, Any]):
    """A dict whose keys are also attributes. A key ``items`` is dropped to keep the method."""

    def __init__(self, **entries: Any) -> None:
        entries.pop("items", None)
        super().__init__(entries)
        vars(self).update(entries)

    def __setattr__(self, name: str, value: Any) -> None:
        vars(self)[name] = value
        self[name] = value


def structify(o: Any) -> Any:
    """Copy a value; every dict inside lists and dicts becomes a Struct. Other values are shared."""
    if isinstance(o, dict):
        return Struct(**{name: structify(value) for name, value in o.items()})
    return [structify(value) for value in o] if isinstance(o, list) else o
