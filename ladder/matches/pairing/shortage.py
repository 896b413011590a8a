"""Says whether a field can fill a match, what it lacks, and which reference agents would help."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ladder.matches.pairing.bipartite_matching import BundleMatching
from ladder.matches.pairing.candidates import Candidate, free_anchors, may_share_lineup


def shortage_message(field: Sequence[Candidate], seats: int, same_team_lineups: bool) -> str | None:
    """Why this field fills no match, and what to add, as one sentence; None when it fills one.

    Anchors alone make no match of several seats: it would rate nobody.
    """
    playing = [each for each in field if each.weight > 0]
    filled, remedy = _count_filled_seats(playing, seats, same_team_lineups)
    if filled < seats:
        return f"{filled} of {seats} seats can be filled: {remedy}"
    if seats > 1 and all(each.is_anchor for each in playing):
        return f"{seats} of {seats} seats can be filled, by anchors alone: add an agent"
    return None


def anchors_to_add(entered: Collection[str], offered: Mapping[str, str], seats: int) -> list[str]:
    """Names of the reference agents that a season needs for the seats that competitors leave empty.

    ``entered`` holds the digests of the anchors that the season has, ``offered`` the digests of
    reference agents by name, the first choice first. The season gets as many different anchors as
    a match has seats. One fewer is not enough: the only competitor may be a copy of an anchor, and
    equal bundles never meet. A match of one seat needs none.
    """
    if seats == 1:
        return []
    known = set(entered)
    added: list[str] = []
    for name, digest in offered.items():
        if len(known) >= seats:
            break
        if digest not in known:
            known.add(digest)
            added.append(name)
    return added


def _count_filled_seats(
    field: Sequence[Candidate], seats: int, same_team_lineups: bool
) -> tuple[int, str]:
    """How many seats of one match this field fills, and what would fill one more."""
    if _filled_in_order(field, seats, same_team_lineups) == seats:
        return seats, ""
    bundles = len({(each.digest, each.profile) for each in field})
    filled = bundles if same_team_lineups else BundleMatching(field, seats).most()
    if filled == len(field):
        return filled, "add an agent or an anchor"
    if filled == bundles:
        return filled, "add an agent or an anchor that is no copy of another"
    return filled, (
        "add an agent of another team or an anchor, or let agents of one team meet in a match"
    )


def _filled_in_order(field: Sequence[Candidate], seats: int, same_team_lineups: bool) -> int:
    """Seats that the candidates fill in their order: quick, but a matching may fill more."""
    free = free_anchors(field)
    taken: list[Candidate] = []
    for each in field:
        if len(taken) == seats:
            break
        if may_share_lineup(each, taken, same_team_lineups, free):
            taken.append(each)
    return len(taken)
