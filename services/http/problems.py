"""Errors of the API as RFC 9457 problems: one JSON shape, and one stable type for each kind.

``type`` is a path below ``/problems`` with a page. ``detail`` is a sentence for people. The
handlers of this module answer every error inside a request.
"""

from __future__ import annotations

import errno
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import psycopg
import psycopg_pool
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from ladder import field_types
from ladder.database import db
from ladder.database.blobs import AGAIN_SECONDS, BlobsFull, BlobsUnavailable, BlobTooLarge
from ladder.errors import Conflict, Forbidden, Invalid, LadderError, LimitReached, NotFound

EMPTY: Final = "give a value"
"""The message for a value that is missing, empty or blank."""
OTHER_CHARACTERS: Final = "use only the characters that this field allows"
WORD_CHARACTERS: Final = "use only the characters a-z, 0-9 and -, and begin with a letter or digit"
BY_PATTERN: Final = {
    field_types.SLUG: f"{WORD_CHARACTERS}; at most 40 characters",
    field_types.KEY: "use only the characters a-z, 0-9, _ and -; at most 64 characters",
    field_types.NAME: "use only visible characters, on one line, without a space at either end",
    field_types.LINE: "use only visible characters, on one line",
    field_types.TEXT: "use only visible characters",
}
BY_TYPE: Final = {
    "missing": EMPTY,
    "string_type": "give a text",
    "bool_parsing": "write true or false",
    "bool_type": "write true or false",
    "float_parsing": "write a number",
    "float_type": "write a number",
    "finite_number": "write a number",
    "extra_forbidden": "leave this out: the service does not know it",
}
WHOLE_NUMBER: Final = "write a whole number"
MOMENT: Final = "write date, time and time zone, as in 2026-12-01T18:00+01:00"
BOUNDS: Final = {
    "greater_than_equal": ("ge", "use {} or more"),
    "greater_than": ("gt", "use more than {}"),
    "less_than_equal": ("le", "use {} or less"),
    "less_than": ("lt", "use less than {}"),
    "string_too_short": ("min_length", "use at least {} characters"),
    "string_too_long": ("max_length", "use at most {} characters"),
    "too_short": ("min_length", "give at least {}"),
    "too_long": ("max_length", "give at most {}"),
    "enum": ("expected", "choose {}"),
    "literal_error": ("expected", "choose {}"),
}
"""For a type of Pydantic's errors: the name of its bound, and the message."""


def field_message(error: Mapping[str, Any]) -> str:
    """The message of one of Pydantic's errors."""
    kind, context = str(error["type"]), error.get("ctx") or {}
    if kind in ("too_short", "too_long") and isinstance(error.get("input"), str):
        kind = f"string_{kind}"  # the length was checked after another check of the text
    if kind in BY_TYPE:
        return BY_TYPE[kind]
    if kind.startswith(("string_", "int_", "datetime_")) and is_blank(error.get("input")):
        return EMPTY
    if kind == "string_pattern_mismatch":
        return BY_PATTERN.get(str(context.get("pattern")), OTHER_CHARACTERS)
    if kind.startswith("int_"):
        return WHOLE_NUMBER
    if kind.startswith("datetime_"):
        return MOMENT
    if kind in BOUNDS and BOUNDS[kind][0] in context:
        name, text = BOUNDS[kind]
        bound = context[name]
        is_whole = isinstance(bound, float) and bound.is_integer()
        return text.format(int(bound) if is_whole else bound)
    return str(error["msg"]).removeprefix("Value error, ")


def is_blank(value: object) -> bool:
    return isinstance(value, str) and not value.strip()


MEDIA_TYPE: Final = "application/problem+json"
ACCOUNT_DELETED: Final = "This account was deleted; nothing of it is written any more."
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """One type of problem. ``text`` is the text of its page."""

    slug: str
    status: int
    title: str
    text: str


