"""Advances tournaments. The scheduler calls ``advance_tournaments`` in each of its rounds.

A call may come at any time, twice or late: it reads the rows, computes the course and makes what is
missing. Each tournament is advanced in one transaction that holds its row.
"""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from dataclasses import field as made_by
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
import psycopg
from psycopg.types.json import Jsonb

from ladder.database.db import Connection, exists, fetch, fetch_one, fetch_optional
from ladder.enums import MatchKind, VoidCause
from ladder.errors import LadderError
from ladder.ids import MatchId, TournamentId
from ladder.leagues import seasons
from ladder.leagues.records import Season
from ladder.matches import matches
from ladder.matches.records import LineupSeat
from ladder.matches.workers import live_workers
from ladder.runtime_profiles import REMOTE
from ladder.telemetry import log_event, traceback_text
from ladder.tournaments import course_acts, courses, entrants, tournaments
from ladder.tournaments.courses import TournamentInputs, position_text
from ladder.tournaments.formats.records import Course, Pairing, State, WantedGame
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
FAILED: Final = "the service has a fault ({}); its operators find it in the log of the scheduler"
DUE: Final = f"""select t.id from tournaments t
    where t.state in ('draft', 'registration', 'check_in') and t.locks_at <= now()
      or t.state = 'registration' and t.check_in_minutes > 0
        and t.locks_at - make_interval(secs => t.check_in_minutes * 60) <= now()
      or t.state = 'locked' and t.starts_at <= now()
      or t.state = 'paused' and t.resumes_at <= now()
      or t.state in ('running', 'paused', 'finished') and t.is_due
      or t.state in ('running', 'paused') and exists (
        select 1 from tournament_games g join matches m on m.id = g.match_id
        where g.tournament_id = t.id and g.outcome is null and m.state in ('finished', 'void'))
      or {tournaments.RUNS} and exists (
        select 1 from tournament_entrants x join agents a on a.id = x.agent_id
        join teams y on y.id = a.team_id
        where x.tournament_id = t.id and x.state = 'entered' and y.erased_at is not null)
      or t.state = 'running' and t.problem is null and exists (
        select 1 from tournament_rounds r
        where r.tournament_id = t.id and r.finished_at is null and r.deadline_at <= now())
    order by t.id"""


def advance_tournaments(conn: Connection, turn_of: TurnOf) -> dict[str, int]:
    """Advances each tournament that is due. ``conn`` is in no transaction.

    A failure of one is logged and shown to its hosts. It does not stop the others.
    """
    due = fetch(conn, TournamentId, DUE)
    if not due:
        return {}
    slots = sum(worker.slots for worker in live_workers(conn) if "play.cpu" in worker.queues)
    queued = 0
    for tournament_id in due:
        try:
            with conn.transaction():
                queued += advance_one(conn, tournament_id, turn_of, slots)
        except psycopg.OperationalError:
            raise
        except Exception as error:
            _record_failure(conn, tournament_id, error)
    return {"tournaments_advanced": len(due), "tournament_games_queued": queued}


