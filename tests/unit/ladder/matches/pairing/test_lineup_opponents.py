"""Who meets whom."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random
from statistics import mean

import numpy as np
import pytest
from msgspec.structs import replace

from ladder.ids import EntryId, TeamId
from ladder.matches.pairing import (
    CandidateTable,
    EncounterCounts,
    LineupTerms,
    propose_from_table,
)
from tests.unit.ladder.matches.pairing.candidate_fields import (
    BETA,
    WHOLE_PATH,
    candidate,
    counted,
    ladder,
    met,
    pair,
    players,
    season,
)


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


def test_lineups_that_are_drawn_together_are_as_likely_as_single_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first game of an anchor has a high value. Anchors lead no lineup."""
    monkeypatch.setattr(WHOLE_PATH, 0)
    field = ladder(600, loss=1e-5)
    anchors = [replace(field[n], sigma=300.0, loss=3e-4, is_anchor=True) for n in range(0, 600, 30)]
    field[::30] = anchors
    ids = {str(each.entry_id) for each in anchors}
    table, terms = CandidateTable.from_candidates(field, 4, {}), LineupTerms(4, BETA)

    def games_and_repeats(group: int) -> tuple[int, int]:
        """Games of anchors, and how often two of them meet again in the same round."""
        monkeypatch.setattr("ladder.matches.pairing.candidate_arrays.GROUP", group)
        games = repeats = 0
        for seed in range(40):
            made = propose_from_table(
                table, terms, lineups=30, rng=Random(seed), met=EncounterCounts()
            )
            load, pairs = counted(made), met(made)
            games += sum(load[each] for each in ids)
            repeats += sum(count - 1 for two, count in pairs.items() if two <= ids)
        return games, repeats

    one_by_one, together = games_and_repeats(1), games_and_repeats(10)
    assert together[0] == pytest.approx(one_by_one[0], rel=0.025)
    assert together[1] == pytest.approx(one_by_one[1], rel=0.25)


def test_a_random_partner_is_as_likely_in_lineups_that_are_drawn_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only random partners come from the other half. Many candidates share a bundle."""
    monkeypatch.setattr(WHOLE_PATH, 0)
    monkeypatch.setattr("ladder.matches.pairing.lineups.ANYBODY", 0.3)
    field = [
        candidate(
            n,
            mu=9000.0 * (n % 2) + n,
            sigma=20.0,
            loss=1e-5,
            digest=f"digest {n // 2 % 5}",
        )
        for n in range(300)
    ]
    table, terms = CandidateTable.from_candidates(field, 4, {}), LineupTerms(4, BETA)

    def mixed(group: int) -> float:
        """Share of lineups with entries of both halves."""
        monkeypatch.setattr("ladder.matches.pairing.candidate_arrays.GROUP", group)
        return mean(
            len({int(entry[-1]) % 2 for entry in lineup}) == 2
            for seed in range(200)
            for lineup in players(
                propose_from_table(
                    table, terms, lineups=30, rng=Random(seed), met=EncounterCounts()
                )
            )
        )

    assert mixed(10) == pytest.approx(mixed(1), rel=0.08)


def test_opponents_that_met_often_are_rare_in_lineups_that_are_drawn_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(WHOLE_PATH, 0)
    field = ladder(400, loss=1e-5)
    numbers = {each.entry_id: n for n, each in enumerate(field)}
    games = [[a, b] for a, b in combinations(range(400), 2) if (a + b) % 2]
    known = EncounterCounts(numbers, games, times=10)
    table, terms = CandidateTable.from_candidates(field, 4, numbers), LineupTerms(4, BETA)
    found = propose_from_table(table, terms, lineups=300, rng=Random(1), met=known)
    places = [[numbers[EntryId(entry)] for entry in lineup] for lineup in players(found)]
    assert mean((a + b) % 2 for lineup in places for a, b in combinations(lineup, 2)) < 0.25


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
