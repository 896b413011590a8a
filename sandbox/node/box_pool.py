"""The node's boxes: keeps some generic ones ready, and bound ones for their next match.

At its first loan a box is bound to one submission's digest for life. The pool's threads start boxes
and remove them, so no loan waits for another's box.

As many starts run at a time as there are cores. A start mostly computes (it imports libraries), so
more starts than cores delay each other. Beyond that limit, a profile that a match waits for may
always run one start. So quick starts do not wait behind slow ones. bubblewrap ends a box when the
thread that started it ends, so the threads live as long as the pool.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from sandbox import profiles
from sandbox.errors import BoxLate, EngineAway, HostFault
from sandbox.launchers import supervisor_client
from sandbox.launchers.base import SLOTS, Box, BoxSpec, Launcher
from sandbox.launchers.gpu import Gpu, read_use

MOST_MATCHES = 200
MOST_AGE_SECONDS = 3600.0


class BoxKey(NamedTuple):
    """The kind of a box. Unbound boxes of one kind are interchangeable."""

    profile: str
    memory_mb: int
    gpu: Gpu | None = None
    """The seat's share of the GPU that its match has."""


@dataclass(eq=False)
class PooledBox:
    """One box with the pool's notes on it."""

    box: Box
    key: BoxKey
    digest: str | None = None
    unpacked_bytes: int = 0
    """Memory that its bundle occupies for the box's life."""
    takes_one_match: bool = False
    matches: int = 0
    started_at: float = field(default_factory=time.monotonic)
    used_at: float = field(default_factory=time.monotonic)
    exceeded_gpu_mb: int = 0
    """Its share of a GPU's memory in MB, if its agent used more. Else 0."""
    is_leaving: bool = False
    """Set when its last match ends. It then pre-forks no child and is not kept."""

    @property
    def has_served_long_enough(self) -> bool:
        """Whether it is discarded after its present match."""
        if self.takes_one_match:
            return True
        age_seconds = time.monotonic() - self.started_at
        return self.matches + 1 >= MOST_MATCHES or age_seconds > MOST_AGE_SECONDS


SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.25, 10.0
"""Pause between two attempts to start a box while starts fail."""


@dataclass
class StartPause:
    """The pause before a box is started again after a failure. It grows with each failure."""

    seconds: float = SHORTEST_PAUSE_SECONDS
    over_at: float = 0.0

    def grow(self) -> None:
        self.over_at = time.monotonic() + self.seconds
        self.seconds = min(2 * self.seconds, LONGEST_PAUSE_SECONDS)


@dataclass(eq=False)
class _QueuedStart:
    """A start that has not begun. ``is_asked`` if a match waits for its box."""

    profile: str
    work: Callable[[], None]
    is_asked: bool
    future: Future[None] = field(default_factory=Future)


class StartQueue:
    """The queue of starts. ``most`` is how many run at a time; default: the host's cores."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most or len(os.sched_getaffinity(0))
        self._changed = threading.Condition()
        self._waiting: list[_QueuedStart] = []
        self._running = Counter[str]()
        self._is_closed = False
        self._threads = ThreadPoolExecutor(
            self._most + len(profiles.PROFILES), thread_name_prefix="starts"
        )

    def add(self, profile: str, work: Callable[[], None], *, is_asked: bool) -> Future[None]:
        """Queue ``work``. Starts that a match waits for go first."""
        start = _QueuedStart(profile, work, is_asked)
        with self._changed:
            if self._is_closed:
                start.future.cancel()
                return start.future
            self._waiting.append(start)
            self._begin()
        return start.future

    def hasten(self, profile: str) -> None:
        """Mark the oldest start of this profile as one that a match waits for."""
        with self._changed:
            for start in self._waiting:
                if start.profile == profile and not start.is_asked:
                    start.is_asked = True
                    break
            self._begin()

    def close(self) -> None:
        """Cancel the starts that have not begun. No more begin."""
        with self._changed:
            self._is_closed = True
            dropped, self._waiting = self._waiting, []
        for start in dropped:
            start.future.cancel()
        self._threads.shutdown(wait=False)

    def wait_until_ended(self, seconds: float) -> bool:
        """Whether all starts that had begun end within this time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running.total(), seconds)

    def _begin(self) -> None:
        """Give the threads every start that may begin. The caller has the lock."""
        while True:
            free = self._running.total() < self._most
            able = [
                start
                for start in self._waiting
                if free or (start.is_asked and not self._running[start.profile])
            ]
            if not able:
                return
            start = min(able, key=lambda item: (not item.is_asked, self._running[item.profile]))
            self._waiting.remove(start)
            self._running[start.profile] += 1
            self._threads.submit(self._run, start)

    def _run(self, start: _QueuedStart) -> None:
        start.future.set_running_or_notify_cancel()
        error: BaseException | None = None
        try:
            start.work()
        except BaseException as caught:
            error = caught
        if error is None:
            start.future.set_result(None)
        else:
            start.future.set_exception(error)
        with self._changed:
            self._running[start.profile] -= 1
            self._changed.notify_all()
            if not self._is_closed:
                self._begin()


