"""Remote agents through a real daemon: whole matches, hostile servers, and leftovers."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from games import GAMES
from games.protocol import Verdict
from sandbox.errors import AgentAway, BundleRefused, HostFault, SeatRefused
from sandbox.match import bundle_packing, loans, referee
from sandbox.match.clock import Clock
from sandbox.match.loans import Loan, SeatRequest, borrow_seats
from sandbox.match.match_record import PlayedMatch, read_log
from sandbox.match.referee import EpisodeRequest
from tests.integration.counting import Snakes
from tests.integration.sandbox import remotes
from tests.integration.sandbox.caller_processes import as_uid, lives, remembers
from tests.integration.sandbox.census import wait_until
from tests.integration.sandbox.hostile_servers import CLOCK, HOSTILE, TRASH_SENT, moved, repeat
from tests.integration.sandbox.nodes import MEMORY_MB, ROOT, Bench
from tests.integration.sandbox.remotes import Daemon, Servers, honest, ok

STEPS = 4
MORE_SILENT = 4
"""More seats of a silent server. Asked one after another, they would take more than the limit."""
SECRET = "a-token-of-the-host-" + secrets.token_hex(16)
NOWHERE = Path("/nowhere/node.sock")


@pytest.fixture(scope="module")
def servers(short_folder: Callable[[], Path]) -> Iterator[Servers]:
    folder = short_folder()
    folder.chmod(0o711)  # a root daemon reads the certificate as another user
    made = Servers(folder, remotes.authority(folder)[0])
    yield made
    made.close()


@pytest.fixture(scope="module")
def daemon(servers: Servers) -> Iterator[Daemon]:
    trusted = {"SSL_CERT_FILE": str(servers.folder / "certificate.pem"), "OF_THE_HOST": SECRET}
    with remotes.running(servers.folder, remotes.TESTERS | trusted) as found:
        yield found


@pytest.fixture(scope="module")
def strict(short_folder: Callable[[], Path]) -> Iterator[Daemon]:
    """A daemon with the default rules and room for two."""
    with remotes.running(short_folder(), {}, "--most", "2") as found:
        yield found


@pytest.fixture(autouse=True)
def nothing_left(daemon: Daemon) -> Iterator[None]:
    """After each test the daemon holds no more resources than before."""
    if daemon.process.poll() is not None:
        yield
        return
    before = daemon.holdings
    yield
    wait_until(
        lambda: all(now <= was for now, was in zip(daemon.holdings, before, strict=True)),
        lambda: f"{before} became {daemon.holdings}",
    )


def _play(daemon: Daemon, requests: list[SeatRequest]) -> PlayedMatch:
    game: Any = Snakes()
    game.seats = range(1, 17)
    with borrow_seats(NOWHERE, requests, 60.0, daemon.socket) as lent:
        assert [one for one in lent if isinstance(one, SeatRefused)] == []
        return referee.play_episode(
            EpisodeRequest(
                game,
                game.configure({"steps": STEPS}),
                CLOCK,
                bytes(16),
                lent,
                max_parallel_seats=1,
                stop_after_seconds=240.0,
            )
        )


def _log(played: PlayedMatch, seat: int) -> str:
    return "".join(move["stdout"] for move in read_log(played.seats[seat].log)["moves"])


Absent = tuple[dict[str, str], Future[tuple[Sequence[Loan | SeatRefused], float]]]


@pytest.fixture(scope="module")
def absent(daemon: Daemon, servers: Servers) -> Iterator[Absent]:
    """Unreachable agents with the expected reasons, and one loan of them all and one more.

    The loan takes seconds, during which the first match is played.
    """

    def says(answer: bytes) -> str:
        return servers.listen(lambda line, path, body: line.sendall(answer))

    with socket.create_server(("127.0.0.1", 0)) as taken:
        closed = f"http://127.0.0.1:{taken.getsockname()[1]}"
    small = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    silent = servers.listen(lambda line, path, body: time.sleep(5.0))
    drips = repeat(b"HTTP/1.1 200 ", b"x", 0.05)
    cases = {
        closed: "nothing listens|refused",
        silent: "GET / had no answer within 3 s",
        servers.listen(lambda line, path, body: drips(line)): "GET / had no answer within 3 s",
        silent.replace("http:", "https:"): "TLS",
        says(small): '"apiversion": "1"',
        says(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"): "status 404",
        says(b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 12_000): "GET / was answered|no answer within",
        "http://169.254.169.254": "metadata",
        "http://10.0.0.1/snake": "private",
    }
    for where in ("http://127.0.0.1:22/", "http://169.254.169.254/"):
        cases[says(moved(302, where))] = re.escape(f"a redirect (status 302) to '{where}'")
    requests = [servers.seat(silent) for _ in range(MORE_SILENT)]
    requests += [*map(servers.seat, cases), servers.seat(servers.listen(honest))]

    def borrow() -> tuple[Sequence[Loan | SeatRefused], float]:
        began = time.monotonic()
        lent = loans.borrow_all(daemon.socket, requests, 10.0)
        seconds = time.monotonic() - began
        loans.end_all(one for one in lent if isinstance(one, Loan))
        return lent, seconds

    with ThreadPoolExecutor(1) as pool:
        yield cases, pool.submit(borrow)


@pytest.mark.usefixtures("absent")
def test_remote_snakes_of_both_apis_play_a_whole_match(
    bench: Bench, daemon: Daemon, servers: Servers
) -> None:
    told: list[tuple[str, Mapping[str, Any]]] = []

    def old(line: socket.socket, path: str, body: bytes) -> None:
        told.append((path, json.loads(body or b"{}")))
        if path == "/":
            line.sendall(b"HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n")
        else:
            ok(line, b'{"move": "up", "taunt": "old"}')

    painter = bundle_packing.prepare_bundle(
        ROOT / "agents" / "battlesnake" / "painter", bench.folder
    )
    requests = [
        SeatRequest("python", painter, MEMORY_MB),
        servers.seat(servers.listen(honest)),
        servers.seat(servers.listen(honest, is_tls=True) + "/snakes/ours"),
        servers.seat(servers.listen(old), api="2017"),
    ]
    game = GAMES["battlesnake"]
    clock = Clock.from_json({**game.clock, "act_seconds": 2.0})
    with borrow_seats(bench.node.socket, requests, 60.0, daemon.socket) as lent:
        assert [isinstance(one, Loan) and one.is_remote for one in lent] == [False, *[True] * 3]
        played = referee.play_episode(
            EpisodeRequest(
                game,
                game.configure({"maxTurns": 20}),
                clock,
                bytes(range(16)),
                lent,
                max_parallel_seats=1,
                stop_after_seconds=120.0,
            )
        )
    assert [(dict(one.pardoned), one.answered) for one in played.seats] == [({}, True)] * 4
    assert "POST /move: status 200 after " in _log(played, 2)
    paths = [path for path, _ in told]
    assert paths[:3] == ["/", "/start", "/move"]
    assert paths.count("/start") == 1
    assert set(told[2][1]["snakes"][0]) >= {"coords", "health_points"}


def test_a_hostile_server_costs_only_its_own_seat(daemon: Daemon, servers: Servers) -> None:
    urls = [servers.listen(one.answer) for one in HOSTILE]

    def pausing(line: socket.socket, path: str, body: bytes) -> None:
        if path == "/move":
            TRASH_SENT.wait(CLOCK.act_seconds / 2)  # the next question comes after the trash
        ok(line)

    played = _play(daemon, [servers.seat(url) for url in (*urls, servers.listen(pausing))])
    good = played.seats[-1]
    assert (good.verdict, good.reward, good.answered) == (Verdict.DONE, STEPS, True), good.reason
    for seat, one in enumerate(HOSTILE):
        report = played.seats[seat]
        assert report.verdict is one.verdict, (one.name, report.reason)
        assert re.search(one.reason, report.reason or ""), (one.name, report.reason)
        assert report.answered is one.answers, one.name
        assert report.charged_seconds < 2 * CLOCK.act_seconds, one.name
    assert "POST /move: status 200 after" in _log(played, 13)
    assert "ms, 'north'" in _log(played, 13)


def test_an_absent_server_is_reported_with_the_reason(absent: Absent) -> None:
    cases, future = absent
    lent, seconds = future.result()
    assert seconds < 20  # one after another, the seven silent ones alone would take 21 s
    assert isinstance(lent[-1], Loan)
    for one, (url, words) in zip(lent[MORE_SILENT:-1], cases.items(), strict=True):
        assert isinstance(one, AgentAway), url
        assert re.search(words, str(one)), (url, str(one))


def test_an_absent_server_fails_its_seat_like_a_refused_bundle(
    daemon: Daemon, servers: Servers
) -> None:
    game: Any = Snakes()
    with borrow_seats(NOWHERE, [servers.seat("http://10.0.0.1")], 10.0, daemon.socket) as lent:
        played = referee.play_episode(
            EpisodeRequest(
                game,
                {"steps": 1},
                CLOCK,
                bytes(16),
                lent,
                max_parallel_seats=1,
                stop_after_seconds=10.0,
            )
        )
    report = played.seats[0]
    assert report.verdict is Verdict.ERROR
    assert (report.reason or "").startswith("The remote agent did not answer: GET /: 10.0.0.1")
    assert report.failed_step == 0


def test_without_any_reachable_server_the_host_is_at_fault(
    short_folder: Callable[[], Path], servers: Servers
) -> None:
    # Names without an owner (RFC 6761): a failed resolver treats every name like these.
    lost = [servers.seat(f"http://{name}.test") for name in ("one", "two", "three")]
    with remotes.running(short_folder(), dict(remotes.TESTERS)) as found:
        for seat in lost[:2]:
            (lent,) = loans.borrow_all(found.socket, [seat], 10.0)
            assert isinstance(lent, AgentAway)
        with pytest.raises(HostFault, match="network may be down"):
            loans.borrow_all(found.socket, lost[2:], 10.0)
        lent, away = loans.borrow_all(
            found.socket, [servers.seat(servers.listen(honest)), lost[0]], 10.0
        )
        assert isinstance(lent, Loan)
        assert isinstance(away, AgentAway)
        lent.end()


def test_by_default_addresses_of_the_own_machine_are_refused(
    strict: Daemon, servers: Servers
) -> None:
    url = servers.listen(honest)
    (lent,) = loans.borrow_all(strict.socket, [servers.seat(url)], 5.0)
    assert isinstance(lent, AgentAway)
    assert "8000-8999" in str(lent)
    (lent,) = loans.borrow_all(strict.socket, [servers.seat("http://127.0.0.1:8000")], 5.0)
    assert "loopback" in str(lent)
    with pytest.raises(HostFault, match=r"all 2 seats .* are lent; try again when a match ends"):
        loans.borrow_all(strict.socket, [servers.seat(url)] * 3, 1.0)
    assert len(loans.borrow_all(strict.socket, [servers.seat(url)] * 2, 5.0)) == 2


def test_callers_end_with_the_connection_of_their_match(daemon: Daemon, servers: Servers) -> None:
    requests = [servers.seat(servers.listen(honest)) for _ in range(2)]
    lent = [one for one in loans.borrow_all(daemon.socket, requests, 10.0) if isinstance(one, Loan)]
    callers = daemon.callers
    assert len(callers) == 2
    if os.geteuid() == 0:
        owners = {os.stat(f"/proc/{pid}").st_uid for pid in (daemon.process.pid, daemon.maker)}
        assert 0 not in owners, "the daemon gave up root"
    lent[0]._conversation._connection.close()  # as if the worker had been killed
    wait_until(lambda: daemon.callers == [], lambda: str(daemon.callers))
    for loan in lent:
        assert loan.socket.recv(1) == b""
        loan.socket.close()
        loan.meter.close()


def test_a_caller_process_has_no_privileges(daemon: Daemon, servers: Servers) -> None:
    (loan,) = loans.borrow_all(daemon.socket, [servers.seat(servers.listen(honest))], 10.0)
    assert isinstance(loan, Loan)
    with contextlib.closing(loan.socket), loan:
        (caller,) = daemon.callers
        proc = Path(f"/proc/{caller}")
        status = dict(line.split(":\t", 1) for line in (proc / "status").read_text().splitlines())
        assert (status["Seccomp"], status["NoNewPrivs"]) == ("2", "1")
        assert {status[f"Cap{which}"] for which in ("Inh", "Prm", "Eff", "Amb")} == {"0" * 16}
        assert re.search(r"Max cpu time +120 +120 ", (proc / "limits").read_text())
        held = {fd.name: os.readlink(fd) for fd in (proc / "fd").iterdir()}
        server = held.pop("5")
        assert server.startswith("socket:"), "its server's connection"
        assert [held.pop(fd) for fd in "02"] == ["/dev/null"] * 2
        assert [held.pop(fd).split(":")[0] for fd in "134"] == ["/memfd", "socket", "socket"]
        assert not held
        shown = [os.readlink(fd) for fd in Path(f"/proc/{daemon.process.pid}/fd").iterdir()]
        assert not [path for path in shown if path.endswith(".json")], "submissions stay open"
        for pid in (caller, daemon.maker):
            assert Path(f"/proc/{pid}/environ").read_bytes().strip(b"\0") == b""
        for pid in (caller, daemon.maker, daemon.process.pid):
            assert not remembers(pid, SECRET.encode()), pid


@pytest.mark.skipif(os.geteuid() != 0, reason="not run: only root becomes somebody else")
def test_callers_and_unknown_users_may_not_borrow(daemon: Daemon) -> None:
    uid = os.stat(f"/proc/{daemon.maker}").st_uid
    for one in (uid, 12_345):
        with pytest.raises(HostFault, match=f"uid {one} may not borrow"):
            as_uid(one, lambda: loans.node_hello(daemon.socket))


def test_a_killed_caller_is_reported_at_the_end_of_its_loan(
    daemon: Daemon, servers: Servers
) -> None:
    """The end of a loan reports the caller's state, whatever its server did."""
    (loan,) = loans.borrow_all(daemon.socket, [servers.seat(servers.listen(honest))], 10.0)
    assert isinstance(loan, Loan)
    (caller,) = daemon.callers
    os.kill(caller, signal.SIGKILL)
    assert select.select([loan.socket], [], [], 5.0)[0]
    ending = loan.end()
    assert (ending.signal, ending.exit_code, ending.clean) == (signal.SIGKILL, None, True)
    assert [move.stdout.split(" after")[0] for move in ending.log] == ["GET /: status 200"]


