"""Creates, reads, locks and finishes seasons, and gives one team a later upload deadline.

A season fixes everything that results depend on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from psycopg.types.json import Jsonb
from pydantic import ConfigDict, TypeAdapter

from ladder import ids
from ladder.database.db import Connection, atomic_function, fetch, fetch_one, fetch_optional, insert
from ladder.enums import Json
from ladder.errors import Conflict, Invalid, NotFound
from ladder.field_types import RECORD, AwareDatetime, FilledLine, RequestModel
from ladder.ids import LeagueId, SeasonId, TeamId
from ladder.leagues.leagues import get_league, get_leagues, lock_league
from ladder.leagues.measures import REWARD, Measure
from ladder.leagues.medals import MedalRules, sealed_medals_of_season
from ladder.leagues.records import League, Season, SeasonRules
from ladder.leagues.settings import Medals
from ladder.moments import moment_text
from ladder.notices.kinds import EventSubject, NoticeKind, record_event
from ladder.people import audit_log
from ladder.people.records import Viewer

SEASON: Final = " ".join(("select", ", ".join(Season.model_fields), "from seasons"))
PLAYING: Final = """
    where state <> 'finished'
      and opens_at <= now()
      and (ends_at is null or ends_at > now())
      and league_id in (select id from leagues where state = 'open')
"""
SEASON_STATES: Final = ("open", "locked", "finished")
STATE_NOTICES: Final[Mapping[str, NoticeKind]] = MappingProxyType(
    {"locked": NoticeKind.SEASON_LOCKED, "finished": NoticeKind.SEASON_FINISHED}
)
MEDALS: Final[TypeAdapter[Medals]] = TypeAdapter(Medals)


class SeasonColumns(SeasonRules):
    """Values that are fixed when a season is created."""

    configuration_digest: str
    """SHA-256 of the configuration as canonical JSON."""
    medals: MedalRules = MedalRules()
    opens_at: datetime | None = None
    """None: immediately."""

    def to_row(self) -> dict[str, Any]:
        """Returns the values of the row by column."""
        row = dict(self)
        row["configuration"] = Jsonb(self.configuration)
        row["clock"] = Jsonb(self.clock)
        row["medals"] = Jsonb(self.medals.to_json())
        row["measures"] = None
        if self.seats == 1:
            row["measures"] = Jsonb([measure.to_json() for measure in self.measures or (REWARD,)])
        return row


def season_of_row(*values: Any) -> Season:
    """The season of a row with the columns of `SEASON`. Stored values are not checked again."""
    row = dict(zip(Season.model_fields, values, strict=True))
    row["measures"] = measures_from_json(row["measures"])
    row["medals"] = MEDALS.validate_python(row["medals"])
    return Season.model_construct(**row)


def measures_from_json(stored: Sequence[Json] | None) -> tuple[Measure, ...]:
    """Returns the measures in a season's row; empty if the season is rated."""
    return tuple(map(Measure.of_json, stored or ()))


@atomic_function
def create_season(conn: Connection, league_id: LeagueId, columns: SeasonColumns) -> Season:
    """Creates the league's next season. Raises NotFound for the league.

    The caller checks the values, with `NewSeason`.
    """
    league = lock_league(conn, league_id)  # so two seasons created at once get two numbers
    number, now = fetch_one(
        conn,
        lambda *row: row,
        """
        select 1 + coalesce(max(number), 0), now()
        from seasons
        where league_id = %(league)s
        """,
        {"league": league_id},
    )
    row = columns.to_row()
    row |= {"id": ids.new_id("sea"), "league_id": league_id, "game": league.game, "number": number}
    insert(conn, "seasons", **row | {"opens_at": columns.opens_at or now})
    if columns.remote_agents:
        conn.execute("update leagues set remote_agents = true where id = %s", (league_id,))
    return get_season(conn, row["id"])


def get_season(conn: Connection, season_id: SeasonId) -> Season:
    """Returns the season with this id. Raises NotFound."""
    return fetch_one(
        conn,
        season_of_row,
        f"{SEASON} where id = %(season)s",
        {"season": season_id},
        missing=NotFound.of("season"),
    )


def lock_season(conn: Connection, season_id: SeasonId) -> Season:
    """Locks a season for the caller's transaction and returns it as it is now. Raises NotFound.

    Standings lock the same row, so no medal is sealed until the transaction ends.
    """
    conn.execute("select 1 from seasons where id = %s for no key update", (season_id,))
    return get_season(conn, season_id)


def get_season_and_league(conn: Connection, season_id: SeasonId) -> tuple[Season, League]:
    """Returns a season with its league. Raises NotFound."""
    season = get_season(conn, season_id)
    return season, get_league(conn, season.league_id)


def seasons_with_leagues(
    conn: Connection, season_ids: Collection[SeasonId]
) -> list[tuple[Season, League]]:
    """Returns these seasons with their leagues, oldest first."""
    seasons = fetch(
        conn,
        season_of_row,
        f"{SEASON} where id = any (%(seasons)s) order by id",
        {"seasons": list(season_ids)},
    )
    leagues = get_leagues(conn, {season.league_id for season in seasons})
    return [(season, leagues[season.league_id]) for season in seasons]


