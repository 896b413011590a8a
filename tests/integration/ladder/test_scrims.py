"""Scrims: permitted opponents, limits, seat rotation, the summary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ladder.entries import entries
from ladder.enums import MatchKind, MatchState, VoidCause
from ladder.errors import Conflict, LadderError, NotFound
from ladder.ids import EntryId, MatchId, SubmissionId, TeamId, UserId
from ladder.matches import history, matches, wake_up_messages, workers
from ladder.people.records import Viewer
from ladder.scrims import forks, policies, scrims
from ladder.scrims.forks import ForkPoint
from ladder.scrims.scrims import Asker, Draws, Scrim
from tests.integration.ladder.contest import Contest, hello, make_contest


@pytest.fixture
def own(contest: Contest) -> tuple[UserId, TeamId, SubmissionId]:
    """A person, their team, and a submission of theirs that is in no season."""
    user, team = contest.team()
    return user, team, contest.submission(contest.agent(team)).id


def opponent(contest: Contest, *, is_open: bool = True, daily: int | None = None) -> SubmissionId:
    """The active submission of another team's agent."""
    agent = contest.agent()
    if is_open:
        contest.open_for_scrims(agent, games_daily=daily)
    return _submission(contest, contest.active(agent))


def test_a_scrim_rotates_its_lineup(
    contest: Contest, own: tuple[UserId, TeamId, SubmissionId]
) -> None:
    other = opponent(contest)
    lineup = [own[2], other, own[2], own[2]]
    seeds = [bytes([n]) * 16 for n in range(5)]
    scrim = _request(contest, own, lineup, games=5, seeds=seeds)
    played = list(reversed(history.list_matches(contest.conn, scrim_id=scrim.id)))
    assert [m.seed for m in played] == seeds
    assert [[s.submission_id for s in m.seats].index(other) for m in played] == [1, 0, 3, 2, 1]
    assert {(m.queue, m.kind) for m in played} == {("scrim", "scrim")}
    assert {match.scrim_team_id for match in played} == {own[1]}
    assert played[0].seats[0].entry_id is None


def test_teams_take_turns_in_the_scrim_queue(
    contest: Contest, own: tuple[UserId, TeamId, SubmissionId]
) -> None:
    workers.register_worker(contest.conn, hello("w1"))
    heap = _games(contest, _request(contest, own, [own[2]] * 4, games=3))
    heap += _games(contest, _request(contest, own, [own[2]] * 4, games=2))
    user, team = contest.team()
    other = (user, team, contest.submission(contest.agent(team)).id)
    late = _games(contest, _request(contest, other, [other[2]] * 4, games=2))
    woken = [
        match_id for _, match_id in wake_up_messages.mark_matches_woken(contest.conn, {"scrim": 7})
    ]
    assert woken == [heap[0], late[0], heap[1], late[1], *heap[2:]]


