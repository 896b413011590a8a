"""Upload deadlines: the start of a request counts, and one team can get an extension."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ladder.database import db
from ladder.database.db import Connection
from ladder.entries import deadlines, entries
from ladder.entries.deadlines import LONGEST_UPLOAD_SECONDS
from ladder.errors import Conflict, LadderError, NotFound
from ladder.ids import AgentId, TeamId
from ladder.leagues import medals, seasons
from ladder.leagues.seasons import NewExtension
from ladder.people import audit_log
from ladder.people.records import Viewer
from tests.integration.ladder.contest import Contest, make_contest
from tests.integration.ladder.test_fitting import refit


def minutes(count: float) -> datetime:
    return datetime.now(UTC) + timedelta(minutes=count)


def ago(seconds: float) -> float:
    """A moment of the clock that requests are measured by."""
    return time.monotonic() - seconds


def extend(contest: Contest, team: str, closes_at: datetime) -> seasons.Extension:
    return seasons.extend_deadline(
        contest.conn,
        Viewer(contest.host, "host"),
        contest.season.id,
        team,
        NewExtension(closes_at=closes_at, reason="ill"),
    )


def entered(conn: Connection, **terms: datetime) -> tuple[Contest, TeamId, AgentId]:
    """A season with these dates, and a team that entered it in time."""
    contest = make_contest(conn)
    _, team = contest.team()
    agent = contest.agent(team)
    contest.active(agent)
    for column, moment in terms.items():
        conn.execute(f"update seasons set {column} = %s where id = %s", (moment, contest.season.id))
    return contest, team, agent


def test_an_upload_begun_before_the_deadline_is_accepted(conn: Connection) -> None:
    contest, _, agent = entered(conn, closes_at=minutes(-1))
    for _ in range(2):
        with pytest.raises(Conflict, match="locked"):
            contest.pending(agent, began=ago(50))
        contest.pending(agent, began=ago(70))
        seasons.lock_and_finish_due_seasons(conn)  # locks it by its date
    assert seasons.get_season(conn, contest.season.id).state == "locked"


def test_a_season_locked_by_its_host_refuses_late_uploads(conn: Connection) -> None:
    contest, team, agent = entered(conn, closes_at=minutes(10))
    seasons.set_season_state(conn, contest.season.id, "locked")
    with pytest.raises(Conflict, match="locked"):
        contest.pending(agent, began=ago(500))
    extend(contest, team, minutes(20))
    contest.pending(agent)
    seasons.set_season_state(conn, contest.season.id, "finished")
    with pytest.raises(Conflict, match="locked"):
        contest.pending(agent)
    with pytest.raises(Conflict, match="finished"):
        extend(contest, team, minutes(30))


def test_an_extension_applies_only_to_its_team(conn: Connection) -> None:
    contest, team, agent = entered(conn, closes_at=minutes(-1), ends_at=minutes(60))
    later = minutes(30)
    assert extend(contest, team, later).closes_at == later
    seasons.lock_and_finish_due_seasons(conn)
    contest.pending(agent)
    with pytest.raises(Conflict, match="locked"):
        contest.pending()
    limits = deadlines.upload_limits(conn, contest.season.id, team)
    assert limits.closes_at == later
    extend(contest, team, minutes(-0.5))
    with pytest.raises(Conflict, match="locked"):
        contest.pending(agent)
    assert [each.team_id for each in seasons.list_extensions(conn, contest.season.id)] == [team]


def test_an_extension_is_in_the_audit_log_with_its_reason(conn: Connection) -> None:
    contest, team, _ = entered(conn, closes_at=minutes(1))
    first = extend(contest, team, minutes(2))
    extend(contest, team, minutes(3))
    second, _ = audit_log.list_audits(conn, contest.league.id)
    assert (second.act, second.subject, second.reason) == ("extend", team, "ill")
    assert (second.by_user, second.season_id) == (contest.host, contest.season.id)
    assert datetime.fromisoformat(second.details["before"]) == first.closes_at


def test_no_medal_is_sealed_during_an_extension(settled: Contest) -> None:
    contest, conn, four = settled, settled.conn, settled.entries
    team = entries.get_entry(conn, four[0]).team_id
    seasons.set_season_state(conn, contest.season.id, "locked")
    extend(contest, team, minutes(10))
    refit(contest)
    assert medals.sealed_medals_of_season(conn, contest.season.id) == {}
    extend(contest, team, minutes(-1))  # a request that began in time may still arrive
    refit(contest)
    assert medals.sealed_medals_of_season(conn, contest.season.id) == {}
    extend(contest, team, minutes(-LONGEST_UPLOAD_SECONDS / 60))
    refit(contest)
    assert medals.sealed_medals_of_season(conn, contest.season.id) != {}
    with pytest.raises(Conflict, match="medals are sealed"):
        extend(contest, team, minutes(10))


def test_no_medal_is_sealed_while_a_timely_upload_may_arrive(settled: Contest) -> None:
    contest, conn = settled, settled.conn
    agent = entries.get_entry(conn, contest.entries[0]).agent_id

    def sealed(closed_seconds: float) -> bool:
        """Whether medals are sealed this many seconds after uploads closed."""
        conn.execute(
            "update seasons set closes_at = now() - make_interval(secs => %s) where id = %s",
            (closed_seconds, contest.season.id),
        )
        seasons.lock_and_finish_due_seasons(conn)
        refit(contest)
        return medals.sealed_medals_of_season(conn, contest.season.id) != {}

    assert not sealed(1)
    assert not sealed(LONGEST_UPLOAD_SECONDS - 30)
    late = contest.pending(agent, began=ago(LONGEST_UPLOAD_SECONDS))
    assert not sealed(LONGEST_UPLOAD_SECONDS + 1)  # the late entry arrived and has not played
    with pytest.raises(Conflict, match="locked"):  # however slowly it arrives
        contest.pending(agent, began=ago(10 * LONGEST_UPLOAD_SECONDS))
    entries.retire_entry(conn, late)
    assert sealed(LONGEST_UPLOAD_SECONDS + 1)


def test_no_medal_is_sealed_during_an_uncommitted_entry(settled: Contest, settled_url: str) -> None:
    contest, conn = settled, settled.conn
    conn.execute(
        "update seasons set closes_at = now() - interval '10 seconds' where id = %s",
        (contest.season.id,),
    )
    seasons.lock_and_finish_due_seasons(conn)
    with db.connect(settled_url) as other:
        replace(contest, conn=other).pending(began=ago(20))
        conn.execute(
            "update seasons set closes_at = now() - interval '1 hour' where id = %s",
            (contest.season.id,),
        )
        refit(contest)
        assert medals.sealed_medals_of_season(conn, contest.season.id) == {}
        other.rollback()
    refit(contest)
    assert medals.sealed_medals_of_season(conn, contest.season.id) != {}
    conn.execute(  # as if a host locked it before its date
        "update seasons set closes_at = now() - interval '1 second' where id = %s",
        (contest.season.id,),
    )
    with pytest.raises(Conflict, match="locked"):
        contest.pending(began=ago(20))


def test_a_fit_waits_for_a_concurrent_extension(settled: Contest, settled_url: str) -> None:
    contest, conn, four = settled, settled.conn, settled.entries
    team = entries.get_entry(conn, four[0]).team_id
    seasons.set_season_state(conn, contest.season.id, "locked")
    with db.connect(settled_url) as other:
        extend(replace(contest, conn=other), team, minutes(10))
        fitting = threading.Thread(target=refit, args=(contest,))
        fitting.start()
        while not other.execute("select 1 from pg_locks where not granted").fetchone():
            assert fitting.is_alive(), "the fit did not wait for the extension"
        other.commit()
        fitting.join()
    assert medals.sealed_medals_of_season(conn, contest.season.id) == {}


def test_an_extension_lies_between_the_season_deadlines(
    conn: Connection,
) -> None:
    contest, team, _ = entered(conn, closes_at=minutes(10), ends_at=minutes(20))
    with pytest.raises(
        LadderError, match="closes_at: give a later moment: uploads of all teams close at"
    ):
        extend(contest, team, minutes(5))
    with pytest.raises(LadderError, match="closes_at: give an earlier moment: the season ends at"):
        extend(contest, team, minutes(25))
    _, stranger = contest.team()
    for unknown in (stranger, "nobody"):
        with pytest.raises(NotFound, match="no such team in this league"):
            extend(contest, unknown, minutes(15))
