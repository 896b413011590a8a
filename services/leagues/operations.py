"""What people do with leagues and seasons: list, read, create, change, rehearse, extend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from games import GAMES
from ladder.entries import deadlines, entries, medal_lines
from ladder.entries.anchors import open_next_season, set_up_league
from ladder.entries.deadlines import UploadLimits
from ladder.entries.records import ShownEntry
from ladder.enums import LeagueRole
from ladder.errors import Invalid
from ladder.field_types import RECORD
from ladder.ids import LeagueId, SeasonId
from ladder.leagues import hosting, leagues, records, seasons
from ladder.leagues.records import League, Season
from ladder.leagues.seasons import Extension, NewExtension
from ladder.leagues.settings import LeagueChange, NewLeague, NextSeason, SeasonChange
from ladder.people.permissions import may_manage
from ladder.people.records import Viewer
from ladder.reports import season_health
from ladder.reports.season_health import AlarmCause
from ladder.scrims import rehearsals
from ladder.scrims.rehearsals import Rehearsal
from services.http import permissions
from services.http.app_state import AppState, Db
from services.http.auth import Anyone, Host, Known
from services.http.operations import Form, Operations
from services.http.paging import Page, Paging
from services.http.path_parameters import Filter, TeamKey
from services.leagues.pages import (
    EndSeasonForm,
    NewLeagueForm,
    NewSeasonForm,
    league_page,
    new_league_page,
    new_season_page,
)
from services.leagues.things import (
    HostedLeague,
    HostedSeason,
    VisibleLeague,
    VisibleSeason,
    game_of,
)
from services.members.pages import people_page

operations = Operations("leagues")
PAGE = "/leagues/{league.slug}"


@dataclass(frozen=True, slots=True)
class PlayableGame:
    """A game this installation can play, with its default configuration."""

    __pydantic_config__ = RECORD
    name: Annotated[str, Field(examples=["hungry_geese"])]
    title: Annotated[str, Field(examples=["Hungry Geese"])]
    version: str
    min_seats: int
    max_seats: int
    configuration: dict[str, Any]


class ShownLeague(League):
    """A league as the caller sees it."""

    current_season: Annotated[
        SeasonId | None, Field(examples=["sea_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    ] = None
    role: LeagueRole | None = None
    """The caller's role."""


class CreatedLeague(ShownLeague):
    season: Season | None = None
    anchors: list[ShownEntry] = Field(default_factory=list)
    lacking: Annotated[
        str | None, Field(examples=["2 of 16 seats can be filled: add an agent or an anchor"])
    ] = None
    """Why the season cannot play yet; null if its seats can be filled."""


@dataclass(frozen=True, slots=True)
class ShownAlarm:
    """No match finished for three times the expected time, or a host is too slow."""

    __pydantic_config__ = RECORD
    cause: AlarmCause
    reason: Annotated[str, Field(examples=[season_health.CAUSE_SENTENCES[AlarmCause.NO_CAPACITY]])]
    detail: Annotated[
        str | None, Field(examples=["no worker that serves play.cpu has been heard of for 15 s"])
    ]
    """What to do; shown to hosts and administrators alone."""


@dataclass(frozen=True, slots=True)
class ShownHealth:
    """Whether matches of a season finish as often as expected, and if not, why."""

    __pydantic_config__ = RECORD
    season_id: SeasonId
    last_match_at: datetime | None
    """When the last rated match finished."""
    silent_seconds: float
    """Seconds since then, or since the season opened."""
    expected_seconds: float
    """Expected longest time between two finished matches."""
    alarm: ShownAlarm | None
    lacking: Annotated[
        str | None, Field(examples=["3 of 4 seats can be filled: add an agent or an anchor"])
    ]
    """Why its entries fill no match; for hosts also what to add."""


def shown_leagues(conn: Db, viewer: Viewer, rows: list[League]) -> list[ShownLeague]:
    current = seasons.current_seasons(conn, [league.id for league in rows])
    return [
        ShownLeague.model_construct(
            **dict(league), current_season=current.get(league.id), role=viewer.roles.get(league.id)
        )
        for league in rows
    ]


@operations("GET", "/games", "List games", tag="games", problems=())
def list_games() -> Page[PlayableGame]:
    """Lists the games that a league can use."""
    return Page(
        items=[
            PlayableGame(
                game.name,
                game.title,
                game.version,
                game.seats.start,
                game.seats.stop - 1,
                game.configure({}),
            )
            for game in GAMES.values()
        ]
    )


