"""Who plays in a match that is not over: shown to nobody who could leave it unanswered."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ladder.entries import agents, entries
from ladder.ids import EntryId, MatchId, TeamId
from ladder.matches import history, lease, live_matches, match_search
from ladder.matches.match_search import MatchFilter
from ladder.people.records import Viewer
from ladder.standings import leaderboard
from services.agents.submission_list import submission_rows
from services.web import live
from tests.integration.ladder.contest import Contest
from tests.integration.ladder.remote_contest import active
from tests.integration.ladder.remote_contest import conn as conn
from tests.integration.ladder.remote_contest import contest as contest


def team_of(contest: Contest, entry: EntryId) -> TeamId:
    return entries.get_entry(contest.conn, entry).team_id


def sees(contest: Contest, viewer: Viewer, match_id: MatchId) -> bool:
    """Whether the viewer sees the match, by its address and in every list alike."""
    conn, season = contest.conn, contest.season.id
    match = history.get_match(conn, match_id)
    by_id = history.visible_ids(conn, viewer, [match_id]) == {match_id}
    agent = match.seats[0].agent_id
    listed = [
        history.list_matches(conn, viewer=viewer, season_id=season),
        history.list_matches(conn, viewer=viewer, agent_id=agent),
        *(
            match_search.search_matches(conn, viewer, wanted)
            for wanted in (
                MatchFilter(season_id=season),
                MatchFilter(agent_id=agent),
                MatchFilter(agent_id=agent, opponent_id=match.seats[1].agent_id),
                MatchFilter(),
            )
        ),
    ]
    found = {match_id in {one.id for one in part} for part in listed}
    assert found == {by_id}
    return by_id


@pytest.fixture
def lineup(contest: Contest) -> tuple[EntryId, EntryId]:
    return active(contest), contest.active()


def test_a_queued_rated_match_is_shown_to_nobody(
    contest: Contest, lineup: tuple[EntryId, EntryId]
) -> None:
    match_id = contest.rated(*lineup)
    own = [Viewer(team_ids=frozenset({team_of(contest, entry)})) for entry in lineup]
    for viewer in (Viewer(), *own):
        assert not sees(contest, viewer, match_id)
    count, league = live_matches.count_waiting, contest.league.id
    agent = entries.get_entry(contest.conn, lineup[0]).agent_id
    assert [count(contest.conn, viewer, league_id=league) for viewer in own] == [1, 1]
    assert [count(contest.conn, viewer, agent_id=agent) for viewer in own] == [1, 0]


def minute_later(contest: Contest, match_id: MatchId) -> None:
    contest.conn.execute(
        "update matches set claimed_at = claimed_at - interval '1 minute' where id = %s",
        (match_id,),
    )


def test_a_match_of_a_remote_agent_is_hidden_when_it_begins(
    contest: Contest, lineup: tuple[EntryId, EntryId]
) -> None:
    remote, boxed = contest.rated(*lineup), contest.rated(contest.active(), contest.active())
    for match_id in (remote, boxed):
        assert lease.claim_match(contest.conn, match_id, "w1") is not None
    assert not sees(contest, Viewer(), remote)
    assert sees(contest, Viewer(), boxed)
    minute_later(contest, remote)
    assert sees(contest, Viewer(), remote)


def test_a_running_match_is_hidden_from_teams_with_a_remote_agent_in_it(
    contest: Contest, lineup: tuple[EntryId, EntryId]
) -> None:
    match_id = contest.rated(*lineup)
    remote, boxed = (Viewer(team_ids=frozenset({team_of(contest, entry)})) for entry in lineup)
    order = lease.claim_match(contest.conn, match_id, "w1")
    assert order is not None
    minute_later(contest, match_id)
    assert not sees(contest, remote, match_id)
    assert sees(contest, boxed, match_id)
    assert sees(contest, Viewer(), match_id)
    contest.finish(match_id, order.attempt, [1, 2])
    assert sees(contest, remote, match_id)


def test_a_remote_agents_team_does_not_find_its_running_match_on_tv(
    contest: Contest, lineup: tuple[EntryId, EntryId]
) -> None:
    match_id = contest.rated(*lineup)
    assert lease.claim_match(contest.conn, match_id, "w1") is not None
    minute_later(contest, match_id)
    remote, boxed = (Viewer(team_ids=frozenset({team_of(contest, entry)})) for entry in lineup)
    on_tv = [
        match_id in {one.id for one in live._running_on_tv(contest.conn, viewer)}
        for viewer in (remote, boxed, Viewer())
    ]
    assert on_tv == [False, True, True]


def test_the_page_of_an_agent_hides_its_queued_first_match(contest: Contest) -> None:
    lineup = [contest.active(), contest.active()]
    match_id = contest.rated(*lineup)
    entry = entries.get_entry(contest.conn, lineup[0])
    team = Viewer(team_ids=frozenset({entry.team_id}))
    agent = agents.get_agent(contest.conn, entry.agent_id)
    board = leaderboard.read_board(contest.conn, contest.season.id)
    app_state: Any = SimpleNamespace(
        boards=SimpleNamespace(board=lambda *_: board), settings=SimpleNamespace(redis_url="")
    )

    def shown() -> Any:
        rows = submission_rows(contest.conn, app_state, team, agent, [entry])
        return rows["entries"][0].first_match

    assert shown() is None
    contest.play(match_id, [1, 2])
    assert shown().match.id == match_id
