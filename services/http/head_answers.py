"""Answers HEAD as GET, with the same headers and without the body."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadAnswers:
    """ASGI middleware that shows each HEAD to the routes as GET.

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
