"""Serves one worker's connection: lends boxes for all seats of a match until each has ended.

A worker asks once for all seats of its match and gets one answer with all descriptors. It ends
seats one by one or together. When its connection closes, all remaining seats end at once. In every
case a box is cleaned and checked before anybody else gets it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import stat
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sandbox import profiles
from sandbox.box import wire
from sandbox.errors import BundleRefused, HostFault
from sandbox.launchers import supervisor_client
from sandbox.launchers.base import CPUS, Launcher
from sandbox.launchers.gpu import Gpu
from sandbox.launchers.supervisor_client import MatchEnd, PreforkedChild
from sandbox.listener import read_ended_seats, read_request
from sandbox.match.loans import GpuTurns
from sandbox.match.steal_monitor import StealMonitor
from sandbox.node.box_pool import BoxKey, BoxPool, PooledBox
from sandbox.process_guard import print_line

_print_line = partial(print_line, "node")
MOST_BUNDLE_BYTES = 1 << 30
"""Most bytes of a bundle. Seasons allow less, and the box's memory limits it too."""
_DIGESTS_KEPT = 4096


class DigestCache:
    """Digests of bundles by device, inode, size and times of their files.

    A file's owner cannot set its change time, so equal numbers mean equal bytes. A bundle is still
    read again when it is bound to a box.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], str] = {}
        self._lock = threading.Lock()

    def of(self, bundle: int) -> tuple[str, int]:
        """Digest and size of the file. Raises BundleRefused if it is too large."""
        status = os.fstat(bundle)
        times = (status.st_mtime_ns, status.st_ctime_ns)
        identity = (status.st_dev, status.st_ino, status.st_size, *times)
        with self._lock:
            digest_before = self._known.get(identity)
        if digest_before is not None:
            return digest_before, status.st_size
        digest, size = digest_and_size(bundle)
        # A file written just now may change again within the clock's last tick.
        if size == status.st_size and time.time_ns() - status.st_ctime_ns > 1_000_000_000:
            with self._lock:
                if len(self._known) >= _DIGESTS_KEPT:
                    self._known.clear()
                self._known[identity] = digest
        return digest, size


def digest_and_size(bundle: int) -> tuple[str, int]:
    """Digest and size of the bundle's bytes.

    Raises BundleRefused if it is too large, and HostFault if it is no regular file.
    """
    status = os.fstat(bundle)
    if not stat.S_ISREG(status.st_mode):
        raise HostFault("bundle: the descriptor is not of a regular file")
    if status.st_size > MOST_BUNDLE_BYTES:
        raise BundleRefused(f"the archive is larger than {MOST_BUNDLE_BYTES >> 20} MB")
    digest, offset = hashlib.sha256(), 0
    while chunk := os.pread(bundle, 1 << 20, offset):
        digest.update(chunk)
        offset += len(chunk)
        if offset > MOST_BUNDLE_BYTES:
            raise BundleRefused(f"the archive is larger than {MOST_BUNDLE_BYTES >> 20} MB")
    return digest.hexdigest(), offset


MEMORY_MB = (64, 65_536)
"""Least and most memory of a box."""


@dataclass(frozen=True)
class RequestedSeat:
    """One checked seat of a request."""

    key: BoxKey
    digest: str
    """SHA-256 of the bundle."""
    size: int
    """Bytes of the bundle."""
    bundle: int
    """File descriptor of the bundle."""
    deadline: float
    """Until when its box must be ready, in seconds of the monotonic clock."""


class RequestChecker:
    """Checks the requests of workers against the profiles that the node serves."""

    def __init__(self, image_digests: Mapping[str, str]) -> None:
        """``image_digests``: digest by profile. The node may add profiles to it later."""
        self._image_digests = image_digests
        self._digests = DigestCache()

    def check(
        self, message: dict[str, Any], bundles: list[int]
    ) -> list[RequestedSeat | BundleRefused]:
        """The seats of a request, with a refusal in place of a bundle that is too large.

        Raises HostFault if the request breaks a rule.
        """
        seats, deadline = read_request(message, bundles)
        return [
            self._checked_seat(seat, bundle, deadline)
            for seat, bundle in zip(seats, bundles, strict=True)
        ]

    def _checked_seat(
        self, seat: Mapping[str, Any], bundle: int, deadline: float
    ) -> RequestedSeat | BundleRefused:
        profile, memory_mb = seat.get("profile"), seat.get("memory_mb")
        if not isinstance(profile, str) or profile not in self._image_digests:
            offered = ", ".join(sorted(self._image_digests))
            raise HostFault(f"profile: {profile!r} is not served here; served are {offered}")
        low, high = MEMORY_MB
        if type(memory_mb) is not int or not low <= memory_mb <= high:
            raise HostFault(f"memory_mb: {memory_mb!r} is not a number from {low} to {high}")
        try:
            digest, size = self._digests.of(bundle)
            if size > memory_mb << 19:  # half of the box's memory, which holds it after unpacking
                raise BundleRefused(f"the archive is larger than half of {memory_mb} MB of memory")
        except BundleRefused as refused:
            return refused
        return RequestedSeat(BoxKey(profile, memory_mb), digest, size, bundle, deadline)


def check_unchanged(seat: RequestedSeat) -> None:
    """Raise HostFault if the bundle changed since its digest was made."""
    if digest_and_size(seat.bundle) != (seat.digest, seat.size):
        raise HostFault("the bundle changed while it was read")


BIND_SECONDS = 90.0
PREFORK_SECONDS = 10.0
SEND_SECONDS = 5.0
END_SECONDS = 12.0
ANSWERED_SECONDS = 1.0
"""Extra time for a report that waited for another one to be read."""


@dataclass(frozen=True)
class _LentBox:
    """A box with its waiting child."""

    place: PooledBox
    preforked: PreforkedChild


class BoxLender:
    """Lends the pool's boxes. One for the whole node; each connection has a thread."""

    def __init__(
        self,
        name: str,
        launcher: Launcher,
        pool: BoxPool,
        image_digests: Mapping[str, str],
        steal_monitor: StealMonitor | None = None,
    ) -> None:
        self._name = name
        self._launcher = launcher
        self._pool = pool
        self._image_digests = image_digests
        self._steal_monitor = steal_monitor
        self._requests = RequestChecker(image_digests)
        self._gpu_turns = GpuTurns()

    def serve(self, connection: socket.socket, message: dict[str, Any], bundles: list[int]) -> None:
        """Lend what the message asks for and end it. Returns when the connection ends.

        Raises HostFault if nothing could be lent. The worker has no answer then.
        """
        checked = self._requests.check(message, bundles)
        seats = [seat for seat in checked if isinstance(seat, RequestedSeat)]
        deadline = min((seat.deadline for seat in seats), default=0.0)
        keys, digests = [seat.key for seat in seats], {seat.digest for seat in seats}
        with self._pool.room_for(keys, digests, deadline) as gpu, self._watched():
            self._serve_until_ended(
                connection, self._lend([_on_gpu(seat, gpu) for seat in checked])
            )

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        if self._steal_monitor is not None:
            self._steal_monitor.add_match()
        try:
            yield
        finally:
            if self._steal_monitor is not None:
                self._steal_monitor.remove_match()

    def _serve_until_ended(
        self, connection: socket.socket, lent: Sequence[_LentBox | BundleRefused]
    ) -> None:
        open_seats = {n: seat.place for n, seat in enumerate(lent) if isinstance(seat, _LentBox)}
        try:
            self._answer(connection, lent)
            while open_seats:
                end, _ = wire.receive_frame(connection, cap=1 << 12)
                ended = read_ended_seats(end, open_seats)
                for number, report in self._end({n: open_seats.pop(n) for n in ended}, end):
                    wire.send_frame(connection, {"seat": number, **report})
        finally:
            if open_seats:
                self._end(open_seats, {})

    def _lend(
        self, checked: Sequence[RequestedSeat | BundleRefused]
    ) -> list[_LentBox | BundleRefused]:
        """Prepare a child for each seat: the quick ones first, the others in parallel."""
        results: dict[int, _LentBox | BundleRefused | HostFault] = {}
        slow: dict[int, RequestedSeat] = {}
        for number, seat in enumerate(checked):
            ready = self._take_waiting_child(seat) if isinstance(seat, RequestedSeat) else seat
            if ready is not None:
                results[number] = ready
            elif isinstance(seat, RequestedSeat):
                slow[number] = seat
        if slow:
            # In parallel: a cold box takes most of a second.
            with ThreadPoolExecutor(len(slow)) as threads:
                results.update(
                    zip(slow, threads.map(self._bind_with_retry, slow.values()), strict=True)
                )
        faults = [result for result in results.values() if isinstance(result, HostFault)]
        if faults:
            for result in results.values():
                if isinstance(result, _LentBox):
                    self._drop(result)
            raise faults[0]
        return [
            result for _, result in sorted(results.items()) if not isinstance(result, HostFault)
        ]

    def _take_waiting_child(self, seat: RequestedSeat) -> _LentBox | None:
        """A child that waits in a box of this bundle. None if there is none."""
        place = self._pool.take_bound(seat.key, seat.digest)
        if place is None:
            return None
        try:
            preforked = supervisor_client.take_preforked_child(
                place.box, time.monotonic() + PREFORK_SECONDS
            )
        except HostFault as fault:
            _print_line(f"box {place.box.spec.name} is replaced: {fault}")
            self._pool.discard(place)
            return None
        lent = _LentBox(place, preforked)
        if not preforked.is_alive:
            self._drop(lent)
            return None
        try:
            return self._announce_match(lent)
        except HostFault as fault:  # it died in between; earlier ones stay lent
            _print_line(f"box {place.box.spec.name} is replaced: {fault}")
            return None

    def _bind_with_retry(self, seat: RequestedSeat) -> _LentBox | BundleRefused | HostFault:
        """Bind a generic box to this bundle. Replaces a failed box once."""
        fault = HostFault("unreachable")
        for _ in range(2):
            try:
                return self._bind_box(seat)
            except BundleRefused as refused:
                return refused
            except HostFault as error:
                fault = error
            except OSError as error:  # from reading the bundle
                fault = HostFault(f"a seat cannot be lent: {error}")
        return fault

    def _bind_box(self, seat: RequestedSeat) -> _LentBox:
        place = self._pool.take(seat.key, seat.digest, seat.deadline)
        try:
            if place.digest is None:
                place.digest = seat.digest
                until = time.monotonic() + BIND_SECONDS
                bound = supervisor_client.bind_submission(
                    place.box, seat.bundle, seat.size, until, partial(check_unchanged, seat)
                )
                place.unpacked_bytes = bound.unpacked_bytes
                place.takes_one_match = bound.takes_one_match
            preforked = supervisor_client.take_preforked_child(
                place.box, time.monotonic() + PREFORK_SECONDS
            )
        except BaseException:
            self._pool.discard(place)
            raise
        return self._announce_match(_LentBox(place, preforked))

    def _announce_match(self, lent: _LentBox) -> _LentBox:
        try:
            supervisor_client.announce_match(lent.place.box, time.monotonic() + SEND_SECONDS)
        except BaseException:
            self._drop(lent)
            raise
        return lent

    def _drop(self, lent: _LentBox) -> None:
        lent.preforked.close()
        self._pool.discard(lent.place)

    def _answer(self, connection: socket.socket, lent: Sequence[_LentBox | BundleRefused]) -> None:
        """Send one frame for all seats, with each seat's descriptors in the order of its
        ``fds``.
        """
        seats: list[dict[str, Any]] = []
        fds: list[int] = []
        turns: list[int] = []
        for seat in lent:
            if isinstance(seat, BundleRefused):
                seats.append({"op": "refused", "entry": seat.entry, "reason": seat.reason})
                continue
            box = seat.place.box
            named = {"agent": seat.preforked.agent.fileno()}
            if seat.preforked.schedstat is not None:
                named["schedstat"] = seat.preforked.schedstat
            if box.group is not None:
                named.update(box.group.powers)
            if self._steal_monitor is not None:
                named["lost"] = self._steal_monitor.descriptor
            if box.spec.gpu is not None and box.spec.gpu.is_shared:
                named["gpu_turn"] = self._gpu_turns.open(box.spec.gpu.name)
                turns.append(named["gpu_turn"])
            fds += named.values()
            seats.append(
                {
                    "op": "lent",
                    "image_digest": self._image_digests[box.spec.profile.name],
                    "cpus": CPUS,
                    "by_wall": box.spec.profile.gpu,
                    "fds": list(named),
                }
            )
        try:
            wire.send_frame(
                connection, {"op": "lent", "node": self._name, "seats": seats}, tuple(fds)
            )
        finally:
            wire.close_all(turns)
            for seat in lent:
                if isinstance(seat, _LentBox):
                    seat.preforked.close()

    def _end(
        self, places: Mapping[int, PooledBox], end: Mapping[str, Any]
    ) -> list[tuple[int, dict[str, Any]]]:
        """End these seats in parallel: ask every box before reading the first answer."""
        closed = end.get("closed")
        gone = {n for n in closed if type(n) is int} if isinstance(closed, list) else set()
        failures: dict[int, HostFault | None] = {}
        for number, place in places.items():
            failures[number] = None
            deadline = time.monotonic() + SEND_SECONDS
            try:
                place.is_leaving = not self._launcher.reusable or place.has_served_long_enough
                supervisor_client.request_end(
                    place.box, number in gone, not place.is_leaving, deadline
                )
            except HostFault as fault:
                failures[number] = fault
        # One deadline for all: each box could delay us, and the worker does not wait for the sum.
        until = time.monotonic() + END_SECONDS
        ends = {
            n: self._receive_end_report(place, failures[n], until) for n, place in places.items()
        }
        lost = {n: fault for n, fault in ends.items() if isinstance(fault, HostFault)}
        if lost:
            with ThreadPoolExecutor(len(lost)) as threads:
                reports = threads.map(
                    self._report_lost_box, map(places.__getitem__, lost), lost.values()
                )
                ends.update(zip(lost, reports, strict=True))
        return [(n, report) for n, report in ends.items() if not isinstance(report, HostFault)]

    def _receive_end_report(
        self, place: PooledBox, trouble: HostFault | None, until: float
    ) -> dict[str, Any] | HostFault:
        """The report of a seat whose box answers in time, or the reason why there is none."""
        try:
            if trouble is not None:
                raise trouble
            ended = supervisor_client.receive_end(
                place.box, max(until, time.monotonic() + ANSWERED_SECONDS)
            )
        except HostFault as fault:
            return fault
        out_of_memory = ended.out_of_memory or self._out_of_memory(place)
        report = _end_report(ended, place, out_of_memory=out_of_memory)
        if not self._launcher.reusable:
            self._pool.discard(place, wait=True)
            return {**report, "clean": True}
        if ended.clean and not out_of_memory:
            self._pool.give_back(place)
        else:
            _print_line(f"box {place.box.spec.name} is thrown away after a match")
            self._pool.discard(place)
        return report

    def _report_lost_box(self, place: PooledBox, fault: HostFault) -> dict[str, Any]:
        """The report of a seat whose box no longer answers."""
        hosts = self._launcher.lost_by_host(place.box)
        out_of_memory = self._out_of_memory(place)
        self._pool.discard(place)
        if hosts is not None:
            _print_line(f"box {place.box.spec.name} was lost: {hosts}")
            return {"op": "fault", "reason": f"{hosts} ({fault})"}
        # The agent may have done this to its box, so it is not the host's fault.
        _print_line(f"box {place.box.spec.name} was lost in a match: {fault}")
        lost = MatchEnd(None, None, out_of_memory, [], False)
        return _end_report(lost, place, out_of_memory=out_of_memory)

    def _out_of_memory(self, place: PooledBox) -> bool:
        # A box is thrown away after its first such kill, so any count is this match's.
        return place.exceeded_gpu_mb > 0 or self._launcher.oom_kills(place.box) > 0


def _on_gpu(seat: RequestedSeat | BundleRefused, gpu: Gpu | None) -> RequestedSeat | BundleRefused:
    """The seat with its share of the match's GPU, if its profile needs one."""
    if isinstance(seat, BundleRefused) or not profiles.get_profile(seat.key.profile).gpu:
        return seat
    return replace(seat, key=seat.key._replace(gpu=gpu))


def _end_report(ended: MatchEnd, place: PooledBox, *, out_of_memory: bool) -> dict[str, Any]:
    gpu_mb = place.exceeded_gpu_mb
    ended = replace(ended, out_of_memory=out_of_memory, exceeded_gpu_mb=gpu_mb)
    return {"op": "ended", **vars(ended)}
