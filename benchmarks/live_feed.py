"""Feeds running matches to Redis as workers do, from a process of its own."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from random import Random
from urllib.parse import unquote, urlsplit

from games import GAMES
from games.episode import start_document, step_document
from ladder.matches import live_stream
from sandbox.match.clock import Clock
from sandbox.match.match_record import EpisodeRecord
from services.run.child_processes import SERVICE_NICE
from workers.live_publishing import TICK_SECONDS

SEATS = 4
STEP_SECONDS = 0.2
READY_SECONDS = 60.0


@dataclass(frozen=True)
class Feed:
    """Matches that get a step every fifth of a second, one after another."""

    redis_url: str
    keys: tuple[str, ...]
    """The Redis streams of the matches."""
    seconds: float

    def played_at(self, number: int, step: int) -> float:
        """Seconds from the begin until a match, by its number, plays a step; 1 is the first."""
        return STEP_SECONDS * (step - 1 + number / len(self.keys))

    def sent_at(self, number: int, step: int) -> float:
        """The same for the sending by the worker's thread, which looks every fifth of a second."""
        return self.played_at(number, step) + TICK_SECONDS * ((0.5 + 0.618 * number) % 1)


@dataclass(frozen=True)
class Marks:
    """What the process of the feed tells."""

    is_ready: Event
    began_at: Synchronized[float]
    """In seconds of ``time.monotonic``, which all processes share."""
    latest: Synchronized[float]
    """Seconds by which the feed itself was late at most. Delays have this time too."""


@contextlib.contextmanager
def feeding(asked: Feed) -> Iterator[Marks]:
    """Feeds the matches inside this block."""
    context = multiprocessing.get_context("spawn")
    marks = Marks(context.Event(), context.Value("d", 0.0), context.Value("d", 0.0))
    process = context.Process(target=feed, args=(asked, marks), daemon=True)
    process.start()
    try:
        assert marks.is_ready.wait(READY_SECONDS), "the feed did not start"
        yield marks
        assert process.is_alive(), "the feed ended too early"
    finally:
        process.terminate()
        process.join()


def weigh_as_service() -> None:
    """Gives this process the weight of the site and its workers, if that is permitted."""
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, SERVICE_NICE)


def record(steps: int) -> EpisodeRecord:
    """An episode of geese that go east for so many steps."""
    game, chance_of = GAMES["hungry_geese"], Random(1)
    rules = game.configure({"episodeSteps": 10_000, "hunger_rate": 10_000, "rows": 30})
    state, chance = game.reset(rules, SEATS, chance_of)
    made = EpisodeRecord(
        game=game.name,
        version=game.version,
        configuration=rules,
        clock=Clock(),
        seats=SEATS,
        chance=chance,
    )
    for _ in range(steps):
        moves = dict.fromkeys(game.to_move(state), "EAST")
        state, chance = game.step(state, moves, chance_of)
        made.add(moves, {}, chance)
    return made


def entries(made: EpisodeRecord) -> list[bytes]:
    """The entries of a stream with one step each; the first one begins the episode."""
    steps = [step_document(one) for one in made.steps_from(0, 100_000)]
    start = {"position": 0, "first": 0, "start": start_document(made.so_far()), "steps": []}
    grown = [{"position": 0, "first": n, "steps": [step]} for n, step in enumerate(steps)]
    return [json.dumps(one, separators=(",", ":")).encode() for one in (start, *grown)]


def feed(asked: Feed, marks: Marks) -> None:
    """Sends every step when it is due."""
    weigh_as_service()
    count = round(asked.seconds / STEP_SECONDS)
    texts = entries(record(count))
    server = Server(asked.redis_url)
    server.add([(key, texts[0]) for key in asked.keys])
    due = sorted(
        (asked.sent_at(number, step), key, step)
        for number, key in enumerate(asked.keys)
        for step in range(1, count + 1)
    )
    began_at = marks.began_at.value = time.monotonic()
    marks.is_ready.set()
    place = 0
    while place < len(due):
        time.sleep(max(0.005, began_at + due[place][0] - time.monotonic()))
        now, first = time.monotonic() - began_at, place
        marks.latest.value = max(marks.latest.value, now - due[place][0])
        while place < len(due) and due[place][0] <= now:
            place += 1
        server.add([(key, texts[step]) for _, key, step in due[first:place]])
    time.sleep(READY_SECONDS)


class Server:
    """A connection to Redis that only adds to streams: a client would cost more than the server."""

    def __init__(self, url: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(unquote(urlsplit(url).path))

    def add(self, pairs: Sequence[tuple[str, bytes]]) -> None:
        """Adds an entry to each stream."""
        if not pairs:
            return
        self._socket.sendall(
            b"".join(
                command(b"XADD", key.encode(), b"*", live_stream.FIELD, text) for key, text in pairs
            )
        )
        said = b""
        while said.count(b"\r\n") < 2 * len(pairs):  # each answer has a length and an id
            said += self._socket.recv(1 << 16)
            assert said[:1] != b"-", said


def command(*parts: bytes) -> bytes:
    """A command of the Redis protocol."""
    head = b"*%d\r\n" % len(parts)
    return head + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
