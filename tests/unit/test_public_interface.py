"""What people and programs rely on: operations of the API, commands and addresses of pages.

``public_interface.txt`` holds one line a fact. A change of a line needs a reason in the commit that
makes it. Write the file again with ``.venv/bin/python -m tests.unit.test_public_interface``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from fastapi.routing import APIRoute
from typer.main import get_group

from services.application import all_routes, openapi_document
from services.cli.__main__ import full_app

RECORDED: Final = Path(__file__).with_name("public_interface.txt")
BOUNDS: Final = (
    *("type", "format", "enum", "const", "pattern", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
)
"""What a client can rely on. Titles, descriptions, examples and names of schemas may change."""
Schema = dict[str, Any]


def test_operations_commands_and_pages_are_the_recorded_ones() -> None:
    recorded, present = set(RECORDED.read_text().splitlines()), set(public_interface())
    changes = [f"- {line}" for line in sorted(recorded - present)]
    changes += [f"+ {line}" for line in sorted(present - recorded)]
    assert changes == [], "\n".join(changes)


def public_interface() -> list[str]:
    """All facts, sorted, each once."""
    return sorted({*operation_facts(openapi_document()), *command_facts(), *page_facts()})


def operation_facts(document: Schema) -> Iterator[str]:
    """Parameters, bodies and answers of each operation, with the fields of each schema."""
    known = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            name = f"{method.upper()} {path}"
            yield name
            for parameter in operation.get("parameters", ()):
                place = f"{parameter['in']} {parameter['name']}"
                mark = "required" if parameter["required"] else "optional"
                yield f"{name} {place}: {mark} {shape(parameter['schema'], known)}"
            for kind, content in operation.get("requestBody", {}).get("content", {}).items():
                yield from body_facts(f"{name} asks {kind}", content, known)
            yield f"{name} answers {' '.join(sorted(operation['responses']))}"
            for status, answer in operation["responses"].items():
                for kind, content in answer.get("content", {}).items():
                    if not kind.startswith("application/problem"):
                        yield from body_facts(f"{name} answers {status} {kind}", content, known)


def body_facts(name: str, content: Schema, known: Schema) -> Iterator[str]:
    """The body itself, and its fields one line each."""
    schema = resolve(content.get("schema", {}), known)
    fields = schema.get("properties")
    if fields is None:
        yield f"{name}: {shape(schema, known)}"
        return
    for field, kind in fields.items():
        mark = "required" if field in schema.get("required", ()) else "optional"
        default = f" = {json.dumps(kind['default'])}" if "default" in kind else ""
        yield f"{name}.{field}: {mark} {shape(kind, known)}{default}"


def resolve(schema: Schema, known: Schema) -> Schema:
    while "$ref" in schema:
        schema = known[schema["$ref"].rpartition("/")[2]]
    return schema


def shape(schema: Schema, known: Schema, above: tuple[str, ...] = ()) -> str:
    """A schema as one line of text; a schema that contains itself ends in ``...``."""
    reference = schema.get("$ref")
    if reference in above:
        return "..."
    if reference is not None:
        above = (*above, reference)
        schema = resolve(schema, known)
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return f"({' | '.join(sorted(shape(part, known, above) for part in schema[word]))})"
    bounds = ",".join(f"{key}={json.dumps(schema[key])}" for key in BOUNDS if key in schema)
    text = bounds.removeprefix('type="').replace('"', "", 1) if "type" in schema else bounds
    if "items" in schema:
        text += f"[{shape(schema['items'], known, above)}]"
    if isinstance(schema.get("additionalProperties"), dict):
        text += "{*: " + shape(schema["additionalProperties"], known, above) + "}"
    if "properties" in schema:
        needed = schema.get("required", ())
        text += (
            "{"
            + ", ".join(
                f"{field}{'' if field in needed else '?'}: {shape(kind, known, above)}"
                for field, kind in sorted(schema["properties"].items())
            )
            + "}"
        )
    return text or "any"


def command_facts(command: Any = None, name: str = "peck") -> Iterator[str]:
    """Each command with its arguments and the names of its options."""
    command = command or get_group(full_app())
    for parameter in command.params:
        is_argument = parameter.param_type_name == "argument"
        words = [parameter.name] if is_argument else sorted(parameter.opts)
        mark = " required" if parameter.required else ""
        yield f"{name} {parameter.param_type_name} {' '.join(words)}{mark}"
    yield name
    for word, part in getattr(command, "commands", {}).items():
        yield from command_facts(part, f"{name} {word}")


def page_facts() -> Iterator[str]:
    """Method and address of each page and form."""
    for route in all_routes():
        if isinstance(route, APIRoute) and not route.path.startswith("/v1"):
            for method in route.methods or ():
                yield f"page {method} {route.path}"


if __name__ == "__main__":
    RECORDED.write_text("".join(f"{line}\n" for line in public_interface()))
