"""What every answer goes through: security headers, compression of pages, HEAD."""

from __future__ import annotations

import asyncio
import re
from typing import Final

from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ACCOUNT_PATHS: Final = re.compile(
    r"^/(?:sign-in|sign-up|sign-out|confirm|recover|device|me/account|me/password|me/passkeys"
    r"|me/identities|me/recovery|me/mail|v1/sign-up|v1/device-logins|v1/recoveries)(?:/|$)"
)
"""Pages and operations of credentials: no copy of an answer may stay anywhere."""
EVERYWHERE: Final = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": (
        "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=(),"
        " browsing-topics=()"
    ),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Permitted-Cross-Domain-Policies": "none",
}
RAW: Final = tuple((name.lower().encode(), value.encode()) for name, value in EVERYWHERE.items())
TRANSPORT: Final = (b"strict-transport-security", b"max-age=31536000")
"""One year of https alone, for this host and not for names below it."""
CACHE: Final = b"cache-control"
POLICY: Final = b"content-security-policy"
FRAMES: Final = b"x-frame-options"
EMBEDDABLE: Final = b"frame-ancestors *"
Header = tuple[bytes, bytes]


class SecurityHeaders:
    """ASGI middleware that adds security headers to pages, files, the API, errors and redirects.

    A route that sets one of these headers keeps its value. Source: the OWASP secure headers
    project.
    """

    def __init__(self, app: ASGIApp, base_url: str) -> None:
        self.app = app
        self.is_https = base_url.startswith("https:")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = self._mark(scope, [*message.get("headers", ())])
            await send(message)

        await self.app(scope, receive, marked)

    def _mark(self, scope: Scope, headers: list[Header]) -> list[Header]:
        """These headers of an answer, with those that it lacks."""
        given = dict(headers)
        headers += [header for header in RAW if header[0] not in given]
        if EMBEDDABLE in given.get(POLICY, b""):  # a player in other sites
            headers = [header for header in headers if header[0] != FRAMES]
        if (self.is_https or scope["scheme"] == "https") and TRANSPORT[0] not in given:
            headers.append(TRANSPORT)
        if ACCOUNT_PATHS.match(scope["path"]):
            headers = [header for header in headers if header[0] != CACHE]
            headers.append((CACHE, b"no-store"))
        elif CACHE not in given:
            headers.append((CACHE, b"private, no-cache" if b"etag" in given else b"no-store"))
        return headers


def is_https(request: Request) -> bool:
    """Whether people reach this site by https, also if a proxy in between speaks http."""
    base_url: str = request.app.state.peck.settings.base_url
    return "https" in (request.url.scheme, base_url.split(":", 1)[0])


SMALLEST_BYTES: Final = 800
LEVEL: Final = 5
OF_PROGRAMS: Final = ("/v1/", "/metrics", "/health/")


class PageCompression:
    """ASGI middleware that compresses pages, scripts, styles and the documentation of the API.

    Answers of the API itself stay as they are: replays are stored compressed, and other answers are
    small or read by programs nearby. A page may hold a form's proof beside text of its address.
    Other sites cannot guess it from compressed lengths, because browsers do not send our
    ``SameSite`` cookies with their requests.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._plain = app
        self._compressed = GZipMiddleware(app, minimum_size=SMALLEST_BYTES, compresslevel=LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_page = scope["type"] == "http" and not scope["path"].startswith(OF_PROGRAMS)
        await (self._compressed if is_page else self._plain)(scope, receive, send)


class HeadAnswers:
    """ASGI middleware that answers HEAD as GET, with the same headers and without the body.

    The route sees a disconnect once the headers are sent, so a stream ends.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        is_read = False
        sent = asyncio.Event()

        async def receive_then_leave() -> Message:
            nonlocal is_read
            if not is_read:
                is_read = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await sent.wait()
            return {"type": "http.disconnect"}

        async def send_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b""})
                sent.set()

        await self.app({**scope, "method": "GET"}, receive_then_leave, send_headers)