@operations("GET", "/leagues", "List leagues", problems=())
def list_leagues(conn: Db, viewer: Anyone, span: Paging) -> Page[ShownLeague]:
    """Lists the leagues that the caller may see."""
    after = LeagueId(span.after) if span.after else None
    rows = leagues.list_leagues(conn, viewer, after, span.limit)
    return span.page(shown_leagues(conn, viewer, rows), lambda row: row.id, lambda row: row)


@operations(
    "POST",
    "/leagues",
    "Create a league",
    status=201,
    problems=(403, 404, 409, 429),
    forms=Form(
        page=new_league_page,
        address="/new-league",
        asks=NewLeagueForm,
        without=("takes_requests", "live_delay_seconds"),
        then="/leagues/{answer.slug}",
    ),
)
def create_league(
    conn: Db, app_state: AppState, viewer: Host, new_league: NewLeague
) -> CreatedLeague:
    """The caller becomes host. `season` creates the first season; `anchors` adds the reference
    agents it names. `fill` adds more until one agent can play. The call creates all of this or
    nothing."""
    game = GAMES.get(new_league.game)
    if game is None:
        raise Invalid("game", f"choose one of {', '.join(sorted(GAMES))}")
    opened = set_up_league(conn, app_state.blobs, new_league, game, viewer)
    (league,) = shown_leagues(conn, viewer, [opened.league])
    created = {**dict(league), "role": LeagueRole.HOST, "season": opened.season}
    if opened.season is not None:
        created["anchors"] = [entries.show_entry(conn, viewer, entry) for entry in opened.anchors]
        created["lacking"] = season_health.why_no_lineup(conn, opened.season, opened.league)
    return CreatedLeague.model_construct(**created)


@operations("GET", "/leagues/{league}", "Read a league", problems=(404,))
def read_league(conn: Db, viewer: Anyone, league: VisibleLeague) -> ShownLeague:
    """The league and its current season."""
    return shown_leagues(conn, viewer, [league])[0]


@operations(
    "PATCH",
    "/leagues/{league}",
    "Change a league",
    forms=(
        Form(
            name="change_league_state",
            page=league_page,
            address="/leagues/{league}/state",
            only=("state",),
            repeats=True,
            then=PAGE,
        ),
        Form(
            name="change_live_delay",
            page=league_page,
            address="/leagues/{league}/live-delay",
            only=("live_delay_seconds",),
            repeats=True,
            then=PAGE,
        ),
        Form(
            name="change_requests_mode",
            page=people_page,
            address="/leagues/{league}/people/requests-mode",
            only=("takes_requests",),
            repeats=True,
            then=f"{PAGE}/people#requests",
        ),
    ),
)
def change_league(
    conn: Db, viewer: Host, league: HostedLeague, change: LeagueChange
) -> ShownLeague:
    """Hosts and administrators only. A paused league pairs no new rated matches. Validations,
    scrims and queued matches go on. A closed league takes no uploads and pairs no matches; only a
    new season opens it again.

    Visibility never exceeds what competitors agreed to at joining. A wider setting is refused until
    each competitor agrees to the wider terms (`PUT /v1/leagues/{league}/consent`).
    """
    return shown_leagues(conn, viewer, [hosting.change_league(conn, viewer, league, change)])[0]


@operations(
    "POST",
    "/leagues/{league}/rehearsals",
    "Rehearse a league",
    status=201,
    problems=(403, 404, 409, 429),
    forms=Form(
        page=league_page,
        address="/leagues/{league}/rehearsal",
        then="/matches/{answer.match_id}",
    ),
)
def create_rehearsal(conn: Db, viewer: Host, league: HostedLeague) -> Rehearsal:
    """Hosts and administrators only. Queues one match of reference agents in the newest season,
    also before it opens. The match rates nobody, and only your first team sees it."""
    assert viewer.user_id is not None
    return rehearsals.request_rehearsal(conn, league.id, viewer.user_id)


@operations("GET", "/leagues/{league}/seasons", "List seasons", tag="seasons", problems=(404,))
def list_seasons(conn: Db, viewer: Anyone, league: VisibleLeague) -> Page[Season]:
    """Lists the seasons, newest first."""
    return Page(items=seasons.list_seasons(conn, league.id))


