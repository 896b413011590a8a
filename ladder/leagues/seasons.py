"""Creates, reads, locks and finishes seasons. A season fixes everything that results depend on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from ladder import ids
from ladder.database.db import Connection, atomic_function
from ladder.enums import OWN_SEAT, Json
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import LeagueId, SeasonId
from ladder.leagues import sealed_medals, season_notices
from ladder.leagues.leagues import get_league, get_leagues
from ladder.leagues.measures import REWARD, Measure
from ladder.leagues.medals import MedalRules
from ladder.leagues.records import SECOND_RULES, USUAL_BUNDLE_BYTES, League, Season

SEASON: Final = (
    "select id, league_id, number, game, configuration, clock, seats, memory_mb, max_bundle_bytes,"
    " daily_limit, scrim_games_daily, active_limit, team_active_limit, mu0, sigma0, beta, tau,"
    " draw_probability, fault_rule, score_offset,"
    " cadence_seconds, max_in_flight, max_attempts, lease_seconds, queue_seconds, opens_at,"
    " closes_at, ends_at, state, accepted_no, rated_no, official_version, medals,"
    " medal_confidence, stops_when_sealed,"
    " revision, measures, remote_agents, speed_class, rules_version"
    " from seasons"
)


SEASON_STATES: Final = ("open", "locked", "finished")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeasonColumns:
    """Values that are fixed when a season is created."""

    configuration: dict[str, Json]
    configuration_digest: str
    """SHA-256 of the configuration as canonical JSON."""
    clock: dict[str, Json]
    seats: int
    daily_limit: int = 5
    scrim_games_daily: int = 500
    memory_mb: int = 1024
    max_bundle_bytes: int = USUAL_BUNDLE_BYTES
    active_limit: int | None = None
    team_active_limit: int | None = 3
    mu0: float = 600.0
    sigma0: float = 200.0
    beta: float = 150.0
    tau: float = 0.0
    draw_probability: float = 0.05
    fault_rule: str = OWN_SEAT
    score_offset: float = 0.0
    max_attempts: int = 3
    lease_seconds: float = 15.0
    queue_seconds: float = 3600.0
    cadence_seconds: float = 60.0
    max_in_flight: int = 64
    speed_class: str = "any"
    medals: MedalRules = field(default_factory=MedalRules)
    medal_confidence: float = 0.95
    stops_when_sealed: bool = False
    opens_at: datetime | None = None
    """None: immediately."""
    closes_at: datetime | None = None
    ends_at: datetime | None = None
    measures: Sequence[Measure] = ()
    """Measures that rank a season of one seat; empty: the reward."""
    remote_agents: bool = False
    rules_version: int = SECOND_RULES

    def to_row(self) -> dict[str, Any]:
        """Returns the values of the row by column."""
        row = {each.name: getattr(self, each.name) for each in fields(self)}
        row["configuration"] = Jsonb(self.configuration)
        row["clock"] = Jsonb(self.clock)
        row["medals"] = Jsonb(self.medals.to_json())
        row["measures"] = None
        if self.seats == 1:
            row["measures"] = Jsonb([each.to_json() for each in self.measures or (REWARD,)])
        return row


@atomic_function
def create_season(conn: Connection, league_id: LeagueId, columns: SeasonColumns) -> Season:
    """Creates the league's next season. Raises NotFound for the league.

    The caller checks the values, with `NewSeason`.
    """
    values = {"id": SeasonId(ids.new_id("sea")), **columns.to_row()}
    opens_at = values.pop("opens_at")
    names = ", ".join(values)
    places = ", ".join(f"%({name})s" for name in values)
    # Lock the league's row, so two seasons created at once get two numbers.
    league = conn.execute("select game from leagues where id = %s for update", (league_id,))
    if league.fetchone() is None:
        raise NotFound.of("league")
    conn.execute(
        f"insert into seasons (league_id, game, number, opens_at, {names})"  # noqa: S608
        " select l.id, l.game, 1 + (select coalesce(max(number), 0) from seasons"
        f" where league_id = l.id), coalesce(%(opens_at)s, now()), {places}"
        " from leagues l where l.id = %(league_id)s",
        {**values, "league_id": league_id, "opens_at": opens_at},
    )
    if columns.remote_agents:
        conn.execute("update leagues set remote_agents = true where id = %s", (league_id,))
    return get_season(conn, values["id"])


def get_season(conn: Connection, season_id: SeasonId) -> Season:
    """Returns the season with this id. Raises NotFound."""
    seasons = _select_seasons(conn, "where id = %s", (season_id,))
    if not seasons:
        raise NotFound.of("season")
    return seasons[0]


def get_season_and_league(conn: Connection, season_id: SeasonId) -> tuple[Season, League]:
    """Returns a season with its league. Raises NotFound."""
    season = get_season(conn, season_id)
    return season, get_league(conn, season.league_id)


def seasons_with_leagues(
    conn: Connection, season_ids: Collection[SeasonId]
) -> list[tuple[Season, League]]:
    """Returns these seasons with their leagues, oldest first."""
    found = _select_seasons(conn, "where id = any (%s) order by id", (list(season_ids),))
    known = get_leagues(conn, {season.league_id for season in found})
    return [(season, known[season.league_id]) for season in found]


def seasons_open_to_uploads(
    conn: Connection, limit: int = 1000, *, remote: bool = False
) -> list[tuple[Season, League]]:
    """Seasons that now take uploads, with their leagues, newest first.

    With ``remote`` only those that take remote agents. The caller checks who may enter.
    """
    rows = conn.execute(
        "select s.id from seasons s join leagues l on l.id = s.league_id"
        " where (s.remote_agents or not %s) and s.state = 'open' and l.state <> 'closed'"
        " and s.opens_at <= now() and coalesce(least(s.closes_at, s.ends_at) > now(), true)"
        " order by s.id desc limit %s",
        (remote, limit),
    ).fetchall()
    return seasons_with_leagues(conn, [SeasonId(row[0]) for row in rows])[::-1]


def current_season(conn: Connection, league_id: LeagueId) -> Season | None:
    """Returns the league's newest season that has opened, or None."""
    found = _select_seasons(
        conn,
        "where league_id = %s and opens_at <= now() order by number desc limit 1",
        (league_id,),
    )
    return found[0] if found else None


