"""Creates, lists and reads tournaments, and moves them from state to state."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from ladder import ids
from ladder.database.db import Connection, atomic_function
from ladder.enums import Embargo, Json
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import AgentId, LeagueId, TournamentId, UserId
from ladder.leagues.records import League, Season
from ladder.notices.events import EventSubject, record_event
from ladder.notices.kinds import NoticeKind
from ladder.people.records import Viewer
from ladder.people.roles import RoleScope, has_scope
from ladder.people.visibility import visible_leagues
from ladder.tournaments.formats.draw import commitment, new_seed
from ladder.tournaments.formats.plan import Plan, check_plan, decode_plan, encode_plan
from ladder.tournaments.records import EntryRule, NewTournament, Tournament, TournamentState

LONGEST_PAUSE: Final = timedelta(days=7)
DRAFT_TIME: Final = timedelta(hours=24)
MOST_LIVE: Final = 100
"""Tournaments of a league that are not over."""
NEVER_OPENED: Final = "its registration was not opened before the time of its lock"
TOURNAMENT: Final = (
    "select t.id, t.league_id, t.season_id, t.title, t.description, t.plan,"
    " t.state, t.entry_rule,"
    " t.most_entrants, t.agents_per_team, t.remote_agents, t.away_minutes, t.check_in_minutes,"
    " t.locks_at, t.starts_at, t.round_minutes, t.resumes_at, t.embargo, t.draw_seed,"
    " t.draw_digest, t.position, t.problem, t.champion, t.end_reason,"
    " t.created_at, t.finished_at"
    " from tournaments t"
)
HIDES: Final = (
    "t.embargo <> 'public' and exists (select 1 from tournament_games g"
    " where g.tournament_id = t.id and g.embargo <> 'public')"
)
"""A condition for tournaments of which a result is hidden from somebody."""
RUNS: Final = f"(t.state in ('running', 'paused') or t.state = 'finished' and {HIDES})"
"""A condition for tournaments that run, as far as everybody knows."""


@atomic_function
def create_tournament(
    conn: Connection, league: League, season: Season, wanted: NewTournament, by: UserId | None
) -> Tournament:
    """Creates a tournament with the rules of this season.

    Raises Invalid for a wrong value, Conflict if the league has too many.
    """
    if season.league_id != league.id:
        raise Invalid("season", "choose a season of this league")
    if wanted.remote_agents and not season.remote_agents:
        raise Invalid("remote_agents", "this season takes no remote agents")
    _check_room(conn, league.id)
    plan = _checked_plan(wanted, season)
    now = datetime.now(UTC)
    locks_at = wanted.locks_at or now + DRAFT_TIME
    starts_at = wanted.starts_at or locks_at
    if locks_at <= now:
        raise Invalid("locks_at", "choose a time in the future")
    if starts_at < locks_at:
        raise Invalid("starts_at", "choose a time at the lock or after it")
    seed = new_seed()
    tournament_id = TournamentId(ids.new_id("trn"))
    state = TournamentState.DRAFT if wanted.is_draft else TournamentState.REGISTRATION
    conn.execute(
        "insert into tournaments (id, league_id, season_id, title, description, plan, state,"
        " entry_rule, most_entrants, agents_per_team, remote_agents, away_minutes,"
        " check_in_minutes, locks_at, starts_at, round_minutes, embargo, draw_seed, draw_digest,"
        " created_by) values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s,"
        " %s, %s, %s)",
        (
            *(tournament_id, league.id, season.id, wanted.title, wanted.description),
            *(Jsonb(json.loads(encode_plan(plan))), state, wanted.entry_rule),
            *(wanted.most_entrants, wanted.agents_per_team, wanted.remote_agents),
            *(wanted.away_minutes, wanted.check_in_minutes, locks_at, starts_at),
            *(wanted.round_minutes, wanted.embargo, seed, commitment(seed), by),
        ),
    )
    record_act(conn, tournament_id, "create", by=by)
    made = get_tournament(conn, tournament_id)
    if not wanted.is_draft:
        _tell_league(conn, made, by)
    return made


def get_tournament(conn: Connection, tournament_id: TournamentId) -> Tournament:
    """Returns the tournament with this id. Raises NotFound."""
    tournaments = _select(conn, "where t.id = %s", (tournament_id,))
    if not tournaments:
        raise NotFound.of("tournament")
    return tournaments[0]


def lock_tournament_row(conn: Connection, tournament_id: TournamentId) -> Tournament:
    """Returns the tournament and locks its row until the end of the transaction.

    Every act on a tournament takes this lock first, so acts happen one after another.
    """
    conn.execute("select 1 from tournaments where id = %s for update", (tournament_id,))
    return get_tournament(conn, tournament_id)


def state_for_all(conn: Connection, tournament: Tournament) -> TournamentState:
    """The state as everybody may know it. Texts for others than hosts name this state alone.

    A tournament that is over runs on while a result of it is hidden from anybody.
    """
    if tournament.state is not TournamentState.FINISHED:
        return tournament.state
    hides = conn.execute(
        f"select 1 from tournaments t where t.id = %s and {HIDES}",  # noqa: S608
        (tournament.id,),
    ).fetchone()
    return TournamentState.FINISHED if hides is None else TournamentState.RUNNING


def list_tournaments(
    conn: Connection,
    viewer: Viewer,
    league_id: LeagueId | None = None,
    *,
    agent_id: AgentId | None = None,
    after: TournamentId | None = None,
    limit: int = 50,
) -> list[Tournament]:
    """Tournaments that the viewer may see, newest first, older than ``after``.

    With ``agent_id`` only those that the agent entered.
    """
    seen, values = _visible(viewer)
    return _select(
        conn,
        f"{seen} and (%s::text is null or t.league_id = %s)"  # noqa: S608
        " and (%s::text is null or t.id < %s)"
        " and (%s::text is null or t.id in (select tournament_id from tournament_entrants"
        "   where agent_id = %s and state <> 'invited')) order by t.id desc limit %s",
        (*(*values, league_id, league_id, after, after), *(agent_id, agent_id, limit)),
    )


def list_tournaments_by_end(
    conn: Connection,
    viewer: Viewer,
    league_id: LeagueId | None = None,
    *,
    only_started: bool = False,
    offset: int = 0,
    limit: int = 50,
) -> list[Tournament]:
    """Tournaments that the viewer may see: first those that are not over, the newest first.

    One that is over counts as running while a result of it is hidden from anybody. So the order
    and the choice tell nothing of hidden results. With ``only_started`` only those that run.
    """
    seen, values = _visible(viewer)
    return _select(
        conn,
        f"{seen} and (%s::text is null or t.league_id = %s) and (not %s or {RUNS})"
        f" order by (t.state in ('finished', 'cancelled') and not {RUNS}), t.id desc"
        " limit %s offset %s",
        (*values, league_id, league_id, only_started, limit, offset),
    )


def _visible(viewer: Viewer) -> tuple[str, list[Any]]:
    """The beginning of a query for tournaments that the viewer may see, and its values."""
    seen, values = visible_leagues(viewer)
    hosted = [one for one, role in viewer.roles.items() if has_scope(role, RoleScope.MANAGE)]
    query = (
        f"join leagues l on l.id = t.league_id where {seen}"
        " and (t.state <> 'draft' or %s or t.league_id = any (%s))"
    )
    return query, [*values, viewer.is_admin, hosted]


@atomic_function
def open_registration(conn: Connection, tournament_id: TournamentId, by: UserId | None) -> None:
    """Opens the registration of a draft. Raises Conflict."""
    tournament = lock_tournament_row(conn, tournament_id)
    _require_state(tournament, "opened", TournamentState.DRAFT)
    set_state(conn, tournament_id, TournamentState.REGISTRATION)
    record_act(conn, tournament_id, "open", by=by)
    _tell_league(conn, tournament, by)


@atomic_function
def pause_tournament(
    conn: Connection, tournament_id: TournamentId, by: UserId | None, reason: str = ""
) -> None:
    """Stops new games; games that run end. It resumes after LONGEST_PAUSE. Raises Conflict."""
    tournament = lock_tournament_row(conn, tournament_id)
    _require_state(tournament, "paused", TournamentState.RUNNING)
    set_state(conn, tournament_id, TournamentState.PAUSED)
    conn.execute(
        "update tournaments set resumes_at = now() + %s where id = %s",
        (LONGEST_PAUSE, tournament_id),
    )
    record_act(conn, tournament_id, "pause", by=by, details={"reason": reason})


@atomic_function
def resume_tournament(conn: Connection, tournament_id: TournamentId, by: UserId | None) -> None:
    """Goes on after a pause. The round gets a new deadline. Raises Conflict."""
    tournament = lock_tournament_row(conn, tournament_id)
    _require_state(tournament, "resumed", TournamentState.PAUSED)
    set_state(conn, tournament_id, TournamentState.RUNNING)
    conn.execute(
        "update tournaments set resumes_at = null, problem = null, is_due = true where id = %s",
        (tournament_id,),
    )
    give_round_time(conn, tournament)
    record_act(conn, tournament_id, "resume", by=by)


def give_round_time(conn: Connection, tournament: Tournament) -> None:
    """Gives the round that is played a new deadline."""
    conn.execute(
        "update tournament_rounds set deadline_at = now() + %s where tournament_id = %s"
        " and finished_at is null",
        (timedelta(minutes=tournament.round_minutes), tournament.id),
    )


def set_state(conn: Connection, tournament_id: TournamentId, state: TournamentState) -> None:
    """Changes the state. The caller has locked the row."""
    conn.execute(
        "update tournaments set state = %s, finished_at = case when %s then now() end"
        " where id = %s",
        (state, state.is_over, tournament_id),
    )


def record_act(
    conn: Connection,
    tournament_id: TournamentId,
    act: str,
    *,
    by: UserId | None = None,
    agent_id: AgentId | None = None,
    details: Mapping[str, Json] | None = None,
) -> None:
    """Adds an act to the tournament's log. The caller has locked the row, or created it."""
    conn.execute(
        "insert into tournament_acts (tournament_id, number, act, agent_id, details, by_user)"
        " select %s, 1 + coalesce(max(number), 0), %s, %s, %s, %s from tournament_acts"
        " where tournament_id = %s",
        (tournament_id, act, agent_id, Jsonb(dict(details or {})), by, tournament_id),
    )


