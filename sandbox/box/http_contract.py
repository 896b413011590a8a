"""Contract *http*: Battlesnake's HTTP API, spoken to a server in the box or at its owner's address.

``HttpClient`` bounds everything it reads. Its caller says how to connect: to a unix socket in a
box, or out to a remote agent. The client speaks HTTP/1.1 and keeps a connection if the server does.
It reads answers with a length, in chunks, or up to the end of the connection. For anything else it
raises ContractBroken.

``BattlesnakeConversation`` sends ``POST /start`` before the first move, ``POST /move`` for each and
``POST /end`` after the match. Version 1 sends the observation as it is. Version 2017 is derived
from it: y grows downwards, bodies are ``coords``, health is ``health_points``. The caller starts
the server and sends ``GET /``.

``HttpAgent`` is the child's side in a box. A Python program may listen on any port
(``socket_patch``). Other programs listen on a port of the box's own loopback interface, preferably
``$PORT``, or bind the unix socket ``$PECK_SOCKET``.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from . import loopback, socket_patch
from .agent_program import AgentProgram, ContractBroken, json_line, printable, program_environment
from .bundle_manifest import Manifest

MOST_HEAD_BYTES = 16 << 10
MOST_BODY_BYTES = 12 << 10
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?", re.DOTALL)
"""The size of a chunk, and its extensions, which nobody uses."""
_LOSES_REQUESTS = b"thin"
"""The name in the header Server of Thin. With threads, as Sinatra starts it, Thin sends an answer
before it can read the connection's next request. It drops a request that arrives at once."""
_REMEDY = "answer each request once, with a status, a Content-Length and a JSON text"


Connect = Callable[[float | None], socket.socket]
"""Opens a new connection before the given moment of ``time.monotonic``, or raises OSError."""


Address = str | tuple[str, int]
"""The path of a unix socket, or a host and a port of this machine."""


def connect_local(addresses: Callable[[], Iterable[Address]]) -> Connect:
    """Connect to the first of these addresses that accepts, and only to it from then on."""
    chosen: list[Address] = []

    def connect(_: float | None) -> socket.socket:
        refusal: OSError = ConnectionRefusedError("nothing listens")
        for address in chosen or addresses():
            try:
                line = _open_connection(address)
            except OSError as error:
                refusal = error
                continue
            chosen[:] = [address]
            return line
        raise refusal

    return connect


def _open_connection(address: Address) -> socket.socket:
    """Connect to this address. Raises OSError if no server accepts."""
    if isinstance(address, str):
        family = socket.AF_UNIX
    else:
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    line = socket.socket(family, socket.SOCK_STREAM)
    try:
        line.connect(address)
        if family != socket.AF_UNIX:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError:
        line.close()
        raise
    return line


class HttpClient:
    def __init__(
        self,
        connect: Connect,
        waited: Callable[[], float] = lambda: 0.0,
        *,
        host: str = "localhost",
        more_head: str = "",
        nothing_yet: tuple[type[OSError], ...] = (BlockingIOError,),
        given_up: tuple[type[OSError], ...] = (ConnectionError,),
    ) -> None:
        """``waited`` returns how long the server has waited for a core so far. Its answer may take
        that much longer, because the referee does not charge it.

        ``more_head`` are whole lines of each request. ``nothing_yet`` is the error of a read that
        would block; ``given_up`` are the errors of a server that has given up.
        """
        self._connect, self._waited = connect, waited
        self._head = f"Host: {host}\r\n{more_head}"
        self._nothing_yet, self._given_up = nothing_yet, given_up
        self._kept: socket.socket | None = None
        self._is_used = False
        """Whether the server has already answered on the kept connection."""
        self.fields: dict[bytes, bytes] = {}
        """The headers of the last answer, names in lower case."""

    def try_connect(self) -> bool:
        """Whether the server accepts a connection now. The first call uses it."""
        try:
            self._kept = self._connect(None)
        except OSError:
            return False
        return True

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def call(self, method: str, path: str, body: str, seconds: float | None) -> tuple[int, bytes]:
        """Send a request and return the answer's status and body, within ``seconds`` if given.

        Raises ContractBroken for a malformed or missing answer. Raises ConnectionError if nobody
        listens or the connection ends before the answer.
        """
        until = None if seconds is None else time.monotonic() + seconds
        data = body.encode("utf-8", "replace")
        length = (
            f"Content-Length: {len(data)}\r\nContent-Type: application/json\r\n" if data else ""
        )
        head = f"{method} {path} HTTP/1.1\r\n{self._head}{length}\r\n"
        is_used, line = self._is_used, self._get_connection(until)
        reading = _AnswerReader(line, until, self._waited)
        try:
            with reading:
                line.sendall(head.encode() + data)
                status, answer, stays = reading.answer()
                self.fields = reading.fields
        except BaseException as error:
            line.close()
            if is_used and isinstance(error, self._given_up) and not reading.has_heard:
                # The server closed the idle connection while the request was on its way, as it may.
                self._is_used = False
                left = None if until is None else max(0.0, until - time.monotonic())
                return self.call(method, path, body, left)
            if isinstance(error, TimeoutError):
                raise ContractBroken(
                    f"{method} {path} had no answer within {seconds:.3g} s; answer sooner, or "
                    "answer other requests meanwhile",
                    is_late=True,
                ) from None
            raise
        self._is_used = stays
        if stays:
            self._kept = line
        else:
            line.close()
        return status, answer

    def _get_connection(self, until: float | None) -> socket.socket:
        line, self._kept = self._kept, None
        if line is not None:
            line.settimeout(0.0)
            try:
                said = line.recv(64)
            except self._nothing_yet:
                line.settimeout(None)
                return line
            except OSError:
                said = b""
            line.close()
            if said:
                raise ContractBroken(
                    f"the server wrote {said[:40]!r} before it was asked; {_REMEDY}"
                )
        try:
            return self._connect(until)
        except BlockingIOError:
            raise ContractBroken(
                "the server accepts no more connections; accept every one"
            ) from None


