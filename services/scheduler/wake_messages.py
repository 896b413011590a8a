"""Sends the wake-up messages of the scheduler to workers, raters, notifiers and drawing workers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from ladder.database import db
from ladder.machines import checks
from ladder.matches import wake_up_messages
from ladder.notices import deliveries
from ladder.ratings import fitting, live_ratings
from ladder.reports import pictures
from ladder.telemetry import log_event
from workers.broker import WakeError

Wake = Callable[[str, str, str], None]
"""Sends one message: queue, task, and id of a match, a season or a channel."""

WAKE_PAUSE_SECONDS = 1.0
"""How long no message is sent after one failed."""
RATE_AGAIN_SECONDS = 2.0
"""Shortest time between two messages to the rater about one season."""
REPORTS = "reports"
"""Stands for all results that wait for a check, in messages to the rater."""
DRAW_AGAIN_SECONDS = 1.0
"""Shortest time between two messages to the drawing worker."""
JUDGE_AGAIN_SECONDS = 60.0
"""Time between two messages to look for games worth watching."""


class WakeMessages:
    """Sends wake-up messages for due matches, and for seasons with results to rate."""

    def __init__(self, wake: Wake) -> None:
        self._wake = wake
        self._quiet_until = 0.0
        self._drawn_at = self._judged_at = -math.inf
        self._rated_at: dict[str, float] = {}

    def send_play_messages(self, conn: db.Connection) -> dict[str, int]:
        """Sends a message for each match that is due for one."""
        if time.monotonic() < self._quiet_until:
            return {}
        with conn.transaction():
            due = wake_up_messages.mark_due_matches_woken(conn)
        for position, (queue, match_id) in enumerate(due):
            try:
                self._wake(queue, "play", match_id)
            except WakeError as error:
                self._pause_sending(error)
                not_woken = [match for _, match in due[position:]]
                with conn.transaction():
                    wake_up_messages.mark_matches_due_again(conn, not_woken)
                return {"woken": position, "wake_ups_failed": len(not_woken)}
        return {"woken": len(due)}

    def send_rate_messages(self, conn: db.Connection) -> dict[str, int]:
        """Sends the rater a message if results wait, or a check or a fit is due. Repeats it only
        after the rater had time to answer."""
        now = time.monotonic()
        if now < self._quiet_until:
            return {}
        woken = 0
        due: set[str] = {*live_ratings.seasons_to_rate(conn), *fitting.seasons_to_fit(conn)}
        if checks.are_waiting(conn):
            due.add(REPORTS)
        for season in sorted(due):
            woken_at = self._rated_at.get(season, -math.inf)
            if now - woken_at < RATE_AGAIN_SECONDS:
                continue
            try:
                self._wake("rate", "rate", season)
            except WakeError as error:
                self._pause_sending(error)
                return {"raters_woken": woken, "wake_ups_failed": 1}
            self._rated_at[season] = now
            woken += 1
        return {"raters_woken": woken}

    def send_notice_messages(self, conn: db.Connection) -> dict[str, int]:
        """Sends a message for each channel that is due. A lost one is sent again soon."""
        if time.monotonic() < self._quiet_until:
            return {}
        with conn.transaction():
            due = deliveries.channels_to_wake(conn)
        for position, channel in enumerate(due):
            try:
                self._wake("notices", "notify", channel)
            except WakeError as error:
                self._pause_sending(error)
                return {"notifiers_woken": position, "wake_ups_failed": len(due) - position}
        return {"notifiers_woken": len(due)}

    def send_draw_messages(self, conn: db.Connection) -> dict[str, int]:
        """Sends a message if pictures are wanted, and each minute one to look for games worth
        watching. Repeats it only after the worker had time to answer."""
        now = time.monotonic()
        if now < max(self._quiet_until, self._drawn_at + DRAW_AGAIN_SECONDS):
            return {}
        judges = now >= self._judged_at + JUDGE_AGAIN_SECONDS
        if not judges and not pictures.are_wanted(conn):
            return {}
        try:
            self._wake("draw", "draw", "judge" if judges else "pictures")
        except WakeError as error:
            self._pause_sending(error)
            return {"wake_ups_failed": 1}
        self._drawn_at = now
        self._judged_at = now if judges else self._judged_at
        return {"drawers_woken": 1}

    def _pause_sending(self, error: WakeError) -> None:
        log_event("wake_ups_failed", level="warning", error=str(error))
        self._quiet_until = time.monotonic() + WAKE_PAUSE_SECONDS
