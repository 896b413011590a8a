"""Adds security headers to every answer: pages, files, the API, errors and redirects.

A route that sets one of these headers keeps its value. Source: the OWASP secure headers project.
"""

from __future__ import annotations

import re
from typing import Final

from starlette.datastructures import MutableHeaders
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
STRICT_TRANSPORT: Final = "max-age=31536000"
"""One year of https alone, for this host and not for names below it."""


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
                headers = MutableHeaders(scope=message)
                for name, value in EVERYWHERE.items():
                    headers.setdefault(name, value)
                if "frame-ancestors *" in headers["content-security-policy"]:
                    del headers["X-Frame-Options"]  # an embedded player
                if self.is_https or scope["scheme"] == "https":
                    headers.setdefault("Strict-Transport-Security", STRICT_TRANSPORT)
                if ACCOUNT_PATHS.match(scope["path"]):
                    headers["Cache-Control"] = "no-store"
                else:
                    kept = "private, no-cache" if "etag" in headers else "no-store"
                    headers.setdefault("Cache-Control", kept)
            await send(message)

        await self.app(scope, receive, marked)


def is_https(request: Request) -> bool:
    """Whether people reach this site by https, also if a proxy in between speaks http."""
    base_url: str = request.app.state.peck.settings.base_url
    return "https" in (request.url.scheme, base_url.split(":", 1)[0])
