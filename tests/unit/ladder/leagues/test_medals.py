from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ladder.errors import Invalid
from ladder.leagues.medals import BEST_FIRST, Medal, MedalRuleKind, MedalRules, read_line

TABLE = MedalRules()


@pytest.mark.parametrize(
    ("teams", "expected"),
    [
        (0, (0, 0, 0)),
        (1, (0, 0, 0)),
        (3, (0, 0, 1)),
        (5, (0, 1, 2)),
        (9, (0, 1, 3)),
        (10, (1, 2, 4)),
        (99, (9, 19, 39)),
        (100, (10, 20, 40)),
        (249, (10, 49, 99)),
        (250, (10, 50, 100)),
        (499, (10, 50, 100)),
        (500, (11, 50, 100)),
        (875, (11, 50, 100)),
        (999, (11, 50, 100)),
        (1000, (12, 50, 100)),
        (1019, (12, 50, 101)),
        (9066, (28, 453, 906)),
    ],
)
def test_the_medal_cuts_are_kaggles_table_rounded_down(
    teams: int, expected: tuple[int, int, int]
) -> None:
    assert TABLE.cuts(teams) == expected


@pytest.mark.parametrize("edge", [100, 250, 1000])
@given(near=st.integers(-60, 60))
def test_the_number_of_teams_selects_the_row_of_the_medal_table(edge: int, near: int) -> None:
    teams = edge + near
    gold, silver, bronze = TABLE.cuts(teams)
    assert gold == (teams // 10 if teams < 100 else 10 + (teams // 500 if teams >= 250 else 0))
    assert silver == (50 if 250 <= teams < 1000 else teams // (20 if teams >= 1000 else 5))
    assert bronze == (
        100 if 250 <= teams < 1000 else teams // 10 if teams >= 1000 else teams * 2 // 5
    )


@given(st.integers(0, 3_000))
def test_distinct_ranks_earn_exactly_the_cut_counts(teams: int) -> None:
    gold, silver, bronze = TABLE.cuts(teams)
    assert 0 <= gold <= silver <= bronze <= teams
    given_to = TABLE.award([(n + 1, 1000.0 - n) for n in range(teams)], teams)
    counts = [sum(m is kind for m in given_to) for kind in Medal]
    assert counts == [gold, silver - gold, bronze - silver]
    worth = [3 if m is None else BEST_FIRST.index(m) for m in given_to]
    assert worth == sorted(worth)


def as_three(numbers: Sequence[float]) -> tuple[float, float, float]:
    gold, silver, bronze = numbers
    return gold, silver, bronze


RULES = st.one_of(
    st.just(TABLE),
    st.lists(st.floats(300, 1500), min_size=3, max_size=3).map(
        lambda of: MedalRules(MedalRuleKind.LINES, *as_three(sorted(of, reverse=True)))
    ),
    st.lists(st.integers(0, 9), min_size=3, max_size=3).map(
        lambda of: MedalRules(MedalRuleKind.COUNTS, *as_three(of))
    ),
    st.lists(st.floats(0, 0.33), min_size=3, max_size=3).map(
        lambda of: MedalRules(MedalRuleKind.SHARES, *as_three(of))
    ),
)
FIELDS = st.lists(
    st.tuples(st.integers(3, 15).map(lambda n: n * 100.0), st.sampled_from([None, *Medal])),
    max_size=40,
).map(lambda field: sorted(field, key=lambda one: -one[0]))
FIELD = list[tuple[float, Medal | None]]


def award(rules: MedalRules, field: FIELD, sealed: bool) -> list[Medal | None]:
    scores = [score for score, _ in field]
    places = sorted(set(scores), reverse=True)
    ranked = [(1 + places.index(score), score) for score in scores]
    return rules.award(ranked, len(places), [seal for _, seal in field] if sealed else None)


@given(RULES, FIELDS)
def test_tied_teams_share_a_medal(rules: MedalRules, field: FIELD) -> None:
    given_to = award(rules, field, sealed=False)
    worth = [3 if m is None else BEST_FIRST.index(m) for m in given_to]
    assert worth == sorted(worth)
    for (one, _), (other, _), m, after in zip(
        field, field[1:], given_to, given_to[1:], strict=False
    ):
        assert one != other or m is after
    if rules.lines is None:
        for n, cut in enumerate(rules.cuts(len({score for score, _ in field}))):
            holding = {score for (score, _), w in zip(field, worth, strict=True) if w <= n}
            assert len(holding) == cut


@given(RULES, FIELDS)
def test_a_team_never_gets_less_than_its_sealed_medal(rules: MedalRules, field: FIELD) -> None:
    given_to = award(rules, field, sealed=True)
    for (_, seal), m in zip(field, given_to, strict=True):
        assert seal is None or (m is not None and BEST_FIRST.index(m) <= BEST_FIRST.index(seal))
    if rules.lines is None:
        for n, cut in enumerate(rules.cuts(len({score for score, _ in field}))):
            kept = {score for score, s in field if s and BEST_FIRST.index(s) <= n}
            pairs = zip(field, given_to, strict=True)
            held = {score for (score, _), m in pairs if m and BEST_FIRST.index(m) <= n}
            assert kept <= held
            assert max(cut, len(kept)) <= len(held) <= cut + len(kept)


def test_a_rank_gets_a_medal_if_fewer_teams_than_the_cut_stand_before_it() -> None:
    rules = MedalRules(MedalRuleKind.COUNTS, 1, 2, 3)
    gold, silver, bronze = Medal
    ranked = [(1, 9.0), (1, 9.0), (2, 8.0), (3, 7.0), (3, 7.0), (4, 6.0), (5, 5.0)]
    twins = ["a", "a", "b", "c", "d", "e", "f"]
    given_to = rules.award(ranked, 7, counted_as=twins)
    assert given_to == [gold, gold, silver, silver, silver, bronze, bronze]
    assert rules.award(ranked, 7, counted_as=list("abcdefg")) == [
        *[gold, gold, silver, bronze, bronze, bronze, None],
    ]
    late = [None] * 6 + [silver]
    assert rules.award(ranked, 7, late, list("abcdefg")) == [
        *[gold, gold, bronze, bronze, bronze, None, silver],
    ]


def test_a_score_exactly_on_the_line_earns_the_medal() -> None:
    geese = MedalRules(MedalRuleKind.LINES, 1210.0, 1080.0, 1050.0)
    scores = [1300.0, 1210.0, 1209.9, 1080.0, 1079.9, 1050.0, 1049.9]
    given_to = geese.award([(n + 1, score) for n, score in enumerate(scores)], len(scores))
    gold, silver, bronze = Medal
    assert given_to == [gold, gold, silver, silver, bronze, bronze, None]
    assert geese.cuts(7) == (0, 0, 0)


def test_medal_cuts_never_exceed_the_number_of_teams() -> None:
    assert MedalRules(MedalRuleKind.COUNTS, 1, 2, 3).cuts(10) == (1, 3, 6)
    assert MedalRules(MedalRuleKind.COUNTS, 1, 2, 3).cuts(2) == (1, 2, 2)
    assert MedalRules(MedalRuleKind.SHARES, 0.1, 0.1, 0.2).cuts(10) == (1, 2, 4)
    assert MedalRules(MedalRuleKind.SHARES, 0.1, 0.2, 0.7).cuts(29) == (2, 8, 29)


@pytest.mark.parametrize(
    ("given_rules", "words"),
    [
        ((MedalRuleKind.TABLE, 1, 0, 0), "gold: leave this out; the table has its own numbers"),
        (
            (MedalRuleKind.LINES, 1000, 1100, 900),
            "silver: lower this line; it is above that of gold",
        ),
        (
            (MedalRuleKind.LINES, 1000, 900, 950),
            "bronze: lower this line; it is above that of silver",
        ),
        ((MedalRuleKind.LINES, float("nan"), 900, 950), "gold: nan is not a valid number"),
        ((MedalRuleKind.LINES, 1e9, 900, 800), "gold: give a score between"),
        ((MedalRuleKind.COUNTS, 1, 1.5, 2), "silver: a count must be a whole number"),
        ((MedalRuleKind.COUNTS, 1, 1, -2), "bronze: a count must be a whole number"),
        ((MedalRuleKind.SHARES, 1.2, 0, 0), "gold: a share must be between 0 and 1"),
        (
            (MedalRuleKind.SHARES, 0.5, 0.4, 0.2),
            "bronze: lower a share; the three shares together are more than 1",
        ),
    ],
)
def test_invalid_medal_rules_name_the_class_and_the_reason(
    given_rules: tuple[MedalRuleKind, float, float, float], words: str
) -> None:
    with pytest.raises(Invalid, match=words):
        MedalRules(*given_rules)


@given(RULES)
def test_medal_rules_survive_a_json_round_trip(rules: MedalRules) -> None:
    assert MedalRules.from_json(rules.to_json()) == rules


def test_a_negative_number_of_teams_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        TABLE.cuts(-1)


def named_lines(gold: str, silver: str, bronze: str) -> MedalRules:
    return MedalRules.from_json({"kind": "lines", "gold": gold, "silver": silver, "bronze": bronze})


def test_named_line_moves_with_the_score_of_its_agent() -> None:
    rules = named_lines("survivor+100", "survivor", "greedy-20.5")
    assert rules.placed({"survivor": 700.0, "greedy": 590.0}, 600.0).lines == (800, 700, 569.5)
    assert rules.placed({"survivor": 650.0}, 600.0).lines == (750, 650, 579.5)


def test_no_line_is_below_that_of_a_lower_class() -> None:
    rules = named_lines("survivor", "greedy", "random-legal")
    scores = {"survivor": 500.0, "greedy": 650.0, "random-legal": 640.0}
    assert rules.placed(scores, 600.0).lines == (650, 650, 640)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("survivor+100", "survivor+100"),
        (" Random_Legal - 20.50 ", "random-legal-20.5"),
        ("greedy+0", "greedy"),
        ("1210", 1210.0),
        (-5, -5.0),
    ],
)
def test_line_is_read_in_its_standard_spelling(text: object, line: float | str) -> None:
    assert read_line(text) == line


@pytest.mark.parametrize("text", ["", "survivor+", "9 lives", "survivor+1e9", True, 2e6])
def test_text_that_is_no_line_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match=r"such as survivor\+100"):
        read_line(text)


def test_named_lines_are_the_same_after_they_are_stored() -> None:
    rules = named_lines("survivor+100", "greedy", "greedy-20.5")
    assert MedalRules.from_json(rules.to_json()) == rules
    assert rules.to_json()["gold"] == "survivor+100"


def test_lines_of_one_agent_must_go_down() -> None:
    with pytest.raises(Invalid, match="above that of gold"):
        named_lines("survivor", "survivor+1", "greedy")
