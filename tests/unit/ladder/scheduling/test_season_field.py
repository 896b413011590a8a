from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace as replace_terms
from itertools import chain
from random import Random
from statistics import mean

import numpy as np
import pytest
from msgspec.structs import replace

from ladder.ids import EntryId, TeamId
from ladder.matches.pairing import Candidate, live_numbers
from ladder.matches.pairing.lineups import SEARCH_ROUNDS
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.season_suspects import LEAST_PACE, SeasonSuspects
from ladder.ratings.official.standing import PairingPlaces
from ladder.scheduling.season_cache import PairingTerms, SeasonField
from tests.unit.ladder.matches.pairing.candidate_fields import candidate

TERMS = PairingTerms(seats=2, beta=150.0)
Distances = defaultdict[int, list[float]]


def games_with_faults(faults: list[bool]) -> GameTable:
    """Games of contenders 0 and 1; 0 fails in some of them."""
    count = len(faults)
    return GameTable(
        np.tile(np.array([0, 1], np.int32), (count, 1)),
        np.tile(np.array([2, 1], np.int16), (count, 1)),
        np.array([[fault, False] for fault in faults]),
    )


def entry(number: int) -> EntryId:
    return EntryId(f"ent_{number}")


def test_an_entry_that_always_fails_gets_a_slow_pace() -> None:
    field = SeasonField()
    numbers = {entry(n): n for n in range(2)}
    field.count_games(numbers, games_with_faults([True]))
    assert field.pace(entry(0)) == 1.0
    field.count_games(numbers, games_with_faults([True] * 200))
    assert field.pace(entry(0)) == LEAST_PACE
    assert field.pace(entry(1)) == field.pace(entry(2)) == 1.0


def test_an_entry_that_works_again_plays_like_others() -> None:
    field = SeasonField()
    numbers = {entry(n): n for n in range(2)}
    field.count_games(numbers, games_with_faults([True] * 10))
    slow = field.pace(entry(0))
    field.count_games(numbers, games_with_faults([True] * 10 + [False] * 10))
    assert slow < 0.5
    assert field.pace(entry(0)) == 1.0


def test_entries_that_always_fail_meet_each_other() -> None:
    skill = [0.0] * 40
    field = rated_field(skill)
    numbers = {entry(n): n for n in range(40)}
    lineups = np.arange(40, dtype=np.int32).reshape(-1, 2).repeat(31, axis=0)
    ranks = np.ones(lineups.shape, np.int16)
    field.count_games(numbers, GameTable(lineups, ranks, lineups < 12))
    rested = [candidate(n, entry_id=entry(n), games=1) for n in range(12)]
    field.change_entries(rested, [])
    made = field.propose_lineups(TERMS, lineups=2000, rng=Random(1)).lineups
    failing = [sum(int(str(seat.entry_id)[4:]) < 12 for seat in lineup) for lineup in made]
    assert failing.count(2) > failing.count(1) > 0


def test_slow_members_of_a_group_of_equals_get_a_slow_pace() -> None:
    field = SeasonField()
    field.set_places(PairingPlaces.none(), SeasonSuspects(paces={entry(1): 0.2, entry(2): 0.2}))
    assert [field.pace(entry(n)) for n in range(3)] == [1.0, 0.2, 0.2]


def test_a_favourite_seldom_meets_those_who_lose_to_it_against_expectation() -> None:
    count, favourite = 24, 12
    skill = np.linspace(1.5, -1.5, count)
    numbers = {entry(n): n for n in range(count)}
    field = SeasonField()
    field.count_games(numbers, games_with_faults([False]))
    values = np.array([600.0 + 150.0 * skill, np.full(count, 15.0), np.full(count, 0.01)])
    places = PairingPlaces([entry(n) for n in range(count)], values)
    apart = tuple((entry(favourite), entry(n)) for n in range(4))
    field.set_places(places, SeasonSuspects(apart=apart))
    field.set_entries([candidate(n, entry_id=entry(n)) for n in range(count)])
    made = field.propose_lineups(TERMS, lineups=600, rng=Random(1)).lineups
    met = [{seat.entry_id for seat in lineup} for lineup in made]
    own = [each for each in met if entry(favourite) in each]
    assert len(own) > 20
    assert sum(1 for each in own for n in range(4) if entry(n) in each) < len(own) / 15


