"""The operations of the site's API, from the OpenAPI document that the site serves."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from services.api_client import Client, Json
from services.cli.saved_login import MissingInput

DOCUMENT: Final = "/openapi.json"
JSON: Final = "application/json"
BYTES: Final = "application/octet-stream"
EVENTS: Final = "text/event-stream"
DEEPEST: Final = 4
"""Levels of nested fields that have names of their own. Deeper ones are written as JSON."""
REFERENCE: Final = re.compile(r'"#/components/schemas/([^"]+)"')
NAMED: Final = re.compile(r"([A-Za-z_][\w.-]*)=(.*)", re.DOTALL)
WORDS: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
KINDS: Final = {
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "string": "text",
    "array": "list: a,b,c or JSON",
    "object": "JSON object",
    "any": "JSON, or a text",
}
WRONG: Final = (LookupError, TypeError, AttributeError, ValueError, RecursionError)
"""What reading an answer of a wrong shape raises."""


@dataclass(frozen=True, slots=True)
class Field:
    """A value that an operation takes."""

    name: str
    """With dots below an object: ``season.clock.act_seconds``."""
    place: str
    """path, query, body, or file."""
    schema: Json
    """Without references and without null."""
    is_required: bool = False
    is_nullable: bool = False

    @property
    def kind(self) -> str:
        return str(self.schema.get("type", "any"))

    @property
    def is_free(self) -> bool:
        """Whether it is an object of names that the document does not list here."""
        return self.kind in ("object", "any") and not self.schema.get("properties")

    @property
    def key(self) -> str:
        return self.name.rpartition(".")[2]

    def bounds(self) -> str:
        """Type, choices and bounds in words."""
        schema = self.schema
        if "enum" in schema:
            return ", ".join(str(choice) for choice in schema["enum"])
        if self.place == "file":
            return "a file"
        words = "date, time and zone" if schema.get("format") == "date-time" else KINDS[self.kind]
        unit, ends = UNITS.get(self.kind, ("", ("minimum", "maximum")))
        low, high = (schema.get(end) for end in ends)
        if (not low and unit) or low is None:
            return words if high is None else f"{words}, at most {number_text(high)}{unit}"
        until = "or more" if high is None else f"to {number_text(high)}"
        return f"{words}, {number_text(low)} {until}{unit}"

    def default(self) -> str:
        """The default as people type it; empty without one."""
        value = self.schema.get("default")
        return "" if value in (None, "", [], {}) else value_text(value)

    def parse(self, text: str) -> Any:
        """The value of a text that a person typed. Raises MissingInput."""
        if text == "null" and self.is_nullable:
            return None
        if text.startswith("@"):
            text = text[1:] if text.startswith("@@") else self.read(Path(text[1:]))
        return self.checked(parse(self.schema, text, self.name))

    def read(self, path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise MissingInput(f"{self.name}: name a text file after @: {error}") from None

    def checked(self, value: Any) -> Any:
        """The value within the bounds. Raises MissingInput."""
        _, ends = UNITS.get(self.kind, ("", ("minimum", "maximum")))
        low, high = (self.schema.get(end) for end in ends)
        size = len(value) if self.kind in UNITS else value
        is_measured = isinstance(size, int | float)
        if is_measured and ((low is not None and size < low) or (high is not None and size > high)):
            raise MissingInput(f"{self.name}: use {self.bounds()}")
        return value


UNITS: Final = {
    "string": (" characters", ("minLength", "maxLength")),
    "array": (" values", ("minItems", "maxItems")),
}
"""What is counted of texts and lists, and the names of its bounds."""


def number_text(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


def parse(schema: Json, text: str, name: str) -> Any:
    """The value of a text for a schema. Raises MissingInput."""
    if "enum" in schema:
        for choice in schema["enum"]:
            if text == str(choice):
                return choice
        raise MissingInput(f"{name}: choose {', '.join(map(str, schema['enum']))}, not {text!r}")
    kind = schema.get("type", "any")
    if kind == "string":
        return text
    if kind == "array" and not text.startswith("["):
        inner = plain(schema.get("items", {}), {})[0]
        return [parse(inner, part.strip(), name) for part in text.split(",") if part.strip()]
    if kind == "boolean" and text.lower() in WORDS:
        return WORDS[text.lower()]
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    is_wrong = isinstance(value, str) if kind not in TYPES else type(value) not in TYPES[kind]
    if kind != "any" and is_wrong:
        raise MissingInput(f"{name}: write a {KINDS.get(kind, kind)}, not {text!r}")
    return value


TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def value_text(value: object) -> str:
    """A value of JSON as people type it."""
    if isinstance(value, list) and all(isinstance(item, str | int) for item in value):
        return ",".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)


def plain(schema: Json, schemas: Mapping[str, Json]) -> tuple[Json, bool]:
    """The schema without references, also in a list's items, and whether null is allowed."""
    above: Json = {key: schema[key] for key in ("description", "default", "title") if key in schema}
    for _ in range(20):
        if "$ref" in schema:
            schema = schemas[schema["$ref"].rpartition("/")[2]]
            continue
        kinds = schema.get("anyOf") or schema.get("oneOf")
        if not kinds:
            break
        others = [kind for kind in kinds if kind.get("type") != "null"]
        if len(others) == 1:
            inner, _ = plain(others[0], schemas)
            return {**inner, **above}, len(kinds) > 1
        return {"type": "any", **above}, len(others) < len(kinds)
    if "$ref" in schema.get("items", {}):
        schema = {**schema, "items": plain(schema["items"], schemas)[0]}
    return {**schema, **above}, False


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the API."""

    name: str
    """As people type it: ``create-team-invitation``."""
    method: str
    path: str
    details: Json = field(repr=False)
    schemas: Mapping[str, Json] = field(repr=False)

    @property
    def summary(self) -> str:
        return str(self.details.get("summary", ""))

    @property
    def confirms(self) -> str:
        """What nobody can undo, as a sentence; empty if a command need not ask."""
        return str(self.details.get("x-confirms", ""))

    @property
    def subject(self) -> str:
        return str(next(iter(self.details.get("tags", ())), "other"))

    @property
    def needs_token(self) -> bool:
        security = self.details.get("security") or ()
        return bool(security) and {} not in security

    @property
    def scopes(self) -> list[str]:
        return sorted(
            {s for way in self.details.get("security") or () for s in way.get("token", ())}
        )

    @property
    def takes_file(self) -> bool:
        return BYTES in self.contents

    @property
    def takes_body(self) -> bool:
        return JSON in self.contents

    @property
    def contents(self) -> Mapping[str, Json]:
        contents: Json = self.details.get("requestBody", {}).get("content", {})
        return contents

    @property
    def has_stream(self) -> bool:
        answers = self.details.get("responses", {}).values()
        return any(EVENTS in (answer.get("content") or {}) for answer in answers)

    @property
    def is_paged(self) -> bool:
        return any(item.name == "cursor" for item in self.fields())

    def fields(self) -> list[Field]:
        """What the operation takes: of the path first."""
        fields = []
        for item in self.details.get("parameters", ()):
            if item["in"] in ("path", "query"):
                schema, is_nullable = plain(item["schema"], self.schemas)
                is_required = bool(item.get("required"))
                fields.append(Field(item["name"], item["in"], schema, is_required, is_nullable))
        # Those of the path stand in its order, also where the document has another one.
        fields.sort(key=lambda item: (item.place != "path", self.path.find(f"{{{item.name}}}")))
        if self.takes_file:
            fields.append(Field("file", "file", {"type": "string"}, True))
        elif self.takes_body:
            schema, _ = plain(self.contents[JSON].get("schema", {}), self.schemas)
            fields += self.inner_fields(schema, "")
        return fields

    def inner_fields(self, schema: Json, above: str) -> Iterator[Field]:
        """The fields of an object, and below each object its own fields."""
        required = schema.get("required", ())
        for key, inner in schema.get("properties", {}).items():
            kind, is_nullable = plain(inner, self.schemas)
            name = f"{above}{key}"
            yield Field(name, "body", kind, key in required, is_nullable)
            if kind.get("properties") and name.count(".") < DEEPEST:
                yield from self.inner_fields(kind, f"{name}.")


@dataclass(slots=True)
class Request:
    """What an operation is asked with."""

    path: dict[str, Any] = field(default_factory=dict)
    query: Json = field(default_factory=dict)
    body: Json = field(default_factory=dict)
    file: Path | None = None

    def put(self, item: Field, value: Any, name: str = "") -> None:
        """Sets the value of a field. ``name`` is below a field of free names."""
        if item.place == "file":
            self.file = Path(str(value))
        elif item.place == "path":
            self.path[item.name] = value
        elif item.place == "query":
            self.query[item.name] = value
        else:
            *above, last = (name or item.name).split(".")
            inside = self.body
            for part in above:
                inside = inside.setdefault(part, {})
            inside[last] = value

    def address(self, operation: Operation) -> str:
        return operation.path.format(
            **{key: quote(str(value), safe="") for key, value in self.path.items()}
        )


def read_values(
    fields: Sequence[Field], texts: Sequence[str], request: Request, parsers: Mapping[str, Any] = {}
) -> None:
    """Puts texts into a request: those of the path in their order, others as NAME=VALUE.

    ``parsers`` read some fields from a short form. Raises MissingInput.
    """
    open_places = [item for item in fields if item.place in ("path", "file")]
    for text in texts:
        named = NAMED.fullmatch(text)
        found = find_field(fields, named[1]) if named else None
        if named is None or (found is None and open_places):
            if not open_places:
                raise MissingInput(f"write NAME=VALUE, not {text!r}")
            item = open_places.pop(0)
            request.put(item, item.parse(text) if item.place == "path" else text)
        elif found is None:
            names = ", ".join(item.name for item in fields if "." not in item.name)
            raise MissingInput(f"there is no {named[1]}; names: {names or 'none'}")
        else:
            item, name = found
            open_places = [other for other in open_places if other != item]
            if item.key in parsers and not named[2].startswith("{"):
                value = parsers[item.key](named[2])
            elif name != item.name:
                value = parse({}, named[2], name)
            else:
                value = named[2] if item.place == "file" else item.parse(named[2])
            request.put(item, value, name)
    if lacking := [item for item in open_places if item.is_required]:
        raise MissingInput(f"give {' and '.join(item.name.upper() for item in lacking)}")


def find_field(fields: Sequence[Field], name: str) -> tuple[Field, str] | None:
    """The field of this name, and its whole name: the last part is enough if no other has it."""
    for item in fields:
        if item.name == name:
            return item, name
        if item.is_free and name.startswith(f"{item.name}."):
            return item, name
    ends = [item for item in fields if item.name.endswith(f".{name}")]
    if len(ends) == 1:
        return ends[0], ends[0].name
    head, dot, rest = name.partition(".")
    free = [item for item in fields if item.is_free and item.key == head]
    return (free[0], f"{free[0].name}.{rest}") if dot and len(free) == 1 else None


class Document:
    """The operations of one site by their names."""

    def __init__(self, content: Json, address: str) -> None:
        self.content, self.address = content, address

    @cached_property
    def operations(self) -> dict[str, Operation]:
        with understanding(self.address):
            schemas = self.content.get("components", {}).get("schemas", {})
            return {
                name: Operation(name, method.upper(), path, details, schemas)
                for path, methods in self.content["paths"].items()
                if path.startswith("/v1/")
                for method, details in methods.items()
                for name in [details["operationId"].replace("_", "-")]
            }

    def operation(self, name: str) -> Operation:
        """The operation of this name. Raises MissingInput."""
        key = name.replace("_", "-")
        if key not in self.operations:
            raise MissingInput(f"{self.address} has no operation {key}", f"peck api {key}")
        return self.operations[key]

    def search(self, text: str) -> list[Operation]:
        """The operations whose name, summary, path or subject has all these words."""
        words = text.lower().replace("-", " ").replace("_", " ").split()
        return [
            operation
            for operation in self.operations.values()
            for words_of_operation in [
                f"{operation.name} {operation.summary} {operation.path}".lower()
            ]
            if all(word in words_of_operation for word in words)
            or text.lower() == operation.subject
        ]


@contextlib.contextmanager
def understanding(address: str) -> Iterator[None]:
    """Raises MissingInput in place of an error about the shape of the document."""
    try:
        yield
    except WRONG as error:
        raise MissingInput(
            f"{address} sent an OpenAPI document that peck cannot read"
            f" ({type(error).__name__}: {error}); check the address, or update peck"
        ) from None


def read_document(ladder: Client) -> Document:
    """The document that the site serves now. The cache folder keeps it by its ETag."""
    kept = cache_file(ladder.address)
    tag, text = "", ""
    with contextlib.suppress(OSError, ValueError):
        tag, _, text = kept.read_text(encoding="utf-8").partition("\n")
    headers = {"If-None-Match": tag} if tag and text else {}
    answer = ladder.retry_once(lambda: ladder.send("GET", DOCUMENT, headers=headers))
    if answer.status_code == 304:
        with contextlib.suppress(ValueError):
            return Document(json.loads(text), ladder.address)
        answer = ladder.send("GET", DOCUMENT)
    with understanding(ladder.address):
        content = without_answers(answer.json())
    if tag := answer.headers.get("ETag", ""):
        with contextlib.suppress(OSError):
            keep(kept, f"{tag}\n{json.dumps(content)}")
    return Document(content, ladder.address)


def without_answers(document: Json) -> Json:
    """The operations below ``/v1`` with what they take: a third of the document, which is read at
    each call. Of the answers it has only the streams."""
    paths: Json = {}
    for path, methods in document["paths"].items():
        if path.startswith("/v1/"):
            paths[path] = {method: dict(details) for method, details in methods.items()}
    for methods in paths.values():
        for details in methods.values():
            details["responses"] = {
                status: {"content": {EVENTS: {}}}
                for status, answer in details.get("responses", {}).items()
                if EVENTS in answer.get("content", ())
            }
    schemas = document.get("components", {}).get("schemas", {})
    named: set[str] = set()
    new = set(REFERENCE.findall(json.dumps(paths)))
    while new := new & schemas.keys() - named:
        named |= new
        new = {name for key in new for name in REFERENCE.findall(json.dumps(schemas[key]))}
    return {"paths": paths, "components": {"schemas": {name: schemas[name] for name in named}}}


def cache_file(address: str) -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "peck"
    return folder / f"{hashlib.sha256(address.encode()).hexdigest()[:16]}.openapi"


def keep(path: Path, text: str) -> None:
    """Writes the file at once, so that another command never reads a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(text, encoding="utf-8")
    new.replace(path)
