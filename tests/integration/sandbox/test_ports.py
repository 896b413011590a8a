"""Programs outside the box's Python listen on a port in a private network."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from games.protocol import Verdict
from sandbox.box import loopback
from sandbox.errors import BundleRefused
from sandbox.match.clock import Clock
from sandbox.match.loans import SeatRequest, borrow_seats
from sandbox.match.match_record import PlayedMatch
from tests.integration.counting import Snakes
from tests.integration.sandbox.nodes import MEMORY_MB, Bench, start_node, still_works
from tests.integration.sandbox.test_contracts import AGENTS, UP, _all_right, _log, _packed
from tests.integration.sandbox.test_contracts import _play as play

SERVER = (AGENTS / "port_server" / "server.py").read_text()
CLOCK = Clock(act_seconds=1.0, bank_seconds=10.0, load="own", load_seconds=20.0)
MANIFEST = json.dumps({"contract": "http", "entry": ["server"]}).encode()
TELLS = """
import ctypes, errno, json, os, socket, struct, sys, threading, time
from server_module import ANSWER, serve
def tell(what, got_through):
    print(("BREACH: " if got_through else "HELD: ") + what, flush=True)
def attempt(what, act):
    try:
        act()
    except OSError as error:
        tell(f"{what}: {error}", False)
        return error.errno
    tell(what, True)
"""


def _first_line(bench: Bench) -> str:
    """The shebang line that runs the box's interpreter under this launcher."""
    where = bench.findings("import sys\ndef agent(obs):\n    return sys.executable\n", step=0)
    return f"#!{where} -Is\n"


def _program(bench: Bench, source: str) -> Path:
    """A bundle whose program the kernel executes, so that our socket class is not in use."""
    path = "import sys; sys.path.insert(0, '/kaggle_simulations/agent')\n"
    files = {
        "peck.json": MANIFEST,
        "server": (_first_line(bench) + path + source).encode(),
        "server_module.py": SERVER.encode(),
    }
    return _packed(bench.folder, files)


def _server(bench: Bench) -> Path:
    return _program(bench, SERVER)


def _hostile(bench: Bench, source: str) -> Path:
    return _program(bench, TELLS + source)


def _found(played: PlayedMatch, seat: int = 0) -> list[str]:
    """The attempts of a program that succeeded; fails without any attempt."""
    lines = _log(played, seat).splitlines()
    assert any(line.startswith(("HELD: ", "BREACH: ")) for line in lines), _log(played, seat)
    return [line for line in lines if line.startswith("BREACH: ")]


def test_a_non_python_program_listens_on_its_port(bench: Bench) -> None:
    bundles = [_server(bench), _server(bench), bench.bundle(UP)]
    for _ in range(2):
        played = play(bench, Snakes(), bundles, CLOCK)
        _all_right(played, range(3))
        assert "executed: " in _log(played, 0)


def test_a_program_may_listen_on_a_port_of_its_choice(bench: Bench) -> None:
    chosen = _program(bench, "from server_module import serve\nserve(31415)\n")
    played = play(bench, Snakes(), [chosen, bench.bundle(UP)], CLOCK)
    _all_right(played, range(2))


def test_only_tcp_sockets_on_the_loopback_work(bench: Bench) -> None:
    source = """
for family in range(2, 46):
    for kind in (1, 2, 3, 5):
        for protocol in (0, 1, 6, 17, 255, 262):
            if (family, kind) in ((2, 1), (10, 1)) and protocol in (0, 6):
                continue
            try:
                socket.socket(family, kind, protocol).close()
            except OSError:
                continue
            tell(f"a socket of family {family}, kind {kind}, protocol {protocol}", True)
attempt("linger", lambda: socket.socket().setsockopt(1, 13, struct.pack("ii", 1, 1000)))
attempt("another device", lambda: socket.socket().setsockopt(1, 25, b"eth0"))
attempt("a transparent address", lambda: socket.socket().setsockopt(0, 19, 1))
attempt("a filter", lambda: socket.socket().setsockopt(1, 26, bytes(16)))
for address in ("1.1.1.1", "169.254.169.254", "10.0.0.1", "172.17.0.1", "192.168.0.1"):
    for port in (53, 80, 2375, 5432):
        outside = socket.socket()
        outside.settimeout(0.3)
        attempt(f"{address}:{port}", lambda: outside.connect((address, port)))
outside = socket.socket(socket.AF_INET6)
attempt("IPv6", lambda: outside.connect(("2606:4700::1111", 80)))
for port in (22, 53, 80, 111, 2375, 5432, 6379, 8000):
    attempt(f"a port of the host: {port}", lambda: socket.socket().connect(("127.0.0.1", port)))
import fcntl
name = struct.pack("16sH14s", b"lo", 2, socket.inet_aton("0.0.0.0") + bytes(10))
attempt("the loopback's address", lambda: fcntl.ioctl(socket.socket(), 0x8916, name))
with open("/proc/net/dev") as lines:
    devices = {line.split(":")[0].strip() for line in lines if ":" in line}
tell(f"devices {devices}", devices != {"lo"})
serve()
"""
    played = play(bench, Snakes(), [_hostile(bench, source), bench.bundle(UP)], CLOCK)
    assert _found(played) == []
    _all_right(played, range(2))


