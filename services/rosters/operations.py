"""What hosts do with the roster of a league, and the exports of a season."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from fastapi import Query, Response
from pydantic import BaseModel, Field

from ladder.ids import TeamId
from ladder.leagues import leagues, records, rosters
from ladder.leagues.measures import Estimate
from ladder.leagues.rosters import NewRoster, RosterError, RosterImport, RosterLine
from ladder.people.permissions import may_manage
from ladder.standings import leaderboard, participants
from ladder.standings.board_records import BoardRow
from ladder.standings.participants import DisqualifiedTeam
from services.http.app_state import Db
from services.http.auth import Anyone, Host, Known
from services.http.operations import Operations
from services.http.paging import Page
from services.http.problems import ProblemError, problem_responses
from services.http.spreadsheets import ExportForm, ParticipantsOut, csv_text, participants_file
from services.leagues.things import HostedLeague, HostedSeason, LeagueOfSeason, VisibleSeason

operations = Operations("rosters")


class FinalStandingOut(BaseModel):
    """One team's row. Anchors and disqualified teams have no rank."""

    rank: int | None
    team: str
    team_id: str
    agent: str
    agent_id: str
    score: float | None = Field(
        description="official, or live before the first fit; null if a match has one seat"
    )
    sigma: float | None
    rank_low: int | None
    rank_high: int | None
    medal: str | None
    games: int
    is_anchor: bool
    is_disqualified: bool = Field(
        description="whether the team is disqualified; these rows come last, by name"
    )
    estimates: list[Estimate] = Field(
        description="the measures of a season whose matches have one seat; CSV has three columns "
        "for each: the value and both ends of its 95 % interval"
    )


class HostFinalStandingOut(FinalStandingOut):
    external_ids: list[str] = Field(
        description="external ids of the team's members, from the roster"
    )


class FinalStandingsOut(BaseModel):
    season_id: str
    state: str = Field(description="the standings are final once it is `finished`")
    revision: int
    items: list[HostFinalStandingOut | FinalStandingOut]


@operations(
    "POST",
    "/leagues/{league}/roster",
    "Import a roster",
    takes_key=True,
    problems=(403, 404, 409, 429),
)
def import_roster(conn: Db, viewer: Host, league: HostedLeague, roster: NewRoster) -> RosterImport:
    """Hosts and administrators only. One line a person; each person gets a personal code.

    Repeating an import changes nothing and makes no second code. Lines missing from an import stay
    in the roster. To replace a lost code, revoke its invitation and import the line again.
    """
    try:
        people = rosters.parse_roster(roster.csv)
    except RosterError as error:
        places = [
            {"where": f"line {fault.line}, {fault.column or 'line'}", "message": fault.message}
            for fault in error.faults
        ]
        raise ProblemError("invalid", str(error), errors=places) from None
    lines = rosters.import_roster(conn, league.id, people, by=viewer.user_id, is_dry=roster.dry_run)
    return RosterImport(dry_run=roster.dry_run, items=lines)


@operations("GET", "/leagues/{league}/roster", "Read the roster", problems=(403, 404))
def read_roster(conn: Db, viewer: Known, league: HostedLeague) -> Page[RosterLine]:
    """Hosts and administrators only: the expected people, and who of them joined."""
    return Page(items=rosters.list_lines(conn, league.id))