CLOSE_SECONDS = 15.0
"""Time to remove all boxes when the node ends."""
TEND_SECONDS = 0.5


class BoxPool:
    """Lends boxes. ``warm`` says how many generic boxes of a profile to keep ready.

    Without ``refills`` they are started once: for a few matches whose boxes are known.
    """

    def __init__(
        self,
        launcher: Launcher,
        node: str,
        *,
        warm: Mapping[str, int],
        gpus: Sequence[Gpu],
        memory_mb: int,
        keep: int,
        keep_bytes: int,
        most: int,
        say: Callable[[str], None],
        refills: bool = True,
    ) -> None:
        self._launcher = launcher
        self._node = node
        self._warm: Mapping[str, int] = warm
        self._gpus = gpus
        self._keep, self._keep_bytes = keep, keep_bytes
        self._most = most
        self._say = say
        self._changed = threading.Condition()
        self._idle: list[PooledBox] = []
        self._busy: set[PooledBox] = set()
        self._starting: Counter[BoxKey] = Counter()
        self._held_seats = 0
        self._held_gpus = set[str]()
        self._leaving: Counter[str] = Counter()
        """Boxes that are being removed, by the name of their GPU."""
        self._slots: set[int] = set()
        self._read: set[str] = set()
        self._closed = False
        self._pauses: dict[BoxKey, StartPause] = {}
        self._memory_mb = memory_mb
        self._takers: Counter[BoxKey] = Counter()
        self._coming: dict[str, Box] = {}
        self._starts = StartQueue()
        self._removals = set[Future[None]]()
        self._threads = ThreadPoolExecutor(6, thread_name_prefix="removals")
        with self._changed:
            for name in warm:
                self._refill(BoxKey(name, memory_mb))
        if not refills:
            self._warm = {}
        threading.Thread(target=self._maintain_boxes, name="tend", daemon=True).start()

    def add_profile(self, profile: str, warm: int) -> None:
        """Lend boxes of one more profile, and keep ``warm`` of them ready."""
        with self._changed:
            self._warm = {**self._warm, profile: warm}
            self._refill(BoxKey(profile, self._memory_mb))

    @contextlib.contextmanager
    def room_for(
        self, keys: Sequence[BoxKey], digests: Collection[str], deadline: float
    ) -> Iterator[Gpu | None]:
        """Reserve room for all boxes of a match while it lasts, and one GPU if seats need one.

        Yields the share of the GPU that each such seat gets. Raises HostFault if none is free in
        time. Matches that took boxes one by one could wait for each other's boxes for ever.
        """
        needs = [need for key in keys if (need := profiles.get_profile(key.profile).gpu_mb)]
        fitting = [gpu for gpu in self._gpus if not 0 < gpu.memory_mb < sum(needs)]
        if len(keys) > self._most:
            raise HostFault(f"{len(keys)} boxes are more than the {self._most} of this node")
        if needs and not fitting:
            raise HostFault(f"{len(needs)} boxes need {sum(needs)} MB of a GPU: none here has that")
        gpu: Gpu | None = None

        def find_room() -> bool:
            nonlocal gpu
            free = [g for g in fitting if g.name not in (self._held_gpus | (+self._leaving).keys())]
            if needs and free:
                gpu = max(free, key=partial(self._bound_boxes, digests))
            return self._held_seats + len(keys) <= self._most and bool(free or not needs)

        with self._changed:
            if not self._changed.wait_for(
                lambda: self._closed or find_room(), max(0.0, deadline - time.monotonic())
            ):
                raise BoxLate("no box was free in time")
            held = {gpu.name} if gpu is not None else set[str]()
            self._held_seats += len(keys)
            self._held_gpus |= held
        try:
            yield None if gpu is None else gpu.shared_by(len(needs))
        finally:
            with self._changed:
                self._held_seats -= len(keys)
                self._held_gpus -= held
                self._changed.notify_all()

    def _bound_boxes(self, digests: Collection[str], gpu: Gpu) -> int:
        """How many idle boxes of these submissions are on this GPU."""
        return sum(
            place.digest in digests and place.key.gpu is not None and place.key.gpu.name == gpu.name
            for place in self._idle
        )

    def take_bound(self, key: BoxKey, digest: str) -> PooledBox | None:
        """Take a waiting box that is bound to this digest, if there is one."""
        with self._changed:
            bound = [
                p
                for p in self._idle
                if p.key == key and p.digest == digest and self._launcher.usable(p.box)
            ]
            place = max(bound, key=lambda p: p.used_at, default=None)
            if place is not None:
                self._idle.remove(place)
                self._busy.add(place)
            return place

    def take(self, key: BoxKey, digest: str, deadline: float) -> PooledBox:
        """Take a box bound to this digest, or a generic one that the caller must bind."""
        with self._changed:
            self._takers[key] += 1
            try:
                return self._wait_for_box(key, digest, deadline)
            finally:
                self._takers[key] -= 1

    def _wait_for_box(self, key: BoxKey, digest: str, deadline: float) -> PooledBox:
        start: Future[None] | None = None
        while True:
            if self._closed:
                raise HostFault("the node is closing down")
            place = self._find(key, digest)
            if place is not None:
                self._idle.remove(place)
                self._busy.add(place)
                if key.memory_mb == self._memory_mb:  # nobody would use boxes of odd sizes
                    self._refill(key)
                return place
            if start is not None and start.done():
                error = start.exception()
                # While the engine is away, waiting costs a match nothing.
                if error is not None and not isinstance(error, EngineAway):
                    raise HostFault(f"no box could be started: {error}")
                start = None
            now = time.monotonic()
            if start is None and self._starting[key] >= self._takers[key]:
                self._starts.hasten(key.profile)  # enough boxes are starting already
            elif start is None and self._may_start(key):
                start = self._queue_start(key, is_asked=True)
            if now >= deadline:
                coming = self._starting[key]
                raise BoxLate(
                    f"no box of {key.profile} was ready in time; {coming} are being started"
                )
            self._changed.wait(deadline - now if start else min(deadline - now, TEND_SECONDS))

    @contextlib.contextmanager
    def lent_boxes(self) -> Iterator[frozenset[PooledBox]]:
        """The boxes of running matches. The pool takes no box back inside this block."""
        with self._changed:
            yield frozenset(self._busy)

    def give_back(self, place: PooledBox) -> None:
        """Return a checked clean box, which waits for its submission's next match."""
        with self._changed:
            self._busy.discard(place)
            place.matches += 1
            place.used_at = time.monotonic()
            if place.is_leaving or self._closed or not self._launcher.usable(place.box):
                self._discard(place)
            else:
                self._idle.append(place)
                for old in self._too_many():
                    self._idle.remove(old)
                    self._discard(old)
            self._changed.notify_all()

    def discard(self, place: PooledBox, *, wait: bool = False) -> None:
        """Remove a box that is not checked clean or takes only one match."""
        with self._changed:
            self._busy.discard(place)
            gone = self._discard(place)
            self._changed.notify_all()
        if wait and gone is not None:
            gone.result()

    def close(self) -> bool:
        """Remove every box and lend no more. Returns whether all are gone in time.

        Starts that have not begun are cancelled, and running ones given up. Current loans first get
        half of the time to end, so that no thread loses a box in use.
        """
        deadline = time.monotonic() + CLOSE_SECONDS
        with self._changed:
            self._closed = True
            for place in self._idle:
                self._discard(place)
            self._idle.clear()
            for box in self._coming.values():
                box.disconnect()
            self._changed.notify_all()
        self._starts.close()
        with self._changed:
            self._changed.wait_for(lambda: not self._busy, CLOSE_SECONDS / 2)
            for place in self._busy:
                self._discard(place)
        has_ended = self._starts.wait_until_ended(max(0.0, deadline - time.monotonic()))
        self._threads.shutdown(wait=False)
        removals = wait_for(tuple(self._removals), max(0.0, deadline - time.monotonic()))
        return has_ended and not removals.not_done

    def _maintain_boxes(self) -> None:
        """Remove boxes of a lost engine and start missing boxes, from time to time."""
        while not self._closed:
            time.sleep(TEND_SECONDS)
            with self._changed:
                for place in [p for p in self._idle if not self._launcher.usable(p.box)]:
                    self._idle.remove(place)
                    self._discard(place)
                for key in [BoxKey(name, self._memory_mb) for name in self._warm]:
                    if not self._closed and self._may_start(key):
                        self._refill(key)

    def _too_many(self) -> list[PooledBox]:
        """Bound boxes above the limits, the longest unused first.

        The memory of their bundles counts too: a small upload can unpack to a quarter of a
        gigabyte.
        """
        bound = sorted((p for p in self._idle if p.digest is not None), key=lambda p: p.used_at)
        count, held = len(bound), sum(p.unpacked_bytes for p in bound)
        going = []
        for place in bound:
            if count <= self._keep and held <= self._keep_bytes:
                break
            going.append(place)
            count, held = count - 1, held - place.unpacked_bytes
        return going

    def _find(self, key: BoxKey, digest: str) -> PooledBox | None:
        fitting = [
            p
            for p in self._idle
            if p.key == key and p.digest in (digest, None) and self._launcher.usable(p.box)
        ]
        return max(fitting, key=lambda p: (p.digest is not None, p.used_at), default=None)

    def _may_start(self, key: BoxKey) -> bool:
        pause = self._pauses.get(key)
        return pause is None or time.monotonic() >= pause.over_at

    def _refill(self, key: BoxKey) -> None:
        waiting = sum(1 for p in self._idle if p.key == key and p.digest is None)
        for _ in range(self._warm.get(key.profile, 0) - waiting - self._starting[key]):
            if self._count() >= self._most:
                return
            self._queue_start(key)

    def _count(self) -> int:
        return len(self._idle) + len(self._busy) + self._starting.total()

    def _queue_start(self, key: BoxKey, *, is_asked: bool = False) -> Future[None] | None:
        """Begin a box of this key. Returns None if the node is full and nothing can make room."""
        if self._count() >= self._most:
            others = [p for p in self._idle if p.digest is not None or p.key != key]
            if not others:
                return None
            old = min(others, key=lambda p: p.used_at)
            self._idle.remove(old)
            self._discard(old)
        slot = random.choice(range(SLOTS))  # noqa: S311  only to differ from other nodes here
        while slot in self._slots:
            slot = (slot + 1) % SLOTS
        self._slots.add(slot)
        self._starting[key] += 1
        work = partial(self._start_box, key, slot)
        future = self._starts.add(key.profile, work, is_asked=is_asked)
        future.add_done_callback(self._wake)
        return future

    def _wake(self, _: Future[None]) -> None:
        with self._changed:
            self._changed.notify_all()

    def _start_box(self, key: BoxKey, slot: int) -> None:
        profile, memory_mb, gpu = key
        name = f"{self._node}-{slot:06d}-{time.monotonic_ns() & 0xFFFFFF:06x}"
        box: Box | None = None
        first = profile not in self._read
        self._read.add(profile)
        try:
            spec = BoxSpec(name, profiles.get_profile(profile), memory_mb, slot, first, gpu)
            box = self._launcher.start(spec)
            with self._changed:
                self._coming[name] = box
            if self._closed:
                raise HostFault("the node is closing down")
            supervisor_client.set_up_box(box)
        except BaseException as error:
            with self._changed:
                self._coming.pop(name, None)
            if not self._closed:
                self._say(f"box {name} could not be started: {error}")
            if box is not None:
                self._stop(PooledBox(box, key))  # never raises: the count below would stay wrong
            with self._changed:
                self._starting[key] -= 1
                self._slots.discard(slot)
                self._pauses.setdefault(key, StartPause()).grow()
                if first:
                    self._read.discard(profile)
            if box is not None and not self._launcher.usable(box):
                raise EngineAway(str(error)) from None
            raise
        place = PooledBox(box, key)
        with self._changed:
            self._coming.pop(name, None)
            self._starting[key] -= 1
            self._pauses.pop(key, None)
            if not self._closed:
                self._idle.append(place)
                return
        self._stop(place)

    def _discard(self, place: PooledBox) -> Future[None] | None:
        if place.key.gpu is not None:
            self._leaving[place.key.gpu.name] += 1
        try:
            gone = self._threads.submit(self._remove, place)
            self._removals.add(gone)
            gone.add_done_callback(self._removals.discard)
            return gone
        except RuntimeError:  # the pool is closed, and this loan's thread came late
            self._remove(place)
            return None

    def _remove(self, place: PooledBox) -> None:
        """Stop a box. No other match gets its GPU before that."""
        self._stop(place)
        if place.key.gpu is not None:
            with self._changed:
                self._leaving[place.key.gpu.name] -= 1
                self._changed.notify_all()

    def _stop(self, place: PooledBox) -> None:
        try:
            self._launcher.stop(place.box)
        except Exception as error:
            self._say(f"box {place.box.spec.name} could not be removed: {error!r}")
        with self._changed:
            self._slots.discard(place.box.spec.slot)
            self._changed.notify_all()


