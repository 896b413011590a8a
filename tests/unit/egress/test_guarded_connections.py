"""Connections through the guard, to real servers on this machine's loopback."""

from __future__ import annotations

import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_network
from pathlib import Path

import pytest

from egress.address import Address, parse
from egress.guarded_connections import MOST_SILENT_BYTES, Forbidden, Rules, TlsSocket, connect
from tests.certificates import Authority, serving

HOME = Rules(allow=(ip_network("127.0.0.1"),), ports=((1, 65535),))

Answer = Callable[[socket.socket], None]


def soon(seconds: float = 5.0) -> float:
    return time.monotonic() + seconds


@contextmanager
def server(answer: Answer) -> Iterator[int]:
    """A server that answers every connection on its own port."""
    listener = socket.create_server(("127.0.0.1", 0))
    held = []

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            held.append(client)
            with suppress(OSError):
                answer(client)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        for client in held:
            client.close()
        listener.close()
        thread.join()


def hello(client: socket.socket) -> None:
    client.sendall(b"hello")
    client.close()


def over(context: ssl.SSLContext) -> Answer:
    def answer(client: socket.socket) -> None:
        with context.wrap_socket(client, server_side=True) as secured:
            secured.sendall(b"hello")

    return answer


def test_an_allowed_address_is_reached() -> None:
    with server(hello) as port, connect(parse(f"http://127.0.0.1:{port}"), HOME, soon()) as sock:
        assert sock.getpeername() == ("127.0.0.1", port)
        assert sock.recv(5) == b"hello"
        assert not sock.get_inheritable()
        assert 0 < (sock.gettimeout() or 0) <= 5


def test_a_private_address_is_refused_by_default() -> None:
    came: list[bool] = []
    with server(lambda client: came.append(True)) as port:
        address = parse(f"http://127.0.0.1:{port}")
        with pytest.raises(
            Forbidden, match=r"^127\.0\.0\.1 is loopback.*; give a public .* operator"
        ):
            connect(address, Rules(ports=((1, 65535),)), soon())
    assert not came


def test_an_allowed_network_does_not_open_other_ports() -> None:
    with pytest.raises(Forbidden, match=r"port 22 is not permitted; .* 80, 443, 8000-8999"):
        connect(parse("http://127.0.0.1:22"), Rules(allow=HOME.allow), soon())


@pytest.mark.parametrize(
    "address",
    [
        Address("http", "localhost", 80, ""),
        Address("http", "127.1", 80, ""),
        Address("http", "Example.org", 80, ""),
        Address("http", "example.org\r\nX", 80, ""),
        Address("http", "example.org", 80, "/../a"),
        Address("ftp", "example.org", 80, ""),
        Address("http", "::ffff:7f00:0001", 80, ""),
    ],
)
def test_an_unparsed_address_is_refused(address: Address) -> None:
    with pytest.raises(Forbidden, match=r"^url: "):
        connect(address, Rules(allow=(ip_network("::/0"), ip_network("0.0.0.0/0"))), soon())


def test_proxies_in_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    came: list[bool] = []
    with server(lambda client: came.append(True)) as proxy, server(hello) as port:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy}")
        with connect(parse(f"http://127.0.0.1:{port}"), HOME, soon()) as sock:
            assert sock.recv(5) == b"hello"
    assert not came


def test_a_closed_port_is_a_connection_error() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        with pytest.raises(ConnectionRefusedError, match="nothing listens at 127"):
            connect(parse(f"http://127.0.0.1:{port}"), HOME, soon())


def test_an_expired_deadline_opens_no_connection() -> None:
    came: list[bool] = []
    with server(lambda client: came.append(True)) as port, pytest.raises(TimeoutError):
        connect(parse(f"http://127.0.0.1:{port}"), HOME, time.monotonic())
    assert not came


