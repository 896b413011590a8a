"""Requests for scrims: who asks, who accepts, and who is told."""

from __future__ import annotations

import pytest

from ladder.database.db import Connection
from ladder.entries import agents, entries
from ladder.enums import LogAudience, ScrimAudience
from ladder.errors import Conflict
from ladder.ids import TeamId, UserId
from ladder.matches import history
from ladder.notices import inbox
from ladder.people import users
from ladder.people.resources import ScrimPrivacy
from ladder.scrims import policies, requests
from ladder.scrims.policies import ScrimPolicy, Whom
from ladder.scrims.scrims import NewPrivacy, newest_submission
from tests.integration.ladder.scrim_pairs import Pair
from tests.integration.ladder.scrim_pairs import pair as pair


def kinds_told(conn: Connection, user_id: UserId) -> list[str]:
    return [notice.kind.value for notice in inbox.list_notices(conn, user_id, None, 20)]


def test_a_request_is_accepted_played_and_told_to_both(pair: Pair) -> None:
    conn = pair.contest.conn
    asked = pair.ask(words="a game?", privacy=NewPrivacy(results=ScrimAudience.SIDES))
    assert (asked.state, [seat.submission_id for seat in asked.seats]) == ("asked", [None, None])
    assert [seat.version for seat in asked.seats] == [None, None]
    newer = pair.contest.active(pair.theirs)
    accepted = requests.accept_request(conn, asked.id, pair.asked[0])
    assert accepted.state == "accepted"
    pinned = entries.get_entry(conn, newer).submission_id
    assert accepted.seats[1].submission_id == pinned
    entries.retire_entry(conn, newer, with_team=True)
    assert requests.accept_request(conn, asked.id, pair.asked[0]) == accepted
    assert accepted.scrim_id is not None
    second, first = history.list_matches(conn, scrim_id=accepted.scrim_id)
    pair.contest.play(first.id, [1, 2])
    assert requests.get_request(conn, asked.id).state == "running"
    pair.contest.play(second.id, [1, 2])
    assert requests.get_request(conn, asked.id).state == "finished"
    assert kinds_told(conn, pair.asker[0])[:2] == ["scrim_finished", "scrim_accepted"]
    assert {"scrim_asked", "scrim_finished"} <= set(kinds_told(conn, pair.asked[0]))


def test_the_other_team_gets_no_notice_of_a_private_scrim(pair: Pair) -> None:
    conn = pair.contest.conn
    asked = pair.ask(games=1)
    accepted = requests.accept_request(conn, asked.id, pair.asked[0])
    assert accepted.scrim_id is not None
    (match,) = history.list_matches(conn, scrim_id=accepted.scrim_id)
    pair.contest.play(match.id, [1, 2])
    viewer = users.viewer_of_user(conn, pair.asked[0])
    assert viewer is not None
    assert "scrim_finished" not in kinds_told(conn, pair.asked[0])
    assert history.list_matches(conn, viewer=viewer, scrim_id=accepted.scrim_id) == []


@pytest.mark.parametrize("wide", ["result_audience", "replay_audience", "is_members_only"])
def test_the_audience_of_a_scrim_never_grows(pair: Pair, wide: str) -> None:
    conn = pair.contest.conn
    accepted = requests.accept_request(conn, pair.ask().id, pair.asked[0])
    value = "true" if wide == "is_members_only" else "'league'"
    with pytest.raises(Exception, match="fixed when it is made"):
        conn.execute(f"update scrims set {wide} = {value} where id = %s", (accepted.scrim_id,))


def test_replays_are_not_wider_than_results(pair: Pair) -> None:
    league = NewPrivacy(
        results=ScrimAudience.SIDES, replays=ScrimAudience.LEAGUE, logs=LogAudience.LEAGUE
    )
    privacy = pair.ask(privacy=league).privacy
    assert privacy == ScrimPrivacy(ScrimAudience.SIDES, ScrimAudience.SIDES, LogAudience.SIDES)


def test_shared_logs_need_an_answer_of_an_open_agent(pair: Pair) -> None:
    pair.policy(ScrimPolicy(whom=Whom.ANYONE, accepts_automatically=True))
    shared = NewPrivacy(
        results=ScrimAudience.SIDES, replays=ScrimAudience.SIDES, logs=LogAudience.SIDES
    )
    assert pair.ask(privacy=shared).state == "asked"
    with pytest.raises(Conflict, match="you asked this team already"):
        pair.ask()


def test_a_request_is_declined_with_a_word(pair: Pair) -> None:
    conn = pair.contest.conn
    declined = requests.decline_request(conn, pair.ask().id, pair.asked[0], "not today")
    assert (declined.state, declined.answer) == ("declined", "not today")
    assert kinds_told(conn, pair.asker[0])[0] == "scrim_declined"
    with pytest.raises(Conflict, match="declined already"):
        requests.accept_request(conn, declined.id, pair.asked[0])
    assert pair.ask().state == "asked"


def test_a_request_counts_against_the_limit_when_it_is_accepted(pair: Pair) -> None:
    conn = pair.contest.conn
    asked = pair.ask(games=3)
    conn.execute("update seasons set scrim_games_daily = 2")
    with pytest.raises(policies.ScrimLimitReached):
        requests.accept_request(conn, asked.id, pair.asked[0])
    assert requests.get_request(conn, asked.id).state == "asked"


def join_teams(conn: Connection, team_id: TeamId, into: TeamId) -> None:
    """Notes that a team became part of another one."""
    conn.execute(
        "update teams set ended_at = now(), merged_into = %s where id = %s", (into, team_id)
    )


def test_a_block_holds_for_the_team_that_a_blocked_one_became_part_of(pair: Pair) -> None:
    _, blocked = pair.contest.team()
    pair.policy(ScrimPolicy(whom=Whom.ANYONE, blocked_teams=[blocked]))
    assert requests.withdraw_request(pair.contest.conn, pair.ask().id, None).state == "withdrawn"
    join_teams(pair.contest.conn, blocked, pair.asker[1])
    with pytest.raises(Conflict, match="does not let your team"):
        pair.ask()


def test_only_people_of_the_team_that_the_asked_one_became_part_of_accept(pair: Pair) -> None:
    conn = pair.contest.conn
    asked = pair.ask()
    person, into = pair.contest.team()
    join_teams(conn, pair.asked[1], into)
    conn.execute("update agents set team_id = %s where id = %s", (into, pair.theirs))
    with pytest.raises(Conflict, match="became part of another one"):
        requests.accept_request(conn, asked.id, pair.asked[0])
    assert requests.accept_request(conn, asked.id, person).state == "accepted"


def test_a_team_asks_another_one_a_few_times_a_day(pair: Pair) -> None:
    conn = pair.contest.conn
    for _ in range(requests.MOST_ASKED_DAILY):
        requests.withdraw_request(conn, pair.ask().id, pair.asker[0])
    with pytest.raises(policies.ScrimLimitReached, match="requests a day to this team"):
        pair.ask()
    pair.policy(ScrimPolicy(whom=Whom.ANYONE, accepts_automatically=True))
    assert pair.ask().state == "accepted"


def test_a_scrim_with_a_retired_agent_asks_for_a_submission(pair: Pair) -> None:
    conn = pair.contest.conn
    conn.execute("update entries set state = 'retired' where agent_id = %s", (pair.mine,))
    agent = agents.get_agent(conn, pair.mine)
    with pytest.raises(Conflict, match=f"peck submissions --agent {agent.slug}"):
        newest_submission(conn, pair.contest.season, agent)
