"""Seeds of tournament games: who sees them when, and which ones a remote agent gets."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ladder.database.db import Connection
from ladder.entries import remote_agents
from ladder.enums import Embargo
from ladder.ids import MatchId
from ladder.matches import history
from ladder.tournaments import advance, course_acts, rejudgements, tournaments
from ladder.tournaments.records import TournamentGame, TournamentState
from services.matches.operations import shown_match
from tests.integration.ladder.contest import make_contest
from tests.integration.ladder.cup import ADMIN, Cup, better_seed_wins, make_cup, void


@pytest.fixture
def cup(conn: Connection) -> Cup:
    """A single elimination of two, without remote agents, that has begun."""
    made = make_cup(make_contest(conn, seats=2))
    made.enter(2)
    made.start()
    return made


@pytest.fixture
def remote_cup(conn: Connection, monkeypatch: pytest.MonkeyPatch) -> Cup:
    """A single elimination of an agent and a remote agent that has begun."""
    monkeypatch.setattr(advance, "AWAY_AGAIN", timedelta(0))
    contest = make_contest(conn, seats=2, remote_agents=True)
    made = make_cup(contest, remote_agents=True)
    made.enter(1)
    remote = contest.agent()
    contest.active(remote, profile="remote")
    made.enter_agent(remote)
    made.start()
    return made


def shown(cup: Cup, match_id: MatchId) -> str | None:
    """The seed in the answer of the API."""
    return shown_match(ADMIN, history.get_match(cup.contest.conn, match_id)).seed


def seed(cup: Cup, game: TournamentGame) -> bytes:
    return history.get_match(cup.contest.conn, game.match_id).seed


def open_game(cup: Cup, number: int) -> TournamentGame:
    return next(one for one in cup.open_games() if one.game == number)


def stay_away(cup: Cup, game: TournamentGame) -> None:
    """Voids the game because its remote agent is away, and queues its next match."""
    order = cup.contest.claim(game.match_id)
    assert remote_agents.void_for_unreachable_agents(
        cup.contest.conn,
        game.match_id,
        order.attempt,
        "w1",
        {order.profiles.index("remote"): "no answer"},
    )
    cup.advance()


def test_the_first_game_of_a_pair_hides_the_seed_of_the_second(cup: Cup) -> None:
    first, second = cup.open_games()
    assert seed(cup, first) == seed(cup, second)
    cup.contest.play(first.match_id, better_seed_wins(first))
    cup.advance()
    assert shown(cup, first.match_id) is None
    cup.play_on()
    assert cup.row.state is TournamentState.FINISHED
    assert shown(cup, first.match_id) == shown(cup, second.match_id) == seed(cup, first).hex()


def test_a_void_match_hides_the_seed_of_its_next_try(cup: Cup) -> None:
    first = open_game(cup, 1)
    void(cup, first.match_id)
    cup.advance()
    assert shown(cup, first.match_id) is None


def test_a_game_judged_again_hides_the_seed_of_the_other_until_both_end(remote_cup: Cup) -> None:
    remote_cup.play_on()
    rejudgements.rejudge_pairing(
        remote_cup.contest.conn, remote_cup.id, "1.1.1", None, "a bad worker"
    )
    first, second = remote_cup.open_games()
    remote_cup.contest.play(first.match_id, better_seed_wins(first))
    assert shown(remote_cup, first.match_id) is None
    remote_cup.contest.play(second.match_id, better_seed_wins(second))
    assert shown(remote_cup, first.match_id) is not None


def test_a_seed_is_hidden_as_long_as_its_result(conn: Connection) -> None:
    cup = make_cup(make_contest(conn, seats=2), embargo="participants")
    cup.enter(2)
    cup.start()
    cup.play_on()
    match_id = cup.games()[0].match_id
    assert shown(cup, match_id) is None
    course_acts.reveal(conn, cup.id, Embargo.PUBLIC, None)
    assert shown(cup, match_id) is not None


def test_a_remote_agent_gets_a_new_seed_after_a_host_fault(remote_cup: Cup) -> None:
    games = remote_cup.open_games()
    for one in games:
        void(remote_cup, one.match_id)
    remote_cup.advance()
    again = {seed(remote_cup, one) for one in remote_cup.open_games()}
    assert len(again) == 1, "the pair is mirrored"
    assert again.isdisjoint(seed(remote_cup, one) for one in games)


def test_a_remote_agent_that_is_away_gets_no_other_seed(remote_cup: Cup) -> None:
    void(remote_cup, open_game(remote_cup, 1).match_id)
    remote_cup.advance()
    for number in (1, 2):
        before = open_game(remote_cup, number)
        stay_away(remote_cup, before)
        assert seed(remote_cup, open_game(remote_cup, number)) == seed(remote_cup, before)


def test_a_remote_agent_gets_no_seed_of_a_draw_that_is_public(remote_cup: Cup) -> None:
    conn = remote_cup.contest.conn
    wanted = {seed(remote_cup, one) for one in remote_cup.open_games()}
    remote_cup.play_on()
    conn.execute("delete from tournament_games")
    tournaments.set_state(conn, remote_cup.id, TournamentState.RUNNING)
    remote_cup.advance()
    again = {seed(remote_cup, one) for one in remote_cup.open_games()}
    assert len(again) == 1
    assert again.isdisjoint(wanted)