def _tell_league(conn: Connection, tournament: Tournament, by: UserId | None) -> None:
    about = EventSubject(
        season_id=tournament.season_id, user_id=by, details={"tournament": tournament.id}
    )
    record_event(conn, NoticeKind.TOURNAMENT_OPENED, about)


def _require_state(tournament: Tournament, what: str, *allowed: TournamentState) -> None:
    if tournament.state not in allowed:
        raise Conflict(
            f"a tournament can be {what} while it is {' or '.join(allowed)};"
            f" this one is {tournament.state}"
        )


def _check_room(conn: Connection, league_id: LeagueId) -> None:
    """Raises Conflict if the league has as many tournaments as it may have."""
    row = conn.execute(
        "select count(*) from tournaments where league_id = %s"
        " and state not in ('finished', 'cancelled')",
        (league_id,),
    ).fetchone()
    if row is not None and row[0] >= MOST_LIVE:
        raise Conflict(f"finish or cancel one first: a league has at most {MOST_LIVE} at a time")


def _checked_plan(wanted: NewTournament, season: Season) -> Plan:
    """The plan, checked for the seats of the season. Under embargo the number of games and rounds
    must not depend on results, so that they tell nothing."""
    plan = decode_plan(json.dumps(wanted.plan))
    if wanted.embargo is not Embargo.PUBLIC:
        plan = _with_fixed_games(plan)
    check_plan(plan, wanted.most_entrants, season.seats)
    return plan


