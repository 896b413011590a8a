"""Asks the agent for its moves inside the child, by its bundle's contract.

This module has the callable contract: it executes Kaggle's ``main.py`` in the child. The other
contracts start a program (``agent_program``, ``http_contract``).

The agent is the last callable of ``main.py``'s namespace, in order of first definition. It gets
observation and configuration, or fewer arguments if it takes fewer. Source: kaggle_environments
``agent.py`` and ``core.py`` (1.33.2).
"""

from __future__ import annotations

import codecs
import gc
import io
import json
import os
import random
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from . import agent_program, bundle_manifest
from .agent_program import ContractBroken, LinesAgent, RiddlesAgent
from .bundle_manifest import Contract, Manifest
from .http_contract import BattlesnakeConversation, HttpAgent

SOURCE_ENCODING = "utf-8-sig"
"""Of ``main.py``: some editors add a byte order mark."""
REPLY_CAP = 16 << 10
ACT_CAP = 128 << 10
TRACE_LINES = 20
TRACE_BYTES = 8_000
TOLD_CHARACTERS = 300
"""Most characters of an exception's own text, so that its type always fits."""
IMPORTING = b'{"k":"importing"}'
IMPORTED = b'{"k":"imported"}'
"""Sent before and after ``main.py`` is executed if the start message asks for notices. They word
the reason of a time-out and decide nothing, because an agent can send them too.
"""
_REHEARSALS = 12
"""More than the runs after which the interpreter rewrites a function."""
UNSENDABLE = "__unsendable__"
"""Key of the object that replaces an answer that JSON cannot carry. Its value says why."""


class Struct(dict[str, Any]):
    """A dict whose keys are also attributes, as in kaggle_environments."""

    def __init__(self, entries: dict[str, Any]) -> None:
        if "items" in entries:
            entries = {key: value for key, value in entries.items() if key != "items"}
        dict.__init__(self, entries)
        self.__dict__.update(entries)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value
        self[name] = value


# Shared by all messages: json.loads and json.dumps make new ones at every call.
_DECODER = json.JSONDecoder(object_hook=Struct)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def serve_agent(sock: socket.socket, agent_dir: str, mark: bytes, *, waits: bool = False) -> None:
    """Answer the referee for the agent in this folder until it sends ``end`` or goes away.

    With ``waits`` the folder is not ready before the first message.
    """
    streams = _redirect_streams()
    if waits:
        sock.recv(1, socket.MSG_PEEK)
    manifest = bundle_manifest.read_manifest(agent_dir)
    if manifest.contract is Contract.CALLABLE:
        _answer_questions(sock, _CallableAgent(agent_dir, sock), _DECODER, mark, streams)
    else:
        speaker = _SPEAKERS[manifest.contract](manifest, agent_dir)
        _answer_questions(
            sock, _ProgramAgent(manifest.contract, speaker), json.JSONDecoder(), mark, streams
        )


def serve_program(
    sock: socket.socket, kind: Contract, speaker: ContractSpeaker, mark: bytes
) -> None:
    _answer_questions(
        sock, _ProgramAgent(kind, speaker), json.JSONDecoder(), mark, _redirect_streams()
    )


def _redirect_streams() -> tuple[io.TextIOWrapper, io.TextIOWrapper]:
    out, err = _open_log(1), _open_log(2)
    sys.stdout, sys.stderr = out, err
    return out, err


def _answer_questions(
    sock: socket.socket,
    agent: _CallableAgent | _ProgramAgent,
    decoder: json.JSONDecoder,
    mark: bytes,
    streams: tuple[io.TextIOWrapper, io.TextIOWrapper],
) -> None:
    """``sock`` is a connected SOCK_SEQPACKET: a packet is a message.

    Before each step, ``mark``, the step number and a NUL are written into both log streams. So the
    reader can split the text by moves.
    """
    decode, (out, err) = decoder.raw_decode, streams
    step = 0
    room = memoryview(bytearray(ACT_CAP + 1))
    while True:
        length = sock.recv_into(room)
        if not 0 < length <= ACT_CAP:
            return  # the referee has gone
        message = decode(str(room[:length], "utf-8"))[0]
        kind = message["k"]
        if kind == "act":
            step += 1
            _write_mark(mark + b"%d\0" % step)
            answer = agent.act(message)
        elif kind == "start":
            answer = agent.start(message)
        elif kind == "end":
            answer = agent.end(message)
        else:
            return
        _flush(out)
        _flush(err)
        sock.send(encode_answer(answer))
        if kind == "end" or answer.get("is_gone"):
            return