class _AnswerReader:
    """Reads one answer from a connection before a deadline."""

    def __init__(
        self, line: socket.socket, until: float | None, waited: Callable[[], float]
    ) -> None:
        self._line, self._until = line, until
        self._waited = waited
        self._waited_before = 0.0 if until is None else waited()
        self._data = b""
        self.has_heard = False
        self.fields: dict[bytes, bytes] = {}

    def __enter__(self) -> _AnswerReader:
        self._set_remaining_timeout()
        return self

    def __exit__(self, *_: object) -> None:
        self._line.settimeout(None)

    def answer(self) -> tuple[int, bytes, bool]:
        """Status, body, and whether the connection may be used again."""
        for _ in range(4):
            version, status, fields = self._head()
            self.fields = fields
            if status >= 200:
                break
        else:
            raise ContractBroken(f"the server answers {status} again and again; {_REMEDY}")
        stays = version == b"HTTP/1.1" and fields.get(b"connection", b"").lower() != b"close"
        stays = stays and not fields.get(b"server", b"").lower().startswith(_LOSES_REQUESTS)
        if fields.get(b"transfer-encoding", b"").lower() == b"chunked":
            body = self._chunks()
        elif b"content-length" in fields:
            text = fields[b"content-length"]
            if not text.isdigit() or len(text) > 9 or int(text) > MOST_BODY_BYTES:
                raise _broken_answer(
                    f"its Content-Length is {text[:40]!r}, at most {MOST_BODY_BYTES}"
                )
            body = self._bytes(int(text))
        elif status in (204, 304):
            body = b""
        else:
            body, stays = self._rest(), False
        if self._data:
            raise _broken_answer(f"it wrote {self._data[:40]!r} after its answer")
        return status, body, stays

    def _head(self) -> tuple[bytes, int, dict[bytes, bytes]]:
        while (end := self._data.find(b"\r\n\r\n")) < 0:
            if len(self._data) > MOST_HEAD_BYTES:
                raise _broken_answer(f"its headers are longer than {MOST_HEAD_BYTES} bytes")
            if self._data and not b"HTTP/1.".startswith(self._data[:7]):
                break
            self._more()
        first, *rest = self._data[: max(0, end)].split(b"\r\n")
        self._data, said = self._data[end + 4 :], self._data
        words = first.split(b" ", 2)
        if (
            len(words) < 2
            or words[0] not in (b"HTTP/1.0", b"HTTP/1.1")
            or not words[1].isdigit()
            or len(words[1]) != 3
        ):
            raise _broken_answer(f"{said[:40]!r} is no answer of HTTP/1.1")
        fields: dict[bytes, bytes] = {}
        for line in rest:
            name, _, value = line.partition(b":")
            name, value = name.strip().lower(), value.strip()
            if name == b"content-length" and fields.get(name, value) != value:
                raise _broken_answer("it has two different Content-Lengths")
            fields[name] = value
        return words[0], int(words[1]), fields

    def _chunks(self) -> bytes:
        body = b""
        while True:
            while (end := self._data.find(b"\r\n")) < 0 and len(self._data) < 100:
                self._more()
            head = _CHUNK.fullmatch(self._data[: max(0, end)])
            if not head or (size := int(head[1], 16)) > MOST_BODY_BYTES - len(body):
                raise _broken_answer("its chunks are broken, or too long together")
            self._data = self._data[end + 2 :]
            if size == 0:
                self._drop_trailers()
                return body
            body += self._bytes(size)
            if self._bytes(2) != b"\r\n":
                raise _broken_answer("its chunks are broken")

    def _drop_trailers(self) -> None:
        """Skip the fields after the last chunk (RFC 9112, section 7.1.2), to their empty line."""
        dropped = 0
        while True:
            while (end := self._data.find(b"\r\n")) < 0:
                if dropped + len(self._data) > MOST_HEAD_BYTES:
                    raise _broken_answer(f"its trailers are longer than {MOST_HEAD_BYTES} bytes")
                self._more()
            line, self._data = self._data[:end], self._data[end + 2 :]
            if not line:
                return
            dropped += len(line)
            if b":" not in line or dropped > MOST_HEAD_BYTES:
                raise _broken_answer("its chunks or trailers are broken")

    def _bytes(self, count: int) -> bytes:
        while len(self._data) < count:
            self._more()
        taken, self._data = self._data[:count], self._data[count:]
        return taken

    def _rest(self) -> bytes:
        try:
            while len(self._data) <= MOST_BODY_BYTES:
                self._more()
        except ConnectionError:
            body, self._data = self._data, b""
            return body
        raise _broken_answer(f"it is longer than {MOST_BODY_BYTES} bytes")

    def _more(self) -> None:
        while True:
            self._set_remaining_timeout()
            try:
                data = self._line.recv(1 << 16)
                break
            except TimeoutError:
                pass  # it may have waited for a core
        if not data:
            raise ConnectionResetError("the connection ended inside an answer")
        self.has_heard = True
        self._data += data

    def _set_remaining_timeout(self) -> None:
        if self._until is None:
            return
        left = self._until - time.monotonic()
        if left <= 0:
            left += self._waited() - self._waited_before
        if left <= 0:
            raise TimeoutError
        self._line.settimeout(left)


