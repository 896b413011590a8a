"""The roster of a league for its hosts, and the export of a season's standings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.enums import LeagueRole
from ladder.ids import TeamId
from ladder.leagues import leagues, records
from ladder.leagues import rosters as stored
from ladder.leagues.measures import Estimate
from ladder.people.permissions import may_manage
from ladder.standings import leaderboard, participants
from ladder.standings.board_records import BoardRow
from ladder.standings.participants import DisqualifiedTeam
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Anyone, Host, Known
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page
from services.http.participant_export import ExportForm, ParticipantsOut, participants_file
from services.http.path_parameters import LeagueKey, SeasonKey
from services.http.problems import ProblemError, problem_responses
from services.http.spreadsheets import csv_text

router = APIRouter(prefix="/v1", tags=["rosters"], route_class=LazyRoute)
SAMPLE: Final = "name,team,role,external_id\nAda Lovelace,Engines,competitor,s-1815\n"


class NewRoster(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"csv": SAMPLE}]})
    csv: Annotated[str, Field(max_length=250_000, description="with a header", examples=[SAMPLE])]
    dry_run: bool = Field(default=False, description="show what would be created, create nothing")


class ImportedLineOut(BaseModel):
    external_id: str
    name: str
    team: str
    role: LeagueRole
    change: stored.LineChange
    code: str | None = Field(
        description="this person's invitation code; shown only once, when it is new"
    )


class RosterImportOut(BaseModel):
    dry_run: bool
    items: list[ImportedLineOut]


class RosterLineOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    external_id: str
    name: str
    team: str
    role: LeagueRole
    invitation_id: str
    is_revoked: bool
    user_id: str | None
    user_name: str | None
    team_id: str | None


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


@router.post(
    "/leagues/{league}/roster",
    summary="Import a roster",
    response_model=RosterImportOut,
    responses=problem_responses(403, 404, 409, 429),
)
def import_roster(
    league: LeagueKey, body: NewRoster, conn: Db, who: Host, once: Idempotent
) -> Response:
    """Hosts and administrators only. One line a person; each person gets a personal code.

    Repeating an import changes nothing and makes no second code. Lines missing from an import stay
    in the roster. To replace a lost code, revoke its invitation and import the line again.
    """
    found = permissions.hosted_league(conn, who, league)
    try:
        expected = stored.parse_roster(body.csv)
    except stored.RosterError as error:
        places = [
            {"where": f"line {fault.line}, {fault.column or 'line'}", "message": fault.message}
            for fault in error.faults
        ]
        raise ProblemError("invalid", str(error), errors=places) from None

    def create() -> tuple[RosterImportOut, int]:
        done = stored.import_roster(conn, found.id, expected, by=who.user_id, is_dry=body.dry_run)
        items = [
            ImportedLineOut(
                external_id=each.expected.external_id,
                name=each.expected.name,
                team=each.expected.team,
                role=each.expected.role,
                change=each.change,
                code=each.code,
            )
            for each in done
        ]
        return RosterImportOut(dry_run=body.dry_run, items=items), 200

    return once.run(create, keep=without_codes)


def without_codes(out: RosterImportOut) -> RosterImportOut:
    items = [item.model_copy(update={"code": None}) for item in out.items]
    return out.model_copy(update={"items": items})


@router.get(
    "/leagues/{league}/roster", summary="Read the roster", responses=problem_responses(403, 404)
)
def read_roster(league: LeagueKey, conn: Db, who: Known) -> Page[RosterLineOut]:
    """Hosts and administrators only: the expected people, and who of them joined."""
    found = permissions.hosted_league(conn, who, league)
    return Page(
        items=[RosterLineOut.model_validate(row) for row in stored.list_lines(conn, found.id)]
    )


@router.get(
    "/seasons/{season}/standings",
    summary="Export the standings",
    response_model=FinalStandingsOut,
    responses={
        200: {"content": {"text/csv": {"schema": {"type": "string"}}}},
        **problem_responses(404),
    },
)
def export_standings(
    season: SeasonKey,
    conn: Db,
    who: Anyone,
    format: Annotated[Literal["json", "csv"], Query()] = "json",
) -> Response:
    """The whole leaderboard, best first. Hosts also get the external ids of the teams' members."""
    found = permissions.visible_season(conn, who, season)
    league = leagues.get_league(conn, found.league_id)
    board = leaderboard.read_board(conn, found.id)
    known = None
    if may_manage(who, records.league_resource(league)):
        known = stored.external_ids(conn, league.id)
    items = [final_standing(row, known) for row in board.rows]
    items += [
        disqualified_standing(row, known)
        for row in participants.list_disqualified(conn, found.id, board.rows)
    ]
    name = f"{league.slug}-{found.number}.{format}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    if format == "csv":
        return Response(
            standings_csv(items, known is not None), headers=headers, media_type="text/csv"
        )
    out = FinalStandingsOut(
        season_id=found.id, state=found.state, revision=board.revision, items=items
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
    measures = [each.name for each in items[0].estimates] if items else []
    measure_columns = [f"{name}{end}" for name in measures for end in ("", "_low", "_high")]
    rows = (
        [
            *(getattr(item, column) for column in columns),
            *(
                [number for one in item.estimates for number in (one.value, one.low, one.high)]
                or [None] * len(measure_columns)
            ),
        ]
        for item in items
    )
    return csv_text([*columns, *measure_columns], rows)


@router.get(
    "/seasons/{season}/participants",
    summary="Export the participants",
    response_model=ParticipantsOut,
    responses={
        200: {"content": {"text/csv": {"schema": {"type": "string"}}}},
        **problem_responses(403, 404),
    },
)
def export_participants(
    season: SeasonKey, conn: Db, who: Known, format: ExportForm = "json"
) -> Response:
    """Hosts and administrators only. One row for each person whom the roster expects or who
    competes: whether a submission of the team passed validation, and where the team stands."""
    found, league = permissions.hosted_season(conn, who, season)
    return participants_file(conn, league, found, format)
