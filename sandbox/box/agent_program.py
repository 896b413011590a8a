"""Runs the agent's own program as a child of the match's child, by contract *lines* or *riddles*.

The program has the same uid, group, limits and system call filter. It dies with its parent, so one
kill ends a match. A Python program is forked from the parent, whose libraries are already imported.
So it starts within a millisecond, and behaves as after ``python FILE``. All its output is hostile
and bounded.

Contract *lines* has one JSON line to the program and one line back. The program first gets
``{"type": "start", "configuration": ..., "seed": ...}`` and does not answer. Each move is
``{"type": "move", "observation": ...}``. Output before a question is an answer too early. Output
after the answer is a second answer.

Contract *riddles* is riddles.io's text protocol, for GOLAD. The program gets the settings before
its first move and the updates before each move. Then comes ``action move BANK`` with the
milliseconds it has. It answers with one line: ``pass``, ``kill x,y``, ``birth x,y a,b c,d``, or
``no_moves`` for a pass. Output before the question is dropped. If several lines come together, the
last one counts.
"""

from __future__ import annotations

import atexit
import codecs
import importlib.util
import json
import os
import select
import signal
import sys
import time
import traceback
import types
from typing import Any, NoReturn

from . import harden, socket_patch
from .bundle_manifest import Manifest

PROFILE_OF = {
    "numpy": "numpy",
    **dict.fromkeys(("scipy", "numba", "llvmlite", "pandas", "sklearn", "joblib"), "science"),
    **dict.fromkeys(("lightgbm", "onnxruntime", "google"), "science"),
    "torch": "torch",
    "sympy": "torch",
    "networkx": "torch",
}
"""The smallest profile that has the module."""
ONLY_IN = {"pandas": "science", "torch": "torch"}
"""Modules of two profiles, neither of which contains the other."""


def import_remedy(error: BaseException | None) -> str:
    """How to get the missing module. Empty for any other error."""
    if not isinstance(error, ModuleNotFoundError) or not isinstance(error.name, str):
        return ""
    name = error.name
    if "." in name or not name.isidentifier():
        return ""  # the library exists, or it is no library
    bundle = f"put it into your folder (for a library, `pip install --target FOLDER {name}`)"
    profile = PROFILE_OF.get(name)
    if profile is None:
        return f"{name} is in no profile: {bundle}"
    lost = [module for module in ONLY_IN if ONLY_IN[module] != profile and _is_installed(module)]
    if lost and profile in ONLY_IN.values():
        return (
            f"{name} is in the profile {profile}, which lacks {lost[0]}: {bundle},"
            f" or add --profile {profile} if you do not need {lost[0]}"
        )
    return f"{name} is in the profile {profile}: add --profile {profile}"


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except Exception:  # the agent's own importers take part
        return False


MOST_LINE_BYTES = 12 << 10
"""Most bytes of one answer. The packet to the referee may be a little longer."""
MOST_HEARD_BYTES = 1 << 20
"""Most bytes per match that the program writes between questions."""
_PR_SET_PDEATHSIG = 1
_ENDING_SECONDS = 0.2
_LOOK_MS = 20
_CHUNK = 1 << 16


class ContractBroken(Exception):
    """The program broke its contract. The text is for its owner and names the remedy."""

    def __init__(
        self, why: str, *, is_gone: bool = False, is_invalid: bool = False, is_late: bool = False
    ) -> None:
        super().__init__(why)
        self.why = why
        self.is_gone = is_gone
        """Whether nothing will answer any more."""
        self.is_invalid = is_invalid
        """Whether it gave an answer that is no answer."""
        self.is_late = is_late
        """Whether its time passed without an answer."""


