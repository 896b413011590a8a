"""What a Docker engine tells us: its runtimes, how our containers died, whether it restarted.

The runtime for boxes is the usual one or gVisor, whose boxes have their own kernel. In gVisor the
host does not see a box's processes. So no match group can hold them, some limits do not exist, and
gVisor's own threads and memory count as the box's.

A restarted engine takes its containers with it. It may answer again before anybody notices. So one
thread reads the engine's stream of events all the time. Every break of the stream begins a new
*epoch*. A box remembers the epoch of its start. If that epoch is over, the engine lost the box. No
agent can break the stream, because nothing an agent writes reaches the engine.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.errors import EngineAway, HostFault

GVISOR = "runsc"
SOCKETS = "--host-uds=open"
"""Without this option no box can call its node back."""
SNIPPET = (
    '{"runtimes": {"runsc": {"path": "/usr/bin/runsc", '
    '"runtimeArgs": ["--host-uds=open", "--network=none"]}}}'
)
"""Boxes never have a network. With this option the runtime sets none up, which fails with
packages of 2022 on newer kernels.
"""
REMEDY = f"install gVisor, put {SNIPPET} into /etc/docker/daemon.json and restart the engine"
USE = f"python -m sandbox.node --launcher docker --runtime {GVISOR}, or PECK_NODE_RUNTIME={GVISOR}"


@dataclass(frozen=True)
class Runtime:
    """The runtime that boxes start with, and its consequences."""

    name: str = ""
    """The engine's name of the runtime. Empty for the engine's default."""
    is_gvisor: bool = False

    @property
    def more_processes(self) -> int:
        """The runtime's own processes and threads that count as the box's.

        gVisor has about 75 at rest, and 7 for each process of an agent, which has 44 at most.
        """
        return 960 if self.is_gvisor else 0

    @property
    def more_mb(self) -> int:
        """The runtime's own memory that counts as the box's.

        gVisor takes 30 to 40 MB at rest, and 8 to 12 MB for each further process of an agent (other
        runtimes less than 1). This is enough for seven of them beside all of the agent's own.
        """
        return 128 if self.is_gvisor else 0

    def limits(self, limits: Mapping[str, int]) -> dict[str, int]:
        refused = ("MSGQUEUE", "SIGPENDING", "NICE", "RTPRIO") if self.is_gvisor else ()
        return {name: value for name, value in limits.items() if name not in refused}

    def digest(self, image: str) -> str:
        """What a match records: the image, and the runtime if one was named."""
        return f"{image}+{self.name}" if self.name else image


USUAL = Runtime()


def find_runtime(info: Mapping[str, Any], name: str) -> Runtime:
    """Return the runtime of this name from the engine's ``info``.

    Raises HostFault, with what to do, if the engine does not know it or it cannot run our boxes.
    """
    if not name:
        return USUAL
    runtimes: Mapping[str, Any] = info.get("Runtimes") or {}
    if name not in runtimes:
        names = ", ".join(sorted(runtimes))
        raise HostFault(f"runtime: the engine knows no {name!r} (it has {names}). {REMEDY}")
    entry = runtimes[name]
    path = str(entry.get("path", "")) if isinstance(entry, Mapping) else ""
    runtime = Runtime(name, GVISOR in (name, os.path.basename(path)))
    if runtime.is_gvisor and misses_socket_option(entry):
        raise HostFault(f"runtime: {name} runs without {SOCKETS}. {REMEDY}")
    return runtime


def misses_socket_option(entry: object) -> bool:
    """Whether an engine's entry of gVisor shows that boxes cannot call back.

    Newer engines may keep the options in a file of their own. Then only a started box shows it.
    """
    if not isinstance(entry, Mapping) or not entry.get("path"):
        return False
    return not {SOCKETS, "--host-uds=all"} & set(entry.get("runtimeArgs") or ())


EVENTS = ("die", "kill", "oom")
FIRST_SECONDS = 20.0
"""How long a new listener may take to hear the engine."""
PAUSE_SECONDS = 0.25
OOM_SECONDS = 2.0
"""The report of a kill for memory may come this much later than the death."""
FROM_OUTSIDE = frozenset(128 + number for number in (1, 2, 9, 15))
"""Exit codes of a process ended by SIGHUP, SIGINT, SIGKILL or SIGTERM."""


@dataclass
class _ContainerEnd:
    exit_code: int | None = None
    dead: bool = False
    out_of_memory: bool = False
    by_request: bool = False


class EngineEvents:
    """Listens to the engine for one launcher. Several threads may call its methods.

    ``listen`` opens the stream of events and may hang while the engine starts. ``heard`` is called
    each time the stream opens. ``trouble`` are the exceptions that either raises when the engine
    goes away.
    """

    def __init__(
        self,
        listen: Callable[[], Iterable[Mapping[str, Any]]],
        heard: Callable[[], None],
        trouble: tuple[type[Exception], ...],
    ) -> None:
        self._listen = listen
        self._heard = heard
        self._trouble = trouble
        self._changed = threading.Condition()
        self._epoch = 0
        self._hears = False
        self._fates: dict[str, _ContainerEnd] = {}
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start to listen. Raises EngineAway if nothing is heard in time. Safe to repeat."""
        with self._changed:
            if self._thread is not None:
                return
            self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
            self._thread.start()
            if not self._changed.wait_for(lambda: self._hears, FIRST_SECONDS):
                raise EngineAway("the engine's events cannot be read")

    def epoch(self) -> int:
        """The number of the present epoch. Raises EngineAway while nothing is heard."""
        with self._changed:
            if not self._hears:
                raise EngineAway("the engine is away")
            return self._epoch

    def is_current_epoch(self, epoch: int) -> bool:
        return self._epoch == epoch

    def follow(self, container: str) -> None:
        """Keep the events of this container until ``forget``."""
        with self._changed:
            self._fates[container] = _ContainerEnd()

    def forget(self, container: str) -> None:
        with self._changed:
            self._fates.pop(container, None)

    def out_of_memory(self, container: str) -> bool:
        with self._changed:
            fate = self._fates.get(container)
            return fate is not None and fate.out_of_memory

    def wait_until_dead(self, container: str, epoch: int, seconds: float) -> bool:
        """Wait until the container's death is reported or the epoch has ended."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._epoch != epoch or self._fate(container).dead, seconds
            )

    def killed_from_outside(self, container: str) -> bool:
        """Whether it died by a signal and not for its memory."""
        with self._changed:
            fate = self._fate(container)
            if fate.exit_code not in FROM_OUTSIDE:
                return False
            return not self._changed.wait_for(lambda: fate.out_of_memory, OOM_SECONDS)

    def killed_by_request(self, container: str) -> bool:
        """Whether somebody asked the engine to kill it. No agent can."""
        with self._changed:
            return self._fate(container).by_request

    def was_killed(self, container: str) -> bool:
        """Whether SIGKILL ended it, whoever sent it."""
        with self._changed:
            return self._fate(container).exit_code == 128 + 9

    def _fate(self, container: str) -> _ContainerEnd:
        return self._fates.get(container) or _ContainerEnd()

    def _run(self) -> None:
        while True:
            try:
                events = self._listen()
                self._heard()
                with self._changed:
                    self._hears = True
                    self._changed.notify_all()
                for event in events:
                    self._note(event)
            except self._trouble:
                pass  # the thread ends as after a closed stream
            with self._changed:
                if self._hears:
                    self._hears = False
                    self._epoch += 1
                    self._changed.notify_all()
            time.sleep(PAUSE_SECONDS)

    def _note(self, event: Mapping[str, Any]) -> None:
        actor = event.get("Actor") or {}
        with self._changed:
            fate = self._fates.get(str(actor.get("ID")))
            if fate is None:
                return
            if event.get("Action") == "oom":
                fate.out_of_memory = True
            if event.get("Action") == "kill":
                fate.by_request = True
            if event.get("Action") == "die":
                code = str((actor.get("Attributes") or {}).get("exitCode"))
                fate.exit_code = int(code) if code.isdigit() else None
                fate.dead = True
            self._changed.notify_all()
