"""Defines candidates for pairing, the rules for sharing a lineup, and the proposal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from msgspec import Struct

from ladder.ids import AgentId, EntryId, SubmissionId, TeamId
from ladder.matches.records import LineupSeat


class Candidate(Struct, frozen=True, gc=False):
    """An active entry for the pairing. It is a struct, which is made faster than a dataclass.

    The garbage collector skips this struct, because it holds only texts and numbers.
    """

    entry_id: EntryId
    submission_id: SubmissionId
    agent_id: AgentId
    team_id: TeamId
    digest: str
    profile: str
    mu: float
    sigma: float
    games: int
    in_flight: int
    weight: float
    is_anchor: bool = False
    """Whether it is a reference agent, which has no rank; its games rate the others."""
    loss: float | None = None
    """Loss of the standings from not knowing its skill better; None before its first official fit.
    """
    seat_games: tuple[int, ...] = ()
    """Games played in each seat, as far as counted."""
    pace: float = 1.0
    """Below 1: it plays at most this share of the games that entries of pace 1 play on average,
    and ``PLACING_GAMES`` more.
    """
    most_in_flight: int | None = None
    """Most matches in flight; None: no limit. So one slow remote agent does not hold up the others.
    """

    @property
    def seat(self) -> LineupSeat:
        """Returns the seat of this candidate in a match."""
        return LineupSeat(
            self.entry_id, self.submission_id, self.agent_id, self.team_id, self.profile
        )

    @property
    def waits_for_first_match(self) -> bool:
        """Returns whether it competes and has no game, nor one in flight."""
        return not (self.is_anchor or self.games or self.in_flight) and self.weight > 0


@dataclass(frozen=True, slots=True)
class Proposal:
    lineups: tuple[tuple[LineupSeat, ...], ...]
    """Lineups by seat, in the order to play them."""
    reason: str | None
    """Why there are fewer lineups than requested, in one sentence; None if there are enough."""
    left_out: tuple[str, ...] = ()
    """One sentence for each profile that no node can play now."""


def free_anchors(field: Collection[Candidate]) -> frozenset[EntryId]:
    """Returns the anchors that may share a lineup with others of their team.

    Their teams have no competitor in this field. If an anchor's team competes, one entry of the
    team may play: an agent and an anchor of one team could help each other.
    """
    anchors = [each for each in field if each.is_anchor]
    if not anchors:
        return frozenset()
    teams = {each.team_id for each in anchors}
    competing = {each.team_id for each in field if each.team_id in teams and not each.is_anchor}
    return frozenset(each.entry_id for each in anchors if each.team_id not in competing)


def may_share_lineup(
    each: Candidate,
    others: Sequence[Candidate],
    same_team_lineups: bool,
    free: Collection[EntryId] = (),
) -> bool:
    """Whether this candidate may join these; ``free`` are the field's ``free_anchors``."""
    any_team = same_team_lineups or each.entry_id in free
    return all(
        each.entry_id != other.entry_id
        and (each.digest != other.digest or each.profile != other.profile)
        and (any_team or each.team_id != other.team_id)
        for other in others
    )


def left_out_profiles(
    candidates: Sequence[Candidate], admissible: Collection[str] | None
) -> list[str]:
    """Returns a sentence for each profile of the field that is not admissible."""
    if admissible is None:
        return []
    waiting = Counter(c.profile for c in candidates if c.profile not in admissible and c.weight > 0)
    return [
        f"{count} active {'entry waits' if count == 1 else 'entries wait'}"
        f" for a node that serves profile {profile}"
        for profile, count in sorted(waiting.items())
    ]