class AgentProgram:
    """The running program. With ``talks`` its standard streams are ours."""

    def __init__(
        self, manifest: Manifest, agent_dir: str, environment: dict[str, str], *, talks: bool
    ) -> None:
        """Start the program. Raises ContractBroken if it does not start."""
        self._name = manifest.program
        self._heard = bytearray()
        self._has_written = False
        self._unasked_bytes = 0
        self._status: int | None = None
        trouble, told = os.pipe2(os.O_CLOEXEC)
        null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        files = [null, 1, 2, told]
        if talks:
            files[0], self._to = os.pipe2(os.O_CLOEXEC)
            self._from, files[1] = os.pipe2(os.O_CLOEXEC)
        parent = os.getpid()
        try:
            self.pid = os.fork()
        except OSError as error:
            raise ContractBroken(f"{self._name} cannot be started: {error.strerror}") from None
        if self.pid == 0:
            _become_program(parent, manifest, agent_dir, environment, files)
        for fd in {null, told, *([files[0], files[1]] if talks else [])}:
            os.close(fd)
        why = os.read(trouble, 200).decode("utf-8", "replace")
        os.close(trouble)
        if why:
            raise ContractBroken(f"{self._name} cannot be started: {why}", is_gone=True)
        if talks:
            os.set_blocking(self._to, False)
            os.set_blocking(self._from, False)
            self._both = select.poll()
            self._both.register(self._to, select.POLLOUT)
            self._both.register(self._from, select.POLLIN)
            self._saying = select.poll()
            self._saying.register(self._from, select.POLLIN)

    def write_stdin(self, text: str) -> None:
        """Write this to its standard input, as fast as it reads."""
        data = memoryview(text.encode("utf-8", "replace"))
        while data:
            try:
                data = data[os.write(self._to, data) :]
            except BlockingIOError:
                for fd, _ in self._both.poll():
                    if fd == self._from:
                        self._read_output()
            except BrokenPipeError:
                raise self.gone_error("closed its standard input") from None

    def unasked(self) -> bytes:
        """What it wrote between questions, up to a limit."""
        while self._saying.poll(0) and len(self._heard) <= MOST_LINE_BYTES:
            self._read_output()
        said = bytes(self._heard)
        self._heard.clear()
        self._unasked_bytes += len(said)
        if self._unasked_bytes > MOST_HEARD_BYTES:
            raise ContractBroken(
                f"{self._name} wrote more than {MOST_HEARD_BYTES} bytes while it was not asked; "
                "write one line for each question, and what is for the log to standard error",
                is_gone=True,
            )
        return said

    def line(self) -> bytes:
        """Its next line without the end. Waits as long as the referee does."""
        while True:
            end = self._heard.find(b"\n")
            if 0 <= end <= MOST_LINE_BYTES:
                line = bytes(self._heard[:end])
                del self._heard[: end + 1]
                return line.removesuffix(b"\r")
            if len(self._heard) > MOST_LINE_BYTES:
                self._heard.clear()
                raise ContractBroken(
                    f"{self._name} wrote more than the {MOST_LINE_BYTES} bytes of a line; write "
                    "one line for each question, and what is for the log to standard error"
                )
            if self._saying.poll(_LOOK_MS):
                self._read_output()
            elif self.describe_exit() is not None and not self._saying.poll(0):
                raise self.gone_error("")  # processes it left behind may keep its output open

    def describe_exit(self, seconds: float = 0.0) -> str | None:
        """How it ended, in words; None while it runs."""
        until = time.monotonic() + seconds
        while self._status is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                return "is gone"
            if pid:
                self._status = status
            elif time.monotonic() >= until:
                return None
            else:
                time.sleep(0.001)
        code = os.waitstatus_to_exitcode(self._status)
        return f"exited with code {code}" if code >= 0 else f"ended by signal {_signal_name(-code)}"

    def waited_seconds(self) -> float:
        """Run-queue time of the calling thread, of the program's threads and of its processes.

        0 if the kernel does not report it.
        """
        waited, families = _queue_and_children_of("/proc/thread-self")[0], [self.pid]
        while families:
            tasks = f"/proc/{families.pop()}/task"
            try:
                threads = os.listdir(tasks)
            except OSError:
                continue  # the process has ended
            for thread in threads:
                seconds, children = _queue_and_children_of(f"{tasks}/{thread}")
                waited += seconds
                families += children
        return waited

    def gone_error(self, otherwise: str) -> ContractBroken:
        """The error that nothing will answer any more: how the program ended, or ``otherwise``."""
        how = self.describe_exit(_ENDING_SECONDS) or otherwise
        return ContractBroken(
            f"{self._name} {how}; it must run, and answer, until it is ended (what it wrote to "
            "standard error is in the log)",
            is_gone=True,
        )

    def _read_output(self) -> None:
        try:
            said = os.read(self._from, _CHUNK)
        except BlockingIOError:
            return
        if not said:
            raise self.gone_error("closed its standard output")
        if not self._has_written:  # some runtimes begin their output with a byte order mark
            self._has_written = True
            said = said.removeprefix(codecs.BOM_UTF8)
        self._heard += said
        if len(self._heard) > MOST_HEARD_BYTES:
            raise ContractBroken(
                f"{self._name} writes but does not read; read every line", is_gone=True
            )


