"""Adds security headers to every answer: pages, files, the API, errors and redirects.

A route that sets one of these headers keeps its value. Source: the OWASP secure headers project.
"""

from __future__ import annotations

import re
from typing import Final

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
    """ASGI middleware that adds the headers."""

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