def test_a_scrim_with_a_closed_or_hidden_agent_is_refused(
    contest: Contest, own: tuple[UserId, TeamId, SubmissionId]
) -> None:
    closed, hidden = opponent(contest, is_open=False), contest.submission().id
    with pytest.raises(Conflict, match="only teams with an agent that plays in this league"):
        _request(contest, own, [own[2], closed, own[2], own[2]])
    contest.active(contest.agent(own[1]))
    with pytest.raises(Conflict, match="not open for scrims without asking"):
        _request(contest, own, [own[2], closed, own[2], own[2]])
    for unknown in (hidden, SubmissionId("sub_none")):
        with pytest.raises(NotFound, match=r"no active submission"):
            _request(contest, own, [own[2], unknown, own[2], own[2]])
    with pytest.raises(Conflict, match="at least one"):
        _request(contest, own, [opponent(contest)] * 4)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"games": 0}, "games: must be between 1 and 100; it is 0"),
        ({"games": 101}, "games: must be between 1 and 100; it is 101"),
        (
            {"games": 2, "seeds": [b"x" * 16]},
            "seeds: give one seed for each game: 1 given for 2 games",
        ),
        ({"games": 1, "seeds": [b"x"]}, "seeds: each must be 16 bytes"),
    ],
)
def test_numbers_out_of_range_are_named(
    contest: Contest,
    own: tuple[UserId, TeamId, SubmissionId],
    terms: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(LadderError, match=message):
        _request(contest, own, [own[2]] * 4, **terms)
    with pytest.raises(LadderError, match="lineup: give 4 submissions, one for each seat; 3 given"):
        _request(contest, own, [own[2]] * 3)


def test_scrims_against_an_open_agent_have_a_daily_limit(
    contest: Contest, own: tuple[UserId, TeamId, SubmissionId]
) -> None:
    other = opponent(contest, daily=3)
    lineup = [own[2], other, own[2], own[2]]
    scrim = _request(contest, own, lineup, games=2)
    user, team = contest.team()
    mine = contest.submission(contest.agent(team)).id
    with pytest.raises(policies.ScrimLimitReached, match="2 of 3 used, 1 left; resets at"):
        _request(contest, (user, team, mine), [mine, other, mine, mine], games=2)
    contest.claim(history.list_matches(contest.conn, scrim_id=scrim.id)[0].id)
    scrims.cancel_scrim(contest.conn, scrim.id)
    with pytest.raises(policies.ScrimLimitReached, match="1 of 3 used"):  # that game had begun
        _request(contest, (user, team, mine), [mine, other, mine, mine], games=3)


def test_scrim_games_of_a_team_have_a_daily_limit(
    contest: Contest, own: tuple[UserId, TeamId, SubmissionId]
) -> None:
    contest.season = contest.season.model_copy(update={"scrim_games_daily": 3})
    scrim = _request(contest, own, [own[2]] * 4, games=3)
    with pytest.raises(policies.ScrimLimitReached) as caught:
        _request(contest, own, [own[2]] * 4, games=1)
    assert (caught.value.used, caught.value.allowed, caught.value.left) == (3, 3, 0)
    scrims.cancel_scrim(contest.conn, scrim.id)  # gives its games back
    again = _request(contest, own, [own[2]] * 4, games=3)
    contest.claim(history.list_matches(contest.conn, scrim_id=again.id)[0].id)
    scrims.cancel_scrim(contest.conn, again.id)  # keeps the one that had begun
    assert policies.games_today(contest.conn, contest.season, own[1]).used == 1
    with pytest.raises(policies.ScrimLimitReached, match="1 of 3 used"):
        _request(contest, own, [own[2]] * 4, games=3)


@pytest.mark.parametrize(
    ("cause", "used"), [(VoidCause.CALLED_OFF, 1), (VoidCause.ATTEMPTS_USED_UP, 0)]
)
def test_the_cause_says_whether_a_void_game_that_began_counts(
    contest: Contest, own: tuple[UserId, TeamId, SubmissionId], cause: VoidCause, used: int
) -> None:
    (game,) = _games(contest, _request(contest, own, [own[2]] * 4, games=1))
    contest.claim(game)
    matches.void_matches(contest.conn, [game], cause, "in other words")
    assert policies.games_today(contest.conn, contest.season, own[1]).used == used


def test_the_summary_counts_wins_with_an_interval(
    contest: Contest, own: tuple[UserId, TeamId, SubmissionId]
) -> None:
    other = opponent(contest)
    lineup = [own[2], other, own[2], own[2]]
    scrim = _request(contest, own, lineup, games=3)
    first, second, third = reversed(history.list_matches(contest.conn, scrim_id=scrim.id))
    contest.play(first.id, [4, 1, 2, 3])  # the opponent wins
    contest.play(second.id, [1, 1, 3, 4])  # the opponent, in seat 0, shares the first place
    matches.void_matches(contest.conn, [third.id], VoidCause.ATTEMPTS_USED_UP, "no luck")
    theirs, mine = scrims.scrim_summary(contest.conn, scrim)
    assert (theirs.submission_id, theirs.games, theirs.wins) == (other, 2, 1.5)
    assert (theirs.win_rate, theirs.mean_placement) == (0.75, 1.0)
    assert 0 < theirs.low < 0.75 < theirs.high < 1
    assert (mine.submission_id, mine.games, mine.wins, mine.faults) == (own[2], 6, 0.5, 0)
    done = scrims.get_scrim(contest.conn, scrim.id)
    assert (done.state, done.finished_games, done.void_games) == ("finished", 2, 1)
    assert done.finished_at is not None


def test_a_cancelled_scrim_keeps_its_finished_games(
    contest: Contest, own: tuple[UserId, TeamId, SubmissionId]
) -> None:
    scrim = _request(contest, own, [own[2]] * 4, games=3)
    newest = history.list_matches(contest.conn, scrim_id=scrim.id)
    contest.play(newest[0].id, [1, 2, 3, 4])
    running = contest.claim(newest[1].id)
    done = scrims.cancel_scrim(contest.conn, scrim.id)
    assert (done.state, done.finished_games, done.void_games) == ("cancelled", 1, 2)
    assert contest.finish(newest[1].id, running.attempt, [1, 2, 3, 4]) == "late"
    assert scrims.cancel_scrim(contest.conn, scrim.id) == done
    assert history.get_match(contest.conn, newest[0].id).state is MatchState.FINISHED
    assert scrims.list_scrims(contest.conn, Viewer(is_admin=True), [own[1]]) == [done]


def test_a_fork_counts_as_a_scrim_and_keeps_its_seats(
    contest: Contest, own: tuple[UserId, TeamId, SubmissionId]
) -> None:
    other = opponent(contest, daily=3)
    lineup = [own[2], other, own[2], own[2]]
    played = _request(contest, own, lineup)
    contest.play(_games(contest, played)[0], [1, 2, 3, 4])
    match = history.get_match(contest.conn, _games(contest, played)[0])

    def fork(games: int, **changes: Any) -> Scrim:
        point = ForkPoint(**{**POINT, "match": match, **changes})
        user, team, _ = own
        return forks.request_fork(
            contest.conn, Asker(contest.season, team, user), point, lineup, games
        )

    made = fork(2, moves={2: ["EAST"]})
    games = [history.get_match(contest.conn, game) for game in _games(contest, made)]
    assert [[seat.submission_id for seat in game.seats] for game in games] == [lineup] * 2
    assert games[0].seed == match.seed != games[1].seed
    contest.play(games[0].id, [2, 1, 3, 4])
    row = scrims.get_scrim(contest.conn, made.id).fork
    assert row is not None
    assert (row.match_id, row.step, row.moves) == (match.id, 3, {"2": ["EAST"]})
    first, second, *_ = forks.seat_outcomes(contest.conn, made, row)
    assert (first.recorded_placement, first.games, first.wins, first.mean_placement) == (1, 1, 0, 2)
    assert (second.recorded_placement, second.wins) == (2, 1)
    with pytest.raises(policies.ScrimLimitReached):
        fork(1)
    for wrong in ({"step": 9_999}, {"position": 1}, {"moves": {4: ["EAST"]}}):
        with pytest.raises(LadderError):
            fork(1, **wrong)
    again = history.get_match(contest.conn, games[0].id)
    with pytest.raises(Conflict, match="is a fork"):
        fork(1, match=again)
    with pytest.raises(Conflict, match="cannot be forked"):
        fork(1, match=replace(match, kind=MatchKind.TOURNAMENT))
    assert scrims.scrim_summary(contest.conn, made)


POINT: dict[str, Any] = {"position": 0, "step": 3, "draws": Draws.RECORD, "moves": {}}


def _request(
    contest: Contest,
    own: tuple[UserId, TeamId, SubmissionId],
    lineup: list[SubmissionId],
    games: int = 1,
    seeds: list[bytes] | None = None,
) -> Scrim:
    return scrims.request_scrim(
        contest.conn,
        Asker(contest.season, own[1], own[0]),
        lineup,
        games=games,
        seeds=seeds,
    )


def _games(contest: Contest, scrim: Scrim) -> list[MatchId]:
    return [m.id for m in reversed(history.list_matches(contest.conn, scrim_id=scrim.id))]


def _submission(contest: Contest, entry_id: EntryId) -> SubmissionId:
    return entries.get_entry(contest.conn, entry_id).submission_id


def test_a_version_in_no_season_has_the_libraries_of_its_agent(contest: Contest) -> None:
    user, team = contest.team()
    agent = contest.agent(team)
    old = _submission(contest, contest.active(agent))
    contest.conn.execute("update entries set profile = 'science' where agent_id = %s", (agent,))
    new = contest.submission(agent).id
    scrim = _request(contest, (user, team, new), [old, new, old, new])
    row = contest.conn.execute("select profiles from matches where scrim_id = %s", (scrim.id,))
    assert row.fetchone() == (["science"],)


def test_a_submission_keeps_its_libraries_in_a_scrim_of_another_league(contest: Contest) -> None:
    user, team = contest.team()
    agent = contest.agent(team)
    entered = _submission(contest, contest.active(agent))
    contest.conn.execute("update entries set profile = 'science' where agent_id = %s", (agent,))
    newer = contest.submission(agent).id
    contest.season = make_contest(contest.conn).season
    for own in (entered, newer):
        scrim = _request(contest, (user, team, own), [own] * 4)
        row = contest.conn.execute("select profiles from matches where scrim_id = %s", (scrim.id,))
        assert row.fetchone() == (["science"],)