PROBLEM_KINDS: Final = {
    kind.slug: kind
    for kind in (
        ProblemKind(
            "malformed",
            400,
            "The request could not be read",
            "Send JSON in UTF-8. The body or a header is not well formed.",
        ),
        ProblemKind(
            "unauthorized",
            401,
            "A valid token is needed",
            "Send 'Authorization: Bearer peck_...'. The token is missing, mistyped, "
            "expired or revoked. 'peck whoami' shows which token is in use.",
        ),
        ProblemKind(
            "forbidden",
            403,
            "Not allowed",
            "Use another token or ask a host: the token lacks the scope, or you lack "
            "the role. The detail names which.",
        ),
        ProblemKind(
            "not-found",
            404,
            "Not found",
            "Check the name and your login. The thing does not exist, or you may not "
            "see it. Both get the same answer on purpose. 'what' names the kind of the "
            "missing thing, if one word does.",
        ),
        ProblemKind(
            "method-not-allowed",
            405,
            "Method not allowed",
            "Use a method from the Allow header: this address does not take that one.",
        ),
        ProblemKind(
            "conflict",
            409,
            "Conflict",
            "Choose another name, or read the thing's state: the name is taken, or the "
            "state does not allow this.",
        ),
        ProblemKind(
            "idempotency-mismatch",
            409,
            "Idempotency key used for another request",
            "Draw a new key for a new request. This Idempotency-Key was used before "
            "with another request. Repeat a key only to repeat the same request.",
        ),
        ProblemKind(
            "too-large",
            413,
            "Too large",
            "Send a smaller body. 'limit_bytes' says how much this address takes.",
        ),
        ProblemKind(
            "unsupported-media-type",
            415,
            "Unsupported media type",
            "Send JSON with 'Content-Type: application/json'.",
        ),
        ProblemKind(
            "invalid",
            422,
            "Invalid value",
            "Correct the values that 'errors' names. They are missing, of the wrong "
            "type or out of range.",
        ),
        ProblemKind(
            "digest-mismatch",
            422,
            "The body differs from its digest",
            "Send the upload again: it was damaged on the way. Its SHA-256 differs "
            "from Content-Digest.",
        ),
        ProblemKind(
            "limit-reached",
            429,
            "Limit reached",
            "Wait, or stop what uses the limit that 'limit' names. If the limit "
            "resets, 'resets_at' and the Retry-After header say when.",
        ),
        ProblemKind(
            "internal",
            500,
            "Our fault",
            "Try again, or tell the operator. Something broke on our side; the log names it.",
        ),
        ProblemKind(
            "unavailable",
            503,
            "Try again shortly",
            "Nothing was changed. The database or the blob store does not answer now.",
        ),
        ProblemKind(
            "storage-full",
            507,
            "The disk is full",
            "Nothing was changed. The operator of this site must free space on its disk; then "
            "send it again.",
        ),
    )
}

BY_STATUS: Final = {
    kind.status: slug
    for slug, kind in PROBLEM_KINDS.items()
    if slug not in ("idempotency-mismatch", "digest-mismatch")
}


class FieldProblem(BaseModel):
    """One value that was refused."""

    where: str = Field(examples=["body.games"])
    message: str = Field(examples=["use 100 or less"])


class Problem(BaseModel):
    """An error (RFC 9457). The page of its type names further members."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["/problems/not-found"])
    title: str = Field(examples=["Not found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["There is no such league, or you may not see it."])
    errors: list[FieldProblem] | None = None


class ProblemError(Exception):
    """An error answer. Becomes problem+json with the kind's status.

    ``where`` names the one place in the request that is wrong: ``cursor``, ``body.slug``.
    """

    def __init__(
        self,
        slug: str,
        detail: str = "",
        *,
        where: str | None = None,
        headers: Mapping[str, str] | None = None,
        **members: object,
    ) -> None:
        self.kind = PROBLEM_KINDS[slug]
        self.detail = detail or self.kind.text
        self.headers = dict(headers or {})
        self.members = members
        if where is not None:
            self.members = {"errors": [field_problem(where, self.detail)], **members}
            self.detail = f"{where}: {self.detail}"
        super().__init__(self.detail)


class BodyTooLarge(HTTPException):
    """The body is larger than its address allows.

    It is an HTTPException because FastAPI hides other exceptions while it reads a body.
    """

    def __init__(self, detail: str, limit_bytes: int) -> None:
        super().__init__(413, detail)
        self.limit_bytes = limit_bytes


def field_problem(where: str, message: str) -> dict[str, str]:
    """One item of a problem's ``errors``, see `FieldProblem`."""
    return {"where": where, "message": message}


def problem_response(
    slug: str,
    detail: str = "",
    *,
    where: str | None = None,
    headers: Mapping[str, str] | None = None,
    **members: object,
) -> Response:
    """The response that carries this problem."""
    return error_response(ProblemError(slug, detail, where=where, headers=headers, **members))


