"""Takes agents out of tournaments: withdrawal and disqualification.

Who left stands behind all who stayed. After the end the places are computed again.
"""

from __future__ import annotations

from typing import NoReturn

from ladder.database.db import Connection, atomic_function
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import AgentId, TournamentId, UserId
from ladder.people import audit_log
from ladder.tournaments import course_acts, course_notices, courses, tournaments
from ladder.tournaments.entrants import entrants_of
from ladder.tournaments.records import EntrantState, Tournament, TournamentState


@atomic_function
def withdraw(
    conn: Connection, tournament_id: TournamentId, agent_id: AgentId, by: UserId | None
) -> None:
    """Takes an agent out at its team's wish. After the lock its open pairings are walk-overs.

    A team may still withdraw from a tournament whose end is hidden: a refusal would tell the end.
    Raises Conflict, NotFound.
    """
    found = tournaments.lock_tournament_row(conn, tournament_id)
    state = tournaments.state_for_all(conn, found)
    if state.is_over:
        raise Conflict(f"the tournament is {state}: no agent can be withdrawn any more")
    _take_out(conn, found, agent_id, EntrantState.WITHDRAWN, None)
    tournaments.record_act(conn, tournament_id, "withdraw", by=by, agent_id=agent_id)
    correct_places(conn, found)


@atomic_function
def disqualify(
    conn: Connection,
    tournament_id: TournamentId,
    agent_id: AgentId,
    by: UserId | None,
    reason: str,
) -> None:
    """Takes an agent out by a host's decision, also after the end.

    Games that were played keep their results; its opponents win the open ones by walk-over. After
    the end the champion and the places change at once, and teams are told their new places.

    Raises Invalid without a reason, Conflict, NotFound.
    """
    if not reason.strip():
        raise Invalid("reason", "say why; the entrants read it")
    found = tournaments.lock_tournament_row(conn, tournament_id)
    if found.state is TournamentState.CANCELLED:
        raise Conflict("the tournament is cancelled: no agent can be disqualified any more")
    _take_out(conn, found, agent_id, EntrantState.DISQUALIFIED, reason)
    tournaments.record_act(
        conn, tournament_id, "disqualify", by=by, agent_id=agent_id, details={"reason": reason}
    )
    audit_log.record_audit(
        conn,
        found.league_id,
        by=by,
        act="disqualify from tournament",
        subject=agent_id,
        reason=reason,
        season_id=found.season_id,
        details={"tournament": found.id},
    )
    correct_places(conn, found)


def _take_out(
    conn: Connection, found: Tournament, agent_id: AgentId, state: EntrantState, reason: str | None
) -> None:
    changed = conn.execute(
        "update tournament_entrants set state = %s, reason = %s, last_position ="
        " case when number is not null then %s end where tournament_id = %s and agent_id = %s"
        " and state in ('entered', 'invited')",
        (state, reason, last_paired(found), found.id, agent_id),
    )
    if changed.rowcount != 1:
        _raise_not_entered(conn, found.id, agent_id)
    conn.execute("update tournaments set is_due = true where id = %s", (found.id,))


def correct_places(conn: Connection, found: Tournament) -> None:
    """Computes the places of a finished tournament again and tells teams which changed.

    Raises Conflict if its games do not give an end any more.
    """
    if found.state is not TournamentState.FINISHED:
        return
    inputs = courses.read_inputs(conn, found)
    games = courses.read_games(conn, found.id)
    course = courses.compute(inputs, games)
    if not course.finished:
        raise Conflict("the games that were played do not give the places of this tournament")
    course_acts.write_champion(conn, found, course)
    tournaments.record_act(
        conn, found.id, "correct places", details={"ranking": list(course.ranking)}
    )
    course_notices.record_course_news(conn, inputs, games, course)


def _raise_not_entered(
    conn: Connection, tournament_id: TournamentId, agent_id: AgentId
) -> NoReturn:
    for one in entrants_of(conn, tournament_id):
        if one.agent_id == agent_id:
            raise Conflict(f"this agent is {one.state.replace('_', ' ')} already")
    raise NotFound("this agent is not entered")


def last_paired(found: Tournament) -> str:
    """Returns the round that is played, as text. Before the start it is round 0 of stage 1; after
    the end it is the round after the last one."""
    if found.state is TournamentState.LOCKED:
        return "1.0"
    if found.state is not TournamentState.FINISHED:
        return found.position
    stage, round = courses.parse_position(found.position)
    return courses.position_text((stage, round + 1))
