"""Advances tournaments. The scheduler calls ``advance_tournaments`` in each of its rounds.

A call may come at any time, twice or late: it reads the rows, computes the course and makes what is
missing. Each tournament is advanced in one transaction that holds its row.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from dataclasses import field as made_by
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
import psycopg
from psycopg.types.json import Jsonb

from ladder.database.db import Connection
from ladder.enums import MatchKind
from ladder.errors import LadderError
from ladder.ids import MatchId, TournamentId
from ladder.leagues import seasons
from ladder.leagues.records import Season
from ladder.matches import matches
from ladder.matches.records import LineupSeat
from ladder.matches.workers import live_workers
from ladder.runtime_profiles import REMOTE
from ladder.telemetry import log_event, traceback_text
from ladder.tournaments import course_acts, course_notices, courses, locking, tournaments
from ladder.tournaments.courses import Field, position_text
from ladder.tournaments.formats import Course, Pairing, State, WantedGame
from ladder.tournaments.records import (
    Entrant,
    GameOutcome,
    Tournament,
    TournamentGame,
    TournamentState,
)

LEAST_IN_FLIGHT: Final = 64
"""Games of a tournament that may wait or play at a time, also with few slots."""
GAMES_PER_SLOT: Final = 3
MOST_TRIES: Final = 10
"""Matches of one game that may end without a result. Then a host decides."""
AWAY_AGAIN: Final = timedelta(seconds=10)
AWAY: Final = "a remote agent was away"
OVER: Final = "its pairing is over"
FAILED: Final = "the service has a fault ({}); its operators find it in the log of the scheduler"
DUE: Final = (
    "select t.id from tournaments t where"
    " t.state in ('draft', 'registration', 'check_in') and t.locks_at <= now()"
    " or t.state = 'registration' and t.check_in_minutes > 0"
    "   and t.locks_at - make_interval(secs => t.check_in_minutes * 60) <= now()"
    " or t.state = 'locked' and t.starts_at <= now()"
    " or t.state = 'paused' and t.resumes_at <= now()"
    " or t.state in ('running', 'paused') and (t.is_due or exists (select 1"
    "   from tournament_games g join matches m on m.id = g.match_id"
    "   where g.tournament_id = t.id and g.outcome is null and m.state in ('finished', 'void'))"
    "   or exists (select 1 from tournament_entrants x join agents a on a.id = x.agent_id"
    "   join teams y on y.id = a.team_id where x.tournament_id = t.id and x.state = 'entered'"
    "   and y.erased_at is not null))"
    " or t.state = 'running' and t.problem is null and exists (select 1 from tournament_rounds r"
    "   where r.tournament_id = t.id and r.finished_at is null and r.deadline_at <= now())"
    " order by t.id"
)
TurnOf = Callable[[str], int]
"""The next turn in the play queue for this tournament."""


@dataclass
class _Work:
    """One tournament while it is advanced."""

    conn: Connection
    field: Field
    games: list[TournamentGame]
    turn_of: TurnOf
    room: int
    """Games that may still be queued."""
    resumed_at: datetime | None = None
    """Void matches that ended before are no reason to stop trying."""
    made: int = 0
    waits: bool = False
    """Whether wanted games were not queued yet."""
    problems: list[str] = made_by(default_factory=list)

    @property
    def found(self) -> Tournament:
        return self.field.tournament


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
    if found.state not in (TournamentState.RUNNING, TournamentState.PAUSED):
        return 0
    _settle_games(conn, tournament_id)
    _withdraw_erased(conn, found)
    field = courses.read_field(conn, found)
    games = courses.read_games(conn, tournament_id)
    course = courses.compute(field, games)
    running = sum(one.outcome is None for one in games)
    room = max(LEAST_IN_FLIGHT, GAMES_PER_SLOT * slots) - running
    work = _Work(conn, field, games, turn_of, room, _last_resumed_at(conn, tournament_id))
    _drop_superfluous_games(work, course)
    if course.finished:
        course_acts.finish(conn, found, course)
        course_notices.record_course_news(conn, field, games, course)
        return 0
    _enter_round(work, course)
    if found.state is TournamentState.RUNNING:
        _queue_games(work, course)
        _check_deadline(work, course)
    _write_progress(work, course)
    course_notices.record_course_news(conn, field, games, course)
    return work.made


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


def _settle_games(conn: Connection, tournament_id: TournamentId) -> None:
    """Notes what ended matches mean: results count, void matches are played again."""
    conn.execute(
        "update tournament_games g set outcome = case when m.state = 'void' then 'void'"
        " when g.is_rejudgement then 'proposed' else 'counted' end from matches m"
        " where g.tournament_id = %s and g.outcome is null and m.id = g.match_id"
        " and m.state in ('finished', 'void')",
        (tournament_id,),
    )


def _withdraw_erased(conn: Connection, found: Tournament) -> None:
    """Withdraws entrants whose owner deleted the account."""
    conn.execute(
        "update tournament_entrants x set state = 'withdrawn', last_position = %s from teams t"
        " join agents a on a.team_id = t.id where x.tournament_id = %s and x.state = 'entered'"
        " and a.id = x.agent_id and t.erased_at is not null",
        (found.position, found.id),
    )


def _drop_superfluous_games(work: _Work, course: Course) -> None:
    """Ends games that the course does not need, after a walk-over or a rejudgement."""
    pairings = {str(one.key): one for one in course.pairings}
    stale, running = [], []
    for one in work.games:
        pairing = pairings.get(one.pairing)
        fits = pairing is not None and set(one.entrants) <= set(pairing.entrants)
        if one.outcome in (GameOutcome.COUNTED, GameOutcome.PROPOSED) and not fits:
            stale.append(one.match_id)
        elif one.outcome is None and not (
            fits and (one.is_rejudgement or (pairing is not None and _is_wanted(pairing, one)))
        ):
            stale.append(one.match_id)
            running.append(one.match_id)
    if running:
        matches.void_matches(work.conn, running, OVER)
    if stale:
        work.conn.execute(
            "update tournament_games set outcome = 'stale' where match_id = any (%s)", (stale,)
        )
        work.games = [one for one in work.games if one.match_id not in stale]


def _is_wanted(pairing: Pairing, one: TournamentGame) -> bool:
    return any(
        wanted.number == one.game and wanted.entrants == one.entrants for wanted in pairing.wanted
    )


def _enter_round(work: _Work, course: Course) -> None:
    """Ends rounds that are over and begins the one that is played, with its deadline."""
    found, now = work.found, position_text(course.position)
    work.conn.execute(
        "update tournament_rounds set finished_at = now() where tournament_id = %s"
        " and finished_at is null and position <> %s",
        (found.id, now),
    )
    work.conn.execute(
        "insert into tournament_rounds (tournament_id, position, deadline_at)"
        " values (%s, %s, now() + %s) on conflict (tournament_id, position) do update"
        " set finished_at = null, deadline_at = case when tournament_rounds.finished_at is null"
        " then tournament_rounds.deadline_at else excluded.deadline_at end",
        (found.id, now, timedelta(minutes=found.round_minutes)),
    )


def _queue_games(work: _Work, course: Course) -> None:
    """Queues the wanted games of the round that have no match."""
    season = seasons.get_season(work.conn, work.found.season_id)
    of_game: dict[tuple[str, int], list[TournamentGame]] = defaultdict(list)
    for one in work.games:
        of_game[one.pairing, one.game].append(one)
    for pairing in course.pairings:
        if pairing.state is not State.READY or pairing.round != course.position:
            continue
        for wanted in pairing.wanted:
            tried = of_game[str(pairing.key), wanted.number]
            if any(one.outcome is None and not one.is_rejudgement for one in tried):
                continue
            if _may_play_again(work, pairing, wanted, tried):
                _queue_game(work, season, pairing, wanted, tried)


def _may_play_again(
    work: _Work, pairing: Pairing, wanted: WantedGame, tried: Sequence[TournamentGame]
) -> bool:
    if work.room <= 0:
        # A game in flight that ends makes the tournament due again.
        return False
    void = [one for one in tried if one.outcome is GameOutcome.VOID]
    away = [one for one in void if (one.void_reason or "").startswith(AWAY)]
    failed = [one for one in void if one not in away and _is_after(one, work.resumed_at)]
    if len(failed) >= MOST_TRIES:
        work.problems.append(
            f"game {wanted.number} of pairing {pairing.key} ended {len(failed)} times without a"
            f" result; the last time: {failed[-1].void_reason}. To try again, pause and resume the"
            " tournament"
        )
        return False
    if away and away[-1].finished_at and datetime.now(UTC) < away[-1].finished_at + AWAY_AGAIN:
        work.waits = True
        return False
    return True


def _is_after(one: TournamentGame, moment: datetime | None) -> bool:
    return moment is None or (one.finished_at is not None and one.finished_at > moment)


def _last_resumed_at(conn: Connection, tournament_id: TournamentId) -> datetime | None:
    row = conn.execute(
        "select max(created_at) from tournament_acts where tournament_id = %s and act = 'resume'",
        (tournament_id,),
    ).fetchone()
    return None if row is None else row[0]


def _queue_game(
    work: _Work,
    season: Season,
    pairing: Pairing,
    wanted: WantedGame,
    tried: Sequence[TournamentGame],
) -> None:
    entrants = [work.field.entrants[number - 1] for number in wanted.entrants]
    lineup = [_seat(work, one, entrants) for one in entrants]
    try:
        match_id = matches.create_match(
            work.conn,
            season=season,
            kind=MatchKind.TOURNAMENT,
            lineup=lineup,
            seed=wanted.seed,
            turn=work.turn_of(work.found.id),
        )
    except LadderError as error:
        work.problems.append(f"pairing {pairing.key} cannot play: {error.message}")
        return
    _write_game(work, match_id, str(pairing.key), wanted, len(tried) + 1)
    work.room -= 1
    work.made += 1


def _seat(work: _Work, one: Entrant, entrants: Sequence[Entrant]) -> LineupSeat:
    """The seat of an entrant. The agent of a deleted account cannot play; its heat needs the seat.

    So a reference agent of the season plays there, or else the last seed of the heat twice.
    """
    if one.is_erased:
        row = work.conn.execute(
            "select e.id, e.submission_id, e.agent_id, e.team_id, e.profile from entries e"
            " join teams t on t.id = e.team_id where e.season_id = %s and e.is_anchor"
            " and e.state = 'active' and e.profile <> %s and t.erased_at is null"
            " order by e.agent_id = any (%s), e.id limit 1",
            (work.found.season_id, REMOTE, [each.agent_id for each in entrants]),
        ).fetchone()
        if row is not None:
            return LineupSeat(*row)
        one = max(entrants, key=lambda each: (not each.is_erased, each.number or 0))
    return LineupSeat(
        one.entry_id,
        one.submission_id,  # type: ignore[arg-type]  # fixed at the lock
        one.agent_id,
        one.team_id,
        one.profile or "numpy",
    )


def _write_game(
    work: _Work, match_id: MatchId, pairing: str, wanted: WantedGame, number: int
) -> None:
    found = work.found
    is_remote = any(work.field.entrants[one - 1].profile == REMOTE for one in wanted.entrants)
    work.conn.execute(
        "insert into tournament_games (match_id, tournament_id, pairing, game, entrants, try,"
        " embargo, waits_until) select %s, %s, %s, %s, %s, %s, %s, case when %s then"
        " coalesce((select min(waits_until) from tournament_games where tournament_id = %s"
        "   and pairing = %s and game = %s), now() + %s) end",
        (
            *(match_id, found.id, pairing, wanted.number, list(wanted.entrants), number),
            *(found.embargo, is_remote, found.id, pairing, wanted.number),
            timedelta(minutes=found.away_minutes),
        ),
    )


def _check_deadline(work: _Work, course: Course) -> None:
    """Says why a round that is past its deadline is not over."""
    late = work.conn.execute(
        "select 1 from tournament_rounds where tournament_id = %s and finished_at is null"
        " and deadline_at <= now()",
        (work.found.id,),
    ).fetchone()
    if late is None:
        return
    states = Counter(one.state for one in work.games if one.outcome is None)
    waiting = ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "none"
    work.problems.append(
        f"the round takes longer than {work.found.round_minutes:g} minutes; its matches: {waiting}."
        " See whether workers are live, and which agents they need"
    )


def _write_progress(work: _Work, course: Course) -> None:
    problem = "; ".join(dict.fromkeys(work.problems))[:1000] or None
    work.conn.execute(
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
            work.waits,
            problem,
            work.found.id,
        ),
    )