def _record_failure(conn: Connection, tournament_id: TournamentId, error: Exception) -> None:
    """Tells the hosts of a tournament that it cannot be advanced. Logs each failure once."""
    with conn.transaction():
        is_new = conn.execute(
            """update tournaments set problem = %(text)s
            where id = %(id)s and problem is distinct from %(text)s""",
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
    tournament = tournaments.lock_tournament_row(conn, tournament_id)
    tournament = _pass_dates(conn, tournament)
    if tournament.state is TournamentState.FINISHED:
        _correct_end(conn, tournament)
    if tournament.state not in (TournamentState.RUNNING, TournamentState.PAUSED):
        return 0
    settle_games(conn, tournament_id)
    _withdraw_erased(conn, tournament)
    inputs = courses.read_inputs(conn, tournament)
    games = courses.read_games(conn, tournament_id)
    course = courses.compute(inputs, games)
    running = sum(game.outcome is None for game in games)
    left_to_queue = max(LEAST_IN_FLIGHT, GAMES_PER_SLOT * slots) - running
    resumed_at, is_draw_public = _past_acts(conn, tournament_id)
    advance = TournamentAdvance(
        conn, inputs, games, turn_of, left_to_queue, resumed_at, is_draw_public
    )
    end_unneeded_games(advance, course)
    if course.finished:
        course_acts.finish(conn, tournament, course)
        course_acts.record_course_news(conn, inputs, games, course)
        return 0
    _enter_round(advance, course)
    if tournament.state is TournamentState.RUNNING:
        queue_games(advance, course)
        _report_late_round(advance)
    _write_progress(advance, course)
    course_acts.record_course_news(conn, inputs, games, course)
    return advance.queued


def _pass_dates(conn: Connection, tournament: Tournament) -> Tournament:
    """Changes the state if its time has come."""
    now = datetime.now(UTC)
    state = tournament.state
    if state.is_before_lock and tournament.locks_at <= now:
        if state is TournamentState.DRAFT:
            course_acts.cancel(conn, tournament, None, tournaments.NEVER_OPENED)
        else:
            try:
                entrants.lock_entrants(conn, tournament.id, None)
            except LadderError as error:
                course_acts.cancel(
                    conn, tournament, None, f"it could not be locked: {error.message}"
                )
    elif (
        state is TournamentState.REGISTRATION
        and tournament.check_in_minutes
        and tournament.locks_at - timedelta(minutes=tournament.check_in_minutes) <= now
    ):
        tournaments.set_state(conn, tournament.id, TournamentState.CHECK_IN)
        tournaments.record_act(conn, tournament.id, "open check-in")
    elif state is TournamentState.PAUSED and tournament.resumes_at and tournament.resumes_at <= now:
        tournaments.resume_tournament(conn, tournament.id, None)
    tournament = tournaments.get_tournament(conn, tournament.id)
    if tournament.state is TournamentState.LOCKED and tournament.starts_at <= now:
        course_acts.start(conn, tournament, None)
    return tournaments.get_tournament(conn, tournament.id)


def _correct_end(conn: Connection, tournament: Tournament) -> None:
    """Corrects the places of a finished tournament if it is due, or if entrants left it that runs
    on as far as everybody knows."""
    hides_end = tournaments.state_for_all(conn, tournament) is not TournamentState.FINISHED
    gone = _withdraw_erased(conn, tournament) if hides_end else 0
    was_due = conn.execute(
        "update tournaments set is_due = false where id = %s and is_due", (tournament.id,)
    ).rowcount
    if gone or was_due:
        course_acts.correct_places(conn, tournament)


def _withdraw_erased(conn: Connection, tournament: Tournament) -> int:
    """Withdraws entrants whose owner deleted the account. Returns how many."""
    return conn.execute(
        """update tournament_entrants x set state = 'withdrawn', last_position = %(last_position)s
        from teams t join agents a on a.team_id = t.id
        where x.tournament_id = %(tournament_id)s and x.state = 'entered' and a.id = x.agent_id
          and t.erased_at is not null""",
        {"last_position": course_acts.last_paired(tournament), "tournament_id": tournament.id},
    ).rowcount


def _enter_round(advance: TournamentAdvance, course: Course) -> None:
    """Ends rounds that are over and begins the one that is played, with its deadline."""
    tournament, now = advance.tournament, position_text(course.position)
    query = """update tournament_rounds set finished_at = now()
        where tournament_id = %(tournament_id)s and finished_at is null and position <> %(now)s"""
    advance.conn.execute(query, {"tournament_id": tournament.id, "now": now})
    query = """insert into tournament_rounds (tournament_id, position, deadline_at)
        values (%s, %s, now() + %s)
        on conflict (tournament_id, position) do update set finished_at = null,
          deadline_at = case when tournament_rounds.finished_at is null
            then tournament_rounds.deadline_at else excluded.deadline_at end"""
    advance.conn.execute(query, (tournament.id, now, timedelta(minutes=tournament.round_minutes)))


def _past_acts(conn: Connection, tournament_id: TournamentId) -> tuple[datetime | None, bool]:
    """When the tournament was last resumed, and whether it was finished once."""
    query = """select max(created_at) filter (where act = 'resume'),
          count(*) filter (where act = 'finish') > 0
        from tournament_acts where tournament_id = %s"""
    return fetch_one(conn, tuple[datetime | None, bool], query, (tournament_id,))


def _report_late_round(advance: TournamentAdvance) -> None:
    """Says why a round that is past its deadline is not over."""
    query = """select 1 from tournament_rounds
        where tournament_id = %(id)s and finished_at is null and deadline_at <= now()"""
    late = exists(advance.conn, query, {"id": advance.tournament.id})
    if not late:
        return
    states = Counter(game.state for game in advance.games if game.outcome is None)
    waiting = ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "none"
    minutes = advance.tournament.round_minutes
    advance.problems.append(
        f"it has lasted longer than {minutes:g} minutes; unfinished matches: {waiting}. Check"
        " that workers are running and can run the agents of these matches"
    )


def _write_progress(advance: TournamentAdvance, course: Course) -> None:
    problem = "; ".join(dict.fromkeys(advance.problems))[:1000] or None
    advance.conn.execute(
        """update tournaments set position = %s, published = %s, is_due = %s, problem = %s
        where id = %s""",
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
            advance.tournament.id,
        ),
    )


