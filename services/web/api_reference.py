"""The API reference page, built from the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from services.web import formatting
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Value:
    """A parameter, or a member of a body or an answer."""

    name: str
    kind: str
    shape: str | None
    """Name of the object type, which has its own section of the page."""
    needed: bool
    text: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one address."""

    name: str
    method: str
    path: str
    summary: str
    text: str
    access: str
    takes: list[tuple[str, Value]]
    """Parameters, each with its place: path, query or header."""
    body: Value | None
    answers: list[tuple[str, Value]]
    """Statuses of success."""
    problems: list[str]


@dataclass(frozen=True, slots=True)
class Shape:
    """An object type, or an enumeration."""

    name: str
    text: str
    words: list[str]
    members: list[Value]


@dataclass(frozen=True, slots=True)
class Reference:
    """The whole reference."""

    version: str
    text: str
    groups: dict[str, list[Operation]]
    shapes: list[Shape]


@router.get("/docs")
def show_reference(request: Request, who: Visitor) -> Response:
    """Shows all operations and object types. Built once in a process."""
    state = request.app.state
    if not hasattr(state, "reference"):
        state.reference = build_reference(request.app.openapi())
    return render(request, "reference.html", reference=state.reference)


def build_reference(document: Json) -> Reference:
    """The reference of an OpenAPI document."""
    groups: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method, found in methods.items():
            groups.setdefault(found["tags"][0], []).append(describe_operation(method, path, found))
    shapes = [
        Shape(name, schema.get("description", ""), schema.get("enum", []), object_members(schema))
        for name, schema in sorted(document["components"]["schemas"].items())
    ]
    info = document["info"]
    return Reference(info["version"], info["description"], groups, shapes)


def describe_operation(method: str, path: str, found: Json) -> Operation:
    """An operation of the reference."""
    scopes = [scope for one in found.get("security", ()) for scope in one.get("token", ())]
    answers = {status: one for status, one in found["responses"].items() if status < "400"}
    return Operation(
        name=found["operationId"],
        method=method.upper(),
        path=path,
        summary=found["summary"],
        text=found.get("description", ""),
        access=describe_access(found, scopes),
        takes=[
            (
                one["in"],
                describe_value(one["name"], one["schema"], one["required"], one.get("description")),
            )
            for one in found.get("parameters", ())
        ],
        body=body_content(found.get("requestBody")),
        answers=[
            (status, body_content(one) or Value("", "nothing", None, False, one["description"]))
            for status, one in answers.items()
        ],
        problems=[status for status in found["responses"] if status >= "400"],
    )


def describe_access(found: Json, scopes: list[str]) -> str:
    """Who may call the operation."""
    if scopes:
        return formatting.ACCESS_BY_SCOPE.format(scopes[0])
    security = found.get("security", [{}])
    return formatting.ACCESS_FOR_ALL if {} in security else formatting.ACCESS_FOR_KNOWN


def body_content(described: Json | None) -> Value | None:
    """The content of a body or an answer. None without content."""
    for media_type, one in (described or {}).get("content", {}).items():
        text = (described or {}).get("description", "")
        if media_type == "application/json":
            return describe_value("", one.get("schema", {}), True, text)
        return Value("", media_type, None, True, text)
    return None


def object_members(schema: Json) -> list[Value]:
    """The members of an object, in their order."""
    needed = schema.get("required", ())
    return [
        describe_value(name, one, name in needed, one.get("description"))
        for name, one in schema.get("properties", {}).items()
    ]


def describe_value(name: str, schema: Json, needed: bool, text: str | None) -> Value:
    shapes = list(referenced_shapes(schema))
    return Value(name, type_text(schema), shapes[0] if shapes else None, needed, text or "")


def referenced_shapes(schema: Json) -> Iterator[str]:
    """The object types that a schema names."""
    if "$ref" in schema:
        yield schema["$ref"].rsplit("/", 1)[-1]
    inner = [schema["items"]] if "items" in schema else []
    for one in (*schema.get("anyOf", ()), *inner):
        yield from referenced_shapes(one)


def type_text(schema: Json) -> str:
    """The type of a value in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[-1])
    if "anyOf" in schema:
        return " or ".join(type_text(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(str(one) for one in schema["enum"])
    if "const" in schema:
        return str(schema["const"])
    if schema.get("type") == "array":
        return f"list of {type_text(schema.get('items', {}))}"
    words = [str(schema.get("format") or schema.get("type") or "anything")]
    for bound, word in (("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "to")):
        if bound in schema:
            words.append(f"{word} {schema[bound]:g}")
    if "maxLength" in schema:
        words.append(f"up to {schema['maxLength']} characters")
    if schema.get("default") not in (None, ""):
        words.append(f"(default: {schema['default']})")
    return " ".join(words)
