"""A real S3 server (SeaweedFS) on this machine, and a proxy that makes it fail."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import httpx

from tests.ports import free_port

REGION: Final = "us-east-1"
BUCKET: Final = "blobs"
START_SECONDS: Final = 240.0
SLOW_SECONDS: Final = 2.0
GRPC: Final = 10_000
"""Each port of the server has a second one, this much higher."""


@dataclass(frozen=True, slots=True)
class S3Server:
    """Address and keys of a running server."""

    port: int
    key: str
    secret: str

    def environment(self, port: int | None = None) -> dict[str, str]:
        """The variables by which a process reaches the server, or a proxy on ``port``."""
        return {
            "AWS_ENDPOINT": f"http://127.0.0.1:{port or self.port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
        }


@dataclass
class S3Process:
    """A server's process, which may be killed and started again on the same files."""

    folder: Path
    server: S3Server
    _process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts the server and waits until it keeps bytes. Raises RuntimeError."""
        log = self.folder / "log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                _command(self.folder, self.server.port),
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
            )
        _make_bucket(self.server, self._process, log)

    def kill(self) -> None:
        """Kills the server. SIGTERM would take 16 s; what it acknowledged is safe."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@contextmanager
def running(folder: Path) -> Iterator[S3Process]:
    """A running server with the empty bucket ``blobs``, whose files lie in ``folder``."""
    server = S3Server(free_port(also_above=GRPC), secrets.token_hex(8), secrets.token_hex(16))
    users = {
        "identities": [
            {
                "name": "ladder",
                "credentials": [{"accessKey": server.key, "secretKey": server.secret}],
                "actions": ["Admin", "Read", "Write", "List"],
            }
        ]
    }
    (folder / "users.json").write_text(json.dumps(users))
    (folder / "data").mkdir(exist_ok=True)
    made = S3Process(folder, server)
    try:
        made.start()
        yield made
    finally:
        made.kill()


def _command(folder: Path, port: int) -> list[str]:
    master, volume, filer = (free_port(also_above=GRPC) for _ in range(3))
    return [
        str(Path(sys.executable).with_name("weed")),
        *("-logtostderr=true", "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"),
        *(f"-dir={folder / 'data'}", f"-master.port={master}", f"-volume.port={volume}"),
        *("-filer", f"-filer.port={filer}", "-s3", f"-s3.port={port}"),
        *(f"-s3.config={folder / 'users.json'}", "-s3.port.iceberg=0", "-s3.port.lance=0"),
        *("-s3.autoCreateBucket=false", "-master.telemetry=false"),
        *("-master.electionTimeout=1s", "-master.volumeSizeLimitMB=64", "-volume.max=20"),
    ]


def _make_bucket(server: S3Server, process: subprocess.Popen[bytes], log: Path) -> None:
    """Waits until the server has made the bucket and keeps bytes in it."""
    until = time.monotonic() + START_SECONDS
    path = f"/{BUCKET}"
    while time.monotonic() < until and process.poll() is None:
        with suppress(httpx.TransportError):
            status = _signed_put(server, path)
            if status in (200, 409) and path == f"/{BUCKET}":
                path += "/ready"
            elif status == 200:
                return
        time.sleep(0.1)
    raise RuntimeError(f"the S3 server did not start: {log.read_text()[-2000:]}")


def _signed_put(server: S3Server, path: str) -> int:
    """Status of an empty PUT, signed as AWS' Signature Version 4 says."""
    now, empty = datetime.now(UTC), hashlib.sha256(b"").hexdigest()
    stamp, day = f"{now:%Y%m%dT%H%M%SZ}", f"{now:%Y%m%d}"
    signed = {
        "host": f"127.0.0.1:{server.port}", "x-amz-content-sha256": empty, "x-amz-date": stamp
    }  # fmt: skip
    names = ";".join(signed)
    lines = "".join(f"{name}:{text}\n" for name, text in signed.items())
    request = hashlib.sha256(f"PUT\n{path}\n\n{lines}\n{names}\n{empty}".encode()).hexdigest()
    scope = f"{day}/{REGION}/s3/aws4_request"
    key = f"AWS4{server.secret}".encode()
    for part in (*scope.split("/"), f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{request}"):
        key = hmac.digest(key, part.encode(), "sha256")
    header = f"AWS4-HMAC-SHA256 Credential={server.key}/{scope}, SignedHeaders={names}"
    headers = {**signed, "Authorization": f"{header}, Signature={key.hex()}"}
    return httpx.put(f"http://127.0.0.1:{server.port}{path}", headers=headers).status_code


@dataclass
class Proxy:
    """A TCP proxy before the server. ``fault`` says what it does to new requests."""

    target: int
    fault: str = ""
    """Empty: nothing; ``refuse``: cuts the connection; ``busy``: answers 503; ``lose``: passes the
    request on and cuts the connection instead of the answer; ``slow``: waits SLOW_SECONDS."""
    faults: int = 0
    """How many connections met the fault."""
    listening: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))

    @property
    def port(self) -> int:
        return int(self.listening.getsockname()[1])

    def serve(self) -> None:
        """Serves until the listening socket closes."""
        while True:
            try:
                client, _ = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        """One request for each connection: both sides say ``Connection: close``."""
        with client, suppress(OSError):
            request = _read_message(client)
            fault = self.fault
            self.faults += bool(fault)
            if fault == "refuse":
                return
            if fault == "busy":
                client.sendall(b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\n\r\n")
                return
            if fault == "slow":
                time.sleep(SLOW_SECONDS)
            with socket.create_connection(("127.0.0.1", self.target)) as server:
                server.sendall(request)
                answer = _read_all(server)
            if fault != "lose":
                client.sendall(answer)


def _read_message(client: socket.socket) -> bytes:
    """One HTTP request with a Content-Length, changed to close the connection afterwards."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = client.recv(65536)
        if not piece:
            raise OSError("ended early")
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [
        int(line.split(b":")[1])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length:")
    ]
    while len(body) < sum(lengths):
        body += client.recv(65536)
    return head + b"\r\nConnection: close\r\n\r\n" + body


def _read_all(server: socket.socket) -> bytes:
    pieces = iter(lambda: server.recv(65536), b"")
    return b"".join(pieces)


@contextmanager
def proxy(server: S3Server) -> Iterator[Proxy]:
    """A running proxy before this server."""
    made = Proxy(server.port)
    thread = threading.Thread(target=made.serve, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.listening.shutdown(socket.SHUT_RDWR)
        made.listening.close()
        thread.join(5)


@contextmanager
def variables(given: dict[str, str]) -> Iterator[None]:
    """Sets environment variables inside the block."""
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
