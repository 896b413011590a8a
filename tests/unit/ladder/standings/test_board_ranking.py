from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ladder.ids import AgentId, EntryId, TeamId
from ladder.leagues.medals import Medal, MedalStatus
from ladder.ratings.official.standing import OfficialPlace
from ladder.standings.board_ranking import BoardOrder
from ladder.standings.board_ranking import build_board as build_by
from ladder.standings.board_records import BoardEntry, BoardRow, MedalTerms, StandsBy


def build(contenders: Iterable[BoardEntry], score_offset: float) -> Sequence[BoardRow]:
    return build_by(contenders, score_offset, MedalTerms())


def contender(number: int, mu: float, **changes: Any) -> BoardEntry:
    given: dict[str, Any] = {
        "entry_id": EntryId(f"ent_{number:04d}"),
        "agent_id": AgentId(f"age_{number:04d}"),
        "agent_name": f"agent {number}",
        "team_id": TeamId(f"tea_{number:04d}"),
        "team_name": f"team {number}",
        "mu": mu,
        "sigma": 100.0,
        "games": 10,
        "last_match_at": datetime(2026, 1, 1, tzinfo=UTC),
        "is_anchor": False,
    }
    return BoardEntry(**{**given, **changes})


def test_the_highest_score_is_first() -> None:
    rows = build([contender(1, 500.0), contender(2, 700.0)], score_offset=50.0)
    assert [(r.rank, r.score, r.mu) for r in rows] == [(1, 750.0, 700.0), (2, 550.0, 500.0)]


def test_a_team_ranks_by_the_best_entry_only() -> None:
    team = TeamId("tea_same")
    rows = build(
        [contender(1, 500.0, team_id=team), contender(2, 700.0, team_id=team), contender(3, 600.0)],
        0.0,
    )
    assert [(r.entry_id, r.rank) for r in rows] == [("ent_0002", 1), ("ent_0003", 2)]


def test_a_team_ranks_by_the_declared_entry_after_the_first_game() -> None:
    team = TeamId("tea_same")
    field = [contender(1, 700.0, team_id=team), contender(2, 500.0, team_id=team, is_declared=True)]
    assert [(r.entry_id, r.is_declared) for r in build(field, 0.0)] == [("ent_0002", True)]
    waiting = contender(2, 900.0, team_id=team, is_declared=True, games=0)
    rows = build([field[0], waiting], 0.0)
    assert [(r.entry_id, r.is_declared) for r in rows] == [("ent_0001", False)]


def place_of_rank(rank: int | None) -> OfficialPlace:
    return OfficialPlace(600.0, 30.0, rank, 1, 2, (0.0, 0.0, 0.0), 0.0)


def test_the_board_gives_the_reason_for_the_chosen_entry_of_a_team() -> None:
    team = TeamId("tea_same")

    def stands_by(old: BoardEntry, new: BoardEntry) -> tuple[EntryId, StandsBy | None]:
        (row,) = build([replace(each, team_id=team) for each in (old, new)], 0.0)
        return row.entry_id, row.stands_by

    ranked = contender(1, 500.0, official=place_of_rank(1))
    other = contender(2, 700.0, official=place_of_rank(None))
    assert stands_by(ranked, other) == (ranked.entry_id, StandsBy.BETTER)
    assert stands_by(ranked, replace(other, games=9)) == (ranked.entry_id, StandsBy.WAITING)
    declared = replace(ranked, is_declared=True)
    assert stands_by(declared, other) == (ranked.entry_id, StandsBy.DECLARED)
    newest = replace(ranked, entry_id=EntryId("ent_0009"))
    assert stands_by(other, newest) == (newest.entry_id, StandsBy.NEWEST)
    assert build([ranked], 0.0)[0].stands_by is None


def test_a_played_entry_ranks_before_an_unplayed_entry() -> None:
    team = TeamId("tea_same")
    rows = build(
        [contender(1, 500.0, team_id=team), contender(2, 600.0, team_id=team, games=0)], 0.0
    )
    assert [(r.entry_id, r.rank) for r in rows] == [("ent_0001", 1)]


def test_tied_teams_share_a_rank() -> None:
    rows = build([contender(n, mu) for n, mu in enumerate([700.0, 600.0, 600.0, 500.0])], 0.0)
    assert [r.rank for r in rows] == [1, 2, 2, 3]


