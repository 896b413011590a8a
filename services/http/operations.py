"""Operations: what people and programs can do, each declared once.

    @operations("POST", "/teams/{team}/invitations", "Invite people to a team", status=201,
                forms=Form(page=team_page, address="/teams/{team}/invite"))
    def create_team_invitation(conn: Db, viewer: Writer, team: VisibleTeam,
                               invitation: NewTeamInvitation) -> MadeTeamInvitation:
        \"\"\"Owners only.\"\"\"
        return team_invitations.invite(conn, team.id, viewer, invitation)

The function is an ordinary endpoint of FastAPI. The types of its parameters say who may call it
(``Writer``), on what (``VisibleTeam``), and what the body of the request is (a model). From the
declaration come the route of the API (here) and the forms of pages
(``services.web.operation_forms``). There the same types take the visitor's session instead of a
token.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, TypeVar

from fastapi import APIRouter, Response
from pydantic import BaseModel

from ladder.field_types import stored_copy
from services.http.idempotency import Idempotent, IdempotentRequest
from services.http.lazy_routes import LazyRoute
from services.http.problems import problem_responses

F = TypeVar("F", bound=Callable[..., Any])
CONFIRMS: Final = "x-confirms"
"""The field of the OpenAPI document with the sentence that a command shows before it acts."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """A form on a page that does an operation. Its fields come from the request's model."""

    address: str
    """Where browsers send it. A part of the operation's path that is missing here is a field."""
    page: Callable[..., Response] | None = None
    """Shows the page again, with the errors. None: a refusal has a page of its own."""
    then: str | Callable[[Mapping[str, Any]], str] = ""
    """The next page, such as ``/teams/{answer.id}``. Empty: the same page, with the answer."""
    name: str = ""
    """Name of the form in its page's template; default: the operation's name."""
    only: tuple[str, ...] = ()
    """The fields of the request that the form has; default: all."""
    without: tuple[str, ...] = ()
    """Fields of the request that the form lacks."""
    fixed: Mapping[str, str] = field(default_factory=dict)
    """Parts of the operation's path that this form sets."""
    asks: type[BaseModel] | None = None
    """The model of the form, if it asks otherwise than the API. Its method ``request`` takes what
    the operation and the page take, by name, and returns the request of the API. A field with the
    name of a parameter of the operation fills that parameter."""
    type_again: str = ""
    """The parameter whose name a person must type before the operation is done."""
    repeats: bool = False
    """Whether the same page may send it again with the same values, and it is done again. Otherwise
    a form that is sent twice acts once."""
    present: Callable[[Mapping[str, Any]], Mapping[str, str]] | None = None
    """The stored values of the fields, which stay as they are for the transaction. A form whose
    record changed after the page showed it is refused, with both values."""
    prefix: str = ""
    """What the ids of its fields in HTML begin with, if another form of the page shares a name."""
    is_button: bool = False
    """Whether people see a button alone. Errors then stand above the page, not beside a field."""
    confirms: bool = False
    """Whether a person who has not just signed in gives a credential again first."""


@dataclass(frozen=True)
class Operation:
    """One declaration."""

    method: str
    path: str
    """Path below ``/v1``."""
    summary: str
    function: Callable[..., Any]
    status: int
    forms: tuple[Form, ...]
    confirms: str
    """What nobody can undo, as a sentence. Commands ask before they do it. Empty: they do not."""

    @property
    def name(self) -> str:
        return self.function.__name__

    @cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.function, eval_str=True)

    @property
    def body(self) -> tuple[str, type[BaseModel]] | None:
        """Name and model of the parameter that takes the body of the request."""
        for name, parameter in self.signature.parameters.items():
            kind = parameter.annotation
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                return name, kind
        return None

    @property
    def path_names(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.path)


class Operations:
    """The operations of one feature, and their routes of the API."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.router = APIRouter(prefix="/v1", route_class=LazyRoute)
        self.all: dict[str, Operation] = {}

    def __call__(
        self,
        method: str,
        path: str,
        summary: str,
        *,
        status: int = 200,
        tag: str = "",
        takes_key: bool | None = None,
        repeat: str = "",
        problems: tuple[int, ...] = (403, 404, 409),
        answer: Any = None,
        responses: Mapping[int | str, dict[str, Any]] = MappingProxyType({}),
        forms: tuple[Form, ...] | Form = (),
        confirms: str = "",
    ) -> Callable[[F], F]:
        """Declares the operation of a function.

        With status 201 it creates something and takes an Idempotency-Key, unless ``takes_key`` says
        otherwise. If its answer has a field ``is_new`` that is false, the status is 200; ``repeat``
        says when. Without an answer its status is 204. ``problems`` are the statuses of its
        refusals. ``tag`` is its group in the OpenAPI document, if it is not that of the others.
        ``answer`` is the type of the answer of a function that returns a response, and
        ``responses`` what the OpenAPI document says of further answers.
        """

        def declare(function: F) -> F:
            declared_forms = forms if isinstance(forms, tuple) else (forms,)
            operation = Operation(method, path, summary, function, status, declared_forms, confirms)
            answer_type = answer or operation.signature.return_annotation
            repeats_once = status == 201 if takes_key is None else takes_key
            self.all[operation.name] = operation
            described = dict(responses)
            if repeat:
                described[200] = {"model": answer_type, "description": repeat}
            self.router.add_api_route(
                path,
                idempotent_endpoint(operation) if repeats_once else function,
                methods=[method],
                tags=[tag or self.tag],
                status_code=204 if answer_type is None else status,
                summary=summary,
                response_model=answer_type,
                responses={**described, **problem_responses(*problems)},
                openapi_extra={CONFIRMS: confirms} if confirms else None,
            )
            return function

        return declare


def idempotent_endpoint(operation: Operation) -> Callable[..., Response]:
    """The operation's function with an Idempotency-Key."""

    def endpoint(once: IdempotentRequest, **values: Any) -> Response:
        def act() -> tuple[Any, int]:
            answer = operation.function(**values)
            return answer, operation.status if getattr(answer, "is_new", True) else 200

        return once.run(act, keep=stored_copy)

    types = {**parameter_types(operation.function), "once": Idempotent}
    return endpoint_of(operation, endpoint, types)


def parameter_types(function: Callable[..., Any]) -> dict[str, Any]:
    """The type of each parameter of an endpoint, as FastAPI reads it; the whole parameter if it has
    a default."""
    return {
        name: parameter.annotation if parameter.default is parameter.empty else parameter
        for name, parameter in inspect.signature(function, eval_str=True).parameters.items()
    }


def endpoint_of(
    operation: Operation, endpoint: Callable[..., Response], types: Mapping[str, Any]
) -> Callable[..., Response]:
    """Tells FastAPI that ``endpoint`` takes these parameters, and gives it the operation's name."""
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=getattr(kind, "annotation", kind),
            default=getattr(kind, "default", inspect.Parameter.empty),
        )
        for name, kind in types.items()
    ]
    endpoint.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    endpoint.__name__, endpoint.__doc__ = operation.name, operation.function.__doc__
    return endpoint
