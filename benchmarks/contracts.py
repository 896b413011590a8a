"""Measures the cost of a move and of a match for each contract.

    python -m benchmarks.contracts [--launcher NAME ...] [--moves 2000] [--matches 100]

There is one table for each launcher on this machine. Every agent answers at once, so the time
covers question, contract, program, answer and judgement. A move of contract lines shows the same
observation as a callable's. Contract riddles shows a position of GOLAD, http one of Battlesnake.

A match has one move, on a warm box of the same bundle. It lasts from the loan's request to the
proof that nothing is left. Its start ends when the agent is loaded; its end begins after the last
answer.

The last table is about a remote agent on this machine with a kept connection. It shows the cost of
daemon, caller and egress guard without a network. Its start includes the connection and ``GET /``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.node_harness import (
    BORROW_SECONDS,
    CHECKOUT,
    LAUNCHERS,
    SEED,
    STATE,
    TRIVIAL,
    Node,
    Table,
    observation,
    running,
    seated,
    wait_for_node,
)
from benchmarks.report_tables import HEAD, Target, aligned, describe_machine
from egress.address import parse
from games import GAMES
from sandbox.match import bundle_packing
from sandbox.match.clock import Clock
from sandbox.match.loans import Loan, borrow_seats, node_hello
from sandbox.match.seeds import game_random
from sandbox.remote.manifest import write_manifest

WARM_UP = 200
CLOCK = Clock(load="own")
_LINES = """
import sys
for line in sys.stdin:
    if '"type":"move"' in line:
        print('"EAST"')
"""
_RIDDLES = """
import sys
for line in sys.stdin:
    if line.startswith("action"):
        print("pass")
"""
_KEPT = """
import asyncio
ANSWER = b'HTTP/1.1 200 OK\\r\\nContent-Length: 14\\r\\n\\r\\n{"move": "up"}'
async def snake(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\\r\\n\\r\\n")).lower()
            if b"content-length: " in head:
                rest = head.split(b"content-length: ")[1]
                await reader.readexactly(int(rest.split(b"\\r")[0]))
            writer.write(ANSWER)
    except asyncio.IncompleteReadError:
        writer.close()
async def main():
    async with await asyncio.start_server(snake, port=8000) as server:
        await server.serve_forever()
asyncio.run(main())
"""
_USUAL = """
from http.server import BaseHTTPRequestHandler, HTTPServer
class Snake(BaseHTTPRequestHandler):
    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"move": "up"}')
    do_POST = do_GET
    def log_message(self, *words):
        pass
HTTPServer(("0.0.0.0", 8000), Snake).serve_forever()
"""


@dataclass(frozen=True)
class ContractSample:
    """A trivial agent of one contract, and its observation."""

    what: str
    contract: str
    source: str
    seen: Mapping[str, Any]

    def pack(self, folder: Path) -> Path:
        """Write the agent's bundle."""
        home = folder / self.what.replace(" ", "-")
        home.mkdir()
        name = "main.py" if self.contract == "callable" else "bot.py"
        (home / name).write_text(self.source)
        if self.contract != "callable":
            manifest = {"contract": self.contract, "entry": ["python", name]}
            (home / "peck.json").write_text(json.dumps(manifest))
        return bundle_packing.prepare_bundle(home, folder)


