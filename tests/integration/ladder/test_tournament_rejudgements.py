"""Games of a tournament that are judged again: the preview, and the course after it."""

from __future__ import annotations

import pytest

from ladder.database.db import Connection
from ladder.errors import Conflict
from ladder.matches import history
from ladder.tournaments import rejudgements
from ladder.tournaments.records import GameOutcome, TournamentGame, TournamentState
from tests.integration.ladder.contest import make_contest
from tests.integration.ladder.cup import Cup, better_seed_wins, make_cup, void, worse_seed_wins

QUARTER_FINAL = "1.1.1"


@pytest.fixture
def finished(conn: Connection) -> Cup:
    """A single elimination of eight, in which the better seed won every game."""
    contest = make_contest(conn, seats=2)
    cup = make_cup(contest)
    cup.enter(8)
    cup.start()
    cup.play_on()
    return cup


def rejudge(cup: Cup) -> None:
    """Plays the first quarter-final again; the worse seed wins it now."""
    rejudgements.rejudge_pairing(
        cup.contest.conn, cup.id, QUARTER_FINAL, None, "a worker was broken"
    )
    for one in cup.games():
        if one.is_rejudgement:
            cup.contest.play(one.match_id, worse_seed_wins(one))


def test_the_preview_names_the_pairings_downstream(finished: Cup) -> None:
    rejudge(finished)
    (seen,) = rejudgements.list_rejudgements(finished.contest.conn, finished.row)
    assert [str(key) for key in seen.dependent_pairings] == ["1.2.1", "1.3.1"]
    assert seen.changes == seen.dependent_pairings


def test_an_applied_rejudgement_ends_as_if_the_new_result_had_come_first(finished: Cup) -> None:
    loser = max(finished.course().pairings[0].entrants)  # type: ignore[type-var]
    rejudge(finished)
    rejudgements.apply_rejudgement(finished.contest.conn, finished.id, QUARTER_FINAL, None)
    finished.advance()
    assert finished.row.state is TournamentState.RUNNING
    finished.play_on()

    def first_upset(game: TournamentGame) -> list[int]:
        return (worse_seed_wins if game.pairing == QUARTER_FINAL else better_seed_wins)(game)

    other = make_cup(finished.contest)
    other.contest.conn.execute(
        "update tournaments set draw_seed = (select draw_seed from tournaments where id = %s)"
        " where id = %s",
        (finished.id, other.id),
    )
    for agent in finished.agents:
        other.enter_agent(agent)
    other.start()
    other.play_on(first_upset)
    assert loser in finished.course().pairings[4].entrants
    assert finished.course().pairings == other.course().pairings
    assert finished.row.champion == other.row.champion


def test_the_old_matches_stay_in_the_record(finished: Cup) -> None:
    rejudge(finished)
    rejudgements.apply_rejudgement(finished.contest.conn, finished.id, QUARTER_FINAL, None)
    old = [one for one in finished.games() if one.outcome is GameOutcome.REPLACED]
    assert len(old) == 2
    assert all(history.get_match(finished.contest.conn, one.match_id).seats for one in old)


def test_a_dropped_rejudgement_changes_nothing(finished: Cup) -> None:
    before = finished.course()
    rejudge(finished)
    with pytest.raises(Conflict, match="judged again already"):
        rejudge(finished)
    rejudgements.drop_rejudgement(finished.contest.conn, finished.id, QUARTER_FINAL, None)
    assert finished.course() == before
    assert rejudgements.list_rejudgements(finished.contest.conn, finished.row) == []


def test_a_rejudgement_is_not_applied_while_it_plays(finished: Cup) -> None:
    rejudgements.rejudge_pairing(
        finished.contest.conn, finished.id, QUARTER_FINAL, None, "a worker was broken", game=1
    )
    with pytest.raises(Conflict, match="not over yet"):
        rejudgements.apply_rejudgement(finished.contest.conn, finished.id, QUARTER_FINAL, None)


@pytest.mark.parametrize("ends", [True, False])
def test_a_rejudgement_with_a_void_match_can_be_dropped_and_judged_again(
    conn: Connection, ends: bool
) -> None:
    cup = make_cup(make_contest(conn, seats=2))
    cup.enter(4)
    cup.start()
    cup.play_round()
    if ends:
        cup.play_on()
    rejudgements.rejudge_pairing(conn, cup.id, "1.1.1", None, "a worker was broken", game=1)
    (again,) = [one for one in cup.games() if one.is_rejudgement]
    void(cup, again.match_id)
    cup.advance()
    (seen,) = rejudgements.list_rejudgements(conn, cup.row)
    assert (seen.changes, seen.void_reason) == (None, "the machine burnt")
    with pytest.raises(Conflict, match=r"a new match is void \(the machine burnt\)"):
        rejudgements.apply_rejudgement(conn, cup.id, "1.1.1", None)
    rejudgements.drop_rejudgement(conn, cup.id, "1.1.1", None)
    rejudgements.rejudge_pairing(conn, cup.id, "1.1.1", None, "a worker was broken", game=1)
    assert rejudgements.list_rejudgements(conn, cup.row)[0].void_reason is None


def test_rejudgement_is_dropped_when_its_pairing_disappears(finished: Cup) -> None:
    conn = finished.contest.conn
    rejudgements.rejudge_pairing(conn, finished.id, "1.2.1", None, "a worker was broken")
    for one in finished.games():
        if one.is_rejudgement:
            finished.contest.play(one.match_id, better_seed_wins(one))
    rejudge_first = [one.match_id for one in finished.games() if one.is_rejudgement]
    rejudgements.rejudge_pairing(conn, finished.id, QUARTER_FINAL, None, "a worker was broken")
    for one in finished.games():
        if one.is_rejudgement and one.match_id not in rejudge_first:
            finished.contest.play(one.match_id, worse_seed_wins(one))
    rejudgements.apply_rejudgement(conn, finished.id, QUARTER_FINAL, None)
    finished.advance()
    assert rejudgements.list_rejudgements(conn, finished.row) == []
    finished.play_on()
    assert finished.row.state is TournamentState.FINISHED


def test_games_judged_again_do_not_overtake_the_whole_queue(finished: Cup) -> None:
    conn = finished.contest.conn
    other = make_cup(finished.contest)
    for agent in finished.agents:
        other.enter_agent(agent)
    other.turns = 7
    other.start()
    rejudgements.rejudge_pairing(conn, finished.id, QUARTER_FINAL, None, "a worker was broken")
    turns = conn.execute(
        "select m.turn from matches m join tournament_games g on g.match_id = m.id"
        " where g.is_rejudgement"
    ).fetchall()
    assert turns == [(7,), (7,)]


def test_games_judged_again_have_the_seats_and_seeds_of_the_old_ones(finished: Cup) -> None:
    conn = finished.contest.conn
    rejudgements.rejudge_pairing(conn, finished.id, QUARTER_FINAL, None, "a worker was broken")
    (found,) = rejudgements.list_rejudgements(conn, finished.row)
    pairs = [tuple(history.get_match(conn, one.match_id) for one in pair) for pair in found.games]
    assert len(pairs) == 2
    assert pairs[0][0].seats[0].agent_id != pairs[1][0].seats[0].agent_id, "the seats are swapped"
    for old, new in pairs:
        assert [one.agent_id for one in new.seats] == [one.agent_id for one in old.seats]
        assert new.seed == old.seed
    assert [new.game for _, new in found.games] == [1, 2]