def _broken_answer(what: str) -> ContractBroken:
    return ContractBroken(f"the server's answer cannot be read: {what}; {_REMEDY}")


NEEDED = frozenset({"game", "turn", "board", "you"})
_LATER_SECONDS = 0.1
"""Extra seconds for a request, because the referee may not charge all of the time. After a request
that used them, the next request has as much less.
"""


class BattlesnakeConversation:
    """One match with one server."""

    def __init__(
        self, api: str, call: Callable[[str, str, str, float | None], tuple[int, bytes]]
    ) -> None:
        """``call`` takes method, path, body and a limit in seconds or None. It returns status and
        body.

        It raises ContractBroken for an answer that is no answer.
        """
        self._is_old = api == "2017"
        self._call = call
        self._act_seconds = 0.0
        self._is_started = False
        self._behind_seconds = 0.0
        """How much later than the referee's clock the next request begins, at most."""
        self._latency_ms = 0
        """Duration of the last answer."""
        self._seen: dict[str, dict[str, Any]] = {}
        """Each snake as last seen on the board, by id."""
        self._alive: set[str] = set()

    def start(self, told: dict[str, Any]) -> None:
        """Take the clock from the referee's start message."""
        self._act_seconds = told["clock"]["act_seconds"]

    def move(self, observation: dict[str, Any]) -> Any:
        """Return the JSON answer to POST /move."""
        if not observation.keys() >= NEEDED:
            raise ContractBroken(
                "contract http is only for Battlesnake; use callable or lines for this game",
                is_gone=True,
            )
        bank_seconds = observation.pop("remainingOverageTime")
        self._record_latency_and_snakes(observation)
        # The referee's deadline comes first; this limit ends a request that nobody needs any more.
        # It uses the season's clock, because the game's own timeout may be shorter.
        seconds = self._act_seconds + bank_seconds + _LATER_SECONDS - self._behind_seconds
        started_at = time.monotonic()
        try:
            status, text = self._ask(observation, started_at + seconds)
        except ContractBroken as broken:
            self._latency_ms = observation["game"].get("timeout", 0) if broken.is_late else 0
            # The referee's next question waited for this one: its clock runs already.
            self._behind_seconds = _LATER_SECONDS if broken.is_late else 0.0
            raise
        self._behind_seconds = 0.0
        self._latency_ms = round(1000 * (time.monotonic() - started_at))
        if status != 200:
            raise ContractBroken(
                f"POST /move was answered with status {status}; answer 200 and a JSON text, for "
                'example {"move": "up"} (why it failed may be in the log)'
            )
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise ContractBroken(
                f"POST /move was answered with {printable(text)}, which is no JSON object like "
                '{"move": "up"}',
                is_invalid=True,
            )
        return answer

    def _record_latency_and_snakes(self, observation: dict[str, Any]) -> None:
        """Write the last answer's latency into the server's own snake. Remembers all snakes."""
        own, snakes = observation["you"], observation["board"].get("snakes", ())
        own["latency"] = str(self._latency_ms)
        for snake in snakes:
            if snake["id"] == own.get("id"):
                snake["latency"] = own["latency"]
        self._alive = {snake["id"] for snake in snakes}
        self._seen.update((snake["id"], snake) for snake in snakes)

    def _ask(self, observation: dict[str, Any], until: float) -> tuple[int, bytes]:
        if not self._is_started:
            self._is_started = True
            start = json_line(start_body_2017(observation) if self._is_old else observation)
            self._call("POST", "/start", start, _seconds_left(until))
        dead = [snake for name, snake in self._seen.items() if name not in self._alive]
        body = json_line(move_body_2017(observation, dead) if self._is_old else observation)
        return self._call("POST", "/move", body, _seconds_left(until))

    def end(self, observation: dict[str, Any]) -> None:
        observation.pop("remainingOverageTime", None)
        body = {"game_id": observation["game"]["id"]} if self._is_old else observation
        self._call("POST", "/end", json_line(body), None)


