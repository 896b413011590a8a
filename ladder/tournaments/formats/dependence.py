"""Finds which pairings depend on another one, and what a changed result changes."""

from __future__ import annotations

from ladder.tournaments.formats.plan import (
    DoubleElimination,
    SingleElimination,
    Solo,
    Swiss,
)
from ladder.tournaments.formats.records import Course, Event, Key


def downstream(event: Event, course: Course, key: Key) -> tuple[Key, ...]:
    """Returns the pairings whose entrants can depend on the result of this one, in order.

    In a bracket these are the pairings that its winner or loser can reach. In rounds that are
    paired by results, these are all pairings of later rounds. All later stages depend on it.
    """
    stage = event.plan.stages[key.stage - 1]
    reached: set[Key] = {each.key for each in course.pairings if each.key.stage > key.stage}
    own = course.stage(key.stage)
    if isinstance(stage, SingleElimination | DoubleElimination):
        found = {key}
        for each in own:
            if any(origin.key in found for origin in each.origins):
                found.add(each.key)
        reached |= found - {key}
    elif isinstance(stage, Swiss | Solo):
        reached |= {each.key for each in own if each.key.round > key.round}
    else:
        reached |= {each.key for each in own if each.section == "play-off"} - {key}
    return tuple(sorted(reached))


def changed(before: Course, after: Course) -> tuple[Key, ...]:
    """Returns the pairings whose entrants or outcome differ, and those that only one course has."""
    old = {each.key: each for each in before.pairings}
    new = {each.key: each for each in after.pairings}
    return tuple(
        sorted(
            key
            for key in old.keys() | new.keys()
            if key not in old
            or key not in new
            or sorted(_known(old[key].entrants)) != sorted(_known(new[key].entrants))
            or old[key].outcome != new[key].outcome
        )
    )


def _known(entrants: tuple[int | None, ...]) -> list[int]:
    return [each or 0 for each in entrants]
