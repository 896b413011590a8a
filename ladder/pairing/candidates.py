"""Who can be paired, what was proposed, and when nothing can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ladder.ids import AgentId, EntryId, SubmissionId, TeamId
from ladder.model import LineupSeat


@dataclass(frozen=True, slots=True)
class Candidate:
    """An active entry as the pairing sees it."""

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
    loss: float | None = None
    """What the standings lose by not knowing it better; None before its first official fit."""
    seat_games: tuple[int, ...] = ()
    """Games had in each seat, as far as they were counted."""

    @property
    def seat(self) -> LineupSeat:
        """The seat it takes in a match."""
        return LineupSeat(
            self.entry_id, self.submission_id, self.agent_id, self.team_id, self.profile
        )


@dataclass(frozen=True, slots=True)
class Proposal:
    lineups: tuple[tuple[LineupSeat, ...], ...]
    """By seat, in the order in which they should be played."""
    reason: str | None
    """Why there are fewer than asked for, one sentence; None when there are not."""
    left_out: tuple[str, ...] = ()
    """Whom no node can play now, a sentence for each profile."""


def together(each: Candidate, others: Sequence[Candidate], same_team_lineups: bool) -> bool:
    """Whether this one may join these in a lineup."""
    return all(
        each.entry_id != other.entry_id
        and (each.digest != other.digest or each.profile != other.profile)
        and (same_team_lineups or each.team_id != other.team_id)
        for other in others
    )


def left_out(candidates: Sequence[Candidate], admissible: Collection[str] | None) -> list[str]:
    """A sentence for each profile of the field that is not admissible."""
    if admissible is None:
        return []
    waiting = Counter(c.profile for c in candidates if c.profile not in admissible and c.weight > 0)
    return [
        f"{count} active {'entry waits' if count == 1 else 'entries wait'}"
        f" for a node that serves profile {profile}"
        for profile, count in sorted(waiting.items())
    ]


def obstacle(field: Sequence[Candidate], seats: int, same_team_lineups: bool) -> str | None:
    """Why no lineup can be made at all, or None."""
    if len(field) < seats:
        return f"{len(field)} active entries, a match needs {seats}"
    bundles = _different(((c.digest, c.profile) for c in field), seats)
    if bundles < seats:
        return f"{bundles} different bundles among the active entries, a match needs {seats}"
    teams = _different((c.team_id for c in field), seats)
    if teams < seats and not same_team_lineups:
        return (
            f"{teams} teams with active entries, a match needs {seats}"
            " (the league's host can allow several entries of a team in a lineup)"
        )
    return None


def _different(keys: Iterable[object], enough: int) -> int:
    """How many different ones there are; it stops counting when there are enough."""
    seen: set[object] = set()
    for key in keys:
        seen.add(key)
        if len(seen) >= enough:
            break
    return len(seen)