def rated_field(skill: Sequence[float]) -> SeasonField:
    """A field of entries whose skills, in beta, are almost certain, and one that does not play."""
    count = len(skill)
    field = SeasonField()
    idle = candidate(count, entry_id=entry(count), weight=0.0)
    field.set_entries([idle, *(candidate(n, entry_id=entry(n)) for n in range(count))])
    field.set_places(well_known(skill))
    games = np.arange(count, dtype=np.int32).reshape(-1, 2)
    field.count_games(
        {entry(n): n for n in range(count)},
        GameTable(games, np.ones(games.shape, np.int16), np.zeros(games.shape, np.bool_)),
    )
    return field


def well_known(skill: Sequence[float]) -> PairingPlaces:
    count = len(skill)
    values = np.array([600.0 + 150.0 * np.array(skill), np.full(count, 15.0), np.full(count, 0.01)])
    return PairingPlaces([entry(n) for n in range(count)], values)


def distances(field: SeasonField, skill: Sequence[float], terms: PairingTerms = TERMS) -> Distances:
    """Lists the distances in beta of each entry from its opponents."""
    found = Distances(list)
    for lineup in field.propose_lineups(terms, lineups=1500, rng=Random(1)).lineups:
        one, other = (int(str(seat.entry_id)[4:]) for seat in lineup)
        gap = abs(skill[one] - skill[other])
        found[one].append(gap)
        found[other].append(gap)
    return found


