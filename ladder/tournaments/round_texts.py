"""The words for the round that a tournament plays, in lists. Pure."""

from __future__ import annotations

from ladder.tournaments.formats import Plan


def round_text(plan: Plan, position: str) -> str:
    """Stage and round, from a position such as ``1.2``: ``round 2 of 3``, ``stage 2, round 1``.

    The number of rounds is named if the plan fixes it.
    """
    stage, _, number = position.partition(".")
    of = getattr(plan.stages[int(stage) - 1], "rounds", None)
    # A play-off follows the last round of a plan.
    counted = f"round {number} of {of}" if of and int(number) <= of else f"round {number}"
    return f"stage {stage}, {counted}" if len(plan.stages) > 1 else counted