class _CallableAgent:
    def __init__(self, agent_dir: str, sock: socket.socket) -> None:
        self._path = os.path.join(agent_dir, "main.py")
        self._sock = sock
        self._has_notices = False
        self._configuration: dict[str, Any] = {}
        self._is_flat = False
        self._call: Any = None

    def start(self, message: dict[str, Any]) -> dict[str, Any]:
        seed_generators(int(message["seed"], 16))
        self._configuration = message["configuration"]
        self._has_notices = message.get("notices") is True
        # If no value can be changed, a shallow copy is enough.
        self._is_flat = not any(isinstance(v, dict | list) for v in self._configuration.values())
        if message.get("load") == "own":
            try:
                self._load()
            except Exception:
                return {"k": "error", "n": None, "trace": traceback_tail()}
        return {"k": "ready"}

    def act(self, message: dict[str, Any]) -> dict[str, Any]:
        number = message["n"]
        try:
            if self._call is None:
                self._load()
            told = self._configuration
            configuration = Struct(told) if self._is_flat else structify(told)
            configuration["__raw_path__"] = self._path
            arguments = [message["observation"], configuration]
            taken = getattr(getattr(self._call, "__code__", None), "co_argcount", None)
            if taken is not None:
                arguments = arguments[:taken]
            return {"k": "reply", "n": number, "action": self._call(*arguments)}
        except Exception:
            return {"k": "error", "n": number, "trace": traceback_tail()}

    def end(self, message: dict[str, Any]) -> dict[str, Any]:
        """The match is over. A callable gets no message."""
        return {"k": "ready"}

    def _load(self) -> None:
        with open(self._path, encoding=SOURCE_ENCODING) as file:
            source = file.read()
        self._notice(IMPORTING)
        self._call = last_callable(source, self._path)
        self._notice(IMPORTED)

    def _notice(self, notice: bytes) -> None:
        if self._has_notices:
            self._sock.send(notice)


ContractSpeaker = LinesAgent | RiddlesAgent | HttpAgent | BattlesnakeConversation
"""The other side of a contract: ``open``, ``move`` and ``end``."""
_SPEAKERS: Mapping[Contract, Callable[[Manifest, str], ContractSpeaker]] = {
    Contract.LINES: LinesAgent,
    Contract.RIDDLES: RiddlesAgent,
    Contract.HTTP: HttpAgent,
}