def _seconds_left(until: float) -> float:
    return max(1e-3, until - time.monotonic())


def start_body_2017(seen: dict[str, Any]) -> dict[str, Any]:
    board = seen["board"]
    return {"game_id": seen["game"]["id"], "width": board["width"], "height": board["height"]}


def move_body_2017(seen: dict[str, Any], dead: list[dict[str, Any]]) -> dict[str, Any]:
    """The body of POST /move in 2017. ``dead`` holds dead snakes as last seen on the board."""
    board = seen["board"]
    top = board["height"] - 1

    def cells(points: list[dict[str, int]]) -> list[list[int]]:
        return [[point["x"], top - point["y"]] for point in points]

    def snake_of(snake: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": snake["id"],
            "name": snake["name"],
            "taunt": snake.get("shout", ""),
            "health_points": snake["health"],
            "coords": cells(snake["body"]),
        }

    return {
        **start_body_2017(seen),
        "turn": seen["turn"],
        "you": seen["you"]["id"],
        "food": cells(board["food"]),
        "snakes": [snake_of(one) for one in board["snakes"]],
        "dead_snakes": [snake_of(one) for one in dead],
    }


_STEP_SECONDS = 0.002
_PORT = 8000


class HttpAgent:
    """An agent whose program is a server."""

    def __init__(self, manifest: Manifest, agent_dir: str) -> None:
        self._manifest, self._agent_dir = manifest, agent_dir
        self._program: AgentProgram | None = None
        # An abstract name leaves no file to delete. The path is for programs that cannot bind such
        # a name.
        name, path = f"peck-{os.getpid()}", f"/tmp/peck-{os.getpid()}.sock"  # noqa: S108
        self._environment = program_environment() | {"PORT": str(_PORT), "PECK_SOCKET": path}
        if manifest.is_python:
            self._environment[socket_patch.SOCKET_NAME_VARIABLE] = name
            connect = connect_local(lambda: (f"\0{name}", path))
        else:
            connect = connect_local(lambda: (*loopback.listening_addresses(first=_PORT), path))
        self._caller = HttpClient(connect, self._waited_seconds)
        self._conversation = BattlesnakeConversation(manifest.api, self._call)

    def start(self, told: dict[str, Any]) -> None:
        """Start the program and wait until it listens and answers."""
        program = AgentProgram(self._manifest, self._agent_dir, self._environment, talks=False)
        self._program = program
        self._conversation.start(told)
        while not self._caller.try_connect():
            if program.describe_exit() is not None:
                raise program.gone_error("")
            time.sleep(_STEP_SECONDS)
        if self._manifest.api == "1":
            self._call("GET", "/", "", None)

    def move(self, observation: dict[str, Any]) -> Any:
        return self._conversation.move(observation)

    def end(self, observation: dict[str, Any]) -> None:
        self._conversation.end(observation)
        self._caller.close()

    def _waited_seconds(self) -> float:
        return 0.0 if self._program is None else self._program.waited_seconds()

    def _call(self, method: str, path: str, body: str, seconds: float | None) -> tuple[int, bytes]:
        try:
            return self._caller.call(method, path, body, seconds)
        except OSError:
            assert self._program is not None
            if self._program.describe_exit(0.05) is not None:
                raise self._program.gone_error("") from None
            raise ContractBroken(
                f"{method} {path}: the server closed the connection or stopped listening; "
                "answer each request"
            ) from None