def current_seasons(conn: Connection, league_ids: Sequence[LeagueId]) -> dict[LeagueId, SeasonId]:
    """Returns the ids of the current seasons of the leagues that have one."""
    rows = conn.execute(
        "select distinct on (league_id) league_id, id from seasons"
        " where league_id = any (%s) and opens_at <= now() order by league_id, number desc",
        (list(league_ids),),
    )
    return {LeagueId(league_id): SeasonId(season_id) for league_id, season_id in rows}


def list_seasons(conn: Connection, league_id: LeagueId) -> list[Season]:
    """Returns all seasons of a league, newest first."""
    return _select_seasons(conn, "where league_id = %s order by number desc", (league_id,))


def playing_seasons(conn: Connection) -> list[Season]:
    """Seasons that need pairing: opened, not finished, in an open league."""
    return _select_seasons(
        conn,
        "where state <> 'finished' and opens_at <= now() and (ends_at is null or ends_at > now())"
        " and league_id in (select id from leagues where state = 'open') order by id",
        (),
    )


def league_makers(conn: Connection, season_ids: Sequence[SeasonId]) -> dict[SeasonId, str]:
    """Returns who made the league of each season, or the league's id if unknown."""
    rows = conn.execute(
        "select s.id, coalesce(l.created_by, l.id) from seasons s"
        " join leagues l on l.id = s.league_id where s.id = any (%s)",
        (list(season_ids),),
    )
    return {SeasonId(season_id): maker for season_id, maker in rows}


