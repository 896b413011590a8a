"""What people do with comparisons: plan, start, read and cancel them."""

from __future__ import annotations

from ladder.database.db import Connection
from ladder.ids import ComparisonId
from ladder.people.records import Viewer
from ladder.scrims import comparisons
from ladder.scrims.comparisons import Comparison, NewComparison, PairsToday, Versions
from ladder.scrims.scrims import Asker
from services.comparisons.pages import ComparisonForm, new_comparison_page
from services.comparisons.report import (
    ComparisonReport,
    OwnComparison,
    VisibleComparison,
    read_report,
)
from services.http.app_state import AppState, Db
from services.http.auth import Known, Scrimmer
from services.http.operations import Form, Operations
from services.http.paging import Page, Paging
from services.http.path_parameters import Filter
from services.leagues.things import VisibleLeague
from services.scrims.things import find_asker, submission_of_key, teams_of_filter

operations = Operations("comparisons")


def find_versions(
    conn: Connection, viewer: Viewer, league: str, comparison: NewComparison
) -> tuple[Asker, Versions]:
    """Who asks for a comparison in the league's current season, and its submissions."""
    asker = find_asker(conn, viewer, league, comparison.team)
    old, new, *opponents = (
        submission_of_key(conn, viewer, asker.season, key)
        for key in (comparison.old, comparison.new, *comparison.opponents)
    )
    return asker, Versions(old, new, tuple(opponents))


@operations("POST", "/leagues/{league}/comparisons/plan", "See how many pairs today allows")
def plan_comparison(
    conn: Db, viewer: Scrimmer, league: VisibleLeague, comparison: NewComparison
) -> PairsToday:
    """Changes nothing. A comparison that needs more pairs goes on when the limit resets."""
    asker, versions = find_versions(conn, viewer, league.slug, comparison)
    opponents = versions.opponents or (versions.old,)
    return comparisons.pairs_today(conn, asker.season, asker.team_id, opponents)


@operations(
    "POST",
    "/leagues/{league}/comparisons",
    "Compare two versions",
    status=201,
    problems=(403, 404, 409, 429),
    forms=Form(
        page=new_comparison_page,
        address="/leagues/{league}/better",
        asks=ComparisonForm,
        without=("team",),
        then="/comparisons/{answer.id}",
    ),
)
def create_comparison(
    conn: Db, viewer: Scrimmer, league: VisibleLeague, comparison: NewComparison
) -> Comparison:
    """Both versions play the same seeds, seats and opponents, until the verdict."""
    asker, versions = find_versions(conn, viewer, league.slug, comparison)
    return comparisons.start_comparison(conn, asker, versions, comparison.rule)


@operations("GET", "/leagues/{league}/comparisons", "List comparisons", problems=(403, 404))
def list_comparisons(
    conn: Db, viewer: Known, league: VisibleLeague, span: Paging, team: Filter = None
) -> Page[Comparison]:
    """Lists the comparisons of your teams in this league, newest first."""
    teams = teams_of_filter(conn, viewer, team)
    after = ComparisonId(span.after) if span.after else None
    rows = comparisons.list_comparisons(conn, teams, league.id, after, span.limit)
    return span.page(rows, lambda row: row.id, lambda row: row)


@operations("GET", "/comparisons/{comparison}", "Read a comparison", problems=(404,))
def read_comparison(
    conn: Db, app_state: AppState, viewer: Known, comparison: VisibleComparison
) -> ComparisonReport:
    """The state so far. It may be read after every pair without harm to the verdict."""
    return read_report(app_state, conn, comparison)


@operations(
    "POST",
    "/comparisons/{comparison}/cancel",
    "Cancel a comparison",
    forms=Form(address="/comparisons/{comparison}/cancel", then="/comparisons/{comparison.id}"),
)
def cancel_comparison(
    conn: Db, app_state: AppState, viewer: Scrimmer, comparison: OwnComparison
) -> ComparisonReport:
    """Stops it without a verdict."""
    return read_report(app_state, conn, comparisons.cancel_comparison(conn, comparison.id))