def drip(client: socket.socket) -> None:
    """Send a handshake's record of 16 KiB, a byte at a time."""
    client.sendall(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc")
    for _ in range(1500):  # 30 s
        client.sendall(b"\x03")
        time.sleep(0.02)


@pytest.mark.parametrize("answer", [lambda client: None, drip], ids=["silent", "dripping"])
def test_a_stalled_tls_handshake_times_out(answer: Answer) -> None:
    trust = ssl.create_default_context()
    with server(answer) as port:
        begun = time.monotonic()
        with pytest.raises(TimeoutError, match="TLS handshake in time"):
            connect(parse(f"https://127.0.0.1:{port}"), HOME, soon(0.2), trust)
        assert 0.2 <= time.monotonic() - begun < 20


def test_a_server_without_tls_is_reported() -> None:
    with server(hello) as port, pytest.raises(OSError, match=r"no TLS .* serve https"):
        connect(parse(f"https://127.0.0.1:{port}"), HOME, soon())


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def test_a_certificate_of_a_trusted_authority_is_accepted(authority: Authority) -> None:
    answer = over(serving(authority.sign("IP:127.0.0.1")))
    with server(answer) as port:
        address = parse(f"https://127.0.0.1:{port}")
        with connect(address, HOME, soon(), authority.trusted()) as sock:
            assert isinstance(sock, TlsSocket)
            assert sock.version() in ("TLSv1.2", "TLSv1.3")
            assert sock.recv(5) == b"hello"


def test_a_certificate_of_an_unknown_authority_is_refused(
    authority: Authority,
) -> None:
    with (
        server(over(serving(authority.sign("IP:127.0.0.1")))) as port,
        pytest.raises(OSError, match=r"certificate of 127.* is not accepted: unable to get local"),
    ):
        connect(parse(f"https://127.0.0.1:{port}"), HOME, soon())


def test_a_self_signed_certificate_is_refused(authority: Authority) -> None:
    with (
        server(over(serving(authority.sign("IP:127.0.0.1", itself=True)))) as port,
        pytest.raises(OSError, match=r"is not accepted: self.signed"),
    ):
        connect(parse(f"https://127.0.0.1:{port}"), HOME, soon())


def test_a_certificate_of_another_host_is_refused(authority: Authority) -> None:
    with (
        server(over(serving(authority.sign("DNS:snake.example.org")))) as port,
        pytest.raises(OSError, match="is not accepted: IP address mismatch"),
    ):
        connect(parse(f"https://127.0.0.1:{port}"), HOME, soon(), authority.trusted())


def test_an_unverified_tls_context_raises_value_error(tmp_path: Path) -> None:
    context = ssl.create_default_context()
    context.check_hostname = False
    with pytest.raises(ValueError, match="must verify"):
        connect(parse("https://127.0.0.1"), HOME, soon(), context)


def flooding(context: ssl.SSLContext) -> Answer:
    """Shakes hands, and then sends prepared session tickets without any content."""
    context.num_tickets = 20_000

    def answer(client: socket.socket) -> None:
        coming, going = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(coming, going, server_side=True)
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                client.sendall(going.read())
                coming.write(client.recv(1 << 16))
        client.sendall(going.read())

    return answer


def test_a_flood_of_empty_tls_records_ends_the_connection(authority: Authority) -> None:
    answer = flooding(serving(authority.sign("IP:127.0.0.1")))
    with server(answer) as port:
        address = parse(f"https://127.0.0.1:{port}")
        with connect(address, HOME, soon(), authority.trusted()) as sock:
            assert select.select([sock], [], [], 20.0)[0]
            sock.settimeout(5.0)
            begun = time.process_time()
            with pytest.raises(OSError, match=f"{MOST_SILENT_BYTES} bytes of TLS without any"):
                sock.recv(100)
            assert time.process_time() - begun < 0.3


def test_a_slowly_reading_server_meets_the_timeout(
    authority: Authority,
) -> None:
    context = serving(authority.sign("IP:127.0.0.1"))

    def slowly(client: socket.socket) -> None:
        with context.wrap_socket(client, server_side=True) as secured:
            while secured.recv(1 << 14):
                time.sleep(0.1)

    with server(slowly) as port:
        address = parse(f"https://127.0.0.1:{port}")
        with connect(address, HOME, soon(), authority.trusted()) as sock:
            sock.settimeout(0.4)
            begun = time.monotonic()
            with pytest.raises(TimeoutError):
                sock.sendall(bytes(32 << 20))
            assert time.monotonic() - begun < 20.0  # the server would read for 200 s


def test_a_tls_connection_carries_large_messages_both_ways(
    authority: Authority,
) -> None:
    context = serving(authority.sign("IP:127.0.0.1"))

    def echo(client: socket.socket) -> None:
        with context.wrap_socket(client, server_side=True) as secured:
            while said := secured.recv(1 << 16):
                secured.sendall(said)

    said = bytes(range(256)) * 500
    with server(echo) as port:
        address = parse(f"https://127.0.0.1:{port}")
        with connect(address, HOME, soon(), authority.trusted()) as sock:
            sock.sendall(said)
            heard = b""
            while len(heard) < len(said):
                heard += sock.recv(1 << 16)
            assert heard == said
            sock.settimeout(0.0)
            with pytest.raises(BlockingIOError):
                sock.recv(1)
            assert sock.gettimeout() == 0.0
