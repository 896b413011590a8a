"""Runs a node whose boxes lack one protection each, to test that the hostile agents notice.

``python -m tests.integration.sandbox.weak_node NODE-OPTIONS...``

The file ``weakness`` in the node's run directory names what the next boxes lack. The node changes
the launcher's constants, the options of the engine or bubblewrap, or a copy of the box's program.
That copy knows its weakness by the box's host name.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from docker.api.container import ContainerApiMixin

from sandbox import profiles
from sandbox.launchers import base, bubblewrap, docker
from sandbox.launchers.base import Box, BoxSpec
from sandbox.node import __main__

_NO_UID_CHANGE = """
def _stay(uid: int) -> None:
    pass

harden.set_uid = _stay  # only here: the unpacker's uid is another protection
"""
_KEEP_CAPABILITIES = """
def drop_capabilities() -> None:
    pass

def empty_capability_sets() -> None:
    pass

_set_uid_without = set_uid

def set_uid(uid: int) -> None:
    prctl(8, 1)
    _set_uid_without(uid)
    sets = ctypes.create_string_buffer(24)
    assert _SYSCALL(_CAPGET, _CAP_HEADER, sets) == 0
    words = list(struct.unpack("=6I", sets.raw))
    words[0], words[3] = words[1], words[4]
    assert _SYSCALL(_CAPSET, _CAP_HEADER, struct.pack("=6I", *words)) == 0
"""
_NO_FILTER = """
def install_filter(code: bytes) -> None:
    pass
"""
_ONE_UID = """
def _one_uid(self: Supervisor, number: int) -> int | None:
    return UID + min(number, 1)

Supervisor._uid = _one_uid
""".replace("UID", str(base.UID_BASE + 17_000))


@dataclass(frozen=True)
class Weakness:
    """One removed protection: lines for modules of the box, options of Docker and of bubblewrap."""

    box: Mapping[str, str] = field(default_factory=dict)
    """Lines to append to a module, by the module's name; they redefine its names."""
    docker: Mapping[str, Any] = field(default_factory=dict)
    """Container options that replace the launcher's."""
    without: tuple[str, ...] = ()
    """Options removed from bubblewrap's command."""
    more: tuple[str, ...] = ()
    """Options added to bubblewrap's command."""
    constants: Mapping[str, Any] = field(default_factory=dict)
    """Values that replace the launchers' common constants."""


def _without_process_limit() -> dict[str, int]:
    return {name: value for name, value in base.LIMITS.items() if name != "NPROC"}


WEAKNESSES: Mapping[str, Weakness] = {
    "none": Weakness(),
    "uid 0": Weakness(box={"zygote": _NO_UID_CHANGE}),
    "capabilities": Weakness(
        box={"harden": _KEEP_CAPABILITIES},
        docker={"cap_drop": [], "cap_add": ["SYS_NICE"]},
        more=("--cap-add", "ALL"),
    ),
    "no seccomp": Weakness(
        box={"seccomp": _NO_FILTER},
        docker={"security_opt": ["no-new-privileges", "seccomp=unconfined"]},
    ),
    "network": Weakness(docker={"network_mode": "bridge"}, without=("--unshare-net",)),
    "no pids limit": Weakness(
        constants={"MOST_PROCESSES": 1000, "LIMITS": _without_process_limit()}
    ),
    "no memory limit": Weakness(constants={"OVERHEAD_MB": 4096}),
    "socket folder": Weakness(docker={"binds": "writable"}),
    "shared uid": Weakness(box={"supervisor": _ONE_UID}),
}


def weaken(run_dir: Path, folder: Path) -> None:
    """Change the launchers in this process; ``folder`` is for the changed program."""
    _present.file = run_dir / "weakness"
    profiles.BOX_PROGRAM = _changed_program(folder)
    for kind in (docker.DockerLauncher, bubblewrap.BubblewrapLauncher):
        _replace(kind, "start", _start)
    _replace(bubblewrap.BubblewrapLauncher, "_command", _command)
    _replace(ContainerApiMixin, "create_host_config", _host_config)
    _replace(ContainerApiMixin, "create_container", _create_container)