def error_response(error: ProblemError) -> Response:
    kind = error.kind
    body: dict[str, object] = {
        "type": f"/problems/{kind.slug}",
        "title": kind.title,
        "status": kind.status,
        "detail": error.detail,
        **error.members,
    }
    headers = dict(error.headers)
    if kind.status == 401:
        headers.setdefault("WWW-Authenticate", 'Bearer realm="peck"')
    if kind.status == 503:
        headers.setdefault("Retry-After", "2")
    # ensure_ascii lets the answer hold a lone surrogate of an echoed value
    content = json.dumps(body, default=str)
    return Response(content, status_code=kind.status, headers=headers, media_type=MEDIA_TYPE)


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems that a route declares: ``responses=problem_responses(404, 409)``. See also
    EVERYWHERE."""
    return {
        status: {
            "description": PROBLEM_KINDS[BY_STATUS[status]].title,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in statuses
    }


COMMON_PROBLEMS: Final = problem_responses(400, 401, 413, 422, 503)
"""Problems of every route: a bad token, bad values, no database."""


async def on_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return error_response(error)


async def on_ladder_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, LadderError)
    return problem_of_refusal(error)


def problem_of_refusal(error: LadderError) -> Response:
    """A refusal of ``ladder`` as a problem."""
    detail = str(error)
    members: dict[str, Any] = {}
    if error.field is not None:
        members["errors"] = [field_problem(f"body.{error.field}", error.message)]
    if isinstance(error, NotFound):
        if error.what is not None:
            members["what"] = error.what
        return problem_response("not-found", detail, **members)
    if isinstance(error, Conflict):
        return problem_response("conflict", detail, **members)
    if isinstance(error, Forbidden):
        return problem_response("forbidden", detail)
    if isinstance(error, BlobTooLarge):
        return problem_response("too-large", detail, limit_bytes=error.limit_bytes)
    if isinstance(error, LimitReached):
        wait = error.resets_at - datetime.now(UTC)
        return problem_response(
            "limit-reached",
            detail,
            headers={"Retry-After": str(max(1, round(wait.total_seconds())))},
            limit=error.limit,
            used=error.used,
            allowed=error.allowed,
            left=error.left,
            resets_at=error.resets_at.isoformat(),
        )
    if isinstance(error, Invalid):
        return problem_response("invalid", error.message, where=f"body.{error.field}")
    return problem_response("invalid", detail)


async def on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    # Does not echo the input: it can be large, secret, or not encodable.
    places = [
        field_problem(".".join(str(part) for part in item["loc"]), field_message(item))
        for item in error.errors()
    ]
    first = places[0] if places else field_problem("request", "is not valid")
    more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
    return problem_response("invalid", f"{first['where']}: {first['message']}{more}", errors=places)


async def on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    slug = BY_STATUS.get(error.status_code, "internal" if error.status_code >= 500 else "malformed")
    detail = PROBLEM_KINDS[slug].text
    if slug == "not-found":
        detail = f"There is nothing at {request.url.path}."
    if slug == "method-not-allowed":
        detail = f"{request.url.path} does not take {request.method}."
    members: dict[str, Any] = {}
    if isinstance(error, BodyTooLarge):
        detail, members = error.detail, {"limit_bytes": error.limit_bytes}
    return problem_response(slug, detail, headers=error.headers, **members)


async def on_database_away(request: Request, error: Exception) -> Response:
    log.warning("database away: %s", error)
    return problem_response("unavailable")


async def on_storage_away(request: Request, error: Exception) -> Response:
    log.warning("%s", error)
    if isinstance(error, BlobsFull):
        return problem_response("storage-full")
    return problem_response("unavailable", headers={"Retry-After": str(AGAIN_SECONDS)})


async def on_system_error(request: Request, error: Exception) -> Response:
    """Answers if a large body does not fit into the folder for temporary files."""
    assert isinstance(error, OSError)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        log.warning("no room for temporary files: %s", error)
        return problem_response("storage-full")
    raise error


async def on_database_error(request: Request, error: Exception) -> Response:
    """Answers a request of an account that was deleted meanwhile; other errors are ours."""
    assert isinstance(error, psycopg.DatabaseError)
    if error.sqlstate == db.ERASED:
        return problem_response("unauthorized", ACCOUNT_DELETED)
    raise error


async def on_crash(request: Request, error: Exception) -> Response:
    return problem_response("internal")


def install_handlers(app: FastAPI) -> None:
    """Makes every error of ``app`` a problem."""
    app.add_exception_handler(ProblemError, on_problem)
    app.add_exception_handler(LadderError, on_ladder_error)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(psycopg.DatabaseError, on_database_error)
    app.add_exception_handler(psycopg.OperationalError, on_database_away)
    app.add_exception_handler(psycopg_pool.PoolTimeout, on_database_away)
    app.add_exception_handler(BlobsUnavailable, on_storage_away)
    app.add_exception_handler(OSError, on_system_error)
    app.add_exception_handler(Exception, on_crash)
