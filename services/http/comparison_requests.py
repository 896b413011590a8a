"""Plans and starts the comparison that a request of the API or a form of a page describes."""

from __future__ import annotations

from ladder.database.db import Connection
from ladder.ids import SubmissionId, is_id
from ladder.leagues.records import Season
from ladder.people.records import Viewer
from ladder.scrims.comparison import comparisons, daily_pairs
from ladder.scrims.comparison.comparisons import Comparison, Versions
from ladder.scrims.comparison.daily_pairs import PairsToday
from ladder.scrims.comparison.request_model import NewComparison
from ladder.scrims.scrims import newest_submission
from services.http import permissions


def start_comparison(
    conn: Connection, who: Viewer, league: str, wanted: NewComparison
) -> Comparison:
    """Starts it in the league's current season, for the viewer's team."""
    season, versions = _read_versions(conn, who, league, wanted)
    team = permissions.team_to_act_for(conn, who, wanted.team)
    assert who.user_id is not None
    return comparisons.start_comparison(
        conn,
        season=season,
        team_id=team.id,
        user_id=who.user_id,
        versions=versions,
        rule=wanted.rule,
    )


def plan_comparison(
    conn: Connection, who: Viewer, league: str, wanted: NewComparison
) -> PairsToday:
    """Returns the pairs that the limits of the day allow to such a comparison."""
    season, versions = _read_versions(conn, who, league, wanted)
    team = permissions.team_to_act_for(conn, who, wanted.team)
    return daily_pairs.pairs_today(conn, season, team.id, versions.opponents or (versions.old,))


def _read_versions(
    conn: Connection, who: Viewer, league: str, wanted: NewComparison
) -> tuple[Season, Versions]:
    season = permissions.visible_season(conn, who, league)
    old, new, *opponents = (
        SubmissionId(key)
        if is_id(key, "sub")
        else newest_submission(conn, season, permissions.visible_agent(conn, who, key))
        for key in (wanted.old, wanted.new, *wanted.opponents)
    )
    return season, Versions(old, new, tuple(opponents))
