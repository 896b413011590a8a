"""Remote agents for tests: scripted servers, and a daemon that calls them."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from egress.address import parse
from sandbox.errors import HostFault
from sandbox.match import loans
from sandbox.match.loans import SeatRequest
from sandbox.remote.manifest import write_manifest
from tests.integration.sandbox.nodes import ROOT

Answer = Callable[[socket.socket, str, bytes], None]
"""Answers a request of this path and body on this connection."""
UP = b'{"apiversion": "1", "move": "up"}'
TESTERS = {"PECK_EGRESS_ALLOW": "127.0.0.1/32", "PECK_EGRESS_PORTS": "1-65535"}


def ok(line: socket.socket, body: bytes = UP) -> None:
    """A valid answer."""
    line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))


def honest(line: socket.socket, path: str, body: bytes) -> None:
    """Answers as a correct snake."""
    ok(line)


@dataclass
class Servers:
    """All servers of one test."""

    folder: Path
    tls: ssl.SSLContext | None = None
    listeners: list[socket.socket] = field(default_factory=list)
    submissions: int = 0

    def listen(self, answer: Answer, *, is_tls: bool = False) -> str:
        """Start a server with this answer on its own port; returns the URL."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.listeners.append(listener)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    line, _ = listener.accept()
                    threading.Thread(target=talk, args=(line,), daemon=True).start()

        def talk(line: socket.socket) -> None:
            line.settimeout(20.0)
            with contextlib.suppress(OSError, IndexError), line:
                if is_tls:
                    assert self.tls is not None
                    line = self.tls.wrap_socket(line, server_side=True)
                with line, line.makefile("rb") as heard:
                    while request := heard.readline():
                        length = 0
                        while (text := heard.readline()) not in (b"\r\n", b""):
                            if text.lower().startswith(b"content-length:"):
                                length = int(text.split(b":")[1])
                        answer(line, request.split()[1].decode("latin-1"), heard.read(length))

        threading.Thread(target=accept, daemon=True).start()
        port = listener.getsockname()[1]
        return f"{'https' if is_tls else 'http'}://127.0.0.1:{port}"

    def seat(self, url: str, api: str = "1") -> SeatRequest:
        """A seat for the agent at this address."""
        self.submissions += 1
        path = self.folder / f"remote-{self.submissions}.json"
        path.write_bytes(write_manifest(parse(url), api))
        return SeatRequest("remote", path, 256)

    def close(self) -> None:
        for listener in self.listeners:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()


@dataclass
class Daemon:
    """A remote daemon started for tests."""

    process: subprocess.Popen[bytes]
    socket: Path
    log: Path

    @property
    def maker(self) -> int:
        """The process that forks callers."""
        (pid,) = children(self.process.pid)
        return pid

    @property
    def callers(self) -> list[int]:
        return children(self.maker)

    @property
    def holdings(self) -> tuple[int, int, int, int]:
        """Counts the daemon's resources.

        They are descriptors of daemon and maker, callers, and threads beyond the listeners.
        """
        pids = (self.process.pid, self.maker)
        fds = [len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids]
        threads = len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))
        return fds[0], fds[1], len(self.callers), max(5, threads)


def children(pid: int) -> list[int]:
    """Children of this process's main thread."""
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def command(socket: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "sandbox.remote", "--socket", str(socket), *options]


@contextlib.contextmanager
def running(folder: Path, environment: dict[str, str], *options: str) -> Iterator[Daemon]:
    """A daemon with these rules that answers; it must stop cleanly."""
    path, log = folder / "remote.sock", folder / "remote.log"
    variables = {**os.environ, **environment}
    with log.open("wb") as sink:
        process = subprocess.Popen(command(path, *options), cwd=ROOT, env=variables, stderr=sink)
    try:
        deadline = time.monotonic() + 120.0
        while True:
            try:
                loans.node_hello(path, started=process.pid)
                break
            except HostFault:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.02)
        yield Daemon(process, path, log)
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            assert process.wait(120) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


def authority(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """A TLS server context for 127.0.0.1, and the certificate file for its clients."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=snake"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    certificate.chmod(0o644)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context, certificate