@given(
    st.lists(st.integers(0, 30).map(lambda n: 400.0 + 10 * n), min_size=1, max_size=40),
    st.lists(st.integers(0, 39), max_size=30),
    st.sets(st.integers(0, 39)),
)
def test_a_copied_submission_does_not_change_other_ranks(
    scores: list[float], copied: list[int], gilded: set[int]
) -> None:
    field = [contender(n, score) for n, score in enumerate(scores)]
    copies = [contender(100 + n, scores[of % len(scores)]) for n, of in enumerate(copied)]
    sealed = {TeamId(f"tea_{n:04d}"): Medal.GOLD for n in gilded}

    def told(rows: Iterable[BoardRow]) -> dict[TeamId, tuple[int | None, Medal | None]]:
        return {row.team_id: (row.rank, row.medal) for row in rows}

    alone = told(build_by(field, 0.0, MedalTerms(sealed=sealed)))
    among = build_by([*field, *copies], 0.0, MedalTerms(sealed=sealed))
    assert {team: one for team, one in told(among).items() if team in alone} == alone
    for row in among:  # each copy has the original's values, except for a seal
        assert {other.medal for other in among if other.rank == row.rank} == {row.medal}


def test_anchors_have_no_rank_or_medal() -> None:
    field = [contender(n, 1000.0 - n) for n in range(10)]
    anchors = [contender(90 + n, 1500.0 - n, is_anchor=True) for n in range(5)]
    rows = build(field + anchors, 0.0)
    assert all(r.rank is None and r.medal is None for r in rows[:5])
    assert [r.medal for r in rows[5:]] == [
        Medal.GOLD,
        Medal.SILVER,
        Medal.BRONZE,
        Medal.BRONZE,
        *[None] * 6,
    ]


def test_a_team_keeps_a_sealed_medal() -> None:
    field = [contender(n, 1000.0 - n) for n in range(10)]
    sealed = {TeamId("tea_0005"): Medal.GOLD, TeamId("tea_0000"): Medal.SILVER}
    rows = build_by(field, 0.0, MedalTerms(sealed=sealed))
    assert [(r.medal, r.status) for r in rows[:6]] == [
        (Medal.SILVER, MedalStatus.SEALED),
        (Medal.BRONZE, MedalStatus.LIKELY),
        (Medal.BRONZE, MedalStatus.LIKELY),
        (None, None),
        (None, None),
        (Medal.GOLD, MedalStatus.SEALED),
    ]


def test_final_medals_use_the_recorded_number_of_teams() -> None:
    field = [contender(n, 1000.0 - n) for n in range(8)]
    rows = build_by(field, 0.0, MedalTerms(teams=10, is_final=True))
    assert [r.medal for r in rows[:5]] == [*Medal, Medal.BRONZE, None]
    assert {r.status for r in rows[:4]} == {MedalStatus.AWARDED}


def test_unplayed_teams_come_last_without_a_rank() -> None:
    rows = build([contender(n, 600.0, games=0) for n in range(10)], 0.0)
    assert all(r.rank is None and r.medal is None for r in rows)
    mixed = build([contender(1, 500.0), contender(2, 600.0, games=0)], 0.0)
    assert [(r.entry_id, r.rank) for r in mixed] == [("ent_0001", 1), ("ent_0002", None)]


def test_a_team_with_an_anchor_still_ranks_other_entries() -> None:
    team = TeamId("tea_same")
    rows = build(
        [
            contender(1, 700.0, team_id=team, is_anchor=True),
            contender(2, 600.0, team_id=team),
        ],
        0.0,
    )
    assert [(r.entry_id, r.rank) for r in rows] == [("ent_0001", None), ("ent_0002", 1)]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 12),
            st.sampled_from([400.0, 500.0, 600.0, 700.0]),
            st.integers(0, 2),
            st.booleans(),
        ),
        max_size=40,
    )
)
def test_every_team_is_ranked_once(
    drawn: list[tuple[int, float, int, bool]],
) -> None:
    field = [
        contender(n, mu, team_id=TeamId(f"tea_{team}"), games=games, is_anchor=anchor)
        for n, (team, mu, games, anchor) in enumerate(drawn)
    ]
    rows = build(field, 0.0)
    ranked = [r for r in rows if r.rank is not None]
    assert [r.rank for r in ranked] == [
        1 + len({other.score for other in ranked if other.score > r.score}) for r in ranked
    ]
    ordinary = [r.team_id for r in rows if not r.is_anchor]
    assert sorted(ordinary) == sorted({c.team_id for c in field if not c.is_anchor})
    assert sum(r.is_anchor for r in rows) == sum(c.is_anchor for c in field)
    assert rows == build(reversed(field), 0.0)


