"""A small internet of two machines in network namespaces, to test the guard.

``near`` is the ladder's machine. It has two public addresses, a server on all its addresses, and a
DNS server that the test controls. ``far`` is the owner's machine, one cable away, at a public
address too.

Run it as ``near FOLDER`` in new network and mount namespaces. It prints the result of each trial as
JSON. FOLDER holds the certificates, and gets the files that name the DNS server.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address, ip_network
from pathlib import Path

from egress.address import parse
from egress.guarded_connections import MOST_CONCURRENT_LOOKUPS, Rules, connect
from sandbox.box import harden, seccomp
from sandbox.remote import caller_processes

NEAR, SECOND, FAR, NOBODY = "93.184.216.33", "93.184.216.34", "93.184.216.40", "93.184.216.41"
ROUTED = "2a00:9::7"
"""An address that only a route makes local to near, as for anycast servers."""
DEAF = "deaf.example.org"
ANSWERS: dict[str, list[list[str]]] = {
    # The addresses of each name at the first and second query; the last answer repeats.
    "rebinds.example.org": [[FAR], ["127.0.0.1"]],
    "rebinds-home.example.org": [[FAR], [NEAR]],
    "mixed.example.org": [[FAR, "10.0.0.5"]],
    "mixed6.example.org": [[FAR, "::1"]],
    "half-dead.example.org": [[NOBODY, FAR]],
    "crowd.example.org": [[f"2a00:7::{number:x}" for number in range(65)]],
    "snake.example.org": [[FAR]],
    "other.example.org": [[FAR]],
    # Our own search list would turn an unknown name into this one.
    "found.example.org.inside.example.net": [[FAR]],
}
FILES = {
    "resolv.conf": "nameserver 127.0.0.1\nsearch inside.example.net\noptions ndots:5 timeout:30\n",
    "nsswitch.conf": "hosts: files dns\n",
    "hosts": "10.0.0.5 hosted.example.org\n",
}
A = 1


class Names:
    """A DNS server (RFC 1035) with answers of 0 seconds' lifetime."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, int]] = Counter()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 53))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            question, client = self._socket.recvfrom(512)
            labels, at = [], 12
            while question[at]:
                labels.append(question[at + 1 : at + 1 + question[at]].decode())
                at += 1 + question[at]
            (kind,) = struct.unpack_from("!H", question, at + 1)
            name = ".".join(labels)
            answer = question[:2] + self._answer(name, kind, question[12 : at + 5])
            if name != DEAF:
                self._socket.sendto(answer, client)

    def _answer(self, name: str, kind: int, asked: bytes) -> bytes:
        turns = ANSWERS.get(name)
        if turns is None:  # no such name
            return struct.pack("!5H", 0x8183, 1, 0, 0, 0) + asked
        turn = turns[min(self.asked[name, kind], len(turns) - 1)]
        self.asked[name, kind] += 1
        packed = [ip_address(text).packed for text in turn]
        data = [part for part in packed if len(part) == (4 if kind == A else 16)]
        records = [struct.pack("!HHHIH", 0xC00C, kind, 1, 0, len(part)) + part for part in data]
        return struct.pack("!5H", 0x8180, 1, len(data), 0, 0) + asked + b"".join(records)


class Server:
    """Sends its name to each client, over TLS if it has a certificate; counts clients."""

    def __init__(self, says: str, port: int, certificate: Path | None = None) -> None:
        self.came = 0
        self._says = says
        self._listener = socket.create_server(
            ("", port), family=socket.AF_INET6, dualstack_ipv6=True
        )
        self._context: ssl.SSLContext | None = None
        if certificate:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(certificate)
            self._context.set_servername_callback(self._asked_for)
        threading.Thread(target=self._serve, daemon=True).start()

    def _asked_for(self, sock: object, name: str | None, context: object) -> None:
        self._says = f"far, asked for {name}"

    def _serve(self) -> None:
        while True:
            client, _ = self._listener.accept()
            self.came += 1
            with suppress(OSError):
                if self._context:
                    client = self._context.wrap_socket(client, server_side=True)
                client.sendall(self._says.encode())
            client.close()


def tried(
    url: str, rules: Rules, seconds: float = 60.0, authority: Path | None = None
) -> list[str]:
    """The result of one connection: the message and its sender, or the error and its sentence."""
    context = ssl.create_default_context(cafile=str(authority)) if authority else None
    try:
        with connect(parse(url), rules, time.monotonic() + seconds, context) as sock:
            return [sock.recv(100).decode(), sock.getpeername()[0]]
    except OSError as error:
        return [type(error).__name__, str(error)]