MOST_TRIES: Final = 10
"""Matches of one game that may end without a result. Then a host decides."""
AWAY_AGAIN: Final = timedelta(seconds=10)
SEED_BYTES: Final = 16
TurnOf = Callable[[str], int]
"""The next turn in the play queue for this tournament."""


@dataclass
class TournamentAdvance:
    """State of one attempt to advance a tournament."""

    conn: Connection
    inputs: TournamentInputs
    games: list[TournamentGame]
    turn_of: TurnOf
    games_left_to_queue: int
    """How many more games may be queued now."""
    resumed_at: datetime | None = None
    """Void matches that ended before are no reason to stop trying."""
    is_draw_public: bool = False
    """Whether the seed of the draw was shown: the tournament was over before a rejudgement."""
    queued: int = 0
    """Number of games queued so far."""
    is_due_again: bool = False
    """Whether a game waits because its agent was just unreachable."""
    problems: list[str] = made_by(default_factory=list)
    new_seeds: dict[bytes, bytes] = made_by(default_factory=lambda: defaultdict(_new_seed))
    """A new seed for each seed of the course. Games that are queued together share it."""

    @property
    def tournament(self) -> Tournament:
        return self.inputs.tournament


def _new_seed() -> bytes:
    return secrets.token_bytes(SEED_BYTES)


def settle_games(conn: Connection, tournament_id: TournamentId) -> None:
    """Notes what ended matches mean: results count, void matches are played again.

    A host decides what a rejudgement means, also if it is void.
    """
    query = """update tournament_games g
        set outcome = case when g.is_rejudgement then 'proposed' when m.state = 'void' then 'void'
          else 'counted' end
        from matches m
        where g.tournament_id = %(tournament_id)s and g.outcome is null and m.id = g.match_id
          and m.state in ('finished', 'void')"""
    conn.execute(query, {"tournament_id": tournament_id})


def end_unneeded_games(advance: TournamentAdvance, course: Course) -> None:
    """Ends games that the course does not need, after a walk-over or a rejudgement."""
    pairings = {str(item.key): item for item in course.pairings}
    stale, running = [], []
    for item in advance.games:
        pairing = pairings.get(item.pairing)
        fits = pairing is not None and set(item.entrants) <= set(pairing.entrants)
        if item.outcome in (GameOutcome.COUNTED, GameOutcome.PROPOSED) and not fits:
            stale.append(item.match_id)
        elif item.outcome is None and not (
            fits and (item.is_rejudgement or (pairing is not None and _is_wanted(pairing, item)))
        ):
            stale.append(item.match_id)
            running.append(item.match_id)
    if running:
        matches.void_matches(advance.conn, running, VoidCause.NOT_NEEDED, "its pairing is over")
    if stale:
        advance.conn.execute(
            "update tournament_games set outcome = 'stale' where match_id = any (%s)", (stale,)
        )
        advance.games = [item for item in advance.games if item.match_id not in stale]


def _is_wanted(pairing: Pairing, game: TournamentGame) -> bool:
    return any(
        planned.number == game.game and planned.entrants == game.entrants
        for planned in pairing.wanted
    )


def queue_games(advance: TournamentAdvance, course: Course) -> None:
    """Queues the wanted games of the round that have no match."""
    season = seasons.get_season(advance.conn, advance.tournament.season_id)
    of_game: dict[tuple[str, int], list[TournamentGame]] = defaultdict(list)
    for game in advance.games:
        of_game[game.pairing, game.game].append(game)
    for pairing in course.pairings:
        if pairing.state is not State.READY or pairing.round != course.position:
            continue
        for planned in pairing.wanted:
            tried = of_game[str(pairing.key), planned.number]
            if any(game.outcome is None and not game.is_rejudgement for game in tried):
                continue
            if _may_play_again(advance, pairing, planned, tried):
                _queue_game(advance, season, pairing, planned, tried)


