"""Requests for scrims, the policies before them, and races between two people."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Barrier
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ladder.database import db
from ladder.database.db import Connection
from ladder.entries import agents, entries
from ladder.enums import LogAudience, ScrimAudience
from ladder.errors import Conflict, LadderError
from ladder.ids import AgentId, EntryId, ScrimRequestId, TeamId, UserId
from ladder.leagues import seasons
from ladder.matches import history
from ladder.notices import inbox
from ladder.people import users
from ladder.people.permissions import ScrimPrivacy
from ladder.reports import feed
from ladder.scrims import agent_policies, forks, game_limits, requests
from ladder.scrims.policies import ScrimPolicy, Whom
from ladder.scrims.request_records import NewScrimRequest, RequestState, ScrimRequest
from tests.integration.ladder.contest import Contest, raise_contest
from tests.sizes import sized

STATES = RequestState
ACTS = ("accept", "decline", "withdraw", "expire", "retire", "close")


@dataclass
class Pair:
    """Two teams of a season of two seats; ``asker`` asks ``asked``."""

    contest: Contest
    asker: tuple[UserId, TeamId]
    asked: tuple[UserId, TeamId]
    mine: AgentId
    theirs: AgentId
    entry: EntryId

    def ask(self, **terms: Any) -> ScrimRequest:
        given: dict[str, Any] = {"games": 2, "wanted": [self.mine, self.theirs], **terms}
        asked = NewScrimRequest(
            season=seasons.get_season(self.contest.conn, self.contest.season.id),
            team_id=self.asker[1],
            user_id=self.asker[0],
            **given,
        )
        return requests.ask_for_scrim(self.contest.conn, asked)

    def policy(self, policy: ScrimPolicy) -> None:
        agent = agents.get_agent(self.contest.conn, self.theirs)
        agent_policies.set_policy(self.contest.conn, agent, policy)


@pytest.fixture
def pair(conn: Connection) -> Pair:
    return make_pair(conn)


def make_pair(conn: Connection, **terms: Any) -> Pair:
    contest = raise_contest(conn, seats=2, **terms)
    asker, asked = contest.team(), contest.team()
    mine, theirs = contest.agent(asker[1]), contest.agent(asked[1])
    contest.active(mine)
    return Pair(contest, asker, asked, mine, theirs, contest.active(theirs))


def kinds_told(conn: Connection, user_id: UserId) -> list[str]:
    return [notice.kind.value for notice in inbox.list_notices(conn, user_id, None, 20)]


def test_a_request_is_accepted_played_and_told_to_both(pair: Pair) -> None:
    conn = pair.contest.conn
    asked = pair.ask(words="a game?", privacy=ScrimPrivacy(ScrimAudience.SIDES))
    assert (asked.state, [seat.submission_id for seat in asked.seats]) == ("asked", [None, None])
    newer = pair.contest.active(pair.theirs)
    accepted = requests.accept_request(conn, asked.id, pair.asked[0])
    assert accepted.state == "accepted"
    pinned = entries.get_entry(conn, newer).submission_id
    assert accepted.seats[1].submission_id == pinned
    entries.retire_entry(conn, newer)
    assert requests.accept_request(conn, asked.id, pair.asked[0]) == accepted
    assert accepted.scrim_id is not None
    second, first = history.list_matches(conn, scrim_id=accepted.scrim_id)
    pair.contest.play(first.id, [1, 2])
    assert requests.get_request(conn, asked.id).state == "running"
    pair.contest.play(second.id, [1, 2])
    assert requests.get_request(conn, asked.id).state == "finished"
    assert kinds_told(conn, pair.asker[0])[:2] == ["scrim_finished", "scrim_accepted"]
    assert {"scrim_asked", "scrim_finished"} <= set(kinds_told(conn, pair.asked[0]))
    for user, other in ((pair.asker, pair.asked), (pair.asked, pair.asker)):
        viewer = users.viewer_of_user(conn, user[0])
        assert viewer is not None
        items = {item.kind: item for item in feed.latest_items(conn, viewer)}
        assert {"scrim", "scrim_asked", "scrim_accepted"} <= set(items)
        assert items["scrim_accepted"].request_id == asked.id  # type: ignore[index]
        name = users.get_team(conn, other[1]).name
        assert items["scrim_accepted"].team_name == name  # type: ignore[index]


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
    assert "scrim" not in {item.kind for item in feed.latest_items(conn, viewer)}
    assert history.list_matches(conn, viewer=viewer, scrim_id=accepted.scrim_id) == []


@pytest.mark.parametrize("wide", ["result_audience", "replay_audience", "is_members_only"])
def test_the_audience_of_a_scrim_never_grows(pair: Pair, wide: str) -> None:
    conn = pair.contest.conn
    accepted = requests.accept_request(conn, pair.ask().id, pair.asked[0])
    value = "true" if wide == "is_members_only" else "'league'"
    with pytest.raises(Exception, match="fixed when it is made"):
        conn.execute(f"update scrims set {wide} = {value} where id = %s", (accepted.scrim_id,))


def test_replays_are_not_wider_than_results(pair: Pair) -> None:
    league = ScrimPrivacy(ScrimAudience.SIDES, ScrimAudience.LEAGUE, LogAudience.LEAGUE)
    privacy = pair.ask(privacy=league).privacy
    assert privacy == ScrimPrivacy(ScrimAudience.SIDES, ScrimAudience.SIDES, LogAudience.SIDES)


def test_shared_logs_need_an_answer_of_an_open_agent(pair: Pair) -> None:
    pair.policy(ScrimPolicy(whom=Whom.ANYONE, accepts_automatically=True))
    shared = ScrimPrivacy(ScrimAudience.SIDES, ScrimAudience.SIDES, LogAudience.SIDES)
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
    with pytest.raises(game_limits.ScrimLimitReached):
        requests.accept_request(conn, asked.id, pair.asked[0])
    assert requests.get_request(conn, asked.id).state == "asked"


POLICIES = st.builds(
    ScrimPolicy,
    whom=st.sampled_from(Whom),
    rating_within=st.sampled_from([None, 50.0, 500.0]),
    games_daily=st.sampled_from([None, 0, 3]),
    games_per_team_daily=st.sampled_from([0, 3, 50]),
    cooldown_seconds=st.sampled_from([0, 3600]),
    from_minute=st.sampled_from([None, 0, 600]),
    accepts_automatically=st.booleans(),
)
FACTS = st.fixed_dictionaries(
    {
        "lists": st.sampled_from(["", "named", "blocked"]),
        "mu": st.sampled_from([600.0, 700.0]),
        "is_entered": st.booleans(),
        "has_version": st.sampled_from([True, True, True, False]),
        "is_reference": st.sampled_from([False, False, False, True]),
        "played": st.booleans(),
        "games": st.sampled_from([1, 4]),
    }
)


@given(policy=POLICIES, facts=FACTS)
@settings(
    max_examples=sized(20, 1000),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_agent_whose_policy_refuses_cannot_be_asked(
    pair: Pair, policy: ScrimPolicy, facts: dict[str, Any]
) -> None:
    """And what it accepts is queued with a version for every seat."""
    conn, me = pair.contest.conn, pair.asker[1]
    teams = {me} if facts["lists"] == "named" else {TeamId(pair.contest.team()[1])}
    until = None if policy.from_minute is None else (policy.from_minute + 600) % 1440
    with conn.transaction(force_rollback=True):
        pair.policy(
            replace(
                policy,
                team_ids=frozenset(teams),
                blocked_team_ids=frozenset({me} if facts["lists"] == "blocked" else ()),
                until_minute=until,
            )
        )
        conn.execute("update entries set mu = %s where agent_id = %s", (facts["mu"], pair.mine))
        conn.execute(
            "update entries set is_anchor = %s, state = case when %s then state else 'retired' end"
            " where id = %s",
            (facts["is_reference"], facts["has_version"], pair.entry),
        )
        own = entries.list_entries(conn, agent_id=pair.mine)[0]
        if facts["played"]:
            conn.execute(
                "insert into scrims (id, season_id, team_id, requested_by, lineup, games, state)"
                " select 'scr_played', %s, %s, %s, jsonb_build_array(%s::text, submission_id), 2,"
                " 'finished' from entries where id = %s",
                (*(pair.contest.season.id, me, pair.asker[0], own.submission_id), pair.entry),
            )
        if not facts["is_entered"]:
            conn.execute("update entries set state = 'retired' where agent_id = %s", (pair.mine,))
        (one,) = agent_policies.read_opponents(conn, pair.contest.season, me, [pair.theirs])
        answer = one.answer(facts["games"])
        if not answer.is_allowed:
            with pytest.raises(LadderError, match=re.escape(str(answer.reason))):
                pair.ask(games=facts["games"], wanted=[own.submission_id, pair.theirs])
            return
        made = pair.ask(games=facts["games"], wanted=[own.submission_id, pair.theirs])
        assert (made.state == "accepted") == answer.is_automatic
        if made.state == "asked":
            made = requests.accept_request(conn, made.id, pair.asked[0])
        assert all(seat.submission_id for seat in made.seats)
        assert made.scrim_id is not None
        assert len(history.list_matches(conn, scrim_id=made.scrim_id)) == facts["games"]


Model = tuple[str, bool, bool]
"""State of a request; whether the asked agent has a version; whether the season is open."""


def model_act(model: Model, act: str) -> tuple[Model, bool]:
    """What an act does to a request, and whether it succeeds."""
    state, has_version, is_open = model
    if act == "retire":
        can_retire = is_open or not has_version
        return (state, has_version and not can_retire, is_open), can_retire
    if act == "close":
        return (state, has_version, False), True
    if act == "expire":
        return ("expired" if state == "asked" else state, has_version, is_open), True
    done = {"accept": "accepted", "decline": "declined", "withdraw": "withdrawn"}[act]
    if state == done:
        return model, True
    if state != "asked" or (act == "accept" and not (has_version and is_open)):
        return model, False
    return (done, has_version, is_open), True


def real_act(conn: Connection, pair: Pair, request_id: ScrimRequestId, act: str) -> bool:
    """The same act on the database; False if it was refused."""
    calls: dict[str, Callable[[], object]] = {
        "accept": lambda: requests.accept_request(conn, request_id, pair.asked[0]),
        "decline": lambda: requests.decline_request(conn, request_id, pair.asked[0]),
        "withdraw": lambda: requests.withdraw_request(conn, request_id, pair.asker[0]),
        "expire": lambda: expire_now(conn, request_id),
        "retire": lambda: entries.retire_entry(conn, pair.entry),
        "close": lambda: seasons.set_season_state(conn, pair.contest.season.id, "finished"),
    }
    try:
        calls[act]()
    except Conflict:
        return False
    return True


def expire_now(conn: Connection, request_id: ScrimRequestId) -> None:
    """Its deadline passes, and the scheduler's job ends it. The job skips a request in use."""
    with conn.transaction():
        conn.execute(
            "update scrim_requests set expires_at = now() where id = %s and state = 'asked'",
            (request_id,),
        )
        requests.expire_requests(conn)


