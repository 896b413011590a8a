"""Who plays whom next: pure, seeded, from maintained counts alone.

Each lineup is led by the entry most in need of a game (newcomers first, then the least played for
their weight); its opponents are drawn near its rating, wider while a rating is uncertain. One place
in ten goes to anybody, so that no part of the field drifts apart.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from random import Random
from typing import Final

from ladder.ids import AgentId, EntryId, SubmissionId, TeamId
from ladder.model import LineupSeat

PLACING_GAMES: Final = 5  # these come first whatever the weight: everybody is seen early
NEIGHBOURS: Final = 64  # nearest by rating on either side that are considered
STRAYS: Final = 24  # drawn from the whole field besides
ANYBODY: Final = 0.1  # share of opponents drawn without regard to rating
SHARE_CAP: Final = 2  # an entry is in at most this multiple of its even share of matches in flight
LEAST_CAP: Final = 4  # and always in this many


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


def propose(
    candidates: Sequence[Candidate],
    *,
    seats: int,
    lineups: int,
    rng: Random,
    beta: float,
    same_team_lineups: bool = False,
) -> Proposal:
    """Up to ``lineups`` lineups of exactly ``seats`` entries each.

    No lineup holds an entry twice, equal bundles of one profile twice, or (unless
    ``same_team_lineups``) a team twice. Entries of weight 0 do not play. The result depends on the
    arguments and the state of ``rng`` alone.
    """
    field = sorted((c for c in candidates if c.weight > 0), key=lambda c: (c.mu, c.entry_id))
    reason = _obstacle(field, seats, same_team_lineups)
    if reason is not None:
        return Proposal((), reason)

    load = {c.entry_id: c.in_flight for c in field}
    under_way = sum(load.values()) / seats + lineups
    cap = max(LEAST_CAP, math.ceil(SHARE_CAP * seats * under_way / len(field)))
    # The neediest first; an entry's place is corrected when it comes up, as need only grows.
    waiting = [(_need(c, c.in_flight), rng.random(), n) for n, c in enumerate(field)]
    heapify(waiting)
    made: list[tuple[LineupSeat, ...]] = []
    while waiting and len(made) < lineups:
        need, tie_break, n = heappop(waiting)
        lead = field[n]
        if load[lead.entry_id] >= cap:
            continue
        now = _need(lead, load[lead.entry_id])
        if now > need:
            heappush(waiting, (now, tie_break, n))
            continue
        lineup = _gather(lead, field, load, cap, seats, rng, beta, same_team_lineups)
        if lineup is None:
            continue
        for each in lineup:
            load[each.entry_id] += 1
        heappush(waiting, (_need(lead, load[lead.entry_id]), tie_break, n))
        rng.shuffle(lineup)
        made.append(tuple(each.seat for each in lineup))
    if len(made) < lineups:
        return Proposal(tuple(made), "everybody who can play is in enough matches already")
    return Proposal(tuple(made), None)


def _need(each: Candidate, load: int) -> float:
    """Games had, counted slower for light entries; the least comes first."""
    played = each.games + load
    return min(played, PLACING_GAMES) + max(0, played - PLACING_GAMES) / each.weight


def _gather(
    lead: Candidate,
    field: Sequence[Candidate],
    load: dict[EntryId, int],
    cap: int,
    seats: int,
    rng: Random,
    beta: float,
    same_team_lineups: bool,
) -> list[Candidate] | None:
    """A full lineup around ``lead``, or None when not enough fitting opponents are free."""
    lineup = [lead]
    pool = _around(lead, field, rng)
    for nearby in (pool, field):  # the whole field only where the neighbourhood does not suffice
        open_to = [c for c in nearby if load[c.entry_id] < cap]
        while len(lineup) < seats:
            fitting = [c for c in open_to if _fits(c, lineup, same_team_lineups)]
            if not fitting:
                break
            anybody = rng.random() < ANYBODY
            weights = [
                c.weight / (1 + load[c.entry_id]) * (1.0 if anybody else _kinship(lead, c, beta))
                for c in fitting
            ]
            lineup.append(rng.choices(fitting, weights)[0])
        if len(lineup) == seats:
            return lineup
        if nearby is field or len(pool) == len(field):
            break
    return None


def _around(lead: Candidate, field: Sequence[Candidate], rng: Random) -> Sequence[Candidate]:
    if len(field) <= 2 * NEIGHBOURS + STRAYS:
        return field
    middle = bisect_left(field, (lead.mu, lead.entry_id), key=lambda c: (c.mu, c.entry_id))
    low = max(0, min(middle - NEIGHBOURS, len(field) - 2 * NEIGHBOURS))
    near = list(field[low : low + 2 * NEIGHBOURS])
    known = {c.entry_id for c in near}
    return near + [c for c in rng.sample(field, STRAYS) if c.entry_id not in known]


def _kinship(lead: Candidate, other: Candidate, beta: float) -> float:
    """Likelihood of being drawn by rating alone: near is likely, uncertain is wide, never zero."""
    width = (0.5 * beta) ** 2 + lead.sigma**2 + other.sigma**2
    return max(math.exp(-((lead.mu - other.mu) ** 2) / (2 * width)), 1e-9)


def _fits(each: Candidate, lineup: Sequence[Candidate], same_team_lineups: bool) -> bool:
    return all(
        each.entry_id != other.entry_id
        and (each.digest, each.profile) != (other.digest, other.profile)
        and (same_team_lineups or each.team_id != other.team_id)
        for other in lineup
    )


def _obstacle(field: Sequence[Candidate], seats: int, same_team_lineups: bool) -> str | None:
    """Why no lineup can be made at all, or None."""
    if len(field) < seats:
        return f"{len(field)} active entries, a match needs {seats}"
    bundles = len({(c.digest, c.profile) for c in field})
    if bundles < seats:
        return f"{bundles} different bundles among the active entries, a match needs {seats}"
    teams = len({c.team_id for c in field})
    if teams < seats and not same_team_lineups:
        return (
            f"{teams} teams with active entries, a match needs {seats}"
            " (the league's host can allow several entries of a team in a lineup)"
        )
    return None
