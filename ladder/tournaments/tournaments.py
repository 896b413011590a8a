"""Creates, lists and reads tournaments, and moves them from state to state."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
from psycopg.types.json import Jsonb

from ladder import ids
from ladder.database.db import Connection, atomic_function, exists, fetch, fetch_one, update
from ladder.enums import Embargo, Json
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import AgentId, LeagueId, TournamentId, UserId
from ladder.leagues.records import League, Season
from ladder.notices.kinds import EventSubject, NoticeKind, record_event
from ladder.people.records import RoleScope, Viewer, has_scope
from ladder.people.visibility import visible_leagues
from ladder.tournaments.formats.plan import Plan, check_plan, decode_plan, encode_plan
from ladder.tournaments.formats.records import commitment, new_seed
from ladder.tournaments.records import NewTournament, Tournament, TournamentState

LONGEST_PAUSE: Final = timedelta(days=7)
DRAFT_TIME: Final = timedelta(hours=24)
MOST_LIVE: Final = 100
"""Tournaments of a league that are not over."""
NEVER_OPENED: Final = "its registration was not opened before the time of its lock"
TOURNAMENT: Final = """
    select t.id, t.league_id, t.season_id, t.title, t.description, t.plan, t.state, t.entry_rule,
      t.most_entrants, t.agents_per_team, t.remote_agents, t.away_minutes, t.check_in_minutes,
      t.locks_at, t.starts_at, t.round_minutes, t.resumes_at, t.embargo, t.draw_seed,
      t.draw_digest, t.position, t.problem, t.champion, t.end_reason, t.created_at, t.finished_at
    from tournaments t"""
OF_LEAGUES: Final = f"""{TOURNAMENT} join leagues l on l.id = t.league_id
    where (t.state <> 'draft' or %s or t.league_id = any (%s))"""
"""Drafts are for administrators and for the hosts of these leagues."""
HIDES: Final = (
    "t.embargo <> 'public' and exists (select 1 from tournament_games g"
    " where g.tournament_id = t.id and g.embargo <> 'public')"
)
"""A condition for tournaments of which a result is hidden from somebody."""
RUNS: Final = f"(t.state in ('running', 'paused') or t.state = 'finished' and {HIDES})"
"""A condition for tournaments that run, as far as everybody knows."""


@atomic_function
def create_tournament(
    conn: Connection, league: League, season: Season, request: NewTournament, by: UserId | None
) -> Tournament:
    """Creates a tournament with the rules of this season.

    Raises Invalid for a wrong value, Conflict if the league has too many.
    """
    if season.league_id != league.id:
        raise Invalid("season", "choose a season of this league")
    if request.remote_agents and not season.remote_agents:
        raise Invalid("remote_agents", "this season takes no remote agents")
    _check_room(conn, league.id)
    plan = _checked_plan(request, season)
    now = datetime.now(UTC)
    locks_at = request.locks_at or now + DRAFT_TIME
    starts_at = request.starts_at or locks_at
    if locks_at <= now:
        raise Invalid("locks_at", "choose a time in the future")
    if starts_at < locks_at:
        raise Invalid("starts_at", "choose a time at the lock or after it")
    seed = new_seed()
    tournament_id = TournamentId(ids.new_id("trn"))
    state = TournamentState.DRAFT if request.is_draft else TournamentState.REGISTRATION
    conn.execute(
        """insert into tournaments (
          id, league_id, season_id, title, description, plan, state, entry_rule, most_entrants,
          agents_per_team, remote_agents, away_minutes, check_in_minutes, locks_at, starts_at,
          round_minutes, embargo, draw_seed, draw_digest, created_by)
        values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)""",
        (
            *(tournament_id, league.id, season.id, request.title, request.description),
            *(Jsonb(json.loads(encode_plan(plan))), state, request.entry_rule),
            *(request.most_entrants, request.agents_per_team, request.remote_agents),
            *(request.away_minutes, request.check_in_minutes, locks_at, starts_at),
            *(request.round_minutes, request.embargo, seed, commitment(seed), by),
        ),
    )
    record_act(conn, tournament_id, "create", by=by)
    tournament = get_tournament(conn, tournament_id)
    if not request.is_draft:
        _tell_league(conn, tournament, by)
    return tournament


def get_tournament(conn: Connection, tournament_id: TournamentId) -> Tournament:
    """Returns the tournament with this id. Raises NotFound."""
    query = f"{TOURNAMENT} where t.id = %s"
    return _with_plan(
        fetch_one(conn, Tournament, query, (tournament_id,), NotFound.of("tournament"))
    )


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
    query = f"select 1 from tournaments t where t.id = %s and {HIDES}"
    hides = exists(conn, query, (tournament.id,))
    return TournamentState.RUNNING if hides else TournamentState.FINISHED


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
    is_visible, values = visible_leagues(viewer)
    tournaments = fetch(
        conn,
        Tournament,
        f"""{OF_LEAGUES} and {is_visible}
          and (%s::text is null or t.league_id = %s) and (%s::text is null or t.id < %s)
          and (%s::text is null or t.id in (
            select tournament_id from tournament_entrants
            where agent_id = %s and state <> 'invited'))
        order by t.id desc limit %s""",
        (
            *(viewer.is_admin, _hosted_leagues(viewer), *values, league_id, league_id),
            *(after, after, agent_id, agent_id, limit),
        ),
    )
    return list(map(_with_plan, tournaments))


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
    is_visible, values = visible_leagues(viewer)
    hosted = _hosted_leagues(viewer)
    tournaments = fetch(
        conn,
        Tournament,
        f"""{OF_LEAGUES} and {is_visible}
          and (%s::text is null or t.league_id = %s) and (not %s or {RUNS})
        order by (t.state in ('finished', 'cancelled') and not {RUNS}), t.id desc
        limit %s offset %s""",
        (viewer.is_admin, hosted, *values, league_id, league_id, only_started, limit, offset),
    )
    return list(map(_with_plan, tournaments))


def _hosted_leagues(viewer: Viewer) -> list[LeagueId]:
    return [league for league, role in viewer.roles.items() if has_scope(role, RoleScope.MANAGE)]


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
    update(conn, "tournaments", {"id": tournament_id}, resumes_at=None, problem=None, is_due=True)
    give_round_time(conn, tournament)
    record_act(conn, tournament_id, "resume", by=by)


def give_round_time(conn: Connection, tournament: Tournament) -> None:
    """Gives the round that is played a new deadline."""
    query = """update tournament_rounds set deadline_at = now() + %s
        where tournament_id = %s and finished_at is null"""
    conn.execute(query, (timedelta(minutes=tournament.round_minutes), tournament.id))


def set_state(conn: Connection, tournament_id: TournamentId, state: TournamentState) -> None:
    """Changes the state. The caller has locked the row."""
    query = """update tournaments
        set state = %(state)s, finished_at = case when %(is_over)s then now() end
        where id = %(tournament_id)s"""
    conn.execute(query, {"state": state, "is_over": state.is_over, "tournament_id": tournament_id})


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
        """insert into tournament_acts (tournament_id, number, act, agent_id, details, by_user)
        select %s, 1 + coalesce(max(number), 0), %s, %s, %s, %s from tournament_acts
        where tournament_id = %s""",
        (tournament_id, act, agent_id, Jsonb(dict(details or {})), by, tournament_id),
    )


def _tell_league(conn: Connection, tournament: Tournament, by: UserId | None) -> None:
    about = EventSubject(
        season_id=tournament.season_id, user_id=by, details={"tournament": tournament.id}
    )
    record_event(conn, NoticeKind.TOURNAMENT_OPENED, about)


def _require_state(tournament: Tournament, act: str, *allowed: TournamentState) -> None:
    if tournament.state not in allowed:
        raise Conflict(
            f"a tournament can be {act} while it is {' or '.join(allowed)};"
            f" this one is {tournament.state}"
        )


def _check_room(conn: Connection, league_id: LeagueId) -> None:
    """Raises Conflict if the league has as many tournaments as it may have."""
    query = """select count(*) from tournaments
        where league_id = %(league_id)s and state not in ('finished', 'cancelled')"""
    count = fetch_one(conn, int, query, {"league_id": league_id})
    if count >= MOST_LIVE:
        raise Conflict(f"finish or cancel one first: a league has at most {MOST_LIVE} at a time")


def _checked_plan(request: NewTournament, season: Season) -> Plan:
    """The plan, checked for the seats of the season. Under embargo the number of games and rounds
    must not depend on results, so that they tell nothing."""
    plan = decode_plan(json.dumps(request.plan))
    if request.embargo is not Embargo.PUBLIC:
        plan = _with_fixed_games(plan)
    check_plan(plan, request.most_entrants, season.seats)
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


def _with_plan(tournament: Tournament) -> Tournament:
    return replace(tournament, plan=decode_plan(json.dumps(tournament.plan)))
