"""Advances tournaments. The scheduler calls ``advance_tournaments`` in each of its rounds.

A call may come at any time, twice or late: it reads the rows, computes the course and makes what is
missing. Each tournament is advanced in one transaction that holds its row.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
import psycopg
from psycopg.types.json import Jsonb

from ladder.database.db import Connection
from ladder.errors import LadderError
from ladder.ids import TournamentId
from ladder.matches.workers import live_workers
from ladder.telemetry import log_event, traceback_text
from ladder.tournaments import (
    course_acts,
    course_notices,
    courses,
    leaving,
    locking,
    tournament_games,
    tournaments,
)
from ladder.tournaments.courses import position_text
from ladder.tournaments.formats import Course
from ladder.tournaments.records import Tournament, TournamentState
from ladder.tournaments.tournament_games import TournamentAdvance, TurnOf

LEAST_IN_FLIGHT: Final = 64
"""Games of a tournament that may wait or play at a time, also with few slots."""
GAMES_PER_SLOT: Final = 3
FAILED: Final = "the service has a fault ({}); its operators find it in the log of the scheduler"
DUE: Final = (
    "select t.id from tournaments t where"  # noqa: S608
    " t.state in ('draft', 'registration', 'check_in') and t.locks_at <= now()"
    " or t.state = 'registration' and t.check_in_minutes > 0"
    "   and t.locks_at - make_interval(secs => t.check_in_minutes * 60) <= now()"
    " or t.state = 'locked' and t.starts_at <= now()"
    " or t.state = 'paused' and t.resumes_at <= now()"
    " or t.state in ('running', 'paused', 'finished') and t.is_due"
    " or t.state in ('running', 'paused') and exists (select 1"
    "   from tournament_games g join matches m on m.id = g.match_id"
    "   where g.tournament_id = t.id and g.outcome is null and m.state in ('finished', 'void'))"
    f" or {tournaments.RUNS} and exists (select 1 from tournament_entrants x"
    "   join agents a on a.id = x.agent_id join teams y on y.id = a.team_id"
    "   where x.tournament_id = t.id and x.state = 'entered' and y.erased_at is not null)"
    " or t.state = 'running' and t.problem is null and exists (select 1 from tournament_rounds r"
    "   where r.tournament_id = t.id and r.finished_at is null and r.deadline_at <= now())"
    " order by t.id"
)


def advance_tournaments(conn: Connection, turn_of: TurnOf) -> dict[str, int]:
    """Advances each tournament that is due. ``conn`` is in no transaction.

    A failure of one is logged and shown to its hosts. It does not stop the others.
    """
    due = [TournamentId(row[0]) for row in conn.execute(DUE)]
    if not due:
        return {}
    slots = sum(one.slots for one in live_workers(conn) if "play.cpu" in one.queues)
    made = 0
    for tournament_id in due:
        try:
            with conn.transaction():
                made += advance_one(conn, tournament_id, turn_of, slots)
        except psycopg.OperationalError:
            raise
        except Exception as error:
            _record_failure(conn, tournament_id, error)
    return {"tournaments_advanced": len(due), "tournament_games_queued": made}


def _record_failure(conn: Connection, tournament_id: TournamentId, error: Exception) -> None:
    """Tells the hosts of a tournament that it cannot be advanced. Logs each failure once."""
    with conn.transaction():
        is_new = conn.execute(
            "update tournaments set problem = %(text)s where id = %(id)s"
            " and problem is distinct from %(text)s",
            {"text": FAILED.format(type(error).__name__), "id": tournament_id},
        ).rowcount
    if is_new:
        log_event(
            "tournament_failed",
            level="error",
            tournament=tournament_id,
            error=str(error),
            trace=traceback_text(error),
        )


def advance_one(
    conn: Connection, tournament_id: TournamentId, turn_of: TurnOf, slots: int = 0
) -> int:
    """Does what is due for one tournament now; returns the number of queued games."""
    found = tournaments.lock_tournament_row(conn, tournament_id)
    found = _pass_dates(conn, found)
    if found.state is TournamentState.FINISHED:
        _correct_end(conn, found)
    if found.state not in (TournamentState.RUNNING, TournamentState.PAUSED):
        return 0
    tournament_games.settle_games(conn, tournament_id)
    _withdraw_erased(conn, found)
    inputs = courses.read_inputs(conn, found)
    games = courses.read_games(conn, tournament_id)
    course = courses.compute(inputs, games)
    running = sum(one.outcome is None for one in games)
    left_to_queue = max(LEAST_IN_FLIGHT, GAMES_PER_SLOT * slots) - running
    resumed_at, is_draw_public = _past_acts(conn, tournament_id)
    advance = TournamentAdvance(
        conn, inputs, games, turn_of, left_to_queue, resumed_at, is_draw_public
    )
    tournament_games.end_unneeded_games(advance, course)
    if course.finished:
        course_acts.finish(conn, found, course)
        course_notices.record_course_news(conn, inputs, games, course)
        return 0
    _enter_round(advance, course)
    if found.state is TournamentState.RUNNING:
        tournament_games.queue_games(advance, course)
        _report_late_round(advance)
    _write_progress(advance, course)
    course_notices.record_course_news(conn, inputs, games, course)
    return advance.queued


def _pass_dates(conn: Connection, found: Tournament) -> Tournament:
    """Changes the state if its time has come."""
    now = datetime.now(UTC)
    state = found.state
    if state.is_before_lock and found.locks_at <= now:
        if state is TournamentState.DRAFT:
            course_acts.cancel(conn, found, None, tournaments.NEVER_OPENED)
        else:
            try:
                locking.lock_entrants(conn, found.id, None)
            except LadderError as error:
                course_acts.cancel(conn, found, None, f"it could not be locked: {error.message}")
    elif (
        state is TournamentState.REGISTRATION
        and found.check_in_minutes
        and found.locks_at - timedelta(minutes=found.check_in_minutes) <= now
    ):
        tournaments.set_state(conn, found.id, TournamentState.CHECK_IN)
        tournaments.record_act(conn, found.id, "open check-in")
    elif state is TournamentState.PAUSED and found.resumes_at and found.resumes_at <= now:
        tournaments.resume_tournament(conn, found.id, None)
    found = tournaments.get_tournament(conn, found.id)
    if found.state is TournamentState.LOCKED and found.starts_at <= now:
        course_acts.start(conn, found, None)
    return tournaments.get_tournament(conn, found.id)


def _correct_end(conn: Connection, found: Tournament) -> None:
    """Corrects the places of a finished tournament if it is due, or if entrants left it that runs
    on as far as everybody knows."""
    hides_end = tournaments.state_for_all(conn, found) is not TournamentState.FINISHED
    gone = _withdraw_erased(conn, found) if hides_end else 0
    was_due = conn.execute(
        "update tournaments set is_due = false where id = %s and is_due", (found.id,)
    ).rowcount
    if gone or was_due:
        leaving.correct_places(conn, found)


def _withdraw_erased(conn: Connection, found: Tournament) -> int:
    """Withdraws entrants whose owner deleted the account. Returns how many."""
    return conn.execute(
        "update tournament_entrants x set state = 'withdrawn', last_position = %s from teams t"
        " join agents a on a.team_id = t.id where x.tournament_id = %s and x.state = 'entered'"
        " and a.id = x.agent_id and t.erased_at is not null",
        (leaving.last_paired(found), found.id),
    ).rowcount


def _enter_round(advance: TournamentAdvance, course: Course) -> None:
    """Ends rounds that are over and begins the one that is played, with its deadline."""
    found, now = advance.found, position_text(course.position)
    advance.conn.execute(
        "update tournament_rounds set finished_at = now() where tournament_id = %s"
        " and finished_at is null and position <> %s",
        (found.id, now),
    )
    advance.conn.execute(
        "insert into tournament_rounds (tournament_id, position, deadline_at)"
        " values (%s, %s, now() + %s) on conflict (tournament_id, position) do update"
        " set finished_at = null, deadline_at = case when tournament_rounds.finished_at is null"
        " then tournament_rounds.deadline_at else excluded.deadline_at end",
        (found.id, now, timedelta(minutes=found.round_minutes)),
    )


def _past_acts(conn: Connection, tournament_id: TournamentId) -> tuple[datetime | None, bool]:
    """When the tournament was last resumed, and whether it was finished once."""
    row = conn.execute(
        "select max(created_at) filter (where act = 'resume'),"
        " count(*) filter (where act = 'finish') > 0 from tournament_acts where tournament_id = %s",
        (tournament_id,),
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def _report_late_round(advance: TournamentAdvance) -> None:
    """Says why a round that is past its deadline is not over."""
    late = advance.conn.execute(
        "select 1 from tournament_rounds where tournament_id = %s and finished_at is null"
        " and deadline_at <= now()",
        (advance.found.id,),
    ).fetchone()
    if late is None:
        return
    states = Counter(one.state for one in advance.games if one.outcome is None)
    waiting = ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "none"
    advance.problems.append(
        f"it has lasted longer than {advance.found.round_minutes:g} minutes; unfinished matches:"
        f" {waiting}. Check that workers are running and can run the agents of these matches"
    )


def _write_progress(advance: TournamentAdvance, course: Course) -> None:
    problem = "; ".join(dict.fromkeys(advance.problems))[:1000] or None
    advance.conn.execute(
        "update tournaments set position = %s, published = %s, is_due = %s, problem = %s"
        " where id = %s",
        (
            position_text(course.position),
            Jsonb(
                {
                    position_text(at): msgspec.to_builtins(paired)
                    for at, paired in course.published.items()
                }
            ),
            advance.is_due_again,
            problem,
            advance.found.id,
        ),
    )
