from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import sqrt
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ladder.ids import AgentId, EntryId, SubmissionId, TeamId
from ladder.pairing import Candidate, Proposal, propose
from ladder.pairing.worth import information


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


def pair(field: list[Candidate], lineups: int = 1, seed: int = 1, **terms: Any) -> Proposal:
    given: dict[str, Any] = {"seats": 4, "beta": 150.0}
    return propose(field, lineups=lineups, rng=Random(seed), **{**given, **terms})


def counted(proposal: Proposal) -> Counter[str]:
    return Counter(seat.entry_id for lineup in proposal.lineups for seat in lineup if seat.entry_id)


@st.composite
def fields(draw: st.DrawFn) -> list[Candidate]:
    return [
        candidate(
            n,
            team_id=TeamId(f"tea_{draw(st.integers(0, 6))}"),
            digest=f"digest {draw(st.integers(0, 9))}",
            mu=draw(st.floats(0, 1500)),
            sigma=draw(st.floats(10, 200)),
            games=draw(st.integers(0, 50)),
            in_flight=draw(st.integers(0, 6)),
            weight=draw(st.sampled_from([0.0, 0.1, 1.0, 3.0])),
        )
        for n in range(draw(st.integers(0, 14)))
    ]


@settings(max_examples=200)
@given(fields(), st.integers(0, 8), st.integers(0, 99), st.booleans(), st.integers(2, 4))
def test_every_lineup_is_whole_and_fair(
    field: list[Candidate], lineups: int, seed: int, same_team: bool, seats: int
) -> None:
    proposal = pair(field, lineups, seed, same_team_lineups=same_team, seats=seats)
    known = {c.entry_id: c for c in field}
    assert len(proposal.lineups) <= lineups
    assert len(proposal.lineups) == lineups or proposal.reason
    for lineup in proposal.lineups:
        players = [known[seat.entry_id] for seat in lineup if seat.entry_id is not None]
        assert len({p.entry_id for p in players}) == seats == len(lineup)
        assert len({(p.digest, p.profile) for p in players}) == seats
        assert same_team or len({p.team_id for p in players}) == seats
        assert all(p.weight > 0 for p in players)
    assert proposal == pair(field, lineups, seed, same_team_lineups=same_team, seats=seats)


def test_too_few_entries_teams_or_bundles_are_named() -> None:
    four = [candidate(n) for n in range(4)]
    assert pair(four[:3]).reason == "3 active entries, a match needs 4"
    one_team = [replace(c, team_id=TeamId("tea_x")) for c in four]
    few_teams = pair(one_team)
    assert few_teams.lineups == ()
    assert few_teams.reason is not None
    assert "1 teams with active entries, a match needs 4" in few_teams.reason
    assert len(pair(one_team, same_team_lineups=True).lineups) == 1
    equal = [replace(c, digest="same") for c in four]
    assert pair(equal).reason == "1 different bundles among the active entries, a match needs 4"
    assert len(pair(four).lineups) == 1
    assert pair(four).reason is None


def test_a_newcomer_is_led_before_all_others() -> None:
    field = [candidate(n) for n in range(20)] + [candidate(99, games=0, sigma=200.0)]
    assert all(
        "ent_00099" in {s.entry_id for s in pair(field, 1, seed).lineups[0]} for seed in range(10)
    )


def test_a_newcomer_does_not_take_every_match_at_once() -> None:
    field = [candidate(n) for n in range(40)] + [candidate(99, games=0)]
    assert counted(pair(field, 30))["ent_00099"] <= 8


def test_a_light_entry_is_seen_early_and_then_seldom() -> None:
    field = [candidate(n, games=0) for n in range(8)] + [candidate(9, games=0, weight=0.1)]
    load = _season(field, 150)
    assert load["ent_00009"] >= 5
    assert load["ent_00009"] < 0.5 * min(load[c.entry_id] for c in field[:8])


def test_nobody_starves_and_equals_play_equally_often() -> None:
    field = [candidate(n, games=0, mu=400.0 + 40 * n, sigma=200.0) for n in range(12)]
    load = _season(field, 300)
    assert min(load.values()) >= 0.6 * max(load.values())


def test_settled_entries_meet_their_like() -> None:
    field = [candidate(n, mu=100.0 * n, sigma=20.0) for n in range(30)]
    near = far = 0
    mus = {c.entry_id: c.mu for c in field}
    for seed in range(60):
        for lineup in pair(field, 1, seed).lineups:
            spread = [mus[s.entry_id] for s in lineup if s.entry_id is not None]
            gaps = [abs(a - b) for a in spread for b in spread]
            near += max(gaps) <= 600
            far += max(gaps) > 600
    assert near > far


def test_the_cap_leaves_room_in_a_tiny_league() -> None:
    assert len(pair([candidate(n) for n in range(4)], 16).lineups) == 16


def test_a_large_field_is_paired_from_the_neighbourhood() -> None:
    field = [candidate(n, mu=600.0 + n / 10) for n in range(10_000)]
    proposal = pair(field, 32)
    assert len(proposal.lineups) == 32
    assert max(counted(proposal).values()) <= 4


def _season(field: list[Candidate], rounds: int) -> Counter[str]:
    """Games had by each after that many lineups, two at a time; each game tells something."""
    rng = Random(5)
    games: Counter[str] = Counter()
    for _ in range(rounds // 2):
        now = [
            replace(
                c,
                games=c.games + games[c.entry_id],
                sigma=1 / sqrt(c.sigma**-2 + information(4) * games[c.entry_id] / 150**2),
            )
            for c in field
        ]
        games += counted(propose(now, seats=4, lineups=2, rng=rng, beta=150.0))
    return games