def place(score: float, *chances: float) -> OfficialPlace:
    gold, silver, bronze = chances or (0.0, 0.0, 0.0)
    return OfficialPlace(score, 10.0, 1, 1, 3, (gold, silver, bronze), 0.1)


def test_ranks_follow_the_official_score() -> None:
    rows = build(
        [contender(1, 900.0, official=place(650.0)), contender(2, 500.0, official=place(700.0))],
        score_offset=10.0,
    )
    assert [(r.entry_id, r.rank, r.score, r.score_and_sigma) for r in rows] == [
        ("ent_0002", 1, 510.0, (700.0, 10.0)),
        ("ent_0001", 2, 910.0, (650.0, 10.0)),
    ]


def test_an_entry_without_an_official_score_ranks_by_live_score() -> None:
    rows = build(
        [
            contender(1, 0.0, official=place(700.0)),
            contender(2, 640.0),
            contender(3, 0.0, official=place(600.0)),
        ],
        score_offset=10.0,
    )
    assert [(r.entry_id, r.score_and_sigma) for r in rows] == [
        ("ent_0001", (700.0, 10.0)),
        ("ent_0002", (650.0, 100.0)),
        ("ent_0003", (600.0, 10.0)),
    ]


def test_a_medal_shows_the_chance_of_the_class_or_better() -> None:
    field = [contender(n, 0.0, official=place(900.0 - n, 0.5, 0.8, 0.95)) for n in range(10)]
    rows = build(field, 0.0)
    assert [(r.medal, r.chance) for r in rows[:5]] == [
        (Medal.GOLD, 0.5),
        (Medal.SILVER, 0.8),
        (Medal.BRONZE, 0.95),
        (Medal.BRONZE, 0.95),
        (None, None),
    ]
    assert build([contender(n, 900.0 - n) for n in range(10)], 0.0)[0].chance is None


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.booleans()), max_size=8),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 3), st.integers(0, 1)), max_size=4),
)
def test_an_updated_order_counts_the_teams_of_a_whole_one(
    before: list[tuple[int, int, bool]], changes: list[tuple[int, int, int]]
) -> None:
    entries = {
        n: contender(n, float(mu), team_id=TeamId(f"tea_{team}"), is_anchor=anchor)
        for n, (team, mu, anchor) in enumerate(before)
    }
    order = BoardOrder(0.0).filled(entries.values())
    for n, mu, games in changes:
        entries[n] = replace(entries.get(n) or contender(n, 0.0), mu=float(mu), games=games)
        order = order.updated([entries[n]])
    whole = BoardOrder(0.0).filled(entries.values())
    assert (
        order.ranked_teams == whole.ranked_teams == max([r or 0 for r in whole.ranks()], default=0)
    )


def test_a_board_finds_the_row_of_an_entry_that_represents_its_team() -> None:
    team = TeamId("tea_same")
    second = contender(2, 500.0, team_id=team)
    field = [contender(1, 700.0, team_id=team), second, contender(3, 600.0), contender(4, 600.0)]
    rows = build_by(field, 0.0, MedalTerms())
    assert [rows.row_of(row.entry_id) for row in rows] == list(rows)
    assert rows.row_of(second.entry_id) is rows.row_of(EntryId("ent_other")) is None


def test_teams_that_tie_by_chance_each_use_a_medal() -> None:
    field = [contender(n, 700.0 if n < 50 else 500.0, twin=f"bundle {n}") for n in range(100)]
    rows = build(field, 0.0)
    assert [row.medal for row in rows] == [Medal.GOLD] * 50 + [None] * 50
    assert {row.rank for row in rows[50:]} == {2}
    twins = [replace(each, twin="one bundle") if each.mu == 700.0 else each for each in field]
    assert [row.medal for row in build(twins, 0.0)] == [Medal.GOLD] * 100