class _Present:
    """The weakness of the box that starts now. One box starts at a time."""

    lock = threading.Lock()
    file: Path
    name = "none"

    @property
    def weakness(self) -> Weakness:
        return WEAKNESSES[self.name]

    @property
    def host_name(self) -> str:
        return self.name.replace(" ", "-")


_present = _Present()


def _changed_program(folder: Path) -> Path:
    """A copy of the box's program, where the lines of a weakness count under its host name."""
    program = folder / "box"
    shutil.copytree(profiles.BOX_PROGRAM, program, ignore=shutil.ignore_patterns("__pycache__"))
    for name, weakness in WEAKNESSES.items():
        for module_name, lines in weakness.box.items():
            module = program / f"{module_name}.py"
            source = module.read_text()
            for line in lines.splitlines():
                if line.startswith("def ") and not line.startswith("def _"):
                    assert line.split("(")[0] + "(" in source, f"{module_name} has no {line}"
            condition = f"\nimport os\nif os.uname().nodename == {name.replace(' ', '-')!r}:\n"
            module.write_text(source + condition + textwrap.indent(lines, "    "))
    with (program / "zygote.py").open("a") as file:
        file.write(f"\n# {secrets.token_hex(8)}\n")  # no other run has this image
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return program


def _replace(owner: type, name: str, make: Callable[[Callable[..., Any]], Any]) -> None:
    setattr(owner, name, make(getattr(owner, name)))


def _start(original: Callable[..., Box]) -> Callable[..., Box]:
    def start(self: Any, spec: BoxSpec) -> Box:
        with _present.lock:
            _present.name = _present.file.read_text() if _present.file.exists() else "none"
            constants = _present.weakness.constants
            assert all(hasattr(base, name) for name in constants), constants
            with mock.patch.multiple(base, **constants) if constants else contextlib.nullcontext():
                return original(self, spec)

    return start


def _host_config(original: Callable[..., Any]) -> Callable[..., Any]:
    def create_host_config(self: Any, *args: Any, **options: Any) -> Any:
        changes = _present.weakness.docker
        assert not set(changes) - set(options), "the launcher says nothing of this any more"
        options |= {name: value for name, value in changes.items() if name != "binds"}
        if "binds" in changes:
            for path in options["binds"]:
                os.chmod(path, 0o777)
            options["binds"] = {
                path: bind | {"mode": "rw"} for path, bind in options["binds"].items()
            }
        return original(self, *args, **options)

    return create_host_config


def _create_container(original: Callable[..., Any]) -> Callable[..., Any]:
    def create_container(self: Any, *args: Any, **options: Any) -> Any:
        changes: dict[str, Any] = {"hostname": _present.host_name}
        if "network_mode" in _present.weakness.docker:
            changes["network_disabled"] = False
        return original(self, *args, **options | changes)

    return create_container


def _command(original: Callable[..., list[str]]) -> Callable[..., list[str]]:
    def command(self: Any, *args: Any) -> list[str]:
        told, weakness = original(self, *args), _present.weakness
        assert not set(weakness.without) - set(told), "bubblewrap is told otherwise now"
        told[told.index("--hostname") + 1] = _present.host_name
        return [word for word in told if word not in weakness.without] + [*weakness.more]

    return command


@contextlib.contextmanager
def started_as(folder: Path) -> Iterator[str]:
    """A program that replaces the interpreter for a start of ``-m sandbox.node``."""
    script = folder / "python"
    words = [sys.executable, "-m", "tests.integration.sandbox.weak_node"]
    script.write_text(f'#!/bin/sh\nshift 2\nexec {" ".join(words)} "$@"\n')
    script.chmod(0o755)
    yield str(script)


def main() -> int:
    options = sys.argv[1:]
    run_dir = Path(options[options.index("--run-dir") + 1])
    with tempfile.TemporaryDirectory(prefix="peck-weak-") as folder:
        weaken(run_dir, Path(folder))
        return __main__.main(options)


if __name__ == "__main__":
    sys.exit(main())