@operations.router.get(
    "/seasons/{season}/standings",
    tags=[operations.tag],
    summary="Export the standings",
    response_model=FinalStandingsOut,
    responses={
        200: {"content": {"text/csv": {"schema": {"type": "string"}}}},
        **problem_responses(404),
    },
)
def export_standings(
    season: VisibleSeason,
    conn: Db,
    viewer: Anyone,
    format: Annotated[Literal["json", "csv"], Query()] = "json",
) -> Response:
    """The whole leaderboard, best first. Hosts also get the external ids of the teams' members."""
    league = leagues.get_league(conn, season.league_id)
    board = leaderboard.read_board(conn, season.id)
    known = None
    if may_manage(viewer, records.league_resource(league)):
        known = rosters.external_ids(conn, league.id)
    items = [final_standing(row, known) for row in board.rows]
    items += [
        disqualified_standing(row, known)
        for row in participants.list_disqualified(conn, season.id, board.rows)
    ]
    name = f"{league.slug}-{season.number}.{format}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    if format == "csv":
        return Response(
            standings_csv(items, known is not None), headers=headers, media_type="text/csv"
        )
    out = FinalStandingsOut(
        season_id=season.id, state=season.state, revision=board.revision, items=items
    )
    return Response(out.model_dump_json(), headers=headers, media_type="application/json")


def final_standing(row: BoardRow, known: Mapping[TeamId, list[str]] | None) -> FinalStandingOut:
    """A row of the leaderboard. ``known`` holds external ids by team, for hosts."""
    score, sigma = row.score_and_sigma
    values = {
        "rank": row.rank,
        "team": row.team_name,
        "team_id": row.team_id,
        "agent": row.agent_name,
        "agent_id": row.agent_id,
        "score": None if row.estimates else round(score, 3),
        "sigma": None if row.estimates else round(sigma, 3),
        "rank_low": row.official.rank_low if row.official and row.rank else None,
        "rank_high": row.official.rank_high if row.official and row.rank else None,
        "medal": row.medal,
        "games": row.games,
        "is_anchor": row.is_anchor,
        "is_disqualified": False,
        "estimates": [*row.estimates],
    }
    return standing_out(values, known)


def disqualified_standing(
    row: DisqualifiedTeam, known: Mapping[TeamId, list[str]] | None
) -> FinalStandingOut:
    """A row of a team that is not on the leaderboard."""
    values: dict[str, Any] = dict.fromkeys(FinalStandingOut.model_fields)
    values |= {"team": row.team_name, "team_id": row.team_id, "games": row.games}
    values |= {"agent": row.agent_name, "agent_id": row.agent_id, "estimates": []}
    return standing_out({**values, "is_anchor": False, "is_disqualified": True}, known)


def standing_out(
    values: Mapping[str, Any], known: Mapping[TeamId, list[str]] | None
) -> FinalStandingOut:
    if known is None:
        return FinalStandingOut.model_validate(values)
    return HostFinalStandingOut.model_validate(
        {**values, "external_ids": known.get(values["team_id"], [])}
    )


def standings_csv(items: Iterable[FinalStandingOut], is_host: bool) -> str:
    """A header and one line for each row. Formulas are escaped to plain text."""
    columns = list((HostFinalStandingOut if is_host else FinalStandingOut).model_fields)
    columns.remove("estimates")
    items = list(items)
    measures = [estimate.name for estimate in items[0].estimates] if items else []
    measure_columns = [f"{name}{end}" for name in measures for end in ("", "_low", "_high")]
    rows = (
        [
            *(getattr(item, column) for column in columns),
            *(
                [
                    number
                    for estimate in item.estimates
                    for number in (estimate.value, estimate.low, estimate.high)
                ]
                or [None] * len(measure_columns)
            ),
        ]
        for item in items
    )
    return csv_text([*columns, *measure_columns], rows)


@operations.router.get(
    "/seasons/{season}/participants",
    tags=[operations.tag],
    summary="Export the participants",
    response_model=ParticipantsOut,
    responses={
        200: {"content": {"text/csv": {"schema": {"type": "string"}}}},
        **problem_responses(403, 404),
    },
)
def export_participants(
    conn: Db,
    viewer: Known,
    season: HostedSeason,
    league: LeagueOfSeason,
    format: ExportForm = "json",
) -> Response:
    """Hosts and administrators only. One row for each person whom the roster expects or who
    competes: whether a submission of the team passed validation, and where the team stands."""
    return participants_file(conn, league, season, format)