def confined(trial: Callable[[], object]) -> object:
    """The result of a trial in a process with the callers' filter."""
    ours, theirs = os.pipe()
    if os.fork() == 0:
        harden.prctl(38, 1)
        seccomp.install_filter(caller_processes.compile_filter())
        os.write(theirs, json.dumps(trial()).encode())
        os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as told:
        return json.load(told)


def trials(folder: Path) -> dict[str, object]:
    """The result of each trial, by its name."""
    names, inside, rules = Names(), Server("inside", 80), Rules()
    authority = folder / "authority.pem"
    results: dict[str, object] = {
        "rebinding": [tried("http://rebinds.example.org", rules) for _ in range(2)],
        "asked": names.asked["rebinds.example.org", A],
        "rebinding home": [tried("http://rebinds-home.example.org", rules) for _ in range(2)],
        "own": [tried(f"http://{ip}", rules) for ip in (NEAR, SECOND)],
        "own by a route": tried(f"http://[{ROUTED}]", rules),
        "mixed": [tried(f"http://{name}.example.org", rules) for name in ("mixed", "mixed6")],
        "crowd": tried("http://crowd.example.org", rules),
        "half dead": tried("http://half-dead.example.org", rules, 8.0),
        "unknown": tried("http://unknown.example.org", rules),
        "searched": tried("http://found.example.org", rules),
        "hosted": tried("http://hosted.example.org", rules),
        "silent port": tried("http://snake.example.org:8000", rules),
        "named": tried("https://snake.example.org", rules, authority=authority),
        "misnamed": tried("https://other.example.org", rules, authority=authority),
        "inside": inside.came,
    }
    results["confined"] = confined(
        lambda: [
            tried("http://snake.example.org", rules),
            tried("https://snake.example.org", rules, authority=authority),
            tried(f"http://[{ROUTED}]", rules),
        ]
    )
    allowed = Rules(allow=(ip_network(NEAR),), deny=(ip_network(SECOND),))
    results["allowed"] = [tried(f"http://{ip}", allowed) for ip in (NEAR, SECOND)]
    begun = time.monotonic()
    results["deaf"] = [tried(f"http://{DEAF}", rules, 0.05) for _ in range(MOST_CONCURRENT_LOOKUPS)]
    results["deaf seconds"] = time.monotonic() - begun
    results["too many"] = tried("http://snake.example.org", rules, 60.0)
    results["all seconds"] = time.monotonic() - begun
    Path("/proc/sys/net/ipv4/ip_nonlocal_bind").write_text("1")
    results["blind"] = tried(f"http://{FAR}", rules)
    return results


def run(*command: str) -> None:
    subprocess.run(command, check=True)


def near(folder: Path) -> None:
    for name, content in FILES.items():
        (folder / name).write_text(content)
        run("mount", "--bind", str(folder / name), f"/etc/{name}")
    command = ["unshare", "--net", sys.executable, "-m", __spec__.name, "far", str(folder)]
    far = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert far.stdin is not None
    assert far.stdout is not None
    try:
        far.stdout.readline()  # it has its namespace
        peer = ("peer", "name", "far", "netns", str(far.pid))
        run("ip", "link", "add", "near", "type", "veth", *peer)
        for address in (NEAR, SECOND):
            run("ip", "address", "add", f"{address}/24", "dev", "near")
        run("ip", "link", "set", "near", "up")
        run("ip", "link", "set", "lo", "up")
        run("ip", "route", "add", "local", "2a00:9::/64", "dev", "lo")
        far.stdin.write(b"plugged in\n")
        far.stdin.flush()
        far.stdout.readline()  # it serves
        print(json.dumps(trials(folder)))
    finally:
        far.kill()
        far.wait()


def far(folder: Path) -> None:
    print("apart", flush=True)
    sys.stdin.readline()
    run("ip", "address", "add", f"{FAR}/24", "dev", "far")
    run("ip", "link", "set", "far", "up")
    Server("far", 80)
    Server("far", 443, folder / "DNS-snake.example.org.both")
    print("serves", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    {"near": near, "far": far}[sys.argv[1]](Path(sys.argv[2]))