def seasons_open_to_uploads(
    conn: Connection, limit: int = 1000, *, remote: bool = False
) -> list[tuple[Season, League]]:
    """Seasons that now take uploads, with their leagues, newest first.

    With ``remote`` only those that take remote agents. The caller checks who may enter.
    """
    season_ids = fetch(
        conn,
        SeasonId,
        """
        select s.id
        from seasons s
        join leagues l on l.id = s.league_id
        where (s.remote_agents or not %(remote)s)
          and s.state = 'open'
          and l.state <> 'closed'
          and s.opens_at <= now()
          and coalesce(least(s.closes_at, s.ends_at) > now(), true)
        order by s.id desc
        limit %(limit)s
        """,
        {"remote": remote, "limit": limit},
    )
    return seasons_with_leagues(conn, season_ids)[::-1]


def current_season(conn: Connection, league_id: LeagueId) -> Season | None:
    """Returns the league's newest season that has opened, or None."""
    return fetch_optional(
        conn,
        season_of_row,
        f"""
        {SEASON}
        where league_id = %(league)s and opens_at <= now()
        order by number desc
        limit 1
        """,
        {"league": league_id},
    )


def current_seasons(conn: Connection, league_ids: Sequence[LeagueId]) -> dict[LeagueId, SeasonId]:
    """Returns the ids of the current seasons of the leagues that have one."""
    return dict(
        fetch(
            conn,
            lambda league_id, season_id: (LeagueId(league_id), SeasonId(season_id)),
            """
            select distinct on (league_id) league_id, id
            from seasons
            where league_id = any (%(leagues)s) and opens_at <= now()
            order by league_id, number desc
            """,
            {"leagues": list(league_ids)},
        )
    )


def list_seasons(conn: Connection, league_id: LeagueId) -> list[Season]:
    """Returns all seasons of a league, newest first."""
    return fetch(
        conn,
        season_of_row,
        f"{SEASON} where league_id = %(league)s order by number desc",
        {"league": league_id},
    )


def playing_seasons(conn: Connection) -> list[Season]:
    """Seasons that need pairing: opened, not finished, in an open league."""
    return fetch(conn, season_of_row, f"{SEASON} {PLAYING} order by id")


def league_makers(conn: Connection, season_ids: Sequence[SeasonId]) -> dict[SeasonId, str]:
    """Returns who made the league of each season, or the league's id if unknown."""
    return dict(
        fetch(
            conn,
            lambda season_id, maker: (SeasonId(season_id), str(maker)),
            """
            select s.id, coalesce(l.created_by, l.id)
            from seasons s
            join leagues l on l.id = s.league_id
            where s.id = any (%(seasons)s)
            """,
            {"seasons": list(season_ids)},
        )
    )


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
    if season.state == "locked" and state == "open" and sealed_medals_of_season(conn, season_id):
        raise Conflict(
            "medals are sealed; uploads stay locked until the end of the season", field="state"
        )
    changed = conn.execute(
        """
        update seasons
        set state = %(state)s,
            revision = revision + 1,
            official_is_stale = true,
            medal_teams = case when %(state)s <> 'open' then medal_teams end
        where id = %(season)s and state <> %(state)s
        """,
        {"state": state, "season": season_id},
    )
    if changed.rowcount == 1:
        _state_changed(conn, {season_id: state})
    return get_season(conn, season_id)


@atomic_function
def finish_sealed_seasons(conn: Connection) -> list[SeasonId]:
    """Ends seasons that stop when every medal is sealed; returns them.

    Pairing stops now. ``lock_and_finish_due_seasons`` finishes them by the new end date.
    """
    return fetch(
        conn,
        SeasonId,
        """
        update seasons
        set ends_at = now(), revision = revision + 1
        where state = 'locked'
          and stops_when_sealed
          and is_sealed
          and (ends_at is null or ends_at > now())
        returning id
        """,
    )


@atomic_function
def lock_and_finish_due_seasons(conn: Connection) -> list[SeasonId]:
    """Locks seasons past ``closes_at``; finishes those past ``ends_at`` without open matches.

    Returns the seasons that changed. The scheduler calls this.
    """
    states = dict(
        fetch(
            conn,
            lambda season_id, state: (SeasonId(season_id), str(state)),
            """
            update seasons s
            set revision = revision + 1,
                official_is_stale = true,
                state = case when s.ends_at <= now() then 'finished' else 'locked' end
            where (s.state = 'open'
                   and s.closes_at <= now()
                   and coalesce(s.ends_at > now(), true))
               or (s.state <> 'finished'
                   and s.ends_at <= now()
                   and s.rated_no = s.accepted_no
                   and not exists (
                       select 1
                       from matches m
                       where m.season_id = s.id
                         and m.kind = 'rated'
                         and m.state in ('queued', 'running')
                   ))
            returning s.id, s.state
            """,
        )
    )
    _state_changed(conn, states)
    return list(states)


