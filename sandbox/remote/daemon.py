"""The remote daemon: lends seats whose agents run at their owners' addresses.

``python -m sandbox.remote --socket PATH [--allow-uid N] [--parent PID]``

It speaks the node's protocol, one connection per match (``listener``). For each seat it starts a
caller (``caller_processes``), which calls the agent at its owner's address. Only callers read a
remote server's bytes. The daemon waits at most ``REPORT_SECONDS`` for a caller's report. The
notifier and the site reach the internet too.

It has no engine, database, blobs or privilege. Started as root, it changes to a uid that owns
nothing. It reads the egress guard's rules from ``PECK_EGRESS_*`` once, at the start.

If our resolver or our line fails, every remote agent looks away. A single host is judged as it
looks. If several hosts in a row were out of reach and none answered, no agent is blamed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import select
import socket
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from egress.address import AddressError
from egress.guarded_connections import Rules
from sandbox import process_guard
from sandbox.box import harden, wire
from sandbox.errors import AgentAway, BundleRefused, HostFault, SeatRefused
from sandbox.listener import Listener, open_listening_socket, read_ended_seats, read_request
from sandbox.profiles import REMOTE
from sandbox.remote.caller import HEALTH_SECONDS
from sandbox.remote.caller_processes import CallerProcess, CallerSpawner
from sandbox.remote.manifest import read_manifest

_print_line = partial(process_guard.print_line, "remote")
HOSTS: Final = 3
"""This many different hosts out of reach mean that our network is down."""
WINDOW_SECONDS: Final = 60.0
MOST_HOSTS: Final = 256


class OutageDetector:
    """The last result of each host. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, tuple[float, bool]] = OrderedDict()

    def record(self, host: str, *, is_reached: bool) -> None:
        """Record whether the host accepted or refused a connection, or could not be reached."""
        with self._lock:
            self._seen[host] = time.monotonic(), is_reached
            self._seen.move_to_end(host)
            while len(self._seen) > MOST_HOSTS:
                self._seen.popitem(last=False)

    @property
    def is_own_network_down(self) -> bool:
        """Whether several hosts were out of reach recently and none was reached."""
        since = time.monotonic() - WINDOW_SECONDS
        with self._lock:
            late = [is_reached for moment, is_reached in self._seen.values() if moment >= since]
        return len(late) >= HOSTS and not any(late)


MOST_CALLERS: Final = 64
REPORT_SECONDS: Final = HEALTH_SECONDS + 0.3
"""Limit for a caller's report. The caller gives up earlier."""
MOST_MANIFEST_BYTES: Final = 4096
UID: Final = 61_710
"""Uid of a daemon that was started as root. Probably nobody else uses it."""


class CallerReport(NamedTuple):
    """A caller's report on its agent."""

    away: str | None
    """Why the agent is away. None if it answers."""
    is_reached: bool


