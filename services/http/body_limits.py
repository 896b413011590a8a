"""Limits on the size and duration of request bodies, checked before any other code reads them.

Uploads have the season's limit; forms of accounts are the smallest, since strangers send them; all
other bodies are small JSON. A declared length above the limit and a chunked body that grows past it
get the same error. A page form is refused when its route reads the body, so the answer is a page.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ladder.sizes import size_text
from services.http.middleware import ACCOUNT_PATHS
from services.http.problems import BodyTooLarge, problem_response

JSON_LIMIT_BYTES: Final = 256 * 1024
JSON_SECONDS: Final = 30.0
ACCOUNT_LIMIT_BYTES: Final = 32 * 1024
UPLOADS: Final = re.compile(
    r"^(?:POST /v1/agents/[^/]+/submissions|POST /upload|PUT /v1/machine/blobs/[^/]+)$"
)


class BodyLimit:
    """ASGI middleware that enforces the limits."""

    def __init__(
        self, app: ASGIApp, limit_bytes: int = JSON_LIMIT_BYTES, seconds: float = JSON_SECONDS
    ) -> None:
        self.app = app
        self.limit_bytes = limit_bytes
        self.seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        scope.setdefault("state", {})["began"] = earliest_arrival(scope)
        names = {name for name, _ in scope["headers"]}
        if {b"content-length", b"transfer-encoding"} <= names:
            await two_lengths()(scope, receive, send)
            return

        if UPLOADS.match(f"{scope['method']} {scope['path']}") is not None:
            await self.app(scope, receive, send)
        else:
            await self.enforce_limits(scope, receive, send)

    async def enforce_limits(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request other than an upload."""
        headers = dict(scope["headers"])
        is_account = ACCOUNT_PATHS.match(scope["path"]) is not None
        limit_bytes = min(self.limit_bytes, ACCOUNT_LIMIT_BYTES) if is_account else self.limit_bytes
        declared = headers.get(b"content-length", b"0")
        detail = f"Send less: this address takes at most {size_text(limit_bytes)}."

        async def refuse() -> Message:
            raise BodyTooLarge(detail, limit_bytes)

        if declared.isdigit() and int(declared) > limit_bytes:
            if scope["method"] == "POST" and not scope["path"].startswith("/v1/"):
                await self.app(scope, refuse, send)
                return
            refusal = problem_response("too-large", detail, limit_bytes=limit_bytes)
            await refusal(scope, receive, send)
            return
        if scope["path"].startswith("/v1/") and not is_json_or_empty(headers):
            await problem_response("unsupported-media-type")(scope, receive, send)
            return
        seen, whole = 0, False
        until = asyncio.get_running_loop().time() + self.seconds

        async def counted() -> Message:
            nonlocal seen, whole
            try:
                async with asyncio.timeout_at(None if whole else until):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(400) from None
            whole = whole or not message.get("more_body", False)
            seen += len(message.get("body", b""))
            if seen > limit_bytes:
                return await refuse()
            return message

        await self.app(scope, counted, send)


def two_lengths() -> Response:
    """Refuses a request whose headers name two lengths, and ends the connection: the server would
    take the rest of the longer one for another request (RFC 9112, 6.3)."""
    detail = "Send Content-Length or Transfer-Encoding, not both."
    return problem_response("malformed", detail, headers={"Connection": "close"})


def earliest_arrival(scope: Scope) -> float:
    """The earliest moment at which this request can have arrived."""
    state = getattr(scope["app"].state, "peck", None) if "app" in scope else None
    return time.monotonic() if state is None else float(state.clock.earliest_arrival())


def arrival_of(request: Request) -> float:
    """The moment of ``time.monotonic`` at which the request arrived. Deadlines count from then."""
    began: float = request.state.began
    return began


def seconds_since_arrival(request: Request) -> float:
    """Seconds since the request began to arrive."""
    return time.monotonic() - arrival_of(request)


def is_json_or_empty(headers: dict[bytes, bytes]) -> bool:
    """Whether the request has no body, or declares JSON."""
    has_body = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
    media_type = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
    return not has_body or media_type == b"application/json"


TICK_SECONDS: Final = 0.02


class LoopClock:
    """Says how early a request can have arrived that a busy process only now begins to handle.

    An event loop that is blocked sees a request late. A deadline must not suffer from that, so a
    task records the time again and again. A request cannot have arrived before the second-last
    record: the loop has read its connections since then.
    """

    def __init__(self) -> None:
        self._notes: tuple[float, float] | None = None

    def earliest_arrival(self) -> float:
        """The earliest moment of ``time.monotonic`` at which a request seen now can have arrived.

        It is now if the clock does not tick.
        """
        return time.monotonic() if self._notes is None else self._notes[0]

    @asynccontextmanager
    async def ticking(self) -> AsyncIterator[None]:
        """Notes the time until the end of the context."""
        task = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            self._notes = None

    async def _tick(self) -> None:
        last = time.monotonic()
        while True:
            now = time.monotonic()
            self._notes = (last, now)
            last = now
            await asyncio.sleep(TICK_SECONDS)
