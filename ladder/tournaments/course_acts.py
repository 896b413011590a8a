"""Starts, finishes and cancels a tournament."""

from __future__ import annotations

from ladder.database.db import Connection, atomic_function
from ladder.enums import VoidCause
from ladder.errors import Conflict
from ladder.ids import MatchId, TournamentId, UserId
from ladder.matches import matches
from ladder.people import audit_log
from ladder.tournaments import courses, tournaments
from ladder.tournaments.formats import Course
from ladder.tournaments.records import Tournament, TournamentState


@atomic_function
def start_tournament(conn: Connection, tournament_id: TournamentId, by: UserId | None) -> None:
    """Starts a locked tournament now. The scheduler queues its first games. Raises Conflict."""
    found = tournaments.lock_tournament_row(conn, tournament_id)
    if found.state is not TournamentState.LOCKED:
        raise Conflict(f"only a locked tournament can start; this one is {found.state}")
    start(conn, found, by)


@atomic_function
def cancel_tournament(
    conn: Connection, tournament_id: TournamentId, by: UserId | None, reason: str
) -> None:
    """Ends a tournament without a champion; its games in flight are void. Raises Conflict."""
    found = tournaments.lock_tournament_row(conn, tournament_id)
    if found.state.is_over:
        raise Conflict(f"it cannot be cancelled: the tournament is {found.state}")
    cancel(conn, found, by, reason or "a host cancelled it")
    audit_log.record_audit(
        conn,
        found.league_id,
        by=by,
        act="cancel tournament",
        subject=found.id,
        reason=reason,
        season_id=found.season_id,
    )


def start(conn: Connection, found: Tournament, by: UserId | None) -> None:
    """Starts it. The caller has locked the row and checked the state."""
    tournaments.set_state(conn, found.id, TournamentState.RUNNING)
    tournaments.record_act(conn, found.id, "start", by=by)


def cancel(conn: Connection, found: Tournament, by: UserId | None, reason: str) -> None:
    """Cancels it. The caller has locked the row and checked the state."""
    _void_open_games(conn, found.id, VoidCause.CALLED_OFF, "the tournament was cancelled")
    tournaments.set_state(conn, found.id, TournamentState.CANCELLED)
    conn.execute(
        "update tournaments set end_reason = %s, problem = null,"
        " ranks_by_mean = ranks_by_mean or %s where id = %s",
        (reason[:500], found.state.is_before_lock, found.id),
    )
    tournaments.record_act(conn, found.id, "cancel", by=by, details={"reason": reason[:500]})


def finish(conn: Connection, found: Tournament, course: Course) -> None:
    """Ends it with its champion. The caller has locked the row."""
    _void_open_games(conn, found.id, VoidCause.NOT_NEEDED, "the tournament is over")
    tournaments.set_state(conn, found.id, TournamentState.FINISHED)
    conn.execute(
        "update tournament_rounds set finished_at = now() where tournament_id = %s"
        " and finished_at is null",
        (found.id,),
    )
    write_champion(conn, found, course)
    tournaments.record_act(conn, found.id, "finish", details={"ranking": list(course.ranking)})


def write_champion(conn: Connection, found: Tournament, course: Course) -> None:
    """Writes the end of a course. The caller has locked the row."""
    conn.execute(
        "update tournaments set champion = %s, position = %s, problem = null, is_due = false"
        " where id = %s",
        (course.champion, courses.position_text(course.position), found.id),
    )


def _void_open_games(
    conn: Connection, tournament_id: TournamentId, cause: VoidCause, reason: str
) -> None:
    rows = conn.execute(
        "update tournament_games set outcome = 'void' where tournament_id = %s"
        " and outcome is null returning match_id",
        (tournament_id,),
    ).fetchall()
    matches.void_matches(conn, [MatchId(row[0]) for row in rows], cause, reason)