class RemoteLender:
    """Lends callers. One for the daemon; each connection has a thread."""

    def __init__(self, name: str, callers: CallerSpawner, most: int) -> None:
        self._name = name
        self._callers = callers
        self._left, self._most = most, most
        self._changed = threading.Condition()
        self._outage_detector = OutageDetector()

    def serve(self, connection: socket.socket, message: dict[str, Any], bundles: list[int]) -> None:
        """Lend what the message asks for and end it. Returns when the connection ends.

        Raises HostFault if nothing could be lent. The worker has no answer then.
        """
        manifests, deadline = _check_request(message, bundles)
        wire.close_all(bundles)  # already read, and a match is long
        able = {n: seat for n, seat in enumerate(manifests) if isinstance(seat, bytes)}
        begun: dict[int, CallerProcess] = {}
        with self._room_for(len(able), deadline):
            try:
                for number, manifest in able.items():
                    begun[number] = self._callers.begin(manifest)
                away = self._away(begun, able)
                for number in away:
                    self._callers.end(begun.pop(number), is_ending=False)
                refused: dict[int, SeatRefused] = {
                    n: seat for n, seat in enumerate(manifests) if isinstance(seat, BundleRefused)
                }
                self._answer(connection, len(manifests), begun, {**refused, **away})
                self._serve_until_ended(connection, begun)
            finally:
                for seat in begun.values():
                    with contextlib.suppress(HostFault):
                        self._callers.end(seat, is_ending=False)

    def _away(
        self, begun: Mapping[int, CallerProcess], manifests: Mapping[int, bytes]
    ) -> dict[int, AgentAway]:
        """Which agents are away. Raises HostFault if our own network seems to be down."""
        reports = _read_reports(begun)
        for number, report in reports.items():
            host = read_manifest(manifests[number])[0].host
            self._outage_detector.record(host, is_reached=report.is_reached)
        away = {
            n: AgentAway(report.away) for n, report in reports.items() if report.away is not None
        }
        is_unreached = any(not reports[n].is_reached for n in away)
        if is_unreached and self._outage_detector.is_own_network_down:
            raise HostFault(
                "no host of remote agents could be reached in the last minute; this ladder's own "
                "network may be down"
            )
        return away

    @contextlib.contextmanager
    def _room_for(self, seats: int, deadline: float) -> Iterator[None]:
        """Reserve room for the callers. Raises HostFault if there is none before the deadline."""
        with self._changed:
            left = deadline - time.monotonic()
            if not self._changed.wait_for(lambda: self._left >= seats, max(0.0, left)):
                raise HostFault(
                    f"all {self._most} seats of remote agents are lent; try again when a match ends"
                )
            self._left -= seats
        try:
            yield
        finally:
            with self._changed:
                self._left += seats
                self._changed.notify_all()

    def _answer(
        self,
        connection: socket.socket,
        seats: int,
        begun: Mapping[int, CallerProcess],
        refused: Mapping[int, SeatRefused],
    ) -> None:
        """Send one frame for all seats, with the referee's connection of each lent seat."""
        answers: list[dict[str, Any]] = []
        for number in range(seats):
            if number in begun:
                lent = {"op": "lent", "image_digest": REMOTE, "cpus": 1.0}
                answers.append({**lent, "by_wall": True, "elsewhere": True, "fds": ["agent"]})
            else:
                refusal = refused[number]
                answer = {"op": "refused", "entry": None, "reason": refusal.reason}
                answers.append({**answer, "away": isinstance(refusal, AgentAway)})
        fds = tuple(begun[number].agent.fileno() for number in sorted(begun))
        wire.send_frame(connection, {"op": "lent", "node": self._name, "seats": answers}, fds)
        for caller in begun.values():
            caller.agent.close()

    def _serve_until_ended(
        self, connection: socket.socket, begun: dict[int, CallerProcess]
    ) -> None:
        """Serve until each seat has ended. The caller of this method ends what the worker leaves
        open.
        """
        while begun:
            end, _ = wire.receive_frame(connection, cap=1 << 12)
            closed = end.get("closed")
            for number in read_ended_seats(end, begun):
                is_ending = isinstance(closed, list) and number in closed
                report = self._end_caller(begun.pop(number), is_ending)
                wire.send_frame(connection, {"seat": number, **report})

    def _end_caller(self, caller_process: CallerProcess, is_ending: bool) -> dict[str, Any]:
        try:
            code, log = self._callers.end(caller_process, is_ending=is_ending)
        except HostFault as fault:
            return {"op": "fault", "reason": str(fault)}
        return {
            "op": "ended",
            "exit_code": code if code is not None and code >= 0 else None,
            "signal": -code if code is not None and code < 0 else None,
            "out_of_memory": False,
            "log": log,
            "clean": True,
        }


def _check_request(
    message: dict[str, Any], bundles: list[int]
) -> tuple[list[bytes | BundleRefused], float]:
    """The manifest of each seat or its refusal, and the deadline. HostFault for a wrong request."""
    seats, deadline = read_request(message, bundles)
    for seat in seats:
        if seat.get("profile") != REMOTE:
            raise HostFault(
                f"profile: {seat.get('profile')!r} is not served here; served is {REMOTE}"
            )
    return [_read_manifest(bundle) for bundle in bundles], deadline