def _may_play_again(
    advance: TournamentAdvance,
    pairing: Pairing,
    planned: WantedGame,
    tried: Sequence[TournamentGame],
) -> bool:
    if advance.games_left_to_queue <= 0:
        # A game in flight that ends makes the tournament due again.
        return False
    void = [game for game in tried if game.outcome is GameOutcome.VOID]
    away = [game for game in void if _was_away(game)]
    failed = [game for game in void if game not in away and _is_after(game, advance.resumed_at)]
    if len(failed) >= MOST_TRIES:
        advance.problems.append(
            f"game {planned.number} of pairing {pairing.key} ended {len(failed)} times without a"
            f" result; the last time: {failed[-1].void_reason}. To try again, pause and resume the"
            " tournament"
        )
        return False
    if away and away[-1].finished_at and datetime.now(UTC) < away[-1].finished_at + AWAY_AGAIN:
        advance.is_due_again = True
        return False
    return True


def _was_away(game: TournamentGame) -> bool:
    """Whether it was not played because a remote agent was away."""
    return game.outcome is GameOutcome.VOID and game.void_cause is VoidCause.AGENT_UNREACHABLE


def _is_after(game: TournamentGame, moment: datetime | None) -> bool:
    return moment is None or (game.finished_at is not None and game.finished_at > moment)


def _queue_game(
    advance: TournamentAdvance,
    season: Season,
    pairing: Pairing,
    planned: WantedGame,
    tried: Sequence[TournamentGame],
) -> None:
    entrants = [advance.inputs.entrants[number - 1] for number in planned.entrants]
    lineup = [_seat(advance, entrant, entrants) for entrant in entrants]
    try:
        match_id = matches.create_match(
            advance.conn,
            season=season,
            kind=MatchKind.TOURNAMENT,
            lineup=lineup,
            seed=_seed(advance, planned, tried),
            turn=advance.turn_of(advance.tournament.id),
        )
    except LadderError as error:
        advance.problems.append(f"pairing {pairing.key} cannot play: {error.message}")
        return
    _write_game(advance, match_id, str(pairing.key), planned, len(tried) + 1)
    advance.games_left_to_queue -= 1
    advance.queued += 1


def _seed(
    advance: TournamentAdvance, planned: WantedGame, tried: Sequence[TournamentGame]
) -> bytes:
    """The seed of the course, or a new one if the owner of a remote agent may know that one.

    Nobody played in a match that is void because an agent was away, so its seed stays. Else an
    agent could choose to be away to get another seed than in the first game of a pair.
    """
    if not _is_remote(advance, planned):
        return planned.seed
    if tried and _was_away(tried[-1]):
        query = "select seed from matches where id = %s"
        return fetch_one(advance.conn, bytes, query, (tried[-1].match_id,))
    return advance.new_seeds[planned.seed] if tried or advance.is_draw_public else planned.seed


def _is_remote(advance: TournamentAdvance, planned: WantedGame) -> bool:
    return any(advance.inputs.entrants[number - 1].profile == REMOTE for number in planned.entrants)


def _seat(advance: TournamentAdvance, entrant: Entrant, entrants: Sequence[Entrant]) -> LineupSeat:
    """The seat of an entrant. The agent of a deleted account cannot play; its heat needs the seat.

    So a reference agent of the season plays there, or else the last seed of the heat twice.
    """
    if entrant.is_erased:
        seat = fetch_optional(
            advance.conn,
            LineupSeat,
            """select e.id as entry_id, e.submission_id, e.agent_id, e.team_id, e.profile
            from entries e join teams t on t.id = e.team_id
            where e.season_id = %s and e.is_anchor and e.state = 'active' and e.profile <> %s
              and t.erased_at is null order by e.agent_id = any (%s), e.id limit 1""",
            (advance.tournament.season_id, REMOTE, [other.agent_id for other in entrants]),
        )
        if seat is not None:
            return seat
        entrant = max(entrants, key=lambda other: (not other.is_erased, other.number or 0))
    return LineupSeat(
        entrant.entry_id,
        entrant.submission_id,  # type: ignore[arg-type]  # fixed at the lock
        entrant.agent_id,
        entrant.team_id,
        entrant.profile or "numpy",
    )


def _write_game(
    advance: TournamentAdvance, match_id: MatchId, pairing: str, planned: WantedGame, number: int
) -> None:
    tournament = advance.tournament
    advance.conn.execute(
        """insert into tournament_games (
          match_id, tournament_id, pairing, game, entrants, try, embargo, waits_until)
        select %s, %s, %s, %s, %s, %s, %s, case when %s then coalesce((
            select min(waits_until) from tournament_games
            where tournament_id = %s and pairing = %s and game = %s), now() + %s) end""",
        (
            *(match_id, tournament.id, pairing, planned.number, list(planned.entrants), number),
            *(
                tournament.embargo,
                _is_remote(advance, planned),
                tournament.id,
                pairing,
                planned.number,
            ),
            timedelta(minutes=tournament.away_minutes),
        ),
    )
