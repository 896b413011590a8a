"""Starts, finishes and cancels a tournament, takes agents out, and ends the embargo of its matches.

Who left, by withdrawal or disqualification, stands behind all who stayed. After the end the places
are computed again. An embargo ends in this order: hidden, then for participants, then public.
"""

from __future__ import annotations

from typing import Final, NoReturn

from ladder.database.db import Connection, atomic_function, exists, fetch, update
from ladder.enums import Embargo, VoidCause
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import AgentId, MatchId, TournamentId, UserId
from ladder.matches import matches
from ladder.people import audit_log
from ladder.tournaments import course_notices, courses, tournaments
from ladder.tournaments.entrants import entrants_of, lock_entrants
from ladder.tournaments.formats.records import Course
from ladder.tournaments.records import EntrantState, Tournament, TournamentAct, TournamentState


def act_on_tournament(
    conn: Connection, tournament_id: TournamentId, act: TournamentAct, by: UserId | None
) -> None:
    """Opens, locks, starts, pauses, resumes or cancels. Raises Conflict with the reason."""
    match act.act:
        case "open":
            tournaments.open_registration(conn, tournament_id, by)
        case "lock":
            lock_entrants(conn, tournament_id, by)
        case "start":
            start_tournament(conn, tournament_id, by)
        case "pause":
            tournaments.pause_tournament(conn, tournament_id, by, act.reason)
        case "resume":
            tournaments.resume_tournament(conn, tournament_id, by)
        case "cancel":
            cancel_tournament(conn, tournament_id, by, act.reason)


@atomic_function
def start_tournament(conn: Connection, tournament_id: TournamentId, by: UserId | None) -> None:
    """Starts a locked tournament now. The scheduler queues its first games. Raises Conflict."""
    tournament = tournaments.lock_tournament_row(conn, tournament_id)
    if tournament.state is not TournamentState.LOCKED:
        raise Conflict(f"only a locked tournament can start; this one is {tournament.state}")
    start(conn, tournament, by)


@atomic_function
def cancel_tournament(
    conn: Connection, tournament_id: TournamentId, by: UserId | None, reason: str
) -> None:
    """Ends a tournament without a champion; its games in flight are void. Raises Conflict."""
    tournament = tournaments.lock_tournament_row(conn, tournament_id)
    if tournament.state.is_over:
        raise Conflict(f"it cannot be cancelled: the tournament is {tournament.state}")
    cancel(conn, tournament, by, reason or "a host cancelled it")
    audit_log.record_audit(
        conn,
        tournament.league_id,
        by=by,
        act="cancel tournament",
        subject=tournament.id,
        reason=reason,
        season_id=tournament.season_id,
    )


def start(conn: Connection, tournament: Tournament, by: UserId | None) -> None:
    """Starts it. The caller has locked the row and checked the state."""
    tournaments.set_state(conn, tournament.id, TournamentState.RUNNING)
    tournaments.record_act(conn, tournament.id, "start", by=by)


def cancel(conn: Connection, tournament: Tournament, by: UserId | None, reason: str) -> None:
    """Cancels it. The caller has locked the row and checked the state."""
    _void_open_games(conn, tournament.id, VoidCause.CALLED_OFF, "the tournament was cancelled")
    tournaments.set_state(conn, tournament.id, TournamentState.CANCELLED)
    update(conn, "tournaments", {"id": tournament.id}, end_reason=reason[:500], problem=None)
    tournaments.record_act(conn, tournament.id, "cancel", by=by, details={"reason": reason[:500]})


def finish(conn: Connection, tournament: Tournament, course: Course) -> None:
    """Ends it with its champion. The caller has locked the row."""
    _void_open_games(conn, tournament.id, VoidCause.NOT_NEEDED, "the tournament is over")
    tournaments.set_state(conn, tournament.id, TournamentState.FINISHED)
    query = """update tournament_rounds set finished_at = now()
        where tournament_id = %(tournament_id)s and finished_at is null"""
    conn.execute(query, {"tournament_id": tournament.id})
    write_champion(conn, tournament, course)
    tournaments.record_act(conn, tournament.id, "finish", details={"ranking": list(course.ranking)})


def write_champion(conn: Connection, tournament: Tournament, course: Course) -> None:
    """Writes the end of a course. The caller has locked the row."""
    query = """update tournaments set champion = %s, position = %s, problem = null, is_due = false
        where id = %s"""
    conn.execute(query, (course.champion, courses.position_text(course.position), tournament.id))


def _void_open_games(
    conn: Connection, tournament_id: TournamentId, cause: VoidCause, reason: str
) -> None:
    query = """update tournament_games set outcome = 'void'
        where tournament_id = %(tournament_id)s and outcome is null returning match_id"""
    voided = fetch(conn, MatchId, query, {"tournament_id": tournament_id})
    matches.void_matches(conn, voided, cause, reason)


