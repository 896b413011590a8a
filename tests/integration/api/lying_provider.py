"""An OpenID provider and a GitHub that answer as a test wants, right or wrong."""

from __future__ import annotations

import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from joserfc import jwt
from joserfc.jwk import ECKey


class LyingProvider:
    """Answers truly, except where a test says otherwise."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.key = ECKey.generate_key("P-256", {"kid": "one"})
        self.forget()

    def forget(self) -> None:
        """Answers truly again."""
        self.nonce = ""
        self.metadata: dict[str, Any] = {}
        self.claims: dict[str, Any] = {}
        self.signing_key: Any = self.key
        self.algorithm = "ES256"
        self.answers: dict[str, tuple[int, bytes]] = {}
        """Other answers, by path."""
        self.pause_seconds = 0.0
        self.asked: list[tuple[str, dict[str, list[str]]]] = []
        """Path and form of each request."""
        self.github_emails: list[dict[str, Any]] = []

    def answer(self, path: str, form: dict[str, list[str]]) -> tuple[int, bytes]:
        self.asked.append((path, form))
        time.sleep(self.pause_seconds)
        if path in self.answers:
            return self.answers[path]
        makers: dict[str, Callable[[], object]] = {
            "/.well-known/openid-configuration": self.describe,
            "/keys": self.public_keys,
            "/token": self.token,
            "/login/oauth/access_token": lambda: {"access_token": "gho_x", "token_type": "bearer"},
            "/api/v3/user": lambda: {"id": 583231, "login": "octocat"},
            "/api/v3/user/emails": lambda: self.github_emails,
        }
        made = makers.get(path)
        return (404, b"{}") if made is None else (200, json.dumps(made()).encode())

    def describe(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            **self.metadata,
        }

    def public_keys(self) -> dict[str, Any]:
        return {"keys": [self.key.as_dict(private=False)]}

    def token(self) -> dict[str, Any]:
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "sub": "person-1",
            "aud": "peck",
            "iat": now,
            "exp": now + 300,
            "nonce": self.nonce,
            "email": "ada@example.edu",
            "email_verified": True,
            "preferred_username": "ada",
            **self.claims,
        }
        kept = {name: value for name, value in claims.items() if value is not None}
        header = {"alg": self.algorithm, "kid": self.signing_key.kid or "one"}
        made = {"access_token": "access", "token_type": "Bearer"}
        if self.algorithm == "none":
            return {**made, "id_token": unsigned(header, kept)}
        return {**made, "id_token": jwt.encode(header, kept, self.signing_key)}


def unsigned(header: dict[str, Any], claims: dict[str, Any]) -> str:
    """A token without a signature."""
    parts = (json.dumps(part).encode() for part in (header, claims))
    return ".".join(urlsafe_b64encode(part).decode().rstrip("=") for part in parts) + "."


@contextmanager
def lying_provider() -> Iterator[LyingProvider]:
    """A provider on a port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            self.reply(parse_qs(body.decode()))

        def reply(self, form: dict[str, list[str]]) -> None:
            status, content = provider.answer(
                self.path.partition("?")[0].removeprefix("/enterprise"), form
            )
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                if status == 302:
                    self.send_header("Location", "/keys")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except OSError:
                pass  # the site has given up

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = LyingProvider(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
