"""Examples of each call of the API: a line for curl, one for Python and one for ``peck``."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

Json = dict[str, Any]
DEEPEST: Final = 4


@dataclass(frozen=True, slots=True)
class CallExample:
    """How to make one call."""

    curl: str
    python: str
    command: str | None
    """What follows ``peck``; None for what is not below ``/v1``."""


def example_of(method: str, path: str, found: Json, shapes: Mapping[str, Json]) -> CallExample:
    """The example of an operation of the OpenAPI document."""
    address = re.sub(r"\{(\w+)\}", lambda found: found[1].upper(), path)
    query = {
        one["name"]: one["name"].upper()
        for one in found.get("parameters", ())
        if one["in"] == "query" and one["required"]
    }
    is_open = not found.get("security") or {} in found["security"]
    body, is_file = body_of(found, shapes)
    return CallExample(
        curl_line(method, address, query, body, is_open=is_open, is_file=is_file),
        python_lines(method, address, query, body, is_open=is_open, is_file=is_file),
        command_line(found, address, query, body, is_file=is_file),
    )


def command_line(found: Json, address: str, query: Json, body: Any, *, is_file: bool) -> str | None:
    """The call as an operation of ``peck api``."""
    if not address.startswith("/v1/"):
        return None
    values = [part for part in address.split("/") if part.isupper()] + ["main.py"] * is_file
    fields = query | (body if isinstance(body, dict) else {})
    values += [
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in fields.items()
    ]
    return shlex.join(["api", found["operationId"].replace("_", "-"), *values])


def curl_line(
    method: str, address: str, query: Json, body: Any, *, is_open: bool, is_file: bool
) -> str:
    """The call as a command of curl."""
    words = ["curl"]
    if method != "GET" and not (method == "POST" and (is_file or body is not None)):
        words += ["-X", method]
    if not is_open:
        words += ["-H", '"Authorization: Bearer $PECK_TOKEN"']
    if is_file:
        words += ["-F", "file=@main.py"]
    elif body is not None:
        words += ["-H", "'Content-Type: application/json'", "-d", shlex.quote(json.dumps(body))]
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    words.append(f'"$PECK_URL{address}?{asked}"' if asked else f"$PECK_URL{address}")
    return " ".join(words)


def python_lines(
    method: str, address: str, query: Json, body: Any, *, is_open: bool, is_file: bool
) -> str:
    """The call with Python's httpx."""
    given = [f'f"{{url}}{address}"']
    if query:
        given.append(f"params={query!r}")
    if not is_open:
        given.append('headers={"Authorization": f"Bearer {token}"}')
    if is_file:
        given.append('files={"file": open("main.py", "rb")}')
    elif body is not None:
        given.append(f"json={body!r}")
    return f"httpx.{method.lower()}({', '.join(given)})"


def body_of(found: Json, shapes: Mapping[str, Json]) -> tuple[Any, bool]:
    """An example of the body, and whether the body is a file."""
    content: Json = found.get("requestBody", {}).get("content", {})
    if "application/json" not in content:
        return None, bool(content)
    return value_of(content["application/json"].get("schema", {}), shapes), False


def value_of(schema: Json, shapes: Mapping[str, Json], depth: int = 0) -> Any:
    """An example of a value: the schema's own, else its needed members."""
    if "$ref" in schema:
        return value_of(shapes[schema["$ref"].rsplit("/", 1)[-1]], shapes, depth)
    if schema.get("examples"):
        return schema["examples"][0]
    for name in ("const", "default"):
        if name in schema:
            return schema[name]
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return value_of(schema["anyOf"][0], shapes, depth)
    if schema.get("type") == "object":
        needed = schema.get("required", ()) if depth < DEEPEST else ()
        members = schema.get("properties", {})
        return {name: value_of(members[name], shapes, depth + 1) for name in needed}
    return {"array": [], "integer": 1, "number": 1.0, "boolean": True}.get(
        schema.get("type", ""), "TEXT"
    )
