"""Forms of pages that do operations: their fields, their values, and the routes that take them.

A page takes ``forms: NoForms`` and gives them to its template:

    {{ form_of(forms.rename_team, "Rename", team=team.id) }}
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData

from ladder.database.db import Connection
from ladder.errors import ConfirmationNeeded, Conflict, Invalid, LadderError
from ladder.people import confirmation
from ladder.people.records import Viewer
from ladder.slugs import normal_text
from services.http.app_state import Db
from services.http.auth import Anyone
from services.http.operations import (
    Form,
    Operation,
    Operations,
    endpoint_of,
    parameter_types,
)
from services.http.problems import ProblemError
from services.web import form_texts, forms
from services.web.account import redirect
from services.web.page_rendering import PageRoute

REFUSED: Final = (ValidationError, ProblemError, LadderError)
NAME_AGAIN: Final = "name_again"
DECLARED: Final[dict[str, tuple[Operation, Form]]] = {}
"""All forms by name."""


@dataclass(frozen=True)
class FormField:
    """One field of a request's model, as a form shows it."""

    name: str
    label: str
    hint: str = ""
    kind: str = "string"
    """``string``, ``integer``, ``number``, ``boolean``, ``array``, ``date-time``, ``choice``, or
    ``object``: names that the page adds."""
    is_required: bool = True
    is_nullable: bool = False
    default: Any = None
    least: float | None = None
    most: float | None = None
    """The largest number, or the most characters of a text."""
    choices: tuple[tuple[str, str], ...] = ()
    """Value and label of each."""
    group: str = ""
    """The part of the page that shows it. That of a choice between records is its name."""
    tag: str = ""
    """The field that chooses between records; of some of them this is a field."""
    tag_values: tuple[str, ...] = ()

    @staticmethod
    def bound(number: float | None) -> str:
        return "" if number is None else f"{number:.10g}"

    @property
    def default_text(self) -> str:
        if isinstance(self.default, float):
            return f"{self.default:g}"
        return "" if self.default is None or self.default is False else str(self.default)


@cache
def fields_of_model(model: type[BaseModel]) -> tuple[FormField, ...]:
    """The fields of a model, from its JSON schema."""
    schema = model.model_json_schema()
    return tuple(fields_of_schema("", schema, schema.get("$defs", {})))


def fields_of_schema(
    prefix: str, schema: Mapping[str, Any], definitions: Mapping[str, Any]
) -> Iterator[FormField]:
    """The fields of a record, and those of records inside it, such as ``clock.act_seconds``."""
    for name, part in schema["properties"].items():
        kinds = [
            definitions[kind["$ref"].rpartition("/")[2]] if "$ref" in kind else kind
            for kind in part.get("oneOf") or part.get("anyOf") or [part]
        ]
        records = [kind for kind in kinds if "properties" in kind]
        if len(records) > 1:
            tag = part["discriminator"]["propertyName"]
            yield from fields_of_choice(f"{prefix}{name}.", tag, records)
        elif records:
            yield from fields_of_schema(f"{prefix}{name}.", records[0], definitions)
        else:
            is_required = name in schema.get("required", ())
            yield field_of_schema(prefix + name, part, is_required, definitions)


def fields_of_choice(
    prefix: str, tag: str, records: Sequence[Mapping[str, Any]]
) -> Iterator[FormField]:
    """The tag that chooses between records, and each field that one of them has, as a text."""
    values = {record["properties"][tag]["const"]: record["properties"] for record in records}
    choices, group = tuple((value, value) for value in values), prefix.rstrip(".")
    yield FormField(prefix + tag, tag.capitalize(), kind="choice", choices=choices, group=group)
    for name in dict.fromkeys(name for fields in values.values() for name in fields if name != tag):
        owners = tuple(value for value, fields in values.items() if name in fields)
        yield FormField(
            prefix + name,
            name.capitalize(),
            most=60,
            group=group,
            tag=prefix + tag,
            tag_values=owners,
        )


def field_of_schema(
    name: str, schema: Mapping[str, Any], is_required: bool, definitions: Mapping[str, Any]
) -> FormField:
    kinds = [kind for kind in schema.get("anyOf", [schema]) if kind.get("type") != "null"]
    kind = kinds[0]
    if "$ref" in kind:
        kind = definitions[kind["$ref"].rpartition("/")[2]]
    title, plain_name = schema.get("title", ""), name.rpartition(".")[2].replace("_", " ")
    return FormField(
        name,
        plain_name.capitalize() if title in ("", plain_name.title()) else title,
        " ".join(schema.get("description", "").split()),
        "choice" if "enum" in kind else kind.get("format", kind["type"]),
        is_required,
        len(kinds) < len(schema.get("anyOf", kinds)),
        schema.get("default"),
        kind.get("minimum"),
        kind.get("maximum", kind.get("maxLength")),
        tuple((word, word) for word in kind.get("enum", ())),
        schema.get("x-group", ""),
    )


