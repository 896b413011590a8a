"""Compresses pages, scripts, styles and the documentation of the API.

Answers of the API itself stay as they are: replays are stored compressed, and other answers are
small or read by programs nearby. A page may hold a form's proof beside text of its address. Other
sites cannot guess it from compressed lengths, because browsers do not send our ``SameSite`` cookies
with their requests.
"""

from __future__ import annotations

from typing import Final

from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

SMALLEST_BYTES: Final = 800
LEVEL: Final = 5
OF_PROGRAMS: Final = ("/v1/", "/metrics", "/health/")


class PageCompression:
    """ASGI middleware that compresses answers outside the API."""

    def __init__(self, app: ASGIApp) -> None:
        self._plain = app
        self._compressed = GZipMiddleware(app, minimum_size=SMALLEST_BYTES, compresslevel=LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_page = scope["type"] == "http" and not scope["path"].startswith(OF_PROGRAMS)
        await (self._compressed if is_page else self._plain)(scope, receive, send)
