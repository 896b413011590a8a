"""Comparisons on the server: which pairs are played, what ends one, and which limits count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from estimates.comparison import Rule, Verdict
from ladder.entries import agents, entries
from ladder.enums import VoidCause
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import SubmissionId, TeamId, UserId
from ladder.matches import history, matches
from ladder.matches.records import Match
from ladder.notices import inbox
from ladder.people.records import Viewer
from ladder.scrims import comparisons, scrims
from ladder.scrims.comparison_progress import (
    MOST_REPLAYS,
    PAIRS_AT_ONCE,
    advance,
    comparisons_to_advance,
)
from ladder.scrims.comparisons import Comparison, Versions
from ladder.scrims.scrims import Asker
from tests.integration.ladder.contest import Contest

Placing = Callable[[bool], list[int]]


@dataclass(frozen=True)
class Lab:
    """A team with two versions, and an opponent of another team."""

    contest: Contest
    user: UserId
    team: TeamId
    old: SubmissionId
    new: SubmissionId
    opponent: SubmissionId

    @property
    def asker(self) -> Asker:
        return Asker(self.contest.season, self.team, self.user)

    def start(self, **changes: Any) -> Comparison:
        """A new comparison with a margin of a half."""
        rule = Rule(**{"margin": 0.5, "most_pairs": 60, **changes})
        return comparisons.start_comparison(
            self.contest.conn,
            self.asker,
            Versions(self.old, self.new, (self.opponent,)),
            rule,
        )

    def step(self, comparison: Comparison) -> Verdict | None:
        """One round of the scheduler's job."""
        verdict = None
        for one in comparisons_to_advance(self.contest.conn):
            with self.contest.conn.transaction():
                found = advance(self.contest.conn, one)
            verdict = found if one == comparison.id else verdict
        return verdict

    def games(self, comparison: Comparison, state: str = "queued") -> list[Match]:
        """The matches of the comparison's pairs, oldest pair first, old version first."""
        pairs = comparisons.issued_pairs(self.contest.conn, comparison.id)
        ids = [match for pair in pairs for match in (pair.old_match_id, pair.new_match_id)]
        found = [history.get_match(self.contest.conn, match) for match in ids]
        return [match for match in found if match.state == state]

    def play(self, match: Match, new_wins: bool = True) -> None:
        """Plays a match that the new version wins and the old version loses, or the reverse."""
        for version in (self.old, self.new):
            seats = [s.seat for s in match.seats if s.submission_id == version]
            if seats:
                wins = (version == self.new) == new_wins
                places = [1 if (seat in seats) == wins else 2 for seat in range(len(match.seats))]
                self.contest.play(match.id, places)

    def play_all(self, comparison: Comparison, new_wins: bool = True) -> Verdict:
        """Plays until the verdict."""
        for _ in range(100):
            verdict = self.step(comparison)
            if verdict is not None:
                return verdict
            for match in self.games(comparison):
                self.play(match, new_wins)
        raise AssertionError


@pytest.fixture
def lab(contest: Contest) -> Lab:
    user, team = contest.team()
    agent = contest.agent(team)
    old, new = contest.submission(agent).id, contest.submission(agent).id
    other = contest.agent()
    contest.open_for_scrims(other, games_daily=500)
    opponent = entries.get_entry(contest.conn, contest.active(other)).submission_id
    return Lab(contest, user, team, old, new, opponent)


def test_both_games_of_a_pair_differ_only_in_the_version(lab: Lab) -> None:
    comparison = lab.start()
    assert lab.step(comparison) is None
    games = lab.games(comparison)
    assert len(games) == 2 * PAIRS_AT_ONCE
    for old, new in zip(games[::2], games[1::2], strict=True):
        assert old.seed == new.seed
        seats = [(a.submission_id, b.submission_id) for a, b in zip(old.seats, new.seats)]  # noqa: B905
        assert seats.count((lab.old, lab.new)) == 1
        assert seats.count((lab.opponent, lab.opponent)) == len(seats) - 1
    assert lab.step(comparison) is None
    assert len(lab.games(comparison)) == 2 * PAIRS_AT_ONCE


