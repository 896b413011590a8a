"""A legal lineup where drawing one by one found none: tiny or one-sided fields."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from random import Random

from ladder.pairing.candidates import Candidate, together


def completed(
    field: Sequence[Candidate], lead: int, seats: int, same_team_lineups: bool, rng: Random
) -> list[int] | None:
    """Places of a legal lineup with this lead, or None when there is none.

    A lineup takes different teams to different bundles: a matching, grown by augmenting paths.
    """
    joining: dict[Hashable, dict[Hashable, int]] = {}
    for place in rng.sample(range(len(field)), len(field)):
        each = field[place]
        if together(each, [field[lead]], same_team_lineups):
            team: Hashable = place if same_team_lineups else each.team_id
            joining.setdefault(team, {}).setdefault((each.digest, each.profile), place)
    taken: dict[Hashable, Hashable] = {}  # bundle: team
    for team in joining:
        _augment(team, joining, taken, set())
        if len(taken) == seats - 1:
            return [lead, *(joining[team][bundle] for bundle, team in taken.items())]
    return None


def _augment(
    team: Hashable,
    joining: Mapping[Hashable, Mapping[Hashable, int]],
    taken: dict[Hashable, Hashable],
    seen: set[Hashable],
) -> bool:
    """Whether this team found a bundle, others having moved to another of theirs for it."""
    for bundle in joining[team]:
        if bundle in seen:
            continue
        seen.add(bundle)
        if bundle not in taken or _augment(taken[bundle], joining, taken, seen):
            taken[bundle] = team
            return True
    return False
