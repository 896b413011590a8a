from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random
from statistics import mean

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ladder.ids import EntryId, TeamId
from ladder.matches.pairing import (
    LONGEST_WAIT,
    Candidate,
    CandidateTable,
    EncounterCounts,
    LineupTerms,
    propose_from_table,
)
from ladder.matches.pairing.candidates import free_anchors, may_share_lineup
from tests.unit.ladder.matches.pairing.candidate_fields import (
    BETA,
    candidate,
    counted,
    fields,
    ladder,
    met,
    pair,
    players,
    season,
)

WHOLE_PATH = "ladder.matches.pairing.candidate_arrays.WHOLE"
"""Import path of the largest field size that is paired without a sample."""


@pytest.mark.parametrize("sampled", [False, True])
@given(fields(), st.integers(0, 8), st.integers(0, 99), st.booleans(), st.integers(2, 4))
def test_every_lineup_is_complete_and_legal(
    sampled: bool, field: list[Candidate], lineups: int, seed: int, same_team: bool, seats: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if sampled:
            patch.setattr(WHOLE_PATH, 0)
        proposal = pair(field, lineups, seed, same_team_lineups=same_team, seats=seats)
    known = {str(c.entry_id): c for c in field}
    for lineup in players(proposal):
        inside = [known[entry] for entry in lineup]
        assert len({p.entry_id for p in inside}) == seats == len(lineup)
        assert len({(p.digest, p.profile) for p in inside}) == seats
        assert all(p.weight > 0 for p in inside)
        competing = {c.team_id for c in field if c.weight > 0 and not c.is_anchor}
        bound = [p.team_id for p in inside if p.team_id in competing]
        assert same_team or len(set(bound)) == len(bound)


# Only two anchors may share a lineup: each shares bundle or team with the competitor.
ANCHORS_ALONE = [
    candidate(0, digest="same", is_anchor=True),
    candidate(1, digest="same", team_id=TeamId("tea_x"), sigma=0.0, loss=0.0, weight=0.1),
    candidate(2, team_id=TeamId("tea_x"), is_anchor=True),
]


@pytest.mark.parametrize("sampled", [False, True])
@settings(max_examples=100)
@example(field=ANCHORS_ALONE, lineups=1, seed=0, same_team=False, seats=2)
@given(fields(), st.integers(1, 8), st.integers(0, 99), st.booleans(), st.integers(2, 4))
def test_every_requested_lineup_is_made_if_one_legal_lineup_exists(
    sampled: bool, field: list[Candidate], lineups: int, seed: int, same_team: bool, seats: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if sampled:
            patch.setattr(WHOLE_PATH, 0)
        proposal = pair(field, lineups, seed, same_team_lineups=same_team, seats=seats)
    playing = [c for c in field if c.weight > 0]
    free = free_anchors(playing)
    possible = any(
        not all(one.is_anchor for one in lineup)  # a lineup of anchors alone would rate nobody
        and all(
            may_share_lineup(one, [two], same_team, free) for one, two in combinations(lineup, 2)
        )
        for lineup in combinations(playing, seats)
    )
    assert len(proposal.lineups) == (lineups if possible else 0)
    assert (proposal.reason is None) == possible


def test_values_near_zero_do_not_make_a_lead_impossible() -> None:
    # The least value follows from the tiny loss; its share for a slow entry was rounded to 0.
    slow = candidate(0, sigma=0.0, loss=0.0, games=50, pace=0.1)
    anchor = candidate(1, sigma=0.0, loss=2e-315, games=0, weight=0.1, is_anchor=True)
    assert len(pair([slow, anchor], 3, seats=2).lineups) == 3


@settings(max_examples=50)
@given(fields(), st.integers(0, 8), st.integers(0, 99), st.randoms(use_true_random=False))
def test_field_order_does_not_change_the_lineups(
    field: list[Candidate], lineups: int, seed: int, order: Random
) -> None:
    shuffled = order.sample(field, len(field))
    assert pair(field, lineups, seed) == pair(field, lineups, seed) == pair(shuffled, lineups, seed)


def test_a_shortage_of_entries_teams_or_bundles_is_named() -> None:
    four = [candidate(n) for n in range(4)]
    assert pair(four[:3]).reason == "3 of 4 seats can be filled: add an agent or an anchor"
    one_team = [replace(c, team_id=TeamId("tea_x")) for c in four]
    few_teams = pair(one_team)
    assert few_teams.lineups == ()
    assert few_teams.reason is not None
    assert "1 of 4 seats can be filled: add an agent of another team" in few_teams.reason
    assert len(pair(one_team, same_team_lineups=True).lineups) == 1
    equal = [replace(c, digest="same") for c in four]
    assert pair(equal).reason == (
        "1 of 4 seats can be filled: add an agent or an anchor that is not a copy of another"
    )
    assert len(pair(four).lineups) == 1
    assert pair(four).reason is None


def test_teams_sharing_bundles_are_named() -> None:
    shared = [("a", "x"), ("a", "y"), ("a", "z"), ("b", "z"), ("c", "z")]
    field = [
        candidate(n, team_id=TeamId(team), digest=digest) for n, (team, digest) in enumerate(shared)
    ]
    found = pair(field, seats=3)
    assert found.lineups == ()
    assert found.reason is not None
    assert found.reason.startswith("2 of 3 seats can be filled: add an agent of another team")


def test_the_only_possible_lineup_is_found() -> None:
    # In every lineup y must come from b; a random draw could pick c's copy, which conflicts.
    shared = [("a", "x"), ("b", "y"), ("b", "x"), ("c", "y"), ("c", "z")]
    field = [
        candidate(n, team_id=TeamId(team), digest=digest) for n, (team, digest) in enumerate(shared)
    ]
    for seed in range(20):
        assert len(pair(field, 5, seed, seats=3).lineups) == 5


def test_entries_without_a_node_are_left_out_with_a_reason() -> None:
    field = [candidate(n) for n in range(5)] + [candidate(n, profile="torch") for n in (7, 8)]
    proposal = pair(field, 20, admissible={"numpy"})
    assert set(counted(proposal)) == {str(c.entry_id) for c in field[:5]}
    assert proposal.reason is None
    assert proposal.left_out == ("2 active entries wait for a node that serves profile torch",)
    assert pair(field, 20, admissible=["torch"]).reason == (
        "2 of 4 seats can be filled: add an agent or an anchor;"
        " 5 active entries wait for a node that serves profile numpy"
    )
    assert pair(field, 20).left_out == ()


# One season of the real length; the drawn ones have a quarter of it.
@pytest.mark.parametrize("sampled", [False, True])
@settings(max_examples=10, deadline=None)
@example(size=13, seats=4, at_once=9, clear=3, seed=1, longest=LONGEST_WAIT)
@given(
    size=st.integers(4, 24),
    seats=st.integers(2, 4),
    at_once=st.integers(1, 9),
    clear=st.integers(1, 5),
    seed=st.integers(0, 99),
    longest=st.just(LONGEST_WAIT // 4),
)
def test_no_entry_waits_longer_than_the_limit(
    sampled: bool, size: int, seats: int, at_once: int, clear: int, seed: int, longest: int
) -> None:
    # Only a few entries are worth a game, and they stay so: the others have no loss.
    field = [
        replace(c, loss=0.1 if n < clear else 0.0, sigma=200.0 if n < clear else 1.0)
        for n, c in enumerate(ladder(size))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ladder.matches.pairing.lineups.LONGEST_WAIT", longest)
        if sampled:
            patch.setattr(WHOLE_PATH, 0)
        length = 2 * longest * size // seats
        lineups = list(season(field, length, at_once=at_once, seats=seats, seed=seed))
    window = -(-longest * size // seats)
    for first in range(len(lineups) - window + 1):
        seen = {entry for lineup in lineups[first : first + window] for entry in lineup}
        assert len(seen) == size


def test_equal_entries_play_equally_often() -> None:
    field = [candidate(n, games=0, mu=400.0 + 40 * n, sigma=200.0) for n in range(12)]
    load = Counter(entry for lineup in season(field, 300) for entry in lineup)
    assert min(load.values()) >= 0.6 * max(load.values())


def test_a_low_weight_entry_plays_early_and_then_rarely() -> None:
    field = [candidate(n, games=0) for n in range(8)] + [candidate(9, games=0, weight=0.1)]
    load = Counter(entry for lineup in season(field, 150) for entry in lineup)
    assert load["ent_00009"] >= 5
    assert load["ent_00009"] < 0.5 * min(load[c.entry_id] for c in field[:8])


def test_a_high_weight_entry_plays_in_proportion_to_weight() -> None:
    field = [candidate(n, weight=2.0 if n < 3 else 1.0) for n in range(12)]
    load = Counter(entry for lineup in season(field, 600) for entry in lineup)
    heavy = mean(load[c.entry_id] for c in field[:3])
    light = mean(load[c.entry_id] for c in field[3:])
    assert 1.5 < heavy / light < 2.5


def test_an_entry_without_a_game_leads_whatever_its_game_is_worth() -> None:
    field = [*ladder(30), candidate(99, games=0, sigma=0.1)]
    for seed in range(5):
        assert "ent_00099" in players(pair(field, seed=seed))[0]


def test_a_newcomer_is_paired_first() -> None:
    field = [*ladder(20), candidate(99, games=0, sigma=200.0)]
    for seed in range(10):
        assert "ent_00099" in players(pair(field, 1, seed))[0]


def test_every_newcomer_of_a_large_field_is_in_one_of_the_first_lineups() -> None:
    newcomers = [candidate(2000 + n, games=0, sigma=200.0) for n in range(25)]
    found = players(pair([*ladder(1500), *newcomers], 25))
    seated = {entry for lineup in found[:12] for entry in lineup}
    assert {str(each.entry_id) for each in newcomers} <= seated


def test_each_lineup_of_a_large_field_has_a_competitor_if_most_are_anchors() -> None:
    competitors = {"ent_02000", "ent_02001", "ent_02002"}
    field = [*ladder(1500, is_anchor=True), *(candidate(2000 + n) for n in range(3))]
    found = players(pair(field, 20))
    assert len(found) == 20
    assert all(competitors.intersection(lineup) for lineup in found)


def test_two_valuable_entries_of_a_large_field_lead_most_lineups() -> None:
    valuable = [candidate(2000 + n, loss=0.05, mu=500.0 + 200 * n) for n in range(2)]
    games = counted(pair([*ladder(1500, loss=0.00001), *valuable], 60))
    assert sum(games[str(each.entry_id)] for each in valuable) > 56


@pytest.mark.parametrize("loss", [None, 0.0001])
def test_a_newcomer_without_a_known_loss_is_paired_first(loss: float | None) -> None:
    field = [*ladder(20, loss=0.01), candidate(99, games=1, sigma=200.0, loss=loss)]
    leads = sum("ent_00099" in players(pair(field, 1, seed))[0] for seed in range(20))
    assert (leads == 20) == (loss is None)


def test_a_newcomer_does_not_take_every_match_at_once() -> None:
    field = [candidate(n) for n in range(40)] + [candidate(99, games=0)]
    assert counted(pair(field, 30))["ent_00099"] <= 8


def test_an_uncertain_newcomer_meets_farther_opponents() -> None:
    field = ladder(60)
    mus = {c.entry_id: c.mu for c in field}

    def distances(sigma: float) -> list[float]:
        new = candidate(99, mu=600.0, sigma=sigma, games=0, weight=10.0)
        return [
            abs(mus[EntryId(entry)] - 600.0)
            for seed in range(200)
            for lineup in players(pair([*field, new], 1, seed))
            if "ent_00099" in lineup
            for entry in lineup
            if entry != "ent_00099"
        ]

    wide, near = distances(300.0), distances(30.0)
    assert max(wide) > 400
    assert 1.5 * mean(near) < mean(wide) < 200


def test_settled_entries_meet_similar_ratings() -> None:
    field = [candidate(n, mu=100.0 * n, sigma=20.0) for n in range(30)]
    near = far = 0
    mus = {c.entry_id: c.mu for c in field}
    for seed in range(60):
        for lineup in players(pair(field, 1, seed)):
            gap = max(mus[EntryId(e)] for e in lineup) - min(mus[EntryId(e)] for e in lineup)
            near += gap <= 600
            far += gap > 600
    assert near > far


def test_a_distant_leader_still_meets_many_opponents() -> None:
    field = [*ladder(30, loss=0.01), candidate(99, mu=2500.0, sigma=60.0, loss=0.01)]
    lineups = [lineup for lineup in season(field, 400) if "ent_00099" in lineup]
    opponents = Counter(entry for lineup in lineups for entry in lineup) - Counter(
        {"ent_00099": len(lineups)}
    )
    assert len(lineups) >= 400 / 31
    assert len(opponents) >= 12
    assert opponents.most_common(1)[0][1] < 0.5 * len(lineups)


def test_pairs_repeat_no_more_than_necessary() -> None:
    field = [candidate(n) for n in range(20)]
    pairs = met(pair(field, 95))  # 570 meetings of 190 pairs: three each on average
    assert len(pairs) >= 0.95 * 190
    assert max(pairs.values()) <= 8


def test_frequent_past_opponents_are_paired_less() -> None:
    field = [candidate(n, weight=100.0 if n == 0 else 1.0) for n in range(21)]
    numbers = {c.entry_id: n for n, c in enumerate(field)}
    known = EncounterCounts(numbers, [[0, n] for n in range(1, 11)] * 30)
    load: Counter[str] = Counter()
    for seed in range(60):
        load += counted(pair(field, 1, seed, met=known))
    old = sum(load[c.entry_id] for c in field[1:11])
    new = sum(load[c.entry_id] for c in field[11:])
    assert new > 4 * old


def test_games_in_flight_count_as_played() -> None:
    field = [candidate(n, in_flight=20 if n < 10 else 0) for n in range(20)]
    load: Counter[str] = Counter()
    for seed in range(30):
        load += counted(pair(field, 2, seed))
    busy = sum(load[c.entry_id] for c in field[:10])
    assert busy < 0.3 * load.total()


def test_a_tiny_league_repeats_pairs() -> None:
    assert len(pair([candidate(n, in_flight=50) for n in range(4)], 16).lineups) == 16
    two = [candidate(0), *(candidate(n, team_id=TeamId("tea_x")) for n in range(1, 30))]
    assert len(pair(two, 200, seats=2).lineups) == 200


def test_allowed_pairs_of_one_team_are_rarer_than_by_chance() -> None:
    # Four near-copies of each team lie side by side; nearness alone would pair them.
    field = [replace(c, team_id=TeamId(f"tea_{n // 4}")) for n, c in enumerate(ladder(40))]
    teams = {str(c.entry_id): c.team_id for c in field}
    pairs = met(pair(field, 500, same_team_lineups=True))
    own = sum(count for both, count in pairs.items() if len({teams[entry] for entry in both}) == 1)
    assert own / pairs.total() < 3 / 39


def test_a_tiny_rating_difference_does_not_decide_the_opponents() -> None:
    def opponents(mu: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        field = [*ladder(20), candidate(99, mu=mu, sigma=60.0, weight=20.0)]
        load: Counter[str] = Counter()
        for seed in range(400):
            load += counted(pair(field, 1, seed))
        met_by = np.array([load[c.entry_id] for c in field[:20]], float)
        share: np.ndarray[tuple[int], np.dtype[np.float64]] = met_by / met_by.sum()
        return share

    moved = np.abs(opponents(600.0) - opponents(600.0 + BETA / 15)).sum() / 2
    assert moved < 0.12
    assert opponents(600.0).max() < 0.25


def test_every_entry_plays_each_seat_about_equally_often() -> None:
    field = [candidate(n) for n in range(10)]
    had = {str(c.entry_id): [0] * 4 for c in field}
    for lineup in season(field, 200, at_once=5):
        for seat, entry in enumerate(lineup):
            had[entry][seat] += 1
    assert all(max(counts) - min(counts) <= 4 for counts in had.values())


def test_a_large_field_is_paired_from_a_sample() -> None:
    field = [candidate(n, mu=600.0 + n / 10) for n in range(10_000)]
    proposal = pair(field, 32)
    assert len(proposal.lineups) == 32
    assert max(counted(proposal).values()) <= 4


def test_sampling_keeps_the_distribution_of_opponents(monkeypatch: pytest.MonkeyPatch) -> None:
    field = [
        candidate(n, mu=100.0 + n, sigma=20.0 + n % 7, weight=90.0 if n == 90 else 1 + n % 3)
        for n in range(300)
    ]

    table, terms = CandidateTable.from_candidates(field, 4, {}), LineupTerms(4, BETA)

    def opponents() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        load: Counter[str] = Counter()
        for seed in range(700):
            found = propose_from_table(
                table, terms, lineups=1, rng=Random(seed), met=EncounterCounts()
            )
            load += counted(found)
        groups = np.array([load[c.entry_id] for c in field], float).reshape(20, 15).sum(axis=1)
        share: np.ndarray[tuple[int], np.dtype[np.float64]] = groups / groups.sum()
        return share

    whole = opponents()
    monkeypatch.setattr(WHOLE_PATH, 60)
    assert np.abs(whole - opponents()).sum() / 2 < 0.08


@pytest.mark.parametrize(("entries", "least", "most"), [(100, 0.07, 0.2), (400, 0.005, 0.05)])
def test_most_partners_are_near_and_some_are_farther(
    entries: int, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ladder.matches.pairing.lineups.ANYBODY", 0.0)
    field = ladder(entries, sigma=1.0)
    mu = {str(each.entry_id): each.mu for each in field}
    lineups = [lineup for seed in range(300) for lineup in players(pair(field, 1, seed))]
    gaps = [abs(mu[a] - mu[b]) / BETA for lineup in lineups for a, b in combinations(lineup, 2)]
    far = mean(gap > 1.0 for gap in gaps)
    assert least < far < most
    assert mean(gap < 0.6 for gap in gaps) > 0.55
    assert mean(gap > 4.0 for gap in gaps) < 0.01


def test_partners_are_only_near_after_uploads_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ladder.matches.pairing.lineups.ANYBODY", 0.0)
    field = ladder(200, sigma=1.0)
    mu = {str(each.entry_id): each.mu for each in field}
    table, terms = CandidateTable.from_candidates(field, 4, {}), LineupTerms(4, BETA, is_open=False)
    found = propose_from_table(table, terms, lineups=300, rng=Random(1), met=EncounterCounts())
    pairs = [pair for lineup in players(found) for pair in combinations(lineup, 2)]
    assert max(abs(mu[a] - mu[b]) / BETA for a, b in pairs) < 2.5
    assert mean(abs(mu[a] - mu[b]) / BETA > 1.0 for a, b in pairs) < 0.05


@pytest.mark.parametrize("sampled", [False, True])
def test_slow_entries_stop_at_their_share_of_the_games(
    sampled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sampled:
        monkeypatch.setattr(WHOLE_PATH, 0)
    field = [
        replace(each, games=0, pace=0.1 if n % 2 else 1.0) for n, each in enumerate(ladder(40))
    ]
    games = counted(pair(field, 400))
    fast = mean(games[str(each.entry_id)] for each in field if each.pace == 1.0)
    slow = [games[str(each.entry_id)] for each in field if each.pace < 1.0]
    assert mean(slow) < 5 + 0.1 * fast + 6  # random partners and turns to lead come on top
    assert min(slow) >= 1


def test_slow_entries_of_a_large_field_stop_at_their_share_of_the_games() -> None:
    """Each slow entry may have one more game."""
    slow = [candidate(2000 + n, games=9, pace=0.25, loss=0.02, mu=600.0 + n) for n in range(20)]
    games = counted(pair([*ladder(1500, loss=0.0001), *slow], 30))
    assert mean(games[str(each.entry_id)] for each in slow) < 1.1


def test_a_field_of_slow_entries_plays_on() -> None:
    assert len(pair([replace(each, pace=0.1) for each in ladder(12)], 50).lineups) == 50
