"""Listening to a container engine: who of ours died of what, and whether it is the same engine.

An engine that is restarted takes its containers with it, and may answer again before anybody has
noticed that it was away. So one thread holds the engine's stream of events for as long as we live.
Every break of the stream begins a new *epoch*; a box remembers the epoch it was started in, and one
of an earlier epoch was the engine's to lose. No agent can break the stream: nothing an agent writes
reaches the engine.
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
"""How long a started listener may take to hear the engine."""
PAUSE_SECONDS = 0.25
OOM_SECONDS = 2.0
"""A kill for memory is told before the death it caused; this much later at the most."""
FROM_OUTSIDE = frozenset(128 + number for number in (1, 2, 9, 15))
"""Exit codes of a process ended by SIGHUP, SIGINT, SIGKILL or SIGTERM."""


@dataclass
class _ContainerEnd:
    exit_code: int | None = None
    dead: bool = False
    out_of_memory: bool = False
    by_request: bool = False


class EngineEvents:
    """Hears the engine for one launcher. Methods may be called from several threads.

    ``listen`` opens the stream of events (it may hang while the engine comes up); ``heard`` is
    called each time it has; ``trouble`` are the exceptions either may raise when the engine goes.
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
        """Listen from now on; EngineAway when nothing is heard in time. Does nothing again."""
        with self._changed:
            if self._thread is not None:
                return
            self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
            self._thread.start()
            if not self._changed.wait_for(lambda: self._hears, FIRST_SECONDS):
                raise EngineAway("the engine's events cannot be heard")

    def epoch(self) -> int:
        """The number of the present epoch; EngineAway while nothing is heard."""
        with self._changed:
            if not self._hears:
                raise EngineAway("the engine is away")
            return self._epoch

    def is_current_epoch(self, epoch: int) -> bool:
        """Whether this epoch has not ended."""
        return self._epoch == epoch

    def follow(self, container: str) -> None:
        """Keep what is heard of this container until ``forget``."""
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
        """Wait until the container is heard to have died, or the epoch has ended."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._epoch != epoch or self._fate(container).dead, seconds
            )

    def killed_from_outside(self, container: str) -> bool:
        """Whether it died by a signal, and not because its memory was used up."""
        with self._changed:
            fate = self._fate(container)
            if fate.exit_code not in FROM_OUTSIDE:
                return False
            return not self._changed.wait_for(lambda: fate.out_of_memory, OOM_SECONDS)

    def killed_by_request(self, container: str) -> bool:
        """Whether somebody told the engine to kill it: no agent can."""
        with self._changed:
            return self._fate(container).by_request

    def was_killed(self, container: str) -> bool:
        """Whether SIGKILL ended it, by whomever."""
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
                pass  # it ends as a stream that was closed does
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
