"""Listens to a container engine: how our containers died, and whether the engine restarted.

A restarted engine takes its containers with it. It may answer again before anybody notices. So one
thread reads the engine's stream of events all the time. Every break of the stream begins a new
*epoch*. A box remembers the epoch of its start. If that epoch is over, the engine lost the box. No
agent can break the stream, because nothing an agent writes reaches the engine.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.errors import EngineAway

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
        """Whether this epoch is still the present one."""
        return self._epoch == epoch

    def follow(self, container: str) -> None:
        """Keep the events of this container until ``forget``."""
        with self._changed:
            self._fates[container] = _ContainerEnd()

    def forget(self, container: str) -> None:
        with self._changed:
            self._fates.pop(container, None)

    def out_of_memory(self, container: str) -> bool:
        """Whether the kernel has killed for memory in it."""
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