def shown_fields(operation: Operation, declared: Form) -> list[FormField]:
    """The fields of one form."""
    model = declared.asks or (operation.body and operation.body[1])
    shown = [
        field
        for field in (fields_of_model(model) if model else ())
        if field.name not in declared.without and (not declared.only or field.name in declared.only)
    ]
    if declared.type_again:
        shown.append(FormField(NAME_AGAIN, f"Type the name of the {declared.type_again}", most=60))
    return shown


@dataclass
class OperationForm(forms.Form):
    """The values of one form of an operation, and the error of each field."""

    address: str = ""
    fields: dict[str, FormField] = field(default_factory=dict)
    choices: defaultdict[str, list[tuple[str, str]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """Choices that the page adds: value and label of each, by field."""
    is_button: bool = False

    @classmethod
    def named(cls, name: str, sent: FormData | None = None) -> OperationForm:
        """The form of this name, empty or as it was sent."""
        operation, declared = DECLARED[name]
        shown = {field.name: field for field in shown_fields(operation, declared)}
        lists = [name for name, field in shown.items() if field.kind == "array"]
        objects = [f"{name}." for name, field in shown.items() if field.kind == "object"]
        defaults = {
            name: field.default_text
            for name, field in shown.items()
            if field.kind not in ("array", "object")
        }
        if objects and sent is not None:
            defaults |= {name: "" for name in sent if name.startswith(tuple(objects))}
        defaults |= dict.fromkeys(parts_in_fields(operation, declared), "")
        form = cls(defaults, {name: [] for name in lists})
        if sent is not None:
            form = cls.of(sent, defaults, lists)
        form.address, form.fields, form.prefix = declared.address, shown, declared.prefix
        form.is_button = declared.is_button
        return form

    def _add(self, place: str, message: str) -> None:
        """Adds an error. An error of a place that the form lacks stands above the form."""
        place = "" if self.is_button else place
        field = self.fields.get(place)
        if field and None not in (field.least, field.most) and message.startswith("use "):
            message = f"use a number from {field.least:g} to {field.most:g}"
        name, _, item = place.rpartition(".")
        if name in self.lists and item.isdecimal():
            message = f"number {int(item) + 1}: {message}"
        super()._add(self._field_of_place(place), message)

    def _field_of_place(self, place: str) -> str:
        """The field of this place. A form of one level may ask for a nested request, and a form
        with records inside for one of them."""
        ends = (place, place.rpartition(".")[2], f"{place}.kind")
        names = (*self.values, *self.lists)
        inner = (name for end in ends for name in names if f".{name}".endswith(f".{end}"))
        return super()._field_of_place(place) or (next(inner, "") if place else "")

    def word_of(self, name: str) -> str:
        label = self.fields[name].label if name in self.fields else ""
        return form_texts.field_word(name, label[:1].lower() + label[1:])

    def names(self, prefix: str = "", group: str = "") -> list[str]:
        """The fields of a part of the page, boxes last."""
        shown = [
            field
            for name, field in self.fields.items()
            if name.startswith(prefix) and field.group == group and field.kind != "object"
        ]
        return [field.name for field in sorted(shown, key=lambda field: field.kind == "boolean")]

    def address_of(self, **values: str) -> str:
        """The address of the form, with the parts of its path."""
        return self.address.format(**values)

    def read_body(
        self, operation: Operation, declared: Form, values: Mapping[str, Any]
    ) -> BaseModel | None:
        """The form's model, as the person filled it in. Raises ValidationError, Invalid."""
        again = declared.type_again
        if again and normal_text(self.values[NAME_AGAIN]) != values[again].name:
            raise Invalid(NAME_AGAIN, form_texts.NAME_NOT_REPEATED.format(again))
        if operation.body is None:
            return None
        model = declared.asks or operation.body[1]
        filled_in = {
            field.name: value
            for field in self.fields.values()
            if field.name.partition(".")[0] in model.model_fields
            and ((value := self.value_of(field)) is not None or field.is_nullable)
        }
        return model.model_validate(forms.nest_names(filled_in))

    def value_of(self, field: FormField) -> object:
        """What a person filled in. Browsers send nothing of a box without a tick, and other line
        ends than the API takes. An empty field is null, or left out if it must not be null. The
        field ``zone`` is the time zone of dates."""
        if field.kind == "array":
            return self.lists[field.name]
        if field.kind == "object":
            start = f"{field.name}."
            texts = {name: text for name, text in self.values.items() if name.startswith(start)}
            return {name[len(start) :]: parse_value(text) for name, text in texts.items() if text}
        if field.tag and self.values[field.tag] not in field.tag_values:
            return None
        text = forms.plain_text(self.values[field.name])
        if text and field.kind == "date-time":
            zone = forms.parse_zone(self.values.get("zone") or forms.UTC_NAME)
            return forms.parse_moment(text, zone)
        return bool(text) if field.kind == "boolean" else text or None


def parse_value(text: str) -> object:
    """A number, a word or a value of JSON."""
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text


class PageForms(dict[str, OperationForm]):
    """The forms of a page by name: empty, but for one that was refused."""

    answer: Any = None
    """What the operation answered, if the page is shown after it."""
    refused: OperationForm | None = None

    def __missing__(self, name: str) -> OperationForm:
        self[name] = OperationForm.named(name)
        return self[name]

    @property
    def status(self) -> int:
        return 200 if self.refused is None else 422


NoForms = Annotated[PageForms, Depends(lambda: PageForms())]
"""The parameter of a page with forms."""


def form_routes(operations: Operations) -> APIRouter:
    """The routes that take the forms of these operations."""
    router = APIRouter(route_class=PageRoute, include_in_schema=False)
    for operation in operations.all.values():
        for declared in operation.forms:
            DECLARED[declared.name or operation.name] = (operation, declared)
            router.post(declared.address)(form_endpoint(operation, declared))
    return router


def form_endpoint(operation: Operation, declared: Form) -> Callable[..., Response]:
    """Does the operation for a visitor who sent the form.

    FastAPI finds what operation and page need, such as the team. After a refusal the page shows the
    errors; otherwise the browser goes on to the next page.
    """
    body_name = operation.body[0] if operation.body else ""
    own = parameter_types(operation.function)
    own.pop(body_name, None)
    for name in declared.fixed.keys() | parts_in_fields(operation, declared):
        own[name] = part_of_path(name, declared)
    asked = own.keys() & declared.asks.model_fields.keys() if declared.asks else set()
    for name in asked:
        del own[name]
    page_types = parameter_types(declared.page) if declared.page else {}
    page_types.pop("forms", None)

    def endpoint(
        sent: FormData, request: Request, conn: Connection, viewer: Viewer, **values: Any
    ) -> Response:
        values = {"request": request, "conn": conn, "viewer": viewer, **values}
        if declared.confirms:
            confirmation.require_recent_confirmation(conn, viewer, request.state.session_id)
        form = OperationForm.named(declared.name or operation.name, sent)
        page_forms = PageForms({declared.name or operation.name: form})

        def act() -> str:
            if declared.present:
                form.refuse_changed(sent, declared.present(values))
                if form.wrong:
                    raise Conflict(form_texts.LOOK_AT_CHANGES)
            body: Any = form.read_body(operation, declared, values)
            arguments = {name: values[name] for name in own}
            arguments |= {name: getattr(body, name) for name in asked}
            if body_name:
                arguments[body_name] = body.request(values) if declared.asks else body
            page_forms.answer = operation.function(**arguments)
            names = {**values, "answer": page_forms.answer}
            then = declared.then
            return then(names) if callable(then) else then.format(**names)

        address = ""
        try:
            if declared.repeats:
                with conn.transaction():
                    address = act()
            else:
                address = form.run_once(request, conn, viewer, act)
        except ConfirmationNeeded:
            raise
        except REFUSED as error:
            if declared.page is None:
                raise
            form.add_errors(error)
            page_forms.refused = form
        if page_forms.refused is None and declared.then:
            return redirect(address)
        assert declared.page is not None
        return declared.page(forms=page_forms, **{name: values[name] for name in page_types})

    needed = {"sent": forms.Sent, "request": Request, "conn": Db, "viewer": Anyone}
    return endpoint_of(operation, endpoint, {**needed, **page_types, **own})


def parts_in_fields(operation: Operation, declared: Form) -> set[str]:
    """The parts of the operation's path that a person fills in or a page hides in a field."""
    missing = {name for name in operation.path_names if f"{{{name}}}" not in declared.address}
    return (missing & operation.signature.parameters.keys()) - declared.fixed.keys()


def part_of_path(name: str, declared: Form) -> Any:
    """A part of the operation's path that the form's address lacks: fixed, or a field."""

    async def part(sent: forms.Sent) -> str:
        return declared.fixed.get(name) or forms.parse_part(sent, name)

    part.__annotations__["sent"] = forms.Sent
    return Annotated[str, Depends(part)]
