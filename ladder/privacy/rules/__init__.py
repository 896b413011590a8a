"""Says of every table what it holds about a person, and what becomes of it when the account goes.

Export, erasing and the page ``/privacy`` follow ``RULES``. A test compares ``RULES`` with the
database: every column that can hold a text needs a rule.
"""

from __future__ import annotations

from typing import Final

from ladder.privacy.rules import account, contests, membership, others, works
from ladder.privacy.rules.rule import AGENTS, OWN_SEATS, Rule

RULES: Final = (
    *account.RULES,
    *membership.RULES,
    *works.RULES,
    *contests.RULES,
    *others.RULES,
)
"""In the order of erasing: a rule may read the rows of the rules below it."""

__all__ = ["AGENTS", "OWN_SEATS", "RULES", "Rule"]