@atomic_function
def withdraw(
    conn: Connection, tournament_id: TournamentId, agent_id: AgentId, by: UserId | None
) -> None:
    """Takes an agent out at its team's wish. After the lock its open pairings are walk-overs.

    A team may still withdraw from a tournament whose end is hidden: a refusal would tell the end.
    Raises Conflict, NotFound.
    """
    tournament = tournaments.lock_tournament_row(conn, tournament_id)
    state = tournaments.state_for_all(conn, tournament)
    if state.is_over:
        raise Conflict(f"the tournament is {state}: no agent can be withdrawn any more")
    _take_out(conn, tournament, agent_id, EntrantState.WITHDRAWN, None)
    tournaments.record_act(conn, tournament_id, "withdraw", by=by, agent_id=agent_id)
    correct_places(conn, tournament)


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
    tournament = tournaments.lock_tournament_row(conn, tournament_id)
    if tournament.state is TournamentState.CANCELLED:
        raise Conflict("the tournament is cancelled: no agent can be disqualified any more")
    _take_out(conn, tournament, agent_id, EntrantState.DISQUALIFIED, reason)
    tournaments.record_act(
        conn, tournament_id, "disqualify", by=by, agent_id=agent_id, details={"reason": reason}
    )
    audit_log.record_audit(
        conn,
        tournament.league_id,
        by=by,
        act="disqualify from tournament",
        subject=agent_id,
        reason=reason,
        season_id=tournament.season_id,
        details={"tournament": tournament.id},
    )
    correct_places(conn, tournament)


def _take_out(
    conn: Connection,
    tournament: Tournament,
    agent_id: AgentId,
    state: EntrantState,
    reason: str | None,
) -> None:
    changed = conn.execute(
        """update tournament_entrants
        set state = %s, reason = %s, last_position = case when number is not null then %s end
        where tournament_id = %s and agent_id = %s and state in ('entered', 'invited')""",
        (state, reason, last_paired(tournament), tournament.id, agent_id),
    )
    if changed.rowcount != 1:
        _raise_not_entered(conn, tournament.id, agent_id)
    update(conn, "tournaments", {"id": tournament.id}, is_due=True)


def correct_places(conn: Connection, tournament: Tournament) -> None:
    """Computes the places of a finished tournament again and tells teams which changed.

    Raises Conflict if its games do not give an end any more.
    """
    if tournament.state is not TournamentState.FINISHED:
        return
    inputs = courses.read_inputs(conn, tournament)
    games = courses.read_games(conn, tournament.id)
    course = courses.compute(inputs, games)
    if not course.finished:
        raise Conflict("the games that were played do not give the places of this tournament")
    write_champion(conn, tournament, course)
    tournaments.record_act(
        conn, tournament.id, "correct places", details={"ranking": list(course.ranking)}
    )
    course_notices.record_course_news(conn, inputs, games, course)


def _raise_not_entered(
    conn: Connection, tournament_id: TournamentId, agent_id: AgentId
) -> NoReturn:
    for entrant in entrants_of(conn, tournament_id):
        if entrant.agent_id == agent_id:
            raise Conflict(f"this agent is {entrant.state.replace('_', ' ')} already")
    raise NotFound("this agent is not entered")


def last_paired(tournament: Tournament) -> str:
    """Returns the round that is played, as text. Before the start it is round 0 of stage 1; after
    the end it is the round after the last one."""
    if tournament.state is TournamentState.LOCKED:
        return "1.0"
    if tournament.state is not TournamentState.FINISHED:
        return tournament.position
    stage, round = courses.parse_position(tournament.position)
    return courses.position_text((stage, round + 1))


ORDER: Final = [embargo.value for embargo in (Embargo.HIDDEN, Embargo.PARTICIPANTS, Embargo.PUBLIC)]


@atomic_function
def reveal(
    conn: Connection,
    tournament_id: TournamentId,
    embargo: Embargo,
    by: UserId | None,
    pairing: str | None = None,
) -> int:
    """Lets more people see finished matches: of one pairing, or all so far. Returns how many.

    What was shown is never hidden again. Raises NotFound if there is no match of the pairing.
    """
    tournament = tournaments.lock_tournament_row(conn, tournament_id)
    shown = conn.execute(
        """update tournament_games g set embargo = %s from matches m
        where m.id = g.match_id and g.tournament_id = %s and (%s::text is null or g.pairing = %s)
          and m.state in ('finished', 'void')
          and array_position(%s, g.embargo) < array_position(%s, %s)""",
        (embargo, tournament_id, pairing, pairing, ORDER, ORDER, embargo.value),
    ).rowcount
    if not shown and pairing is not None:
        query = "select 1 from tournament_games where tournament_id = %s and pairing = %s limit 1"
        if not exists(conn, query, (tournament_id, pairing)):
            raise NotFound("this pairing has no match yet", field="pairing")
    tournaments.record_act(
        conn,
        tournament_id,
        "reveal",
        by=by,
        details={"embargo": embargo.value, "pairing": pairing, "matches": shown},
    )
    if shown and embargo is Embargo.PUBLIC:
        inputs = courses.read_inputs(conn, tournament)
        games = courses.read_games(conn, tournament_id)
        course_notices.record_course_news(conn, inputs, games, courses.compute(inputs, games))
    return shown