def _queue_and_children_of(thread: str) -> tuple[float, list[int]]:
    """A thread's time in the run queue, and the pids of the processes it started."""
    seconds, children = 0.0, []
    try:
        with open(f"{thread}/schedstat", "rb") as file:
            seconds = int(file.read(64).split()[1]) * 1e-9
        with open(f"{thread}/children", "rb") as file:
            children = [int(pid) for pid in file.read(4096).split()]
    except (OSError, ValueError, IndexError):
        pass  # the thread has ended, or the kernel does not report it
    return seconds, children


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _become_program(
    parent: int,
    manifest: Manifest,
    agent_dir: str,
    environment: dict[str, str],
    files: list[int],
) -> NoReturn:
    """Become the program, in the forked process.

    ``files`` are its three streams and the descriptor that reports why it did not start.
    """
    code, trouble = 70, files[3]
    try:
        try:
            harden.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(code)
            harden.keep_files(files)
            trouble = 3
            path = os.path.join(agent_dir, manifest.program)
            if not manifest.is_python:
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                os.execve(path, [path, *manifest.entry[1:]], environment)  # noqa: S606
        except OSError as error:
            os.write(trouble, (error.strerror or repr(error)).encode()[:200])
            os._exit(code)
        os.close(trouble)
        code = _run_script(path, [path, *manifest.entry[2:]], environment)
    finally:
        os._exit(code & 0xFF)


