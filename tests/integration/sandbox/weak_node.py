"""Runs a node without one of its protections, to test that the hostile agents notice.

``python -m tests.integration.sandbox.weak_node WEAKNESS NODE-OPTIONS...``

It changes the launcher's constants, the options of the engine or bubblewrap, or a copy of the box's
program.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docker.api.container import ContainerApiMixin

from sandbox import profiles
from sandbox.launchers import base, bubblewrap
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
    header = struct.pack("=Ii", _CAP_VERSION_3, 0)
    sets = ctypes.create_string_buffer(24)
    machine = os.uname().machine
    assert _LIBC.syscall(ctypes.c_long(_CAPGET[machine]), header, sets) == 0
    words = list(struct.unpack("=6I", sets.raw))
    words[0], words[3] = words[1], words[4]
    assert _LIBC.syscall(ctypes.c_long(_CAPSET[machine]), header, struct.pack("=6I", *words)) == 0
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


def weaken(weakness: Weakness, folder: Path) -> None:
    """Remove the protection in this process; ``folder`` is for the changed program."""
    for name, value in weakness.constants.items():
        assert hasattr(base, name), name
        setattr(base, name, value)
    if weakness.box:
        profiles.BOX_PROGRAM = _changed_program(weakness.box, folder)
    _replace(ContainerApiMixin, "create_host_config", _host_config(weakness.docker))
    if "network_mode" in weakness.docker:
        _replace(ContainerApiMixin, "create_container", _with_network)
    _replace(bubblewrap.BubblewrapLauncher, "_command", _command(weakness))


def _changed_program(lines: Mapping[str, str], folder: Path) -> Path:
    program = folder / "box"
    shutil.copytree(profiles.BOX_PROGRAM, program, ignore=shutil.ignore_patterns("__pycache__"))
    for name, more in lines.items():
        module = program / f"{name}.py"
        source = module.read_text()
        for line in more.splitlines():
            if line.startswith("def ") and not line.startswith("def _"):
                assert line.split("(")[0] + "(" in source, f"{name} has no {line}"
        module.write_text(source + "\n" + more)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return program


def _replace(owner: type, name: str, make: Callable[[Callable[..., Any]], Any]) -> None:
    setattr(owner, name, make(getattr(owner, name)))


def _host_config(changes: Mapping[str, Any]) -> Callable[[Callable[..., Any]], Any]:
    def make(original: Callable[..., Any]) -> Any:
        def create_host_config(self: Any, *args: Any, **options: Any) -> Any:
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

    return make


def _with_network(original: Callable[..., Any]) -> Any:
    def create_container(self: Any, *args: Any, **options: Any) -> Any:
        return original(self, *args, **options | {"network_disabled": False})

    return create_container


def _command(weakness: Weakness) -> Callable[[Callable[..., Any]], Any]:
    def make(original: Callable[..., Any]) -> Any:
        def command(self: Any, *args: Any) -> list[str]:
            told: list[str] = original(self, *args)
            assert not set(weakness.without) - set(told), "bubblewrap is told otherwise now"
            return [word for word in told if word not in weakness.without] + [*weakness.more]

        return command

    return make


@contextlib.contextmanager
def started_as(weakness: str, folder: Path) -> Iterator[str]:
    """A program that replaces the interpreter for a start of ``-m sandbox.node``."""
    script = folder / "python"
    words = [sys.executable, "-m", "tests.integration.sandbox.weak_node", f"'{weakness}'"]
    script.write_text(f'#!/bin/sh\nshift 2\nexec {" ".join(words)} "$@"\n')
    script.chmod(0o755)
    yield str(script)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="peck-weak-") as folder:
        weaken(WEAKNESSES[sys.argv[1]], Path(folder))
        return __main__.main(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
