"""Titles of matches: who met whom, and how it ended."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ladder.enums import MatchKind, MatchState
from ladder.ids import AgentId, EntryId, LeagueId, MatchId, SeasonId, SubmissionId, TeamId
from ladder.matches.match_titles import match_title
from ladder.matches.records import Episode, Match, Seat

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
        scrim=None,
        game="hungry_geese",
        queue="play.cpu",
        attempt=1,
        max_attempts=3,
        woken_at=None,
        claimed_at=None,
        deadline_at=AT,
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