@operations(
    "POST",
    "/leagues/{league}/seasons",
    "Create a season",
    status=201,
    tag="seasons",
    problems=(403, 404, 409, 429),
    forms=Form(
        page=new_season_page,
        address="/leagues/{league}/new-season",
        asks=NewSeasonForm,
        then=f"{PAGE}?done=season",
    ),
)
def create_season(
    conn: Db, app_state: AppState, viewer: Host, league: HostedLeague, season: NextSeason
) -> Season:
    """Hosts and administrators only. Settings that affect results cannot change later. A closed
    league opens again. Reference agents that medal lines name become anchors. `fill` adds more
    until one agent can play."""
    game = game_of(league)
    return open_next_season(conn, app_state.blobs, viewer, league, season, game)


@operations("GET", "/seasons/{season}", "Read a season", tag="seasons", problems=(404,))
def read_season(viewer: Anyone, season: VisibleSeason) -> Season:
    """Takes a season id, or a league's slug for its current season."""
    return season


def page_of_ended_season(values: Mapping[str, Any]) -> str:
    season: Season = values["answer"]
    league = leagues.get_league(values["conn"], season.league_id)
    return f"/leagues/{league.slug}?season={season.number}"


@operations(
    "PATCH",
    "/seasons/{season}",
    "Lock or finish a season, or move its medal lines",
    tag="seasons",
    forms=Form(
        name="end_season",
        address="/seasons/{season}/end",
        asks=EndSeasonForm,
        repeats=True,
        then=page_of_ended_season,
    ),
)
def change_season(conn: Db, viewer: Host, season: HostedSeason, change: SeasonChange) -> Season:
    """Hosts and administrators only. A locked season takes no uploads. A finished season plays no
    more matches. The audit log shows each change."""
    if change.medals is not None:
        season = medal_lines.change_medal_lines(conn, viewer, season.id, change.medals)
    if change.state is not None:
        season = hosting.change_season_state(conn, viewer, season.id, change.state)
    return season


@operations(
    "GET",
    "/seasons/{season}/limits",
    "Read the uploads left today",
    tag="seasons",
    problems=(403, 404),
)
def read_limits(
    conn: Db, viewer: Known, season: VisibleSeason, team: Filter = None
) -> UploadLimits:
    """For the caller's team. Name the team if there are several."""
    playing = permissions.team_to_act_for(conn, viewer, team)
    return deadlines.upload_limits(conn, season.id, playing.id)


@operations(
    "GET", "/seasons/{season}/health", "Read a season's health", tag="seasons", problems=(404,)
)
def read_season_health(conn: Db, viewer: Anyone, season: VisibleSeason) -> ShownHealth:
    """When the last match finished, how often one should, and the cause if none does."""
    league = leagues.get_league(conn, season.league_id)
    health = season_health.read_health(conn, season, league)
    is_host = may_manage(viewer, records.league_resource(league))
    alarm, lacking = None, health.lacking
    if lacking is not None and not is_host:  # it counts entries that wait for validation
        lacking = AlarmCause.NOTHING_TO_PAIR.sentence
    if health.alarm is not None:
        cause = health.alarm.cause
        alarm = ShownAlarm(cause, cause.sentence, health.alarm.reason if is_host else None)
    return ShownHealth(
        health.season_id,
        health.last_match_at,
        health.silent_seconds,
        health.expected_seconds,
        alarm,
        lacking,
    )


@operations("PUT", "/seasons/{season}/extensions/{team}", "Extend a team's deadline", tag="seasons")
def put_extension(
    conn: Db, viewer: Host, season: HostedSeason, team: TeamKey, extension: NewExtension
) -> Extension:
    """Hosts and administrators only; the audit log keeps the act. The team's uploads close at this
    time, even if the season locks earlier. The team reads the time at `GET
    /v1/seasons/{season}/limits`."""
    return seasons.extend_deadline(conn, viewer, season.id, team, extension)


@operations(
    "GET",
    "/seasons/{season}/extensions",
    "List extensions",
    tag="seasons",
    problems=(403, 404),
)
def list_extensions(conn: Db, viewer: Known, season: HostedSeason) -> Page[Extension]:
    """Hosts and administrators only."""
    return Page(items=seasons.list_extensions(conn, season.id))
