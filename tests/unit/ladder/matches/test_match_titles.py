"""Titles of matches: who met whom, and how it ended."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from ladder.enums import MatchKind, MatchState
from ladder.ids import AgentId, EntryId, LeagueId, MatchId, SeasonId, SubmissionId, TeamId
from ladder.matches.match_titles import ending_text, match_title, ordinal
from ladder.matches.records import Episode, Match, MatchAccess, Seat

AT = datetime(2026, 5, 4, tzinfo=UTC)
UNUSED: Any = (
    *("reward", "reason", "failed_step", "charged_seconds", "max_move_seconds"),
    *("log_digest", "statistics", "mu_before", "mu_after"),
)


def seat(number: int, placement: int | None, verdict: str = "DONE") -> Seat:
    name = "ABCD"[number]
    return Seat(
        seat=number,
        entry_id=EntryId(name),
        submission_id=SubmissionId(name),
        agent_id=AgentId(name),
        agent_name=name,
        team_id=TeamId(name),
        team_name=name,
        placement=placement,
        verdict=verdict,
        remote=False,
        **dict.fromkeys(UNUSED),
    )


def match(placements: list[int | None], **changes: Any) -> Match:
    given: dict[str, Any] = {
        "kind": MatchKind.RATED,
        "state": MatchState.FINISHED,
        "episodes": (Episode("e", 1, 0, 199, ""),),
        "seats": tuple(seat(number, place) for number, place in enumerate(placements)),
    }
    given |= changes
    return Match(
        id=MatchId("mat"),
        season_id=SeasonId("s"),
        league_id=LeagueId("l"),
        scrim_id=None,
        scrim_team_id=None,
        is_fork=False,
        game="hungry_geese",
        queue="play.cpu",
        attempt=1,
        max_attempts=3,
        woken_at=None,
        claimed_at=None,
        deadline_at=AT,
        void_cause=None,
        void_reason=None,
        accepted_no=None,
        seed=b"",
        created_at=AT,
        finished_at=AT,
        **given,
    )


@pytest.mark.parametrize(
    ("placements", "title"),
    [
        ([2, 1], "B beats A in 199 steps"),
        ([3, 1, 4, 2], "B beats D, A and C in 199 steps"),
        ([1, 1], "A and B tie in 199 steps"),
        ([3, 1, 1, 3], "B and C share the first place before A and D in 199 steps"),
        ([1], "A plays 199 steps"),
    ],
)
def test_title_names_the_winner(placements: list[int | None], title: str) -> None:
    assert match_title(match(placements)) == title


def test_title_of_a_mirrored_pair_counts_games() -> None:
    both = tuple(Episode("e", number, number, 30, "") for number in range(2))
    assert match_title(match([1, 2], episodes=both)) == "A beats B in 2 games"


def test_title_of_an_unfinished_match_names_its_state() -> None:
    waiting = match([None, None], state=MatchState.QUEUED, episodes=())
    assert match_title(waiting) == "A against B, waiting for a machine"
    assert match_title(match([None], state=MatchState.VOID, episodes=())) == "A, void"


def test_title_of_a_validation_says_whether_it_passed() -> None:
    copies = tuple(seat(0, 1) for _ in range(4))
    assert match_title(match([], kind=MatchKind.VALIDATION, seats=copies)) == (
        "Validation of A, passed"
    )
    failed = (*copies[:3], seat(0, 4, "ERROR"))
    assert match_title(match([], kind=MatchKind.VALIDATION, seats=failed)) == (
        "Validation of A, failed"
    )


def test_title_of_a_failed_game_for_one_player_says_so() -> None:
    failed = match([1], seats=(seat(0, 1, "TIMEOUT"),))
    assert match_title(failed) == "A fails after 199 steps"


def read_by_owner(played: Match) -> Match:
    """The match as the team of all seats reads it."""
    return replace(played, access=MatchAccess(log_seats=frozenset(range(len(played.seats)))))


@pytest.mark.parametrize(
    ("placements", "endings"),
    [
        ([2, 1], ["lost", "won"]),
        ([1, 1], ["tied", "tied"]),
        ([3, 1, 1, 4], ["3rd of 4", "shared 1st of 4", "shared 1st of 4", "4th of 4"]),
        ([1], ["finished"]),
    ],
)
def test_ending_names_the_result_of_a_seat(
    placements: list[int | None], endings: list[str]
) -> None:
    played = match(placements)
    assert [ending_text(played, one) for one in played.seats] == endings


@pytest.mark.parametrize(
    ("verdict", "step", "explained", "short"),
    [
        ("TIMEOUT", 41, "lost: timed out at step 41", "lost: timed out"),
        ("ERROR", 0, "lost: error while loading", "lost: error"),
        ("INVALID", 7, "lost: invalid move at step 7", "lost: invalid move"),
    ],
)
def test_only_readers_of_logs_see_the_step_of_a_fault(
    verdict: str, step: int, explained: str, short: str
) -> None:
    failed = replace(seat(0, 2, verdict), failed_step=step)
    played = match([], seats=(failed, seat(1, 1)))
    assert ending_text(read_by_owner(played), failed) == explained
    assert ending_text(played, failed) == short


def test_ending_of_a_validation_is_passed_or_failed() -> None:
    failed = seat(0, 4, "TIMEOUT")
    tried = match([], kind=MatchKind.VALIDATION, seats=(failed, *(seat(0, 1) for _ in range(3))))
    owned = read_by_owner(tried)
    assert {ending_text(owned, one) for one in tried.seats} == {"failed: timed out"}
    assert {ending_text(tried, one) for one in tried.seats} == {"failed"}
    passed = match([], kind=MatchKind.VALIDATION, seats=tried.seats[1:])
    assert ending_text(passed, passed.seats[0]) == "passed"


def test_an_unfinished_match_has_no_ending() -> None:
    waiting = match([None, None], state=MatchState.QUEUED, episodes=())
    assert ending_text(waiting, waiting.seats[0]) is None


def test_ordinals_end_as_people_write_them() -> None:
    assert [ordinal(number) for number in (1, 2, 3, 4, 11, 12, 13, 16)] == [
        *("1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "16th")
    ]
