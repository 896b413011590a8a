"""Every declared operation names its scope and the things of its path, and only what exists."""

from __future__ import annotations

import inspect
import re
import string
from typing import Any, Final

import pytest
from fastapi.params import Depends
from pydantic import TypeAdapter
from starlette.datastructures import FormData

from ladder.errors import Invalid
from services.application import openapi_document
from services.http.operations import Form, Operation
from services.web.operation_forms import DECLARED, OperationForm, shown_fields
from services.web.routes import FEATURES

OPERATIONS: Final = [operation for feature in FEATURES for operation in feature.all.values()]
FORMS: Final = [(operation, form) for operation in OPERATIONS for form in operation.forms]
WITHOUT_SCOPE: Final = {
    "read_team_code": "changes nothing, but takes a secret that must not stand in an address",
    "read_invitation_terms": "changes nothing, but takes a secret, as above",
    "sign_up": "needs no token",
    "start_device_login": "needs no token",
    "redeem_device_login": "needs no token, but the secret of the device",
    "join_machine": "needs no token, but the code of an administrator",
    "mint_token": "needs a full token, which has all scopes",
    "delete_account": "needs a full token, which has all scopes",
    "revoke_token": "needs all scopes of the revoked token",
    "revoke_session": "needs all scopes for an own session, and an administrator for others",
    "revoke_all_sessions": "needs all scopes for own sessions, and an administrator for others",
}
"""Operations other than GET that name no scope, with the reason."""


def name_of(value: object) -> str:
    return value.name if isinstance(value, Operation) else getattr(value, "address", "")


def names_in(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def fields_of_answer(operation: Operation) -> set[str]:
    answer: Any = operation.signature.return_annotation
    return set() if answer is None else set(TypeAdapter(answer).json_schema()["properties"])


@pytest.mark.parametrize("operation", OPERATIONS, ids=name_of)
def test_changing_operation_names_a_scope(operation: Operation) -> None:
    if operation.method == "GET":
        return
    viewer = operation.signature.parameters.get("viewer")
    kinds = viewer.annotation.__metadata__ if viewer else ()
    names_scope = any(getattr(kind, "scopes", ()) for kind in kinds)
    assert names_scope is not (operation.name in WITHOUT_SCOPE)


@pytest.mark.parametrize("operation", OPERATIONS, ids=name_of)
def test_each_variable_of_a_path_is_a_parameter(operation: Operation) -> None:
    parameters = dict(operation.signature.parameters)
    for parameter in operation.signature.parameters.values():
        for mark in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(mark, Depends) and mark.dependency:
                signature = inspect.signature(mark.dependency, eval_str=True)
                parameters.update(signature.parameters)
    assert set(operation.path_names) <= parameters.keys()


@pytest.mark.parametrize(("operation", "form"), FORMS, ids=name_of)
def test_form_names_only_what_exists(operation: Operation, form: Form) -> None:
    model = form.asks or (operation.body and operation.body[1])
    assert {*form.only, *form.without} <= set(model.model_fields if model else ())
    assert form.fixed.keys() <= set(operation.path_names)
    of_page = set(inspect.signature(form.page).parameters if form.page else ())
    assert names_in(form.address) <= {*operation.path_names, *of_page}
    if callable(form.then):
        return
    known = {*operation.signature.parameters, *of_page, "answer"}
    assert {name.partition(".")[0] for name in names_in(form.then)} <= known
    assert set(re.findall(r"{answer\.(\w+)}", form.then)) <= fields_of_answer(operation)


@pytest.mark.parametrize(("operation", "form"), FORMS, ids=name_of)
def test_field_of_a_form_has_a_label(operation: Operation, form: Form) -> None:
    assert all(field.label for field in shown_fields(operation, form))


def test_each_operation_of_the_document_has_a_group() -> None:
    for path, methods in openapi_document()["paths"].items():
        assert all(operation.get("tags") for operation in methods.values()), path


@pytest.mark.parametrize("name", ["create_league", "create_tournament"])
def test_a_text_of_several_lines_keeps_them(name: str) -> None:
    operation, declared = DECLARED[name]
    sent = {"title": "Cup", "game": "hungry_geese", "format": "swiss", "description": "a\r\nb"}
    form = OperationForm.named(name, FormData({**sent, "season.medals.kind": "table"}))
    body: Any = form.read_body(operation, declared, {})
    assert body.description == "a\nb"


@pytest.mark.parametrize("name", ["create_league", "create_season"])
def test_an_error_of_the_medals_stands_beside_their_choice(name: str) -> None:
    form = OperationForm.named(name)
    form.add_errors(Invalid("medals", "choose another kind"))
    assert form.wrong == {"season.medals.kind": "Choose another kind"}