def _with_fixed_games(plan: Plan) -> Plan:
    stages = []
    for number, stage in enumerate(plan.stages):
        fixed = stage
        series = getattr(stage, "series", None)
        if getattr(stage, "reset", False):
            raise Invalid(
                f"plan.stages.{number}.reset",
                "choose false under embargo: a second final would tell who won the first",
            )
        if "more games" in getattr(stage, "tie_breaks", ()):
            raise Invalid(
                f"plan.stages.{number}.tie_breaks",
                "leave out 'more games' under embargo: a play-off would tell that there was a tie",
            )
        if series is not None:
            level = msgspec.structs.replace(series, stop_when_decided=False, more_pairs=0)
            fixed = msgspec.structs.replace(stage, series=level)
        stages.append(fixed)
    return msgspec.structs.replace(plan, stages=tuple(stages))


def _select(conn: Connection, tail: str, arguments: Sequence[Any]) -> list[Tournament]:
    with conn.cursor(row_factory=dict_row) as cur:
        return [_tournament(row) for row in cur.execute(f"{TOURNAMENT} {tail}", arguments)]


def _tournament(row: dict[str, Any]) -> Tournament:
    return Tournament(
        **{
            **row,
            "plan": decode_plan(json.dumps(row["plan"])),
            "state": TournamentState(row["state"]),
            "entry_rule": EntryRule(row["entry_rule"]),
            "embargo": Embargo(row["embargo"]),
            "draw_seed": bytes(row["draw_seed"]),
        }
    )
