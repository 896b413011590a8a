"""The API reference, a page for each resource, built from the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter, Request, Response

from ladder.errors import NotFound
from services.web import api_examples, form_texts
from services.web.api_examples import CallExample
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor
from services.web.sharing import site_address

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Json = dict[str, Any]
PROBLEM: Final = "Problem"
"""The object type of every error."""


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
    example: CallExample
    refers: list[str]
    """Object types that it names."""


@dataclass(frozen=True, slots=True)
class Shape:
    """An object type, or an enumeration."""

    name: str
    text: str
    words: list[str]
    members: list[Value]
    refers: list[str]
    """Object types that it names."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The whole reference."""

    version: str
    text: str
    groups: dict[str, list[Operation]]
    shapes: dict[str, Shape]


@router.get("/docs/api")
def show_reference(request: Request, who: Visitor) -> Response:
    """Shows all operations by resource."""
    return render(request, "reference.html", reference=reference_of(request))


@router.get("/docs/api/{group}")
def show_group(request: Request, group: str, who: Visitor) -> Response:
    """Shows the operations of a resource, with their object types."""
    reference = reference_of(request)
    if group not in reference.groups:
        raise NotFound.of("page")
    operations = reference.groups[group]
    return render(
        request,
        "reference_group.html",
        reference=reference,
        group=group,
        operations=operations,
        shapes=shapes_of(operations, reference.shapes),
        base_url=site_address(request),
    )


def reference_of(request: Request) -> Reference:
    """The reference. Built once in a process."""
    state = request.app.state
    if not hasattr(state, "reference"):
        state.reference = build_reference(request.app.openapi())
    found: Reference = state.reference
    return found


def build_reference(document: Json) -> Reference:
    """The reference of an OpenAPI document."""
    schemas = document["components"]["schemas"]
    groups: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method, found in methods.items():
            example = api_examples.example_of(method.upper(), path, found, schemas)
            groups.setdefault(found["tags"][0], []).append(
                describe_operation(method, path, found, example)
            )
    shapes = {
        name: Shape(
            name,
            schema.get("description", ""),
            schema.get("enum", []),
            object_members(schema),
            list(all_references(schema)),
        )
        for name, schema in sorted(schemas.items())
    }
    info = document["info"]
    return Reference(info["version"], info["description"], dict(sorted(groups.items())), shapes)


def shapes_of(operations: Iterable[Operation], shapes: Mapping[str, Shape]) -> list[Shape]:
    """The object types that these operations name, also through other types."""
    waiting = [PROBLEM]
    for one in operations:
        waiting += one.refers
    found: dict[str, Shape] = {}
    while waiting:
        name = waiting.pop()
        if name in shapes and name not in found:
            found[name] = shapes[name]
            waiting += shapes[name].refers
    return [found[name] for name in sorted(found)]


def describe_operation(method: str, path: str, found: Json, example: CallExample) -> Operation:
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
        example=example,
        refers=list(all_references(found)),
    )


def describe_access(found: Json, scopes: list[str]) -> str:
    """Who may call the operation."""
    if scopes:
        return form_texts.ACCESS_BY_SCOPE.format(scopes[0])
    security = found.get("security", [{}])
    return form_texts.ACCESS_FOR_ALL if {} in security else form_texts.ACCESS_FOR_KNOWN


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


def all_references(part: Any) -> Iterator[str]:
    """The object types that a part of the document names, in any depth."""
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"].rsplit("/", 1)[-1]
        part = list(part.values())
    if isinstance(part, list):
        for one in part:
            yield from all_references(one)


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