@pytest.mark.parametrize("sampled", [False, True])
def test_a_suspect_favourite_meets_entries_of_all_ratings(
    sampled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sampled:  # as in a large field
        monkeypatch.setattr("ladder.matches.pairing.candidate_arrays.WHOLE", 40)
        monkeypatch.setattr("ladder.matches.pairing.candidate_arrays.NEAR", 8)
    skill = np.linspace(4.0, -4.0, 60).tolist()
    field = rated_field(skill)
    before = distances(field, skill)
    assert mean(gap > 1.5 for gap in before[30]) < 0.2
    field.set_places(well_known(skill), SeasonSuspects(apart=((entry(30), entry(10)),)))
    found = distances(field, skill)
    assert mean(gap > 1.5 for gap in found[30]) > 0.25
    assert mean(gap > 1.5 for gap in found[45]) < 0.2
    leads = 1500 * 2 / 60 / SEARCH_ROUNDS
    assert len(found[30]) < 1.4 * len(before[30]) + leads


def test_a_suspect_favourite_also_meets_entries_whose_games_tell_little() -> None:
    skill = np.linspace(4.0, -4.0, 60).tolist()
    field = rated_field(skill)
    places = well_known(skill)
    places.values[2, :15] = 1e-7
    field.set_places(places, SeasonSuspects(apart=((entry(30), entry(40)),)))
    made = field.propose_lineups(TERMS, lineups=1500, rng=Random(1)).lineups
    met = [{int(str(seat.entry_id)[4:]) for seat in lineup} for lineup in made]
    opponents = [min(each - {30}) for each in met if 30 in each]
    assert sum(each < 15 for each in opponents) > len(opponents) / 15


def test_a_favourite_of_low_weight_plays_little_more_than_it_leads() -> None:
    skill = np.linspace(4.0, -4.0, 60).tolist()
    field = rated_field(skill)
    places = well_known(skill)
    places.values[2, 30] = 1e-7
    games = []
    for apart in ((), ((entry(30), entry(40)),)):
        field.set_places(places, SeasonSuspects(apart=apart))
        games.append(len(distances(field, skill)[30]))
    leads = 1500 * 2 / 60 / SEARCH_ROUNDS
    assert games[0] + leads - 3 < games[1] < games[0] + leads + 8


def test_a_suspect_favourite_seldom_meets_entries_that_have_had_the_games_of_their_pace() -> None:
    skill = np.linspace(4.0, -4.0, 60).tolist()
    field = rated_field(skill)
    paces = {entry(n): 0.05 for n in range(20)}
    suspects = SeasonSuspects(apart=((entry(30), entry(40)),), paces=paces)
    field.set_places(well_known(skill), suspects)
    field.set_entries(candidate(n, entry_id=entry(n), games=100) for n in range(60))
    made = field.propose_lineups(TERMS, lineups=1500, rng=Random(1)).lineups
    met = [{int(str(seat.entry_id)[4:]) for seat in lineup} for lineup in made]
    opponents = [min(each - {30}) for each in met if 30 in each]
    assert len(opponents) > 30
    assert sum(each < 20 for each in opponents) < len(opponents) / 15


def test_a_copy_of_a_suspect_favourite_meets_entries_of_all_ratings_too() -> None:
    skill = np.linspace(4.0, -4.0, 60).tolist()
    lineup = np.array([[30, 29]], np.int32)
    games = GameTable(lineup, np.ones((1, 2), np.int16), np.zeros((1, 2), np.bool_))
    field = SeasonField()
    field.set_entries([candidate(n, entry_id=entry(n)) for n in range(60)])
    field.count_games({entry(n): 30 if n == 31 else n for n in range(60)}, games)
    field.set_places(well_known(skill), SeasonSuspects(apart=((entry(30), entry(10)),)))
    assert mean(gap > 1.5 for gap in distances(field, skill)[31]) > 0.25


def test_a_suspect_favourite_meets_near_entries_after_uploads_close() -> None:
    skill = np.linspace(4.0, -4.0, 60).tolist()
    field = rated_field(skill)
    field.set_places(well_known(skill), SeasonSuspects(apart=((entry(30), entry(10)),)))
    found = distances(field, skill, replace_terms(TERMS, is_open=False))
    assert mean(gap > 1.5 for gap in found[30]) < 0.2


def test_opponents_are_nearer_after_uploads_close() -> None:
    skill = np.linspace(4.0, -4.0, 60).tolist()
    closed = replace_terms(TERMS, is_open=False)
    late, early = (
        mean(gap > 1.0 for gap in chain(*distances(rated_field(skill), skill, terms).values()))
        for terms in (closed, TERMS)
    )
    assert late < 0.8 * early


def changed(each: Candidate, rng: Random) -> Candidate:
    """The candidate after a match, or with another weight, team or profile."""
    return replace(
        each,
        mu=each.mu + rng.gauss(0, 30),
        games=each.games + 1,
        in_flight=rng.randrange(3),
        weight=rng.choice([1.0, 1.0, 0.5, 0.0]),
        team_id=TeamId(f"tea_{rng.randrange(40)}"),
        profile=rng.choice(["numpy", "numpy", "torch"]),
    )


def test_a_field_that_learns_of_changes_chooses_like_a_new_one() -> None:
    rng, terms = Random(4), PairingTerms(4, 150.0, score_offset=10.0)
    entries = {entry(n): candidate(n, entry_id=entry(n), games=n % 3) for n in range(40)}
    numbers, lineups = dict[EntryId, int](), list[list[int]]()
    places = PairingPlaces.none()
    kept = SeasonField()
    kept.set_entries(entries.values())
    for turn in range(12):
        new = [entry(n) for n in rng.sample(range(60), 5)]
        some = {each: changed(candidate(0, entry_id=each), rng) for each in new}
        left = rng.sample(sorted(entries.keys() - some), 3)
        entries = {each: one for each, one in (entries | some).items() if each not in left}
        kept.change_entries(some.values(), left)
        played = rng.sample(sorted(entries), 12)
        entries |= {each: replace(entries[each], games=9, mu=rng.gauss(600, 90)) for each in played}
        kept.set_numbers(played, live_numbers([entries[each] for each in played]))
        lineups += [rng.sample(range(50), 4) for _ in range(6)]
        numbers |= {entry(n): n for lineup in lineups for n in lineup}
        games = GameTable(
            np.array(lineups, np.int32),
            np.tile(np.arange(1, 5, dtype=np.int16), (len(lineups), 1)),
            np.array(lineups) < 3,
        )
        kept.count_games(numbers, games)
        if turn % 3 == 0:
            slow = tuple(entry(n) for n in rng.sample(range(50), 9))
            values = [(rng.gauss(600, 150), 30.0, rng.random() / 50) for _ in range(30)]
            places = PairingPlaces([entry(n) for n in range(30)], np.array(values).T)
            suspects = SeasonSuspects(
                paces=dict.fromkeys(slow, 0.36), apart=((entry(5), entry(9)),)
            )
            kept.set_places(places, suspects)
        fresh = SeasonField()
        fresh.set_places(places, suspects)
        fresh.count_games(numbers, games)
        fresh.set_entries(rng.sample(sorted(entries.values(), key=str), len(entries)))
        made = [
            field.propose_lineups(terms, lineups=9, rng=Random(turn), admissible={"numpy"})
            for field in (kept, fresh)
        ]
        assert made[0] == made[1]
        assert len(made[0].lineups) == 9


def field_of_two() -> SeasonField:
    """A field in which entry 0 has played, as its new numbers say, and entry 1 has not."""
    field = SeasonField()
    field.set_entries(candidate(n, entry_id=entry(n), games=0) for n in range(2))
    field.set_numbers([entry(0)], live_numbers([candidate(0, games=1)]))
    return field


def unplayed(field: SeasonField) -> list[EntryId]:
    return [each.entry_id for each in field.entries_without_games()]


def test_numbers_stay_when_others_come_and_leave() -> None:
    field = field_of_two()
    assert unplayed(field) == [entry(1)]
    for _ in range(2):
        field.change_entries([candidate(2, entry_id=entry(2), games=0)], [entry(1)])
        assert unplayed(field) == [entry(2)]
        field.change_entries([candidate(1, entry_id=entry(1), games=0)], [entry(2)])
        assert unplayed(field) == [entry(1)]


def test_a_field_without_games_keeps_the_numbers() -> None:
    other = field_of_two().without_games()
    assert unplayed(other) == [entry(1)]
    other.change_entries([], [entry(1)])
    assert unplayed(other) == []


@pytest.mark.parametrize("team", [TeamId("tea_00000"), TeamId("tea_new")])
@pytest.mark.parametrize("comes_back", [False, True])
def test_a_changed_entry_brings_its_own_numbers(team: TeamId, comes_back: bool) -> None:
    field = field_of_two()
    if comes_back:
        field.change_entries([], [entry(0)])
    field.change_entries([candidate(0, entry_id=entry(0), team_id=team, games=0)], [])
    assert unplayed(field) == [entry(0), entry(1)]
    field.change_entries([], [entry(1)])
    assert unplayed(field) == [entry(0)]


def test_all_entries_set_anew_bring_their_own_numbers() -> None:
    field = field_of_two()
    field.set_entries(candidate(n, entry_id=entry(n), games=0) for n in range(2))
    assert unplayed(field) == [entry(0), entry(1)]


def test_entries_that_play_again_fill_a_match() -> None:
    field = SeasonField()
    for weight in (0.0, 1.0):
        field.change_entries([candidate(n, entry_id=entry(n), weight=weight) for n in range(2)], [])
        proposal = field.propose_lineups(TERMS, lineups=1, rng=Random(1))
        assert len(proposal.lineups) == weight