class _ProgramAgent:
    """An agent that is its own program. It starts when a main.py would be executed."""

    def __init__(self, kind: Contract, speaker: ContractSpeaker) -> None:
        self._contract = kind
        self._speaker = speaker
        self._told: dict[str, Any] = {}
        self._is_open = False

    def start(self, message: dict[str, Any]) -> dict[str, Any]:
        seed_generators(int(message["seed"], 16))
        self._told = message
        if message.get("load") == "own":
            answer = self._call_for_reply(None, self._open)
            if answer["k"] != "reply":
                return answer
        return {"k": "ready", "contract": self._contract}

    def act(self, message: dict[str, Any]) -> dict[str, Any]:
        def move() -> Any:
            if not self._is_open:
                self._open()
            return self._speaker.move(message["observation"])

        return self._call_for_reply(message["n"], move)

    def end(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send the end message, if the contract has one."""
        self._call_for_reply(None, lambda: self._speaker.end(message["observation"]))
        return {"k": "ready"}

    def _open(self) -> None:
        """Start the program once. After a failure it is not started again."""
        try:
            self._speaker.start(self._told)
        except ContractBroken as broken:
            raise ContractBroken(broken.why, is_gone=True) from None
        except OSError as error:
            raise ContractBroken(f"the program cannot be started: {error}", is_gone=True) from None
        self._is_open = True

    def _call_for_reply(self, number: int | None, act: Callable[[], Any]) -> dict[str, Any]:
        try:
            return {"k": "reply", "n": number, "action": act()}
        except ContractBroken as broken:
            flags = {name: getattr(broken, name) for name in ("is_gone", "is_invalid", "is_late")}
            return {"k": "fault", "n": number, "why": broken.why, **flags}
        except Exception:
            return {"k": "error", "n": number, "trace": traceback_tail()}


def seed_generators(seed: int) -> None:
    """Seed this process's generators with the seat's 128 bits for this match.

    Only libraries that are already imported share their state with all children of the zygote.
    """
    _seed_random_and_numpy(seed)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed & 0xFFFFFFFFFFFFFFFF)


def _seed_random_and_numpy(seed: int) -> None:
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed([(seed >> shift) & 0xFFFFFFFF for shift in (0, 32, 64, 96)])


def last_callable(source: str, path: str) -> Callable[..., Any]:
    """The last callable that the source defines. Its folder is importable only meanwhile."""
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
    """Return a deep copy in which every dict allows attribute access."""
    if isinstance(value, dict):
        return Struct({key: structify(item) for key, item in value.items()})
    if isinstance(value, list):
        return [structify(item) for item in value]
    return value


def traceback_tail() -> str:
    """The end of the current exception's traceback, without this module's frames."""
    kind, error, trace = sys.exc_info()
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    text = "".join(traceback.format_exception(kind, error, trace))
    told = "".join(traceback.format_exception_only(kind, error))
    if len(told) > TOLD_CHARACTERS:  # its beginning names the type
        text = text.removesuffix(told) + " ".join(told[:TOLD_CHARACTERS].split()) + "..."
    remedy = agent_program.import_remedy(error)
    if remedy:
        text = f"{text.rstrip()}; {remedy}"
    kept = "\n".join(text.splitlines()[-TRACE_LINES:])
    return kept.encode("utf-8", "replace")[-TRACE_BYTES:].decode("utf-8", "ignore")


def encode_answer(answer: dict[str, Any]) -> bytes:
    """Encode the answer's packet. An object with the reason replaces an action that JSON cannot
    carry.
    """
    try:
        packet = _ENCODER.encode(answer).encode("utf-8", "replace")
        if len(packet) <= REPLY_CAP:
            return packet
        why = f"{len(packet)} bytes are more than {REPLY_CAP}"
    except Exception as error:
        why = type(error).__name__
    if answer["k"] == "error":  # escapes can make a traceback six times as long
        return encode_answer({**answer, "trace": answer["trace"][-REPLY_CAP // 8 :]})
    reason = f"{type(answer.get('action')).__name__}: {why}"[:200]
    stand_in = {"k": "reply", "n": answer.get("n"), "action": {UNSENDABLE: reason}}
    return _ENCODER.encode(stand_in).encode("utf-8", "replace")


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


def warm_up() -> None:
    """Touch the memory pages of a match's first moments, in a pre-forked child.

    The match's own seeds replace these.
    """
    seed_generators(0)
    _rehearse_move()


def _rehearse_move() -> None:
    compile("def agent():\n    return [0]\n", "main.py", "exec")
    encode_answer(structify({"k": "reply", "n": 0, "action": [0]}))


def prepare_zygote() -> None:
    """Import and prepare once in the zygote what every child needs.

    The interpreter rewrites its code and its caches in the first runs. What has happened here
    copies no memory page in a child.
    """
    codecs.lookup(SOURCE_ENCODING)
    "".join(traceback.format_exception(ValueError("x")))
    for _ in range(_REHEARSALS):
        _DECODER.raw_decode('{"k":"act","n":1,"observation":{"step":1}}')
        _seed_random_and_numpy(0)
        _rehearse_move()
        for stream in (_open_log(1), _open_log(2)):
            _flush(stream)
        bundle_manifest.read_manifest(os.path.dirname(__file__))
    gc.collect()