def test_two_seats_never_share_a_network(bench: Bench) -> None:
    meets = """
door = socket.socket(socket.AF_UNIX)
door.bind("\\0peck-meeting")
door.listen()
aside = socket.socket()
aside.bind(("127.0.0.1", 8001))
aside.listen()
serve()
"""
    looks = """
time.sleep(1.0)
for port in (8000, 8001):
    attempt(f"port {port}", lambda: socket.create_connection(("127.0.0.1", port), 1.0))
attempt("a name", lambda: socket.socket(socket.AF_UNIX).connect("\\0peck-meeting"))
with open("/proc/net/tcp") as lines:
    tell("listeners of others", len(lines.readlines()) > 1)
serve()
"""
    played = play(bench, Snakes(), [_hostile(bench, looks), _hostile(bench, meets)], CLOCK)
    assert _found(played) == []
    _all_right(played, range(2))


def test_match_finds_no_network_marks_of_an_earlier_match(bench: Bench) -> None:
    source = """
def counts(path):
    with open(path) as lines:
        return [line.split() for line in lines]
received = next(words for words in counts("/proc/net/dev") if words[0] == "lo:")[1]
tell(f"bytes on the loopback: {received}", int(received) > 600_000)
for kind in ("tcp", "tcp6"):
    tell(f"sockets left in {kind}", len(counts(f"/proc/net/{kind}")) > 1)
if os.fork() == 0:
    os.setsid()
    for port in range(9000, 9020):
        door = socket.socket()
        door.bind(("127.0.0.1", port))
        door.listen()
        globals()[f"door{port}"] = door
        line = socket.create_connection(("127.0.0.1", port))
        line.sendall(bytes(60_000))
        globals()[f"line{port}"] = line
    time.sleep(1000)
serve()
"""
    bundle = _hostile(bench, source)
    for _ in range(3):
        played = play(bench, Snakes(), [bundle, bench.bundle(UP)], CLOCK)
        assert _found(played) == []
        _all_right(played, [1])


def test_flood_of_connections_harms_no_other_seat(bench: Bench) -> None:
    source = """
threading.Thread(target=serve, daemon=True).start()
def flood():
    kept = []
    while True:
        try:
            line = socket.create_connection(("127.0.0.1", 8000), 1.0)
            line.setblocking(False)
            line.send(bytes(1 << 20))
            kept.append(line)
        except OSError:
            kept.clear()
print("HELD: flooding", flush=True)
for _ in range(20):
    if os.fork() == 0:
        flood()
flood()
"""
    clock = replace(CLOCK, load_seconds=2.0)  # the flood ends after this time
    played = play(bench, Snakes(), [_hostile(bench, source), _server(bench)], clock)
    assert _found(played) == []
    _all_right(played, [1])
    still_works(bench)


def test_early_listener_harms_only_its_own_seat(bench: Bench) -> None:
    source = """
door = socket.socket()
door.bind(("127.0.0.1", 8000))
door.listen()
print("HELD: first", flush=True)
while True:
    line, _ = door.accept()
    line.sendall(b"no answer at all")
"""
    played = play(bench, Snakes(), [_hostile(bench, source), _server(bench)], CLOCK)
    assert played.seats[0].verdict is Verdict.ERROR, played.seats[0].reason
    _all_right(played, [1])


def test_other_programs_make_no_internet_socket(bench: Bench) -> None:
    tries = """
import _socket, sys
for family in (2, 10):
    try:
        _socket.socket(family, 1)
        print("BREACH: made", file=sys.stderr, flush=True)
    except OSError as error:
        print(f"HELD: {error}", file=sys.stderr, flush=True)
"""
    first = _first_line(bench)
    serves = (AGENTS / "simple_server" / "server.py").read_text()
    speaks = "for line in sys.stdin:\n    if 'move' in line:\n        print('\"up\"', flush=True)\n"
    http = json.dumps({"contract": "http", "entry": ["python", "server"]}).encode()
    lines = json.dumps({"contract": "lines", "entry": ["server"]}).encode()
    bundles = [
        _packed(bench.folder, {"peck.json": http, "server": (tries + serves).encode()}),
        _packed(bench.folder, {"peck.json": lines, "server": (first + tries + speaks).encode()}),
    ]
    played = play(bench, Snakes(), bundles, CLOCK)
    assert [_found(played, seat) for seat in range(2)] == [[], []]
    _all_right(played, range(2))


def test_launcher_without_network_namespaces_refuses_port_programs(
    short_folder: Callable[[], Path],
) -> None:
    folder = short_folder()
    node = start_node(folder, "process", "--profile", "python")
    try:
        bundle = _packed(folder, {"peck.json": MANIFEST, "server": b"#!/bin/sh\n"})
        with borrow_seats(node.socket, [SeatRequest("python", bundle, MEMORY_MB)], 60.0) as lent:
            assert isinstance(lent[0], BundleRefused)
            assert "use docker or bubblewrap" in str(lent[0])
    finally:
        node.stop()


def test_network_with_a_route_out_is_not_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    head = "Iface Destination Gateway Flags\n"

    def closed(v4: Sequence[str], v6: Sequence[str]) -> bool:
        files = {"/proc/net/route": [head, *v4], "/proc/net/ipv6_route": [*v6]}
        monkeypatch.setattr(loopback, "_read_lines", lambda path: files[path])
        return loopback.has_no_route()

    assert closed([], ["0000 80 0000 00 0 00000100 1 0 00200200 lo\n"])
    assert not closed(["eth0 00000000 0102A8C0 0003\n"], [])
    assert not closed([], ["fe80 40 0000 00 0 00000100 1 0 00000001 eth0\n"])