def _state_changed(conn: Connection, states: Mapping[SeasonId, str]) -> None:
    """Removes what teams declared in seasons that take no more uploads, and tells members."""
    conn.execute(
        """
        delete from declared_entries d
        using seasons s
        where s.id = d.season_id
          and s.id = any (%(seasons)s)
          and s.state <> 'open'
        """,
        {"seasons": list(states)},
    )
    for season_id, state in states.items():
        if state in STATE_NOTICES:
            record_event(conn, STATE_NOTICES[state], EventSubject(season_id=season_id))


def record_openings(conn: Connection) -> list[SeasonId]:
    """Tells once of each season that opened within the last hour; returns these seasons.

    The scheduler calls this. Older openings, of a time without a scheduler, are no news.
    """
    opened = fetch(
        conn,
        SeasonId,
        """
        select s.id
        from seasons s
        where s.opens_at between now() - interval '1 hour' and now()
          and s.state = 'open'
          and not exists (
              select 1 from notice_events e where e.season_id = s.id and e.kind = %(kind)s
          )
        order by s.id
        """,
        {"kind": NoticeKind.SEASON_OPENED.value},
    )
    for season_id in opened:
        record_event(conn, NoticeKind.SEASON_OPENED, EventSubject(season_id=season_id))
    return opened


@dataclass(frozen=True, slots=True)
class Extension:
    __pydantic_config__ = RECORD
    team_id: TeamId
    team_name: str
    closes_at: datetime


class NewExtension(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"closes_at": "2026-12-03T18:00:00+01:00", "reason": "ill, with a note"}]
        },
    )
    closes_at: AwareDatetime
    reason: FilledLine
    """Kept in the audit log."""


@atomic_function
def extend_deadline(
    conn: Connection, by: Viewer, season_id: SeasonId, team: str, new: NewExtension
) -> Extension:
    """Sets when this team's uploads close, even in a locked season; writes an audit entry.

    A later call replaces the extension. ``team`` is an id or slug. Raises NotFound for a team
    without members or entries in the league. Raises LadderError for a moment outside the season's
    deadlines. Raises Conflict if the season is finished or has sealed medals.

    While an extension is in force, no medal is sealed.
    """
    season = lock_season(conn, season_id)
    if season.state == "finished":
        raise Conflict("the season is finished; its standings can no longer change")
    if sealed_medals_of_season(conn, season_id):
        raise Conflict("medals are sealed; uploads stay locked until the end of the season")
    if season.closes_at is not None and new.closes_at <= season.closes_at:
        raise Invalid(
            "closes_at",
            f"give a later moment: uploads of all teams close at {moment_text(season.closes_at)}",
        )
    if season.ends_at is not None and new.closes_at > season.ends_at:
        raise Invalid(
            "closes_at", f"give an earlier moment: the season ends at {moment_text(season.ends_at)}"
        )
    team_id = fetch_one(
        conn,
        TeamId,
        """
        select t.id
        from teams t
        where %(team)s in (t.id, t.slug)
          and (exists (
                   select 1
                   from entries e
                   join seasons s on s.id = e.season_id
                   where e.team_id = t.id and s.league_id = %(league)s
               )
               or exists (
                   select 1
                   from memberships p
                   join league_members m on m.user_id = p.user_id
                   where p.team_id = t.id and m.league_id = %(league)s
               ))
        order by t.id = %(team)s desc
        limit 1
        """,
        {"team": team, "league": season.league_id},
        missing=NotFound("there is no such team in this league"),
    )
    before = {extension.team_id: extension for extension in list_extensions(conn, season_id)}
    conn.execute(
        """
        insert into extensions (season_id, team_id, closes_at)
        values (%(season)s, %(team)s, %(closes_at)s)
        on conflict (season_id, team_id) do update set closes_at = excluded.closes_at
        """,
        {"season": season_id, "team": team_id, "closes_at": new.closes_at},
    )
    conn.execute("update seasons set official_is_stale = true where id = %s", (season_id,))
    audit_log.record_audit(
        conn,
        season.league_id,
        season_id=season_id,
        by=by.user_id,
        act="extend",
        subject=team_id,
        reason=new.reason,
        details={
            "closes_at": new.closes_at.isoformat(),
            "before": before[team_id].closes_at.isoformat() if team_id in before else None,
        },
    )
    return next(row for row in list_extensions(conn, season_id) if row.team_id == team_id)


def list_extensions(conn: Connection, season_id: SeasonId) -> list[Extension]:
    """Returns the extensions of a season, by team."""
    return fetch(
        conn,
        Extension,
        """
        select x.team_id, t.name as team_name, x.closes_at
        from extensions x
        join teams t on t.id = x.team_id
        where x.season_id = %(season)s
        order by x.team_id
        """,
        {"season": season_id},
    )
