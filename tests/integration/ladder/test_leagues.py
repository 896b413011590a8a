"""Leagues, seasons, agents and submissions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ladder.database.db import Connection
from ladder.entries import agents, entries
from ladder.entries.agents import AgentChange
from ladder.enums import AgentMachines, LeagueRole
from ladder.errors import Conflict, LadderError, NotFound
from ladder.leagues import leagues, members, seasons
from ladder.leagues.records import league_resource
from ladder.matches import history, matches
from ladder.people import users
from ladder.people.permissions import may_see
from ladder.people.records import STRANGER, Viewer
from ladder.ratings import live_ratings
from tests.integration.ladder.contest import Contest, digest, make_contest


def test_only_visible_leagues_are_listed(conn: Connection) -> None:
    public, private = make_contest(conn), make_contest(conn, visibility="private")
    member = users.create_user(conn, "member")
    leagues.set_member_role(conn, private.league.id, member.id, LeagueRole.VIEWER)
    everybody = [
        STRANGER,
        users.viewer_of_user(conn, member.id),
        users.viewer_of_user(conn, public.host),
        users.viewer_of_user(conn, private.host),
        Viewer(is_admin=True),
    ]
    both = [public.league, private.league]
    for viewer in everybody:
        assert viewer is not None
        listed = leagues.list_leagues(conn, viewer)
        assert listed == [league for league in both if may_see(viewer, league_resource(league))]
    assert leagues.list_leagues(conn, Viewer(is_admin=True), after=public.league.id) == [both[1]]


def test_leagues_are_listed_by_activity(conn: Connection) -> None:
    finished, week_old, playing, private, young, empty, new = (
        make_contest(conn, visibility="private" if number == 3 else "public").league
        for number in range(7)
    )
    for days, league in ((0, finished), (7, week_old), (0, playing), (0, private), (0, young)):
        conn.execute(
            "update seasons set rated_at = now() - make_interval(days => %s) where league_id = %s",
            (days, league.id),
        )
    conn.execute("update seasons set state = 'finished' where league_id = %s", (finished.id,))
    everything = leagues.list_leagues_by_activity(conn, Viewer(is_admin=True), 9)
    assert everything == [playing, private, young, week_old, new, empty, finished]
    assert leagues.list_leagues_by_activity(conn, STRANGER, 2) == [playing, young]


def test_a_rated_result_makes_a_league_active(contest: Contest) -> None:
    idle = make_contest(contest.conn).league
    found = leagues.list_leagues_by_activity(contest.conn, Viewer(is_admin=True), 9)
    assert found == [idle, contest.league]
    contest.play(contest.rated(*(contest.active() for _ in range(4))), [1, 2, 3, 4])
    live_ratings.rate_season(contest.conn, contest.season.id)
    found = leagues.list_leagues_by_activity(contest.conn, Viewer(is_admin=True), 9)
    assert found == [contest.league, idle]


def test_the_creator_of_a_league_is_its_host(contest: Contest) -> None:
    conn, league = contest.conn, contest.league.id
    ada = users.create_user(conn, "ada")
    leagues.set_member_role(conn, league, ada.id, "competitor")
    roles = {member.user_id: member.role for member in members.list_members(conn, league)}
    assert roles == {contest.host: LeagueRole.HOST, ada.id: LeagueRole.COMPETITOR}
    leagues.set_member_role(conn, league, ada.id, None)
    assert [member.user_id for member in members.list_members(conn, league)] == [contest.host]
    with pytest.raises(Conflict, match="slug"):
        leagues.create_league(
            conn,
            slug=contest.league.slug,
            title="Again",
            game="hungry_geese",
            visibility="public",
            replay_visibility="public",
            created_by=None,
        )


def test_the_newest_open_season_is_current(contest: Contest) -> None:
    def season(opens_at: datetime | None = None) -> int:
        return seasons.create_season(
            contest.conn,
            contest.league.id,
            seasons.SeasonColumns(
                configuration={},
                configuration_digest=digest("x"),
                clock={},
                seats=2,
                opens_at=opens_at,
            ),
        ).number

    assert season() == 2
    assert season(opens_at=datetime.now(UTC) + timedelta(days=1)) == 3
    current = seasons.current_season(contest.conn, contest.league.id)
    assert current is not None
    assert current.number == 2
    assert [s.number for s in seasons.list_seasons(contest.conn, contest.league.id)] == [3, 2, 1]
    assert {s.number for s in seasons.playing_seasons(contest.conn)} == {1, 2}
    leagues.set_league_state(contest.conn, contest.league.id, "paused")
    assert seasons.playing_seasons(contest.conn) == []
    with pytest.raises(LadderError, match="state: 'shut' unknown"):
        leagues.set_league_state(contest.conn, contest.league.id, "shut")


def test_a_season_finishes_only_after_its_running_matches(
    conn: Connection,
) -> None:
    soon = datetime.now(UTC) + timedelta(days=1)
    contest = make_contest(conn, closes_at=soon, ends_at=soon)
    match_id = contest.rated(*(contest.active() for _ in range(4)))
    assert seasons.lock_and_finish_due_seasons(conn) == []
    _set_date(contest, "closes_at")
    assert seasons.lock_and_finish_due_seasons(conn) == [contest.season.id]
    assert seasons.get_season(conn, contest.season.id).state == "locked"
    _set_date(contest, "ends_at")
    assert seasons.lock_and_finish_due_seasons(conn) == []
    contest.play(match_id, [1, 2, 3, 4])
    assert seasons.lock_and_finish_due_seasons(conn) == []  # not rated yet
    live_ratings.rate_season(conn, contest.season.id)
    assert seasons.lock_and_finish_due_seasons(conn) == [contest.season.id]
    assert seasons.get_season(conn, contest.season.id).state == "finished"
    assert matches.matches_in_flight(conn, contest.season.id) == 0


def test_equal_bytes_are_one_submission_of_an_agent(
    contest: Contest,
) -> None:
    one, two = contest.agent(), contest.agent()
    first, created = agents.add_submission(contest.conn, one, digest("x"), 9, "a.py", "m", None)
    again, repeated = agents.add_submission(contest.conn, one, digest("x"), 9, "b.py", "n", None)
    assert (created, repeated, again) == (True, False, first)
    other, created = agents.add_submission(contest.conn, two, digest("x"), 9, "a.py", "", None)
    assert created
    assert other.id != first.id
    assert agents.get_submission(contest.conn, first.number) == first
    assert agents.list_submissions(contest.conn, one) == [first]


def test_an_agent_belongs_to_the_leagues_of_its_active_entries(contest: Contest) -> None:
    conn = contest.conn
    agent = agents.get_agent(conn, contest.agent())
    with pytest.raises(Conflict, match="slug"):
        agents.create_agent(conn, agent.team_id, "Again", agent.slug)
    assert agents.find_agent(conn, agent.team_id, agent.slug) == agent
    changed = agents.update_agent(conn, agent.id, AgentChange(machines=AgentMachines.ANY))
    assert (changed.machines, changed.name) == (AgentMachines.ANY, agent.name)
    contest.pending(agent.id)
    assert agents.leagues_of_agent(conn, agent.id) == []
    entry = contest.active(agent.id)
    assert agents.leagues_of_agent(conn, agent.id) == [contest.league.id]
    assert agents.leagues_of_team(conn, agent.team_id) == [contest.league.id]
    assert [e.id for e in entries.list_entries(conn, agent_id=agent.id, state="active")] == [entry]


def test_an_unknown_id_is_not_found(conn: Connection) -> None:
    for get in (
        lambda: users.get_user(conn, "usr_x"),  # type: ignore[arg-type]
        lambda: users.get_team(conn, "nobody"),
        lambda: leagues.get_league(conn, "nothing"),
        lambda: seasons.get_season(conn, "sea_x"),  # type: ignore[arg-type]
        lambda: agents.get_agent(conn, "age_x"),  # type: ignore[arg-type]
        lambda: agents.get_submission(conn, 77),
        lambda: entries.get_entry(conn, "ent_x"),  # type: ignore[arg-type]
        lambda: history.get_match(conn, "mat_x"),  # type: ignore[arg-type]
        lambda: history.match_of_episode(conn, 77),
    ):
        with pytest.raises(NotFound, match="there is no such"):
            get()


def _set_date(contest: Contest, column: str) -> None:
    contest.conn.execute(
        f"update seasons set {column} = now() - interval '1 s' where id = %s",
        (contest.season.id,),
    )
