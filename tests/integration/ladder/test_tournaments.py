"""The course of tournaments in the database: registration, lock, games, withdrawals, the end."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ladder.entries import remote_agents
from ladder.enums import Embargo, MatchKind
from ladder.errors import Conflict, Invalid
from ladder.matches import history
from ladder.people.records import STRANGER
from ladder.tournaments import (
    advance,
    course_acts,
    courses,
    entrants,
    tournaments,
)
from ladder.tournaments.formats.course import play
from ladder.tournaments.formats.export import encode_course
from ladder.tournaments.records import GameOutcome, TournamentGame, TournamentState
from ladder.tournaments.views import export
from tests.integration.ladder.contest import Contest, make_contest
from tests.integration.ladder.cup import (
    Cup,
    better_seed_wins,
    make_cup,
    void,
    worse_seed_wins,
)

DOUBLE = {"stages": [{"format": "double_elimination", "reset": False}]}
SWISS_FINALS = {
    "stages": [
        {"format": "swiss", "rounds": 3, "advance": 4},
        {"format": "single_elimination", "third_place": True},
    ]
}
ROBIN = {"stages": [{"format": "round_robin"}]}


@pytest.fixture
def duels(conn: Any) -> Contest:
    """An open season of a two-seat game."""
    return make_contest(conn, seats=2)


@pytest.mark.parametrize("plan", [None, DOUBLE, SWISS_FINALS])
def test_the_best_seed_wins_if_it_wins_all_games(
    duels: Contest, plan: dict[str, Any] | None
) -> None:
    cup = make_cup(duels, plan)
    cup.enter(6)
    cup.start()
    cup.play_on()
    assert (cup.row.state, cup.row.champion) == (TournamentState.FINISHED, 1)
    assert all(one.outcome is GameOutcome.COUNTED for one in cup.games())


def test_heats_play_a_final_of_four(contest: Contest) -> None:
    heat = {"format": "heats", "seats": 4, "heat": {"games": 1}}
    stages = [{**heat, "rounds": 2, "advance": 4}, {**heat, "rounds": 1}]
    cup = make_cup(contest, {"stages": stages})
    cup.enter(8)
    cup.start()
    cup.play_on()
    assert cup.row.state is TournamentState.FINISHED
    assert len(cup.view().course.fields[1]) == 4  # type: ignore[union-attr]


def test_the_course_computed_from_the_rows_alone_is_the_same(duels: Contest) -> None:
    cup = make_cup(duels, SWISS_FINALS)
    cup.enter(7)
    cup.start()
    cup.play_round()
    course_acts.withdraw(duels.conn, cup.id, cup.agent_of(7), None)
    cup.advance()
    cup.play_on()
    inputs = courses.read_inputs(duels.conn, cup.row)
    progress = courses.progress_of(inputs, cup.games())
    again = play(inputs.event, type(progress)(progress.results, progress.withdrawn))
    assert encode_course(again) == encode_course(cup.course())


def test_anybody_can_draw_a_finished_tournament_again(duels: Contest, tmp_path: Path) -> None:
    cup = make_cup(duels)
    cup.enter(5)
    cup.start()
    cup.play_on()
    (tmp_path / "cup.json").write_bytes(export(cup.view(), "json", 1).content)
    script = Path(__file__).parents[3] / "scripts" / "verify_tournament.py"
    said = subprocess.run(
        [sys.executable, "-I", script, tmp_path / "cup.json"], text=True, capture_output=True
    )
    assert said.returncode == 0, said.stdout
    entrants = json.loads((tmp_path / "cup.json").read_text())["entrants"]
    assert [each["drawn_by"] for each in entrants] == [cup.agent_of(n) for n in range(1, 6)]


def test_games_of_a_tournament_rate_nobody(duels: Contest) -> None:
    cup = make_cup(duels)
    cup.enter(4)
    cup.start()
    cup.play_on()
    rows = duels.conn.execute(
        "select (select count(*) from acceptances where season_id = %s), sum(games),"
        " sum(in_flight) from entries where season_id = %s",
        (duels.season.id, duels.season.id),
    ).fetchone()
    assert rows == (0, 0, 0)


def test_a_host_fault_is_played_again_with_the_same_seed(duels: Contest) -> None:
    cup = make_cup(duels)
    cup.enter(2)
    cup.start()
    first = cup.open_games()[0]
    seed = history.get_match(duels.conn, first.match_id).seed
    void(cup, first.match_id)
    cup.advance()
    again = next(one for one in cup.open_games() if one.game == first.game)
    assert history.get_match(duels.conn, again.match_id).seed == seed
    cup.play_on()
    assert cup.row.champion == 1


def test_a_game_that_never_ends_tells_the_host_why(duels: Contest) -> None:
    cup = make_cup(duels)
    cup.enter(2)
    cup.start()
    for _ in range(advance.MOST_TRIES):
        for one in cup.open_games():
            void(cup, one.match_id)
        cup.advance()
    assert cup.open_games() == []
    assert "the machine burnt" in (cup.row.problem or "")
    assert cup.view(STRANGER).problem is None


def test_a_round_past_its_deadline_says_what_it_waits_for(duels: Contest) -> None:
    cup = make_cup(duels)
    cup.enter(2)
    cup.start()
    duels.conn.execute("update tournament_rounds set deadline_at = now()")
    assert advance.advance_tournaments(duels.conn, cup.turn)["tournaments_advanced"] == 1
    assert "2 queued" in (cup.row.problem or "")
    cup.play_on()
    assert (cup.row.problem, cup.row.champion) == (None, 1)


def test_a_late_withdrawal_gives_walk_overs(duels: Contest) -> None:
    cup = make_cup(duels, ROBIN)
    cup.enter(4)
    cup.start()
    cup.play_round()
    course_acts.withdraw(duels.conn, cup.id, cup.agent_of(1), None)
    cup.advance()
    cup.play_on()
    assert cup.row.champion == 2
    later = [one for one in cup.games() if one.pairing >= "1.2"]
    played = [one.entrants for one in later if one.outcome is GameOutcome.COUNTED]
    assert played
    assert not any(1 in one for one in played)


def test_a_disqualification_ends_games_that_run(duels: Contest) -> None:
    cup = make_cup(duels)
    cup.enter(2)
    cup.start()
    with pytest.raises(Invalid, match="reason"):
        course_acts.disqualify(duels.conn, cup.id, cup.agent_of(1), None, " ")
    course_acts.disqualify(duels.conn, cup.id, cup.agent_of(1), None, "it attacked the box")
    cup.advance()
    assert (cup.row.champion, cup.open_games()) == (2, [])


def test_a_paused_tournament_starts_no_games(duels: Contest) -> None:
    cup = make_cup(duels)
    cup.enter(4)
    cup.start()
    tournaments.pause_tournament(duels.conn, cup.id, None)
    cup.play_round()
    assert cup.open_games() == []
    tournaments.resume_tournament(duels.conn, cup.id, None)
    cup.advance()
    assert len(cup.open_games()) == 2


def test_dates_lock_and_start_it(duels: Contest) -> None:
    cup = make_cup(duels)
    cup.enter(2)
    advance.advance_tournaments(duels.conn, cup.turn)
    assert cup.row.state is TournamentState.REGISTRATION
    duels.conn.execute("update tournaments set locks_at = now(), starts_at = now()")
    advance.advance_tournaments(duels.conn, cup.turn)
    assert (cup.row.state, len(cup.open_games())) == (TournamentState.RUNNING, 2)


def test_an_early_lock_starts_it_unless_a_later_start_was_chosen(duels: Contest) -> None:
    starts_at = datetime.now(UTC) + timedelta(days=2)
    at_lock, later = make_cup(duels), make_cup(duels, starts_at=starts_at)
    for cup in (at_lock, later):
        cup.enter(2)
        entrants.lock_entrants(duels.conn, cup.id, None)
        advance.advance_tournaments(duels.conn, cup.turn)
    assert at_lock.row.state is TournamentState.RUNNING
    assert (later.row.state, later.row.starts_at) == (TournamentState.LOCKED, starts_at)
    assert later.row.locks_at < datetime.now(UTC)


def test_a_tournament_without_entrants_is_cancelled_at_its_lock(duels: Contest) -> None:
    cup = make_cup(duels)
    duels.conn.execute("update tournaments set locks_at = now(), starts_at = now()")
    advance.advance_tournaments(duels.conn, cup.turn)
    assert cup.row.state is TournamentState.CANCELLED
    assert "could not be locked" in (cup.row.end_reason or "")


def test_a_remote_agent_that_is_away_loses_only_after_the_stated_minutes(
    conn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    contest = make_contest(conn, seats=2, remote_agents=True)
    cup = make_cup(contest, remote_agents=True, away_minutes=5)
    cup.enter(1)
    remote = contest.agent()
    contest.active(remote, profile="remote")
    cup.enter_agent(remote)
    cup.start()
    monkeypatch.setattr(advance, "AWAY_AGAIN", timedelta(0))
    first = next(one for one in cup.open_games() if one.game == 1)
    order = contest.claim(first.match_id)
    assert order.excused_seats
    seat = order.profiles.index("remote")
    assert remote_agents.void_for_unreachable_agents(
        conn, first.match_id, order.attempt, "w1", {seat: "no answer"}
    )
    cup.advance()
    conn.execute("update tournament_games set waits_until = now()")
    again = next(one for one in cup.open_games() if one.game == 1)
    assert not contest.claim(again.match_id).excused_seats


def test_a_cancelled_tournament_voids_its_games(duels: Contest) -> None:
    cup = make_cup(duels)
    cup.enter(2)
    cup.start()
    course_acts.cancel_tournament(duels.conn, cup.id, None, "the hall burnt")
    states = {history.get_match(duels.conn, one.match_id).state for one in cup.games()}
    assert (cup.row.state, states) == (TournamentState.CANCELLED, {"void"})


def test_hidden_results_show_nothing_of_the_course(duels: Contest) -> None:
    cup = make_cup(duels, embargo="hidden")
    cup.enter(4)
    cup.start()
    before = cup.view(STRANGER)
    cup.play_on(worse_seed_wins)
    after = cup.view(STRANGER)
    assert (after.course, after.games, after.state) == (before.course, {}, "running")
    assert (
        history.list_matches(
            duels.conn, viewer=STRANGER, season_id=duels.season.id, kind=MatchKind.TOURNAMENT
        )
        == []
    )
    course_acts.reveal(duels.conn, cup.id, Embargo.PUBLIC, None)
    assert cup.view(STRANGER).champion == cup.view().champion is not None


def test_an_event_under_embargo_plays_all_games_of_a_series(duels: Contest) -> None:
    plan = {"stages": [{"format": "single_elimination", "series": {"pairs": 3}}]}
    cup = make_cup(duels, plan, embargo="hidden")
    cup.enter(2)
    cup.start()
    cup.play_on(better_seed_wins)
    assert len(cup.games()) == 6
    with pytest.raises(Invalid, match="second final"):
        make_cup(duels, {"stages": [{"format": "double_elimination"}]}, embargo="hidden")


def test_a_game_that_never_ended_is_tried_again_after_a_pause(duels: Contest) -> None:
    cup = make_cup(duels)
    cup.enter(2)
    cup.start()
    for _ in range(advance.MOST_TRIES):
        for one in cup.open_games():
            void(cup, one.match_id)
        cup.advance()
    assert "pause and resume" in (cup.row.problem or "")
    tournaments.pause_tournament(duels.conn, cup.id, None)
    tournaments.resume_tournament(duels.conn, cup.id, None)
    cup.advance()
    cup.play_on()
    assert (cup.row.problem, cup.row.champion) == (None, 1)


def test_a_heat_with_the_agent_of_a_deleted_account_is_played(contest: Contest) -> None:
    heat = {"format": "heats", "seats": 4, "heat": {"games": 1}, "rounds": 2}
    cup = make_cup(contest, {"stages": [heat]})
    cup.enter(4)
    cup.start()
    gone = cup.view().entrant(2)
    duels = contest.conn
    for one in cup.open_games():
        void(cup, one.match_id)
    duels.execute("update teams set erased_at = now() where id = %s", (gone.team_id,))
    cup.advance()
    (game,) = cup.open_games()
    assert gone.team_id not in game.team_ids
    cup.play_on()
    assert cup.row.state is TournamentState.FINISHED


def test_a_tournament_that_fails_does_not_stop_the_others(
    duels: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, other = make_cup(duels), make_cup(duels)
    for cup in (broken, other):
        cup.enter(2)
    duels.conn.execute("update tournaments set locks_at = now(), starts_at = now()")
    compute = courses.compute

    def fail(inputs: courses.TournamentInputs, *given: Any) -> Any:
        if inputs.tournament.id == broken.id:
            raise KeyError("a fault")
        return compute(inputs, *given)

    monkeypatch.setattr(courses, "compute", fail)
    advance.advance_tournaments(duels.conn, other.turn)
    assert "KeyError" in (broken.row.problem or "")
    assert len(other.open_games()) == 2


def test_a_league_has_a_limited_number_of_tournaments_at_a_time(
    duels: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tournaments, "MOST_LIVE", 1)
    cup = make_cup(duels)
    with pytest.raises(Conflict, match="at most 1"):
        make_cup(duels)
    course_acts.cancel_tournament(duels.conn, cup.id, None, "the hall burnt")
    make_cup(duels)


def reason_of_second_final(cup: Cup) -> str:
    view = cup.view()
    assert view.course is not None
    return view.reason(view.course.pairings[-1])


def losers_bracket_wins_final(game: TournamentGame) -> list[int]:
    """Entrant 2 comes from the losers' bracket and wins the first final alone."""
    if game.pairing == "1.2.1":
        return worse_seed_wins(game)
    return better_seed_wins(game)


@pytest.mark.parametrize("is_upset", [False, True])
def test_the_reason_of_a_second_final_follows_the_first(duels: Contest, is_upset: bool) -> None:
    cup = make_cup(duels, {"stages": [{"format": "double_elimination", "reset": True}]})
    cup.enter(2)
    cup.start()
    assert reason_of_second_final(cup) == (
        "It is played only if the entrant from the losers' bracket wins the first final."
    )
    cup.play_on(losers_bracket_wins_final if is_upset else better_seed_wins)
    one, two = (cup.view().name(number) for number in (1, 2))
    assert reason_of_second_final(cup) == (
        f"{two} of the losers' bracket won the first final, so each has lost once."
        if is_upset
        else f"Not needed: {one} won the first final."
    )