def _read_manifest(bundle: int) -> bytes | BundleRefused:
    if not stat.S_ISREG(os.fstat(bundle).st_mode):
        raise HostFault("submission: the descriptor is not of a regular file")
    text = os.pread(bundle, MOST_MANIFEST_BYTES + 1, 0)
    try:
        read_manifest(text)
    except AddressError as error:
        return BundleRefused(str(error))
    return text


def _read_reports(begun: Mapping[int, CallerProcess]) -> dict[int, CallerReport]:
    """Read the callers' reports in parallel."""
    until = time.monotonic() + REPORT_SECONDS
    reports: dict[int, CallerReport] = {}
    waiting = {process.report.fileno(): number for number, process in begun.items()}
    poll = select.poll()
    for fd in waiting:
        poll.register(fd, select.POLLIN)
    while waiting and (left := until - time.monotonic()) > 0:
        for fd, _ in poll.poll(1 + 1000 * left):
            poll.unregister(fd)
            number = waiting.pop(fd)
            reports[number] = _read_report(begun[number].report)
    late = CallerReport(f"GET / had no answer within {HEALTH_SECONDS:g} s; answer sooner", False)
    return reports | dict.fromkeys(waiting.values(), late)


def _read_report(report: socket.socket) -> CallerReport:
    """Read a caller's report. A caller that died has none; its error is read at its end."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        line, end, _ = report.recv(1 << 16, socket.MSG_PEEK).partition(b"\n")
        content = json.loads(line)
        reason, is_reached = content["away"], content["reached"] is True
        report.recv(len(line + end))
        return CallerReport(None if reason is None else str(reason), is_reached)
    return CallerReport(
        "GET / had an answer that cannot be read; answer 200 and a small JSON object", True
    )


def _drop_root() -> None:
    harden.drop_capabilities()  # drop the bounding set while it may
    harden.set_uid(UID)
    harden.empty_capability_sets()


def _parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.remote", description="lends seats of remote agents"
    )
    parser.add_argument("--socket", type=Path, required=True, help="where to listen")
    parser.add_argument("--allow-uid", type=int, action="append", default=[])
    parser.add_argument("--most", type=int, default=MOST_CALLERS, help="seats lent at a time")
    parser.add_argument("--parent", type=int, help="end when this parent process has died")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT. Returns 2, with one line, if the daemon cannot start."""
    options = _parse_arguments(arguments)
    stop, lost = threading.Event(), threading.Event()

    def fail() -> None:
        lost.set()
        stop.set()

    try:
        rules = Rules.from_environment(os.environ)
        allowed = frozenset({0, os.getuid(), *options.allow_uid})
        listener = open_listening_socket(options.socket.absolute())
        if os.geteuid() == 0:
            _drop_root()
        harden.forbid_tracing()
        harden.set_limits({"CORE": 1})
        callers = CallerSpawner(rules, fail, _print_line)
    except (HostFault, OSError, ValueError) as error:
        _print_line(str(error))
        return 2
    if options.parent is not None:
        process_guard.die_with(options.parent)  # a change of uid would have cleared it
    name = f"remote-{secrets.token_hex(4)}"
    hello: dict[str, Any] = {"node": name, "launcher": REMOTE, "profiles": [REMOTE]}
    hello |= {"image_digests": {REMOTE: REMOTE}, "lacks": [], "gpus": 0}
    lender = RemoteLender(name, callers, options.most)
    # Not the uid that we changed to: callers have it too.
    connections = Listener(lender.serve, hello, allowed)
    process_guard.set_on_stop_signal(stop)
    connections.start_accepting(listener)
    _print_line(f"ready: {name} calls out as uid {os.getuid()}; asked at {options.socket}")
    process_guard.wait_for_stop(stop)
    is_lost = lost.is_set()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    connections.hang_up()
    callers.close()
    with contextlib.suppress(
        OSError
    ):  # if the folder belongs to another uid, the dead socket stays
        options.socket.unlink(missing_ok=True)
    died = "the process that starts callers has died; Docker or `peck up` restarts this daemon"
    ended = "stopped; every caller has ended"
    _print_line(died if is_lost else ended)
    return int(is_lost)
