"""Remote agents in a season: their entries, and what others see of a paused one."""

from __future__ import annotations

import pytest

from ladder.database.db import Connection
from ladder.entries import agents, deadlines, entries, remote_agents
from ladder.entries.records import EntryState
from ladder.errors import Conflict
from ladder.ids import EntryId
from ladder.leagues import seasons
from ladder.matches import history
from ladder.notices import inbox
from ladder.reports import season_health
from ladder.scrims import scrims
from ladder.scrims.scrims import Asker
from tests.integration.ladder.contest import Contest, make_contest
from tests.integration.ladder.remote_contest import (
    active,
    be_away,
    entered,
    judge,
    lose_unanswered,
    paused,
    play,
    state,
)
from tests.integration.ladder.remote_contest import conn as conn
from tests.integration.ladder.remote_contest import contest as contest


def test_a_remote_submission_enters_only_a_season_with_remote_agents(conn: Connection) -> None:
    contest = make_contest(conn, seats=2)
    with pytest.raises(Conflict, match="upload a bundle: this season takes no remote agents"):
        entered(contest)


def test_a_remote_entry_has_the_profile_remote(contest: Contest) -> None:
    entry = entries.get_entry(contest.conn, entered(contest))
    assert (entry.profile, entry.remote) == ("remote", True)
    submission = agents.get_submission(contest.conn, entry.submission_id)
    with pytest.raises(Conflict, match="give a bundle"):
        entries.enter_season(
            contest.conn,
            seasons.create_season(
                contest.conn,
                contest.league.id,
                seasons.SeasonColumns(
                    configuration={},
                    configuration_digest="none",
                    clock={},
                    seats=2,
                    remote_agents=True,
                ),
            ).id,
            submission.id,
            is_anchor=True,
        )


def test_a_rejected_address_is_validated_again_after_resubmission(
    contest: Contest,
) -> None:
    agent = contest.agent()
    entry = entered(contest, agent, "k3J9")
    judge(contest, entry, "ERROR")
    assert state(contest, entry) is EntryState.REJECTED
    again = entered(contest, agent, "k3J9")
    assert again == entry
    found = entries.get_entry(contest.conn, entry)
    assert (found.state, found.reason) == (EntryState.PENDING, None)
    assert deadlines.upload_limits(contest.conn, contest.season.id, found.team_id).used == 2
    assert entered(contest, agent, "k3J9") == entry  # it already waits and costs nothing
    assert deadlines.upload_limits(contest.conn, contest.season.id, found.team_id).used == 2
    judge(contest, entry)
    assert state(contest, entry) is EntryState.ACTIVE


def test_a_rejudged_remote_match_gets_a_new_seed(contest: Contest) -> None:
    known, bundle, other = active(contest), contest.active(), contest.active()
    for lineup, is_same in (((known, bundle), False), ((bundle, other), True)):
        old = contest.rated(*lineup)
        play(contest, old)
        new = contest.rated(*lineup, rejudges=old)
        seeds = [history.get_match(contest.conn, each).seed for each in (old, new)]
        assert (seeds[0] == seeds[1]) is is_same


def test_an_entry_paused_before_its_first_game_delays_no_seal(
    contest: Contest,
) -> None:
    entry, other = active(contest), played(contest)
    seasons.set_season_state(contest.conn, contest.season.id, "locked")
    with contest.conn.transaction():
        assert deadlines.is_waiting_for_entries(contest.conn, contest.season.id)
    be_away(contest, entry, other, times=3)
    remote_agents.retry_paused_entry(contest.conn, entry)
    judge(contest, entry)
    assert state(contest, entry) is EntryState.ACTIVE
    with contest.conn.transaction():
        assert not deadlines.is_waiting_for_entries(contest.conn, contest.season.id)


def played(contest: Contest) -> EntryId:
    """An entry of a bundle that has played."""
    entry = contest.active()
    contest.conn.execute("update entries set games = 1 where id = %s", (entry,))
    return entry


def test_a_team_gets_notices_of_pauses(contest: Contest) -> None:
    user, team = contest.team()
    entry = paused(contest, contest.agent(team))
    remote_agents.retry_paused_entry(contest.conn, entry)
    judge(contest, entry)
    lose_unanswered(contest, entry, contest.entries[0])
    kinds = [each.kind for each in reversed(inbox.list_notices(contest.conn, user))]
    assert kinds == [
        "validation_passed",
        "agent_paused",
        "agent_resumed",
        "agent_paused",
    ]


def test_a_scrim_with_a_paused_agent_is_refused_with_the_reason(contest: Contest) -> None:
    user, team = contest.team()
    entry = entries.get_entry(contest.conn, paused(contest, contest.agent(team)))
    rival = entries.get_entry(contest.conn, contest.entries[0])
    contest.open_for_scrims(rival.agent_id)
    lineup = [entry.submission_id, rival.submission_id]
    with pytest.raises(
        Conflict, match=f"{entry.agent_name}: it is paused because its address did not answer"
    ):
        scrims.request_scrim(
            contest.conn,
            Asker(contest.season, team, user),
            lineup,
            games=1,
        )
    with pytest.raises(Conflict, match="is paused"):
        scrims.request_scrim(
            contest.conn,
            Asker(contest.season, rival.team_id, user),
            lineup,
            games=1,
        )
    remote_agents.retry_paused_entry(contest.conn, entry.id)
    judge(contest, entry.id)
    made = scrims.request_scrim(contest.conn, Asker(contest.season, team, user), lineup, games=1)
    assert made.games == 1


def test_a_season_with_paused_agents_raises_an_alarm(contest: Contest) -> None:
    entry = paused(contest)
    entries.retire_entry(contest.conn, contest.entries[0])
    contest.conn.execute(
        "update entries set last_match_at = now() - interval '1 day'; "
        "update seasons set opens_at = now() - interval '1 day'"
    )
    season = seasons.get_season(contest.conn, contest.season.id)
    alarm = season_health.read_health(contest.conn, season, contest.league).alarm
    assert alarm is not None
    assert alarm.cause is season_health.AlarmCause.AGENTS_AWAY
    assert "0 of 2 seats can be filled" in alarm.reason
    assert "1 paused" in alarm.reason
    assert state(contest, entry) is EntryState.PAUSED
    contest.conn.execute("update entries set pause_cause = 'team_blocked' where id = %s", (entry,))
    alarm = season_health.read_health(contest.conn, season, contest.league).alarm
    assert alarm is not None
    assert alarm.cause is season_health.AlarmCause.NOTHING_TO_PAIR