def test_the_daemon_refuses_other_profiles(daemon: Daemon, servers: Servers) -> None:
    path = servers.folder / "other"
    path.write_bytes(b'{"contract":"http","url":"http://a.example","api":"1"}')
    with pytest.raises(HostFault, match="profile: 'python' is not served here"):
        loans.borrow_all(daemon.socket, [SeatRequest("python", path, 256)], 5.0)
    (refused,) = loans.borrow_all(daemon.socket, [SeatRequest("remote", path, 256)], 5.0)
    assert isinstance(refused, BundleRefused)
    assert not isinstance(refused, AgentAway)
    with (
        pytest.raises(HostFault, match="PECK_REMOTE_SOCKET"),
        borrow_seats(NOWHERE, [SeatRequest("remote", path, 256)], 5.0),
    ):
        pass


def test_a_killed_daemon_ends_its_callers(
    short_folder: Callable[[], Path], servers: Servers
) -> None:
    with remotes.running(short_folder(), remotes.TESTERS) as ours:
        (loan,) = loans.borrow_all(ours.socket, [servers.seat(servers.listen(honest))], 10.0)
        assert isinstance(loan, Loan)
        pids = [ours.maker, *ours.callers]
        ours.process.kill()
        ours.process.wait()
        wait_until(lambda: not any(map(lives, pids)), lambda: str(pids))
        with pytest.raises(HostFault):
            loan.end()


def test_a_daemon_exits_when_its_maker_dies(strict: Daemon, servers: Servers) -> None:
    """No later test needs the strict daemon."""
    os.kill(strict.maker, signal.SIGKILL)
    with pytest.raises(HostFault):
        loans.borrow_all(strict.socket, [servers.seat("http://10.0.0.1")], 5.0)
    assert strict.process.wait(120) == 1


def test_an_invalid_egress_rule_is_reported_in_one_line(tmp_path: Path) -> None:
    environment = {**os.environ, "PECK_EGRESS_DENY": "10.0.0.0/99"}
    tried = subprocess.run(
        remotes.command(tmp_path / "s"), cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert tried.returncode == 2
    assert tried.stderr.startswith("remote: PECK_EGRESS_DENY: ")
    assert tried.stderr.count("\n") == 1
