"""The API reference, a page for each resource, built from the OpenAPI document."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter, Request, Response

from ladder.errors import NotFound
from services.http.auth import Anyone
from services.web import form_texts
from services.web.page_rendering import PageRoute, render
from services.web.sharing import site_address

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Json = dict[str, Any]
PROBLEM: Final = "Problem"
"""The object type of every error."""
DEEPEST: Final = 4


@dataclass(frozen=True, slots=True)
class CallExample:
    """How to make one call."""

    curl: str
    python: str
    command: str | None
    """What follows ``peck``; None for what is not below ``/v1``."""


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
def show_reference(request: Request, viewer: Anyone) -> Response:
    """Shows all operations by resource."""
    return render(request, "reference.html", reference=reference_of(request))


@router.get("/docs/api/{group}")
def show_group(request: Request, group: str, viewer: Anyone) -> Response:
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
    reference: Reference = state.reference
    return reference


def build_reference(document: Json) -> Reference:
    """The reference of an OpenAPI document."""
    schemas = document["components"]["schemas"]
    groups: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            example = example_of(method.upper(), path, operation, schemas)
            groups.setdefault(operation["tags"][0], []).append(
                describe_operation(method, path, operation, example)
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
    for operation in operations:
        waiting += operation.refers
    named: dict[str, Shape] = {}
    while waiting:
        name = waiting.pop()
        if name in shapes and name not in named:
            named[name] = shapes[name]
            waiting += shapes[name].refers
    return [named[name] for name in sorted(named)]


def describe_operation(method: str, path: str, operation: Json, example: CallExample) -> Operation:
    """An operation of the reference."""
    scopes = [scope for part in operation.get("security", ()) for scope in part.get("token", ())]
    answers = {status: part for status, part in operation["responses"].items() if status < "400"}
    return Operation(
        name=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        text=operation.get("description", ""),
        access=describe_access(operation, scopes),
        takes=[
            (
                part["in"],
                describe_value(
                    part["name"], part["schema"], part["required"], part.get("description")
                ),
            )
            for part in operation.get("parameters", ())
        ],
        body=body_content(operation.get("requestBody")),
        answers=[
            (status, body_content(part) or Value("", "nothing", None, False, part["description"]))
            for status, part in answers.items()
        ],
        problems=[status for status in operation["responses"] if status >= "400"],
        example=example,
        refers=list(all_references(operation)),
    )


def describe_access(operation: Json, scopes: list[str]) -> str:
    """Who may call the operation."""
    if scopes:
        return form_texts.ACCESS_BY_SCOPE.format(scopes[0])
    security = operation.get("security", [{}])
    return form_texts.ACCESS_FOR_ALL if {} in security else form_texts.ACCESS_FOR_KNOWN


def body_content(described: Json | None) -> Value | None:
    """The content of a body or an answer. None without content."""
    for media_type, content in (described or {}).get("content", {}).items():
        text = (described or {}).get("description", "")
        if media_type == "application/json":
            return describe_value("", content.get("schema", {}), True, text)
        return Value("", media_type, None, True, text)
    return None


def object_members(schema: Json) -> list[Value]:
    """The members of an object, in their order."""
    needed = schema.get("required", ())
    return [
        describe_value(name, member, name in needed, member.get("description"))
        for name, member in schema.get("properties", {}).items()
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
        for item in part:
            yield from all_references(item)


def referenced_shapes(schema: Json) -> Iterator[str]:
    """The object types that a schema names."""
    if "$ref" in schema:
        yield schema["$ref"].rsplit("/", 1)[-1]
    inner = [schema["items"]] if "items" in schema else []
    for kind in (*schema.get("anyOf", ()), *inner):
        yield from referenced_shapes(kind)


def type_text(schema: Json) -> str:
    """The type of a value in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[-1])
    if "anyOf" in schema:
        return " or ".join(type_text(kind) for kind in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(str(kind) for kind in schema["enum"])
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


def example_of(method: str, path: str, operation: Json, shapes: Mapping[str, Json]) -> CallExample:
    """The example of an operation of the OpenAPI document."""
    address = re.sub(r"\{(\w+)\}", lambda name: name[1].upper(), path)
    query = {
        parameter["name"]: parameter["name"].upper()
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query" and parameter["required"]
    }
    is_open = not operation.get("security") or {} in operation["security"]
    body, is_file = body_of(operation, shapes)
    return CallExample(
        curl_line(method, address, query, body, is_open=is_open, is_file=is_file),
        python_lines(method, address, query, body, is_open=is_open, is_file=is_file),
        command_line(operation, address, query, body, is_file=is_file),
    )


def command_line(
    operation: Json, address: str, query: Json, body: Any, *, is_file: bool
) -> str | None:
    """The call as an operation of ``peck api``."""
    if not address.startswith("/v1/"):
        return None
    values = [part for part in address.split("/") if part.isupper()] + ["main.py"] * is_file
    fields = query | (body if isinstance(body, dict) else {})
    values += [
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in fields.items()
    ]
    return shlex.join(["api", operation["operationId"].replace("_", "-"), *values])


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
    parameters = "&".join(f"{name}={value}" for name, value in query.items())
    words.append(f'"$PECK_URL{address}?{parameters}"' if parameters else f"$PECK_URL{address}")
    return " ".join(words)


def python_lines(
    method: str, address: str, query: Json, body: Any, *, is_open: bool, is_file: bool
) -> str:
    """The call with Python's httpx."""
    arguments = [f'f"{{url}}{address}"']
    if query:
        arguments.append(f"params={query!r}")
    if not is_open:
        arguments.append('headers={"Authorization": f"Bearer {token}"}')
    if is_file:
        arguments.append('files={"file": open("main.py", "rb")}')
    elif body is not None:
        arguments.append(f"json={body!r}")
    return f"httpx.{method.lower()}({', '.join(arguments)})"


def body_of(operation: Json, shapes: Mapping[str, Json]) -> tuple[Any, bool]:
    """An example of the body, and whether the body is a file."""
    content: Json = operation.get("requestBody", {}).get("content", {})
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