@given(
    steps=st.lists(st.tuples(st.sampled_from(ACTS), st.sampled_from(ACTS)), min_size=1, max_size=2)
)
@example(steps=[("accept", "withdraw")])
@example(steps=[("accept", "accept"), ("retire", "withdraw")])
@example(steps=[("accept", "retire")])
@example(steps=[("accept", "close")])
@example(steps=[("accept", "expire")])
@settings(
    max_examples=sized(4, 500),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_two_acts_at_once_end_as_one_after_the_other(
    conn: Connection, database_url: str, steps: Sequence[tuple[str, str]]
) -> None:
    pair = make_pair(conn)
    request_id = pair.ask().id
    model: Model = ("asked", True, True)
    with (
        db.connect(database_url, autocommit=True) as left,
        db.connect(database_url, autocommit=True) as right,
        ThreadPoolExecutor(2) as pool,
    ):
        for acts in steps:
            gate = Barrier(2)

            def run(conn: Connection, act: str, gate: Barrier = gate) -> bool:
                gate.wait(120)
                return real_act(conn, pair, request_id, act)

            got = tuple(pool.map(run, (left, right), acts))
            request = requests.get_request(conn, request_id)
            season = seasons.get_season(conn, pair.contest.season.id)
            entry = entries.get_entry(conn, pair.entry)
            now: Model = (request.state, entry.state == "active", season.state == "open")
            assert (now, got) in possible(model, acts), (model, acts, now, got)
            check_scrim(conn, request)
            model = now


def possible(model: Model, acts: tuple[str, str]) -> list[tuple[Model, tuple[bool, bool]]]:
    """The ends of both orders of two acts."""
    found = []
    for order in itertools.permutations((0, 1)):
        at, results = model, [False, False]
        for place in order:
            at, results[place] = model_act(at, acts[place])
        found.append((at, (results[0], results[1])))
    return found


def check_scrim(conn: Connection, request: ScrimRequest) -> None:
    """Only an accepted request has a scrim, and all its games have pinned versions."""
    if request.state != "accepted":
        assert request.scrim_id is None
        return
    assert request.scrim_id is not None
    played = history.list_matches(conn, scrim_id=request.scrim_id)
    assert len(played) == request.games
    pinned = {seat.submission_id for seat in request.seats}
    assert {seat.submission_id for match in played for seat in match.seats} == pinned
    assert all(match.state == "queued" for match in played)


def join_teams(conn: Connection, team_id: TeamId, into: TeamId) -> None:
    """Notes that a team became part of another one."""
    conn.execute(
        "update teams set ended_at = now(), merged_into = %s where id = %s", (into, team_id)
    )


def test_a_block_holds_for_the_team_that_a_blocked_one_became_part_of(pair: Pair) -> None:
    _, blocked = pair.contest.team()
    pair.policy(ScrimPolicy(whom=Whom.ANYONE, blocked_team_ids=frozenset({blocked})))
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
    with pytest.raises(game_limits.ScrimLimitReached, match="requests a day to this team"):
        pair.ask()
    pair.policy(ScrimPolicy(whom=Whom.ANYONE, accepts_automatically=True))
    assert pair.ask().state == "accepted"


def test_policies_count_again_when_nobody_has_to_answer(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when another team used up the games of the day a moment ago."""
    monkeypatch.setattr(requests, "_teams_to_ask", lambda *_: set())
    pair.policy(ScrimPolicy(whom=Whom.ANYONE, games_daily=1, accepts_automatically=True))
    with pytest.raises(game_limits.ScrimLimitReached, match="a day of"):
        pair.ask()


def test_an_agent_that_is_opened_keeps_its_block_list(pair: Pair) -> None:
    conn = pair.contest.conn
    pair.policy(ScrimPolicy(blocked_team_ids=frozenset({pair.asker[1]}), games_daily=7))
    agent_policies.open_or_close_agent(conn, agents.get_agent(conn, pair.theirs), is_open=True)
    policy = agent_policies.get_policy(conn, pair.theirs)
    assert (policy.whom, policy.accepts_automatically) == (Whom.ANYONE, True)
    assert (policy.blocked_team_ids, policy.games_daily) == (frozenset({pair.asker[1]}), 7)


def test_an_agent_of_a_deleted_account_cannot_be_asked(pair: Pair) -> None:
    conn = pair.contest.conn
    pair.policy(ScrimPolicy(whom=Whom.ANYONE, accepts_automatically=True))
    conn.execute("update teams set erased_at = now() where id = %s", (pair.asked[1],))
    (one,) = agent_policies.read_opponents(conn, pair.contest.season, pair.asker[1], [pair.theirs])
    assert one.answer().reason == "it has no active entry in this season"
    with pytest.raises(Conflict, match="no active entry"):
        pair.ask()


def test_forks_offer_agents_whose_policies_accept_them(pair: Pair) -> None:
    conn, season, me = pair.contest.conn, pair.contest.season, pair.asker[1]

    def offered() -> list[AgentId]:
        return [one.agent_id for one in forks.agents_for_forks(conn, season, [me])]

    pair.policy(ScrimPolicy(whom=Whom.ANYONE))
    assert offered() == [pair.mine]
    pair.policy(ScrimPolicy(whom=Whom.LEAGUE, accepts_automatically=True))
    assert offered() == [pair.mine, pair.theirs]
    blocked = frozenset({me})
    pair.policy(ScrimPolicy(whom=Whom.ANYONE, blocked_team_ids=blocked, accepts_automatically=True))
    assert offered() == [pair.mine]
