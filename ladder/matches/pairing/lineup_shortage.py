"""Checks whether a field can fill a match, and which reference agents would help."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ladder.ids import EntryId
from ladder.matches.pairing.bipartite_matching import BundleMatching
from ladder.matches.pairing.candidates import Candidate, free_anchors, may_share_lineup


def shortage_message(field: Sequence[Candidate], seats: int, same_team_lineups: bool) -> str | None:
    """Returns why this field fills no match, and the remedy, in one sentence; None if it does.

    Anchors alone do not fill a match of several seats, because it would rate nobody.
    """
    playing = [each for each in field if each.weight > 0]
    filled, remedy = _count_filled_seats(playing, seats, same_team_lineups)
    if filled < seats:
        return f"{filled} of {seats} seats can be filled: {remedy}"
    if seats > 1 and all(each.is_anchor for each in playing):
        return f"{seats} of {seats} seats can be filled, by anchors alone: add an agent"
    return None


def anchors_to_add(entered: Collection[str], offered: Mapping[str, str], seats: int) -> list[str]:
    """Returns the reference agents that fill the seats which competitors leave empty.

    ``entered`` holds the digests of the season's anchors, ``offered`` the digests of reference
    agents by name, in order of preference. The season gets as many different anchors as a match has
    seats. One fewer is not enough: the only competitor may be a copy of an anchor, and equal
    bundles never meet. A match of one seat needs none.
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
    """Returns how many seats of a match this field fills, and the remedy for the next seat."""
    if _filled_in_order(field, seats, same_team_lineups) == seats:
        return seats, ""
    bundles = len({(each.digest, each.profile) for each in field})
    filled = bundles if same_team_lineups else BundleMatching(field, seats).max_filled_seats()
    if filled == len(field):
        return filled, "add an agent or an anchor"
    if filled == bundles:
        return filled, "add an agent or an anchor that is not a copy of another"
    return filled, (
        "add an agent of another team or an anchor, or let agents of one team meet in a match"
    )


def _filled_in_order(field: Sequence[Candidate], seats: int, same_team_lineups: bool) -> int:
    """Counts seats that a greedy choice fills; quick, but a matching may fill more."""
    taken = _take_in_order(field, seats, same_team_lineups, ())
    if taken < seats:
        taken = _take_in_order(field, seats, same_team_lineups, free_anchors(field))
    return taken


def _take_in_order(
    field: Sequence[Candidate], seats: int, same_team_lineups: bool, free: Collection[EntryId]
) -> int:
    taken: list[Candidate] = []
    for each in field:
        if len(taken) == seats:
            break
        if may_share_lineup(each, taken, same_team_lineups, free):
            taken.append(each)
    return len(taken)
