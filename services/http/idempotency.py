"""Safe repeats of a POST: the same key and request get the same answer and create nothing new.

The answer is stored in the transaction that creates the thing, so both exist or neither. A repeat
that arrives during the first request waits for its commit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response
from fastapi.responses import JSONResponse

from ladder.database import idempotency
from ladder.database.db import Connection
from ladder.errors import Conflict
from ladder.field_types import json_of_answer
from ladder.people.records import Viewer
from services.http.app_state import Db
from services.http.auth import Anyone
from services.http.problems import ProblemError

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[\x21-\x7e]{1,120}$",
        description="random key chosen by the client; send it again to repeat the request safely",
        examples=["6f1c9f0e-8c7d-4a55-9f0b-0e6f3a1d2b77"],
    ),
]


class IdempotentRequest:
    """A request with an Idempotency-Key that may already have an answer."""

    def __init__(
        self,
        conn: Connection,
        viewer: Viewer,
        key: str | None,
        request: Request,
        body_digest: str,
    ) -> None:
        self.conn, self.viewer, self.key = conn, viewer, key
        line = f"{request.method} {request.url.path}?{request.url.query}\n{body_digest}"
        self.digest = hashlib.sha256(line.encode()).hexdigest()

    def run(
        self,
        create: Callable[[], object],
        *,
        keep: Callable[[Any], object] = lambda answer: answer,
    ) -> Response:
        """Returns the answer of ``create`` (201, or the status it names), or the stored one.

        ``keep`` returns the part to store, for answers that hold a secret. Errors are not stored:
        they leave the key unused.
        """
        user_id = self.viewer.user_id
        if self.key is not None and user_id is not None:
            try:
                kept = idempotency.begin_request(self.conn, user_id, self.key, self.digest)
            except Conflict as error:
                raise ProblemError("idempotency-mismatch", str(error)) from None
            if kept is not None:
                return json_reply(kept.body, kept.status, repeated=True)
        created = create()
        answer, status = created if isinstance(created, tuple) else (created, 201)
        if self.key is not None and user_id is not None:
            body = json_of_answer(keep(answer))
            idempotency.store_answer(self.conn, user_id, self.key, status, body)
        return json_reply(json_of_answer(answer), status, repeated=False)


def json_reply(body: object, status: int, *, repeated: bool) -> Response:
    headers = {"Idempotency-Replayed": "true"} if repeated else {}
    return JSONResponse(body, status_code=status, headers=headers)


async def idempotent_request(
    request: Request, conn: Db, viewer: Anyone, key: IdempotencyKey = None
) -> IdempotentRequest:
    """The dependency for routes with a JSON body."""
    body = await request.body()
    return IdempotentRequest(conn, viewer, key, request, hashlib.sha256(body).hexdigest())


Idempotent = Annotated[IdempotentRequest, Depends(idempotent_request)]
