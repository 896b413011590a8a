"""Fields of candidates for tests of the pairing, and seasons played on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import sqrt
from random import Random
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from ladder.ids import AgentId, EntryId, SubmissionId, TeamId
from ladder.matches.pairing import Candidate, EncounterCounts, Proposal, propose_lineups
from ladder.matches.pairing.information_gain import fisher_information

BETA = 150.0
WHOLE_PATH = "ladder.matches.pairing.candidate_arrays.WHOLE"
"""Import path of the largest field size that is paired without a sample."""


def candidate(number: int, **changes: Any) -> Candidate:
    given: dict[str, Any] = {
        "entry_id": EntryId(f"ent_{number:05d}"),
        "submission_id": SubmissionId(f"sub_{number:05d}"),
        "agent_id": AgentId(f"age_{number:05d}"),
        "team_id": TeamId(f"tea_{number:05d}"),
        "digest": f"digest {number}",
        "profile": "numpy",
        "mu": 600.0,
        "sigma": 100.0,
        "games": 20,
        "in_flight": 0,
        "weight": 1.0,
    }
    return Candidate(**{**given, **changes})


def ladder(size: int, **changes: Any) -> list[Candidate]:
    """Settled entries, evenly spread over six beta."""
    return [
        candidate(n, **{"mu": 150.0 + 900.0 * n / (size - 1), "sigma": 20.0, **changes})
        for n in range(size)
    ]


def pair(field: list[Candidate], lineups: int = 1, seed: int = 1, **terms: Any) -> Proposal:
    given: dict[str, Any] = {"seats": 4, "beta": BETA}
    return propose_lineups(field, lineups=lineups, rng=Random(seed), **{**given, **terms})


def players(proposal: Proposal) -> list[list[str]]:
    """The entries of each lineup, by seat."""
    return [[str(seat.entry_id) for seat in lineup] for lineup in proposal.lineups]


def counted(proposal: Proposal) -> Counter[str]:
    return Counter(entry for lineup in players(proposal) for entry in lineup)


def met(proposal: Proposal) -> Counter[frozenset[str]]:
    """The number of lineups for each pair of entries."""
    return Counter(
        frozenset((one, two))
        for lineup in players(proposal)
        for one in lineup
        for two in lineup
        if one < two
    )


def season(
    field: list[Candidate], lineups: int, *, at_once: int = 2, seats: int = 4, seed: int = 5
) -> Iterator[list[str]]:
    """Lineups of a season, in batches; each batch is paired after the results of the previous one.

    Means stay; deviations shrink, and seats and meetings are counted.
    """
    rng = Random(seed)
    games: Counter[str] = Counter()
    seat_games = {c.entry_id: [0] * seats for c in field}
    numbers = {c.entry_id: n for n, c in enumerate(field)}
    known = EncounterCounts(numbers)
    for _ in range(lineups // at_once):
        now = [
            replace(
                c,
                games=c.games + games[c.entry_id],
                sigma=1
                / sqrt(c.sigma**-2 + fisher_information(seats) * games[c.entry_id] / BETA**2),
                seat_games=tuple(seat_games[c.entry_id]),
            )
            for c in field
        ]
        proposal = propose_lineups(
            now,
            seats=seats,
            lineups=at_once,
            rng=rng,
            beta=BETA,
            met=known,
        )
        assert len(proposal.lineups) == at_once
        games += counted(proposal)
        played = [[EntryId(entry) for entry in lineup] for lineup in players(proposal)]
        known = known.plus(numbers, [[numbers[entry] for entry in lineup] for lineup in played])
        for lineup in played:
            for seat, entry in enumerate(lineup):
                seat_games[entry][seat] += 1
            yield [str(entry) for entry in lineup]


@st.composite
def fields(draw: st.DrawFn) -> list[Candidate]:
    """Small fields with all obstacles: shared bundles, teams, profiles and anchors.

    Some teams have both an anchor and a competitor.
    """
    has_loss = draw(st.sampled_from(["all", "some", "none"]))
    size = draw(st.integers(0, 14))
    return [
        candidate(
            n,
            team_id=TeamId(f"tea_{draw(st.integers(0, 6))}"),
            digest=f"digest {draw(st.integers(0, 9))}",
            profile=draw(st.sampled_from(["numpy", "numpy", "torch"])),
            mu=draw(st.floats(-3000, 3000)),
            sigma=draw(st.floats(0, 300)),
            games=draw(st.integers(0, 50)),
            in_flight=draw(st.integers(0, 6)),
            weight=draw(st.sampled_from([0.0, 0.1, 1.0, 3.0])),
            is_anchor=draw(st.booleans()),
            loss=draw(st.floats(0, 0.1))
            if has_loss == "all" or (has_loss == "some" and n % 2)
            else None,
            seat_games=tuple(draw(st.lists(st.integers(0, 9), max_size=4))),
        )
        for n in range(size)
    ]
