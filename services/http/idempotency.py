"""A POST that creates can be repeated safely: same key and same request, same answer, no second
thing. The answer is kept in the transaction that created, so there is never one without the other,
and a repeat that arrives meanwhile waits for the first to commit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import Depends, Header, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from ladder.database import idempotency
from ladder.database.db import Connection
from ladder.errors import Conflict
from ladder.people.records import Viewer
from services.http.app_state import Db
from services.http.auth import Anyone
from services.http.problems import ProblemError

M = TypeVar("M", bound=BaseModel)

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[\x21-\x7e]{1,120}$",
        description="drawn by the client for this request; repeat it to repeat the request safely",
        examples=["6f1c9f0e-8c7d-4a55-9f0b-0e6f3a1d2b77"],
    ),
]


class IdempotentRequest:
    """One request that may have been answered before under the same key."""

    def __init__(
        self,
        conn: Connection,
        who: Viewer,
        key: str | None,
        request: Request,
        body_digest: str,
    ) -> None:
        self.conn, self.who, self.key = conn, who, key
        asked = f"{request.method} {request.url.path}?{request.url.query}\n{body_digest}"
        self.digest = hashlib.sha256(asked.encode()).hexdigest()

    def run(
        self,
        create: Callable[[], M | tuple[M, int]],
        *,
        keep: Callable[[M], M] = lambda model: model,
    ) -> Response:
        """The answer of ``create`` (201, or the status it names), or the one given before.

        ``keep`` says what is stored for repeats, for answers that hold a secret. Errors are not
        stored: they leave the key unused.
        """
        user_id = self.who.user_id
        if self.key is not None and user_id is not None:
            try:
                kept = idempotency.begin_request(self.conn, user_id, self.key, self.digest)
            except Conflict as error:
                raise ProblemError("idempotency-mismatch", str(error)) from None
            if kept is not None:
                return json_reply(kept.body, kept.status, repeated=True)
        made = create()
        model, status = made if isinstance(made, tuple) else (made, 201)
        if self.key is not None and user_id is not None:
            body = keep(model).model_dump(mode="json")
            idempotency.store_answer(self.conn, user_id, self.key, status, body)
        return json_reply(model.model_dump(mode="json"), status, repeated=False)


def json_reply(body: object, status: int, *, repeated: bool) -> Response:
    headers = {"Idempotency-Replayed": "true"} if repeated else {}
    return JSONResponse(body, status_code=status, headers=headers)


async def idempotent_request(
    request: Request, conn: Db, who: Anyone, key: IdempotencyKey = None
) -> IdempotentRequest:
    """For routes with a JSON body."""
    body = await request.body()
    return IdempotentRequest(conn, who, key, request, hashlib.sha256(body).hexdigest())


Idempotent = Annotated[IdempotentRequest, Depends(idempotent_request)]
