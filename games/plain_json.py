"""Writes JSON in one form, and finds the part of a value that JSON cannot hold."""

from __future__ import annotations

import json
import math

from games.protocol import Json


def canonical_json(value: Json) -> str:
    """The JSON of a value, with sorted keys. Equal values give equal texts."""
    return json.dumps(value, sort_keys=True, allow_nan=False)


def json_flaw(value: Json) -> str | None:
    """The part of a value that is not plain JSON. None if all of it is."""
    if value is None or isinstance(value, bool | str):
        return None
    if type(value) in (int, float):
        return None if math.isfinite(value) else f"{value!r} is not a finite number"
    if isinstance(value, list | tuple):
        return next((flaw for flaw in map(json_flaw, value) if flaw), None)
    if isinstance(value, dict):
        odd = [key for key in value if not isinstance(key, str)]
        if odd:
            return f"the key {odd[0]!r:.100} is not a string"
        return next((flaw for flaw in map(json_flaw, value.values()) if flaw), None)
    return f"{value!r:.100} is a {type(value).__name__}"