def _run_script(path: str, words: list[str], environment: dict[str, str]) -> int:
    """Execute a Python file as ``python FILE`` does. Returns its exit code."""
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = words
    sys.path.insert(0, os.path.dirname(path))
    sys.stdin = open(0, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    # By lines, whatever is at the other end: an answer must not stay in a buffer.
    sys.stdout, sys.stderr = (
        open(fd, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        for fd in (1, 2)
    )
    if socket_patch.SOCKET_NAME_VARIABLE in environment:
        socket_patch.patch_sockets(environment[socket_patch.SOCKET_NAME_VARIABLE])
        del os.environ[socket_patch.SOCKET_NAME_VARIABLE]
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=__builtins__)
    sys.modules["__main__"] = module
    code = 0
    try:
        with open(path, "rb") as file:
            source = compile(file.read(), path, "exec", dont_inherit=True)
        exec(source, module.__dict__)  # noqa: S102  this is what the whole box is for
    except SystemExit as stop:
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        traceback.print_exception(type(error), error, trace)
        remedy = import_remedy(error)
        if remedy:
            print(remedy, file=sys.stderr)
        code = 1
    try:
        if "threading" in sys.modules:
            sys.modules["threading"]._shutdown()  # a server may run in a thread
        atexit._run_exitfuncs()
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    return code


class _TalkingAgent:
    """An agent whose program reads standard input and writes standard output."""

    def __init__(self, manifest: Manifest, agent_dir: str) -> None:
        self._manifest, self._agent_dir = manifest, agent_dir
        self._program: AgentProgram

    def start(self, told: dict[str, Any]) -> None:
        environment = program_environment()
        self._told = told
        self._program = AgentProgram(self._manifest, self._agent_dir, environment, talks=True)

    def end(self, observation: dict[str, Any]) -> None:
        """Nothing: the contract has no end message."""


class LinesAgent(_TalkingAgent):
    """An agent whose program reads and writes lines."""

    def start(self, told: dict[str, Any]) -> None:
        super().start(told)
        start = {"type": "start", "configuration": told["configuration"], "seed": told["seed"]}
        self._program.write_stdin(json_line(start) + "\n")

    def move(self, observation: dict[str, Any]) -> Any:
        program = self._program
        said = program.unasked()
        if said:
            raise ContractBroken(
                f"it wrote {printable(said)} before it was asked; write one line for each line of "
                'type "move", and nothing after type "start"'
            )
        program.write_stdin(json_line({"type": "move", "observation": observation}) + "\n")
        line = program.line()
        said = program.unasked()
        if said:
            raise ContractBroken(
                f"it wrote {printable(said)} after its answer; write one line a question"
            )
        try:
            return json.loads(line)
        except (ValueError, RecursionError):
            raise ContractBroken(
                f"the line {printable(line)} is no JSON text; write the move as JSON, for example "
                '"NORTH" with its quotes',
                is_invalid=True,
            ) from None


def program_environment() -> dict[str, str]:
    """A program's environment: a copy of the child's own."""
    return dict(os.environ)


def json_line(value: Any) -> str:
    """Encode as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def printable(said: bytes) -> str:
    """Make bytes of the program safe for a message."""
    text = said[:61].decode("utf-8", "replace")
    return repr(text if len(text) <= 60 else text[:57] + "...")


NEEDED = frozenset({"round", "width", "height", "max_rounds", "you", "field", "living"})


class RiddlesAgent(_TalkingAgent):
    """An agent whose program speaks the text protocol."""

    _has_settings = False

    def move(self, observation: dict[str, Any]) -> Any:
        if not observation.keys() >= NEEDED:
            raise ContractBroken(
                "contract riddles is only for GOLAD; use callable or lines for this game",
                is_gone=True,
            )
        program = self._program
        program.unasked()
        free = self._told["clock"]["act_seconds"]
        bank_ms = round(1000 * (free + observation["remainingOverageTime"]))
        words = [] if self._has_settings else self._settings(observation)
        self._has_settings = True
        words += build_update_lines(observation)
        program.write_stdin("\n".join([*words, f"action move {bank_ms}", ""]))
        lines = [program.line(), *program.unasked().split(b"\n")[:-1]]
        line = lines[-1].decode("utf-8", "replace").strip()
        return "pass" if line == "no_moves" else line

    def _settings(self, observation: dict[str, Any]) -> list[str]:
        clock, you = self._told["clock"], observation["you"]
        a_move_ms = round(1000 * (clock["act_seconds"] + clock["increment_seconds"]))
        return [
            "settings player_names player0,player1",
            f"settings your_bot player{you}",
            f"settings timebank {round(1000 * (clock['act_seconds'] + clock['bank_seconds']))}",
            f"settings time_per_move {a_move_ms}",
            f"settings your_botid {you}",
            f"settings field_width {observation['width']}",
            f"settings field_height {observation['height']}",
            f"settings max_rounds {observation['max_rounds']}",
        ]


def build_update_lines(observation: dict[str, Any]) -> list[str]:
    """The lines that the program gets before each move."""
    lines = [
        f"update game round {observation['round']}",
        f"update game field {observation['field']}",
    ]
    for player, count in enumerate(observation["living"]):
        lines.append(f"update player{player} living_cells {count}")
        if player != observation["you"]:
            lines.append(f"update player{player} move {observation.get('opponent_move') or 'null'}")
    return lines