def main() -> None:
    """Measure all launchers of this machine and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contracts", description=__doc__)
    parser.add_argument("--moves", type=int, default=2000, help="moves of each contract")
    parser.add_argument("--matches", type=int, default=100, help="matches of each contract")
    parser.add_argument("--launcher", action="append", choices=[*LAUNCHERS, "remote"])
    parser.add_argument("--profile", default="python", help="libraries of the boxes")
    parser.add_argument("--state-dir", type=Path, default=STATE, help="libraries of profiles")
    options = parser.parse_args()
    asked = options.launcher or [*LAUNCHERS, "remote"]
    for launcher in [one for one in asked if one != "remote"]:
        print(f"\n{launcher}: {describe_machine()}", flush=True)
        with (
            tempfile.TemporaryDirectory(prefix="peck-bench-") as made,
            running(launcher, options.profile, "--warm", "1", state=options.state_dir) as node,
        ):
            if isinstance(node, str):
                print(node)
                continue
            lines: list[tuple[str, ...]] = [HEAD]
            for sample in _contract_samples():
                path = sample.pack(Path(made))
                for target in _rows(node, sample, path, options.moves, options.matches):
                    lines.append(target.cells())
            print(aligned(lines))
            print(f"medians / 99th percentiles; at the end: {describe_machine()}", flush=True)
    if "remote" not in asked:
        return
    print(f"\nremote: {describe_machine()}", flush=True)
    with _remote_daemon() as (node, path):
        sample = ContractSample("http, remote", "http", "", _first_observation("battlesnake", 4))
        rows = _rows(node, sample, path, options.moves, options.matches)
        print(aligned([HEAD, *(target.cells() for target in rows)]))
    print(f"medians / 99th percentiles; at the end: {describe_machine()}", flush=True)


@contextlib.contextmanager
def _remote_daemon() -> Iterator[tuple[Node, Path]]:
    """Runs a remote daemon that may call this machine; yields it with a submission."""
    rules = {"PECK_EGRESS_ALLOW": "127.0.0.1/32", "PECK_EGRESS_PORTS": "1-65535"}
    with tempfile.TemporaryDirectory(prefix="peck-bench-") as made, contextlib.ExitStack() as stack:
        folder = Path(made)
        folder.chmod(0o711)
        source = _KEPT.replace("14", "33").replace('{"move"', '{"apiversion": "1", "move"')
        source = source.replace("port=8000) as server:", "host='127.0.0.1', port=0) as server:\n"
            "        print(server.sockets[0].getsockname()[1], flush=True)")  # fmt: skip
        server = subprocess.Popen(
            [sys.executable, "-c", source], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        stack.callback(server.kill)
        assert server.stdout is not None
        port = int(server.stdout.readline())
        socket = folder / "sock"
        daemon = subprocess.Popen(
            [sys.executable, "-m", "sandbox.remote", "--socket", str(socket)],
            env={**os.environ, **rules},
            cwd=CHECKOUT,
            stderr=subprocess.DEVNULL,
        )
        stack.callback(daemon.wait, 30)
        stack.callback(daemon.terminate)
        if not wait_for_node(socket, daemon):
            raise SystemExit("the remote daemon did not come up")
        path = folder / "remote.json"
        path.write_bytes(write_manifest(parse(f"http://127.0.0.1:{port}"), "1"))
        yield Node(socket, daemon.pid, node_hello(socket).node, "remote", "remote", 256), path


def _contract_samples() -> tuple[ContractSample, ...]:
    geese, cells, snakes = (
        observation(),
        _first_observation("golad", 2),
        _first_observation("battlesnake", 4),
    )
    return (
        ContractSample("callable", "callable", TRIVIAL, geese),
        ContractSample("lines", "lines", _LINES, geese),
        ContractSample("riddles", "riddles", _RIDDLES, cells),
        ContractSample("http, a connection kept", "http", _KEPT, snakes),
        ContractSample("http, plain http.server", "http", _USUAL, snakes),
    )


def _first_observation(game: str, seats: int) -> Mapping[str, Any]:
    rules = GAMES[game]
    state, _ = rules.reset(rules.configure({}), seats, game_random(SEED))
    return rules.observe(state, 0)


def _rows(
    node: Node, sample: ContractSample, path: Path, moves: int, matches: int
) -> Iterator[Target]:
    with seated(node, [path], CLOCK) as table:
        for _ in range(WARM_UP):
            table.step(dict(sample.seen), _as_it_is)
        times = [1e6 * sum(table.step(dict(sample.seen), _as_it_is)) for _ in range(moves)]
    yield Target(f"{sample.what}: one move", times, "us")
    spans = [_match(node, path, sample.seen) for _ in range(matches)]
    for name, column in zip(
        ("start", "end", "match of one move"), zip(*spans, strict=True), strict=True
    ):
        yield Target(f"{sample.what}: {name}", [1e3 * one for one in column], "ms")


def _match(node: Node, path: Path, seen: Mapping[str, Any]) -> tuple[float, float, float]:
    """Seconds for the start, for the end, and in all."""
    began = time.perf_counter()
    with borrow_seats(node.socket, [node.request(path)], BORROW_SECONDS, node.socket) as lent:
        table = Table([loan for loan in lent if isinstance(loan, Loan)], CLOCK)
        if not table.seats:
            raise SystemExit(f"the agent was refused: {lent[0]}")
        table.start()
        started = time.perf_counter()
        table.step(dict(seen), _as_it_is)
        played = time.perf_counter()
    ended = time.perf_counter()
    table.close()
    return started - began, ended - played, ended - began


def _as_it_is(raw: object) -> object:
    return raw


if __name__ == "__main__":
    main()