@pytest.mark.parametrize(("new_wins", "verdict"), [(True, "better"), (False, "not_better")])
def test_a_clear_difference_ends_the_comparison(lab: Lab, new_wins: bool, verdict: str) -> None:
    comparison = lab.start()
    assert lab.play_all(comparison, new_wins) == verdict
    found = comparisons.get_comparison(lab.contest.conn, comparison.id)
    assert (found.state, found.verdict, found.ended_by) == ("finished", verdict, "bounds")
    pairs = comparisons.played_pairs(lab.contest.conn, found)
    report = comparisons.stored_report(found, pairs)
    assert report.difference == (1 if new_wins else -1)
    course = comparisons.course(lab.contest.conn, found.id)
    assert (course[-1].low, course[-1].high) == pytest.approx((report.low, report.high))
    assert lab.games(found) == []
    assert scrims.list_scrims(lab.contest.conn, Viewer(is_admin=True), [lab.team]) == []


def test_pairs_count_in_the_order_of_their_numbers(lab: Lab) -> None:
    comparison = lab.start()
    lab.step(comparison)
    for match in lab.games(comparison)[2:]:
        lab.play(match)
    assert lab.step(comparison) is None
    assert comparisons.played_pairs(lab.contest.conn, comparison) == []
    for match in lab.games(comparison)[:2]:
        lab.play(match)
    lab.step(comparison)
    found = comparisons.get_comparison(lab.contest.conn, comparison.id)
    assert len(comparisons.played_pairs(lab.contest.conn, found)) > 1


def test_pair_with_a_void_match_is_played_again(lab: Lab) -> None:
    comparison = lab.start(most_pairs=1)
    lab.step(comparison)
    for replay in range(MOST_REPLAYS):
        old, new = lab.games(comparison)
        matches.void_matches(
            lab.contest.conn, [old.id], VoidCause.ATTEMPTS_USED_UP, "the machine failed"
        )
        assert lab.step(comparison) is None
        again, _ = lab.games(comparison)
        assert (again.seed, again.id > new.id) == (old.seed, True)
        found = comparisons.get_comparison(lab.contest.conn, comparison.id)
        assert found.replayed_pairs == replay + 1
    matches.void_matches(
        lab.contest.conn, [again.id], VoidCause.ATTEMPTS_USED_UP, "the machine failed"
    )
    assert lab.step(comparison) is Verdict.CANNOT_TELL
    found = comparisons.get_comparison(lab.contest.conn, comparison.id)
    assert (found.state, found.ended_by) == ("finished", "host_faults")


def test_used_up_pairs_cannot_tell(lab: Lab) -> None:
    comparison = lab.start(most_pairs=2)
    assert lab.play_all(comparison) is Verdict.CANNOT_TELL
    assert comparisons.get_comparison(lab.contest.conn, comparison.id).ended_by == "pairs"


def test_deadline_ends_a_comparison(lab: Lab) -> None:
    comparison = lab.start()
    lab.step(comparison)
    lab.contest.conn.execute("update comparisons set deadline_at = now()")
    assert lab.step(comparison) is Verdict.CANNOT_TELL
    found = comparisons.get_comparison(lab.contest.conn, comparison.id)
    assert (found.ended_by, lab.games(found)) == ("deadline", [])


def test_retired_opponent_ends_a_comparison_at_once_and_tells_the_team(lab: Lab) -> None:
    conn = lab.contest.conn
    comparison = lab.start()
    lab.step(comparison)
    assert comparisons_to_advance(conn) == []
    entries.retire_entry(conn, lab.contest.entries[-1])
    assert lab.step(comparison) is Verdict.CANNOT_TELL
    found = comparisons.get_comparison(conn, comparison.id)
    assert (found.ended_by, lab.games(found)) == ("opponent_gone", [])
    notice = inbox.list_notices(conn, lab.user, None, 1)[0]
    assert (notice.kind, notice.path) == ("comparison_finished", f"/comparisons/{comparison.id}")


def test_cancelled_comparison_plays_no_more(lab: Lab) -> None:
    comparison = lab.start()
    lab.step(comparison)
    for _ in range(2):
        found = comparisons.cancel_comparison(lab.contest.conn, comparison.id)
        assert (found.state, found.verdict) == ("cancelled", None)
    assert lab.games(found) == []
    assert comparisons_to_advance(lab.contest.conn) == []


