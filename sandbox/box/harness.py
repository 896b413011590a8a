"""The callable contract: Kaggle's ``main.py``, executed and asked for moves inside the child.

The agent is the last callable of ``main.py``'s namespace in order of first definition, called with
observation and configuration cut to the arguments it takes. Source of the behaviour:
kaggle_environments ``agent.py`` and ``core.py`` (1.33.2).
"""

from __future__ import annotations

import gc
import io
import json
import os
import random
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any

from . import wire

REPLY_CAP = 16 << 10
ACT_CAP = 1 << 20
TRACE_LINES = 20
TRACE_BYTES = 8_000
UNSENDABLE = "__unsendable__"
"""Key of the object that stands in for an answer that JSON cannot carry; its value says why."""


class Struct(dict[str, Any]):
    """A dict whose keys can also be read and written as attributes, exactly as the field has it."""

    def __init__(self, entries: dict[str, Any]) -> None:
        kept = {key: value for key, value in entries.items() if key != "items"}
        super().__init__(kept)
        self.__dict__.update(kept)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value
        self[name] = value


def serve(sock: socket.socket, agent_dir: str, mark: bytes) -> None:
    """Answer the referee until it says ``end`` or goes away; returns then.

    ``mark`` with a step number behind it and a NUL is written into both log streams before each
    step, so that the supervisor can tell the moves' texts apart.
    """
    out, err = _open_log(1), _open_log(2)
    sys.stdout, sys.stderr = out, err
    agent = _Agent(agent_dir)
    step = 0
    inbox = _Inbox(sock)
    while True:
        message = inbox.next()
        kind = message.get("k")
        if kind == "start":
            answer = agent.start(message)
        elif kind == "act":
            step += 1
            border = mark + b"%d\0" % step
            _write_mark(border)
            answer = agent.act(message)
        else:
            return
        _flush(out)
        _flush(err)
        sock.sendall(encode_answer(answer))


class _Inbox:
    """The referee's messages, most of them taken in one read; objects come as Struct."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._data = b""

    def next(self) -> dict[str, Any]:
        """The next message; an empty one when the referee has gone or sent too much."""
        header = wire.HEADER.size
        while True:
            if len(self._data) >= header:
                (length,) = wire.HEADER.unpack_from(self._data)
                if length > ACT_CAP:
                    return {}
                if len(self._data) >= header + length:
                    body = self._data[header : header + length]
                    self._data = self._data[header + length :]
                    message: dict[str, Any] = json.loads(body, object_hook=Struct)
                    return message
            chunk = self._sock.recv(1 << 16)
            if not chunk:
                return {}
            self._data += chunk


class _Agent:
    def __init__(self, agent_dir: str) -> None:
        self._path = os.path.join(agent_dir, "main.py")
        self._configuration: Any = None
        self._call: Any = None

    def start(self, message: dict[str, Any]) -> dict[str, Any]:
        seed = int(message["seed"], 16)
        random.seed(seed)
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            numpy.random.seed([(seed >> shift) & 0xFFFFFFFF for shift in (0, 32, 64, 96)])
        self._configuration = message["configuration"]
        if message.get("load") == "own":
            try:
                self._load()
            except Exception:
                return {"k": "error", "n": None, "trace": last_lines()}
        return {"k": "ready"}

    def act(self, message: dict[str, Any]) -> dict[str, Any]:
        number = message["n"]
        try:
            if self._call is None:
                self._load()
            configuration = structify(self._configuration)
            configuration["__raw_path__"] = self._path
            arguments = [message["observation"], configuration]
            taken = getattr(getattr(self._call, "__code__", None), "co_argcount", None)
            if taken is not None:
                arguments = arguments[:taken]
            return {"k": "reply", "n": number, "action": self._call(*arguments)}
        except Exception:
            return {"k": "error", "n": number, "trace": last_lines()}

    def _load(self) -> None:
        with open(self._path, encoding="utf-8") as file:
            source = file.read()
        self._call = last_callable(source, self._path)


def last_callable(source: str, path: str) -> Callable[..., Any]:
    """The last callable that the source defines; its folder is importable only meanwhile."""
    namespace: dict[str, Any] = {}
    code = compile(source, path, "exec")
    folder = os.path.dirname(path)
    sys.path.append(folder)
    try:
        exec(code, namespace)  # noqa: S102  this is what the whole box is for
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
    callables: list[Callable[..., Any]] = [v for v in namespace.values() if callable(v)]
    if not callables:
        raise TypeError("main.py defines no function; the last callable in it is the agent")
    return callables[-1]


def structify(value: Any) -> Any:
    """A deep copy in which every dict allows attribute access."""
    if isinstance(value, dict):
        return Struct({key: structify(item) for key, item in value.items()})
    if isinstance(value, list):
        return [structify(item) for item in value]
    return value


def last_lines() -> str:
    """The end of the current exception's traceback, without this module's own frames."""
    kind, error, trace = sys.exc_info()
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    text = "".join(traceback.format_exception(kind, error, trace))
    kept = "\n".join(text.splitlines()[-TRACE_LINES:])
    return kept.encode("utf-8", "replace")[-TRACE_BYTES:].decode("utf-8", "ignore")


def encode_answer(answer: dict[str, Any]) -> bytes:
    """The answer's frame; an action that JSON cannot carry is replaced by an object saying so."""
    try:
        return wire.encode(answer, REPLY_CAP)
    except Exception as error:
        reason = f"{type(answer.get('action')).__name__}: {type(error).__name__}"[:200]
        stand_in = {"k": "reply", "n": answer.get("n"), "action": {UNSENDABLE: reason}}
        return wire.encode(stand_in, REPLY_CAP)


def _open_log(fd: int) -> io.TextIOWrapper:
    return open(fd, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1)


def _flush(stream: io.TextIOWrapper) -> None:
    try:
        stream.flush()
    except (OSError, ValueError):
        pass  # the agent closed it


def _write_mark(border: bytes) -> None:
    for fd in (1, 2):
        try:
            os.write(fd, border)
        except OSError:
            pass  # the agent closed it: its log ends here


def prepare() -> None:
    """Called once in the zygote: what every child would otherwise pay for."""
    json.dumps({"k": "ready"})
    "".join(traceback.format_exception(ValueError("x")))
    gc.collect()
