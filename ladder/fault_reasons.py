"""The text of a stored reason for people, without its numbers."""

from __future__ import annotations

import re
from typing import Final

DISQUALIFIED: Final = "disqualified: "
"""Before the words of a host in the reason of a disqualified entry."""
DETAILS: Final = " Details: "
"""Between the sentence of a seat's fault and its numbers."""
OBSERVED: Final = re.compile(r" \((observation\.\w+ \d+)\)$")
"""The number of a fault's step as the agent saw it."""


def short_reason(reason: str) -> str:
    """The sentence of a reason, without its numbers.

    The text names the step only once, and no step for a fault while loading.
    """
    sentence = OBSERVED.sub("", reason).partition(DETAILS)[0]
    return re.sub(r"^[A-Z]+ at step (?:0: |(\d+): (?=.*\bstep \1\b))", "", sentence)