def test_comparison_waits_while_an_opponent_takes_no_more_games(lab: Lab) -> None:
    other = agents.get_submission(lab.contest.conn, lab.opponent).agent_id
    comparison = lab.start()
    lab.contest.open_for_scrims(other, games_daily=5)
    lab.step(comparison)
    assert len(lab.games(comparison)) == 4
    found = comparisons.get_comparison(lab.contest.conn, comparison.id)
    assert found.state == "running"
    assert found.waits_until is not None
    assert comparisons_to_advance(lab.contest.conn) == []
    for match in lab.games(comparison):
        lab.play(match)
    assert comparisons_to_advance(lab.contest.conn) == [comparison.id]
    lab.contest.open_for_scrims(other, games_daily=500)
    lab.contest.conn.execute("update comparisons set waits_until = now()")
    lab.step(comparison)
    assert comparisons.get_comparison(lab.contest.conn, comparison.id).waits_until is None
    assert len(lab.games(comparison)) == 2 * PAIRS_AT_ONCE


def pairs_today(lab: Lab, *opponents: SubmissionId) -> tuple[int, str, int, int]:
    found = comparisons.pairs_today(lab.contest.conn, lab.contest.season, lab.team, opponents)
    return found.pairs, found.limit, found.used, found.allowed


def test_only_the_limit_of_the_team_ends_pairs_with_reference_agents(lab: Lab) -> None:
    anchor = lab.contest.active(is_anchor=True)
    opponent = entries.get_entry(lab.contest.conn, anchor).submission_id
    allowed = lab.contest.season.scrim_games_daily
    limit = "your team's scrim games a day"
    assert pairs_today(lab, opponent) == (allowed // 2, limit, 0, allowed)
    scrims.request_scrim(
        lab.contest.conn,
        lab.asker,
        [lab.new, *[opponent] * (lab.contest.season.seats - 1)],
        games=60,
    )
    assert pairs_today(lab, opponent) == (allowed // 2 - 30, limit, 60, allowed)


def test_pairs_of_a_day_end_with_the_limit_of_an_opponent(lab: Lab) -> None:
    other = agents.get_submission(lab.contest.conn, lab.opponent).agent_id
    lab.contest.open_for_scrims(other, games_daily=11)
    name = agents.get_agent(lab.contest.conn, other).name
    assert pairs_today(lab, lab.opponent) == (
        5,
        f"scrim games a day of {name} with all teams",
        0,
        11,
    )
    own = [lab.contest.submission(lab.contest.agent(lab.team)).id for _ in range(5)]
    # It sits in three of six pairs on average.
    assert pairs_today(lab, lab.opponent, *own)[0] == 11
    lab.start()
    for _ in range(3):
        lab.step(comparisons.list_comparisons(lab.contest.conn, [lab.team])[0])
    assert pairs_today(lab, lab.opponent)[0] == 0


def test_comparison_of_other_teams_submissions_is_refused(lab: Lab) -> None:
    with pytest.raises(NotFound, match="your team has no submission") as refused:
        comparisons.start_comparison(
            lab.contest.conn, lab.asker, Versions(lab.opponent, lab.new), Rule()
        )
    assert refused.value.field == "old"


def test_closed_opponent_is_refused_before_the_first_pair(lab: Lab) -> None:
    other = agents.get_submission(lab.contest.conn, lab.opponent).agent_id
    lab.contest.open_for_scrims(other, is_open=False)
    with pytest.raises(Conflict) as refused:
        lab.start()
    assert refused.value.field == "opponents"
    count = lab.contest.conn.execute("select count(*) from scrims where team_id = %s", (lab.team,))
    assert count.fetchone() == (0,)


def test_team_has_few_running_comparisons(lab: Lab) -> None:
    for _ in range(comparisons.MOST_RUNNING):
        lab.start()
    with pytest.raises(Conflict, match="cancel one first"):
        lab.start()


def test_same_submission_twice_is_refused(lab: Lab) -> None:
    with pytest.raises(Invalid, match="both have the same files"):
        comparisons.start_comparison(
            lab.contest.conn, lab.asker, Versions(lab.new, lab.new), Rule()
        )