LOOK_SECONDS = 1.0
UNKNOWN_USE = (
    "nvidia-smi does not tell how much GPU memory an agent's process uses, so the node does not end"
    " an agent that uses more than its share"
)


def watch_gpu_memory(pool: BoxPool, stop: threading.Event, report: Callable[[str], None]) -> None:
    """End agents that use more than their share of the memory of their match's GPU.

    CUDA limits no program, so the node looks at each process's use once a second, until ``stop`` is
    set. It finds a box's processes in the box's match group. Without match groups it ends nobody.
    ``report`` gets a sentence about what fails: each kind of failure once.
    """
    reported = set()
    while not stop.wait(LOOK_SECONDS):
        try:
            failures = _look(pool)
        except Exception as error:  # the next look may succeed
            failures = {type(error).__name__: f"a look at the agents' GPU memory failed: {error!r}"}
        for kind, sentence in failures.items():
            if kind not in reported:
                reported.add(kind)
                report(sentence)


def _look(pool: BoxPool) -> dict[str, str]:
    """End agents that are over their share. Returns sentences about what is unknown, by kind."""
    with pool.lent_boxes() as places:
        shares_gpu = any(_share_mb(place) for place in places)
    if not shares_gpu:
        return {}
    is_known = end_agents_over_share(pool, read_use())
    return {} if is_known else {"unknown use": UNKNOWN_USE}


def end_agents_over_share(pool: BoxPool, used_mb: Mapping[int, int | None]) -> bool:
    """End the agents whose processes use more than their share. ``used_mb`` is by pid.

    A measured process that is in a lent box now belongs to the box's present match. Returns whether
    the use of all processes in lent boxes is known.
    """
    is_known = True
    with pool.lent_boxes() as places:
        for place in places:
            group, share_mb = place.box.group, _share_mb(place)
            if group is None or not share_mb:
                continue
            uses_mb = [used_mb[pid] for pid in group.processes() & used_mb.keys()]
            is_known = is_known and None not in uses_mb
            if sum(used or 0 for used in uses_mb) > share_mb:
                place.exceeded_gpu_mb = share_mb
                # A helper may use the memory, so the agent's other processes end with it.
                group.kill()
    return is_known


def _share_mb(place: PooledBox) -> int:
    gpu = place.box.spec.gpu
    return gpu.memory_mb if gpu is not None and gpu.is_shared else 0