@atomic_function
def set_season_state(conn: Connection, season_id: SeasonId, state: str) -> Season:
    """Opens, locks (no uploads) or finishes (no pairing) a season.

    Raises Conflict if the season is finished, or if it has sealed medals and would reopen.
    """
    if state not in SEASON_STATES:
        raise Invalid("state", f"{state!r} unknown; choose from {', '.join(SEASON_STATES)}")
    season = get_season(conn, season_id)
    if season.state == "finished" and state != "finished":
        raise Conflict(
            "open the league's next season; a finished season cannot change", field="state"
        )
    if (
        season.state == "locked"
        and state == "open"
        and sealed_medals.sealed_medals_of_season(conn, season_id)
    ):
        raise Conflict(
            "medals are sealed; uploads stay locked until the end of the season", field="state"
        )
    changed = conn.execute(
        "update seasons set state = %(state)s, revision = revision + 1, official_is_stale = true,"
        " medal_teams = case when %(state)s <> 'open' then medal_teams end"
        " where id = %(id)s and state <> %(state)s",
        {"state": state, "id": season_id},
    )
    if changed.rowcount == 1:
        _end_declarations(conn, [season_id])
        season_notices.record_season_state(conn, season_id, state)
    return get_season(conn, season_id)


@atomic_function
def finish_sealed_seasons(conn: Connection) -> list[SeasonId]:
    """Ends seasons that stop when every medal is sealed; returns them.

    Pairing stops now. ``lock_and_finish_due_seasons`` finishes them by the new end date.
    """
    rows = conn.execute(
        "update seasons set ends_at = now(), revision = revision + 1 where state = 'locked'"
        " and stops_when_sealed and is_sealed and (ends_at is null or ends_at > now())"
        " returning id"
    )
    return [SeasonId(row[0]) for row in rows]


@atomic_function
def lock_and_finish_due_seasons(conn: Connection) -> list[SeasonId]:
    """Locks seasons past ``closes_at``; finishes those past ``ends_at`` without open matches.

    Returns the seasons that changed. The scheduler calls this.
    """
    rows = conn.execute(
        "update seasons s set revision = revision + 1, official_is_stale = true,"
        " state = case when s.ends_at <= now() then 'finished' else 'locked' end"
        " where (s.state = 'open' and s.closes_at <= now() and coalesce(s.ends_at > now(), true))"
        " or (s.state <> 'finished' and s.ends_at <= now() and not exists ("
        "   select 1 from matches m where m.season_id = s.id and m.kind = 'rated'"
        "   and m.state in ('queued', 'running')) and s.rated_no = s.accepted_no)"
        " returning s.id, s.state"
    ).fetchall()
    _end_declarations(conn, [season_id for season_id, _ in rows])
    for season_id, state in rows:
        season_notices.record_season_state(conn, season_id, state)
    return [SeasonId(row[0]) for row in rows]


def _end_declarations(conn: Connection, season_ids: Sequence[SeasonId]) -> None:
    """Removes what teams declared in those of these seasons whose uploads are locked."""
    conn.execute(
        "delete from declared_entries d using seasons s where s.id = d.season_id"
        " and s.id = any (%s) and s.state <> 'open' and s.rules_version >= %s",
        (list(season_ids), SECOND_RULES),
    )


def _select_seasons(conn: Connection, tail: str, arguments: tuple[object, ...]) -> list[Season]:
    with conn.cursor(row_factory=dict_row) as cur:
        return [
            Season(**{**row, "measures": measures_from_json(row["measures"])})
            for row in cur.execute(f"{SEASON} {tail}", arguments)
        ]


def measures_from_json(stored: Sequence[Json] | None) -> tuple[Measure, ...]:
    """Returns the measures in a season's row; empty if the season is rated."""
    return tuple(Measure.of_json(each) for each in stored or ())
