"""States as small labels with their colours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from markupsafe import Markup

STATE_CHIPS: Final = {
    "open": ("good", "open"),
    "paused": ("warn", "paused"),
    "locked": ("warn", "uploads locked"),
    "closed": ("", "closed"),
    "pending": ("warn", "in validation"),
    "active": ("good", "active"),
    "rejected": ("bad", "rejected"),
    "retired": ("", "retired"),
    "disqualified": ("bad", "disqualified"),
    "remote": ("accent", "remote"),
    "queued": ("warn", "queued"),
    "running": ("accent", "running"),
    "waiting": ("warn", "waiting"),
    "finished": ("good", "finished"),
    "void": ("", "void"),
    "cancelled": ("", "cancelled"),
    "asked": ("warn", "unanswered"),
    "accepted": ("good", "accepted"),
    "declined": ("bad", "declined"),
    "withdrawn": ("", "withdrawn"),
    "expired": ("", "expired"),
    "DONE": ("", "no fault"),
    "ERROR": ("bad", "error"),
    "INVALID": ("bad", "invalid move"),
    "TIMEOUT": ("bad", "timeout"),
    "private": ("", "private"),
    "public": ("", "public"),
    "rated": ("", "rated"),
    "validation": ("", "validation"),
    "scrim": ("", "scrim"),
    "better": ("good", "better"),
    "not_better": ("bad", "not better"),
    "cannot_tell": ("warn", "cannot tell"),
    "tournament": ("accent", "tournament"),
    "draft": ("warn", "draft"),
    "registration": ("good", "registration open"),
    "check_in": ("good", "check-in open"),
}
TOURNAMENT_CHIPS: Final = {
    "locked": ("accent", "registration ended"),
    "running": ("accent", "running"),
}


def tournament_chip(state: Any) -> Markup:
    """The state of a tournament as a small label."""
    kind, word = {**STATE_CHIPS, **TOURNAMENT_CHIPS}.get(str(state), ("", str(state)))
    return Markup('<span class="chip {}">{}</span>').format(kind, word)


def state_chip(state: Any) -> Markup:
    """A state as a small label with its colour."""
    kind, word = STATE_CHIPS.get(str(state), ("", str(state)))
    return Markup('<span class="chip {}">{}</span>').format(kind, word)


def verdict_options(verdicts: Iterable[str]) -> list[tuple[str, str]]:
    """Verdicts with their words."""
    return [(verdict, STATE_CHIPS[verdict][1]) for verdict in verdicts]
