"""Batches of scrims: what they take, their matrix, and what a cancel gives back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ladder.database.db import Connection
from ladder.entries import entries
from ladder.errors import Conflict, Invalid
from ladder.ids import AgentId
from ladder.matches import history
from ladder.notices import inbox
from ladder.scrims import batches, policies, scrims
from ladder.scrims.batches import BatchKind, NewBatch
from ladder.scrims.scrims import Asker
from services.scrims.pages import results_csv
from tests.integration.ladder.contest import Contest, make_contest


@pytest.fixture
def contest(conn: Connection) -> Contest:
    return make_contest(conn, seats=2)


def open_agent(contest: Contest, *, is_open: bool = True) -> AgentId:
    agent = contest.agent()
    contest.active(agent)
    if is_open:
        contest.open_for_scrims(agent)
    return agent


def gauntlet(contest: Contest, opponents: list[AgentId], **terms: Any) -> tuple[Asker, NewBatch]:
    user, team = contest.team()
    mine = contest.agent(team)
    contest.active(mine)
    defaults: dict[str, Any] = {
        "kind": BatchKind.GAUNTLET,
        "agents": [mine, *opponents],
        "games": 2,
    }
    batch = NewBatch(season=contest.season.id, **{**defaults, **terms})
    return Asker(contest.season, team, user), batch


def test_a_plan_says_what_a_batch_takes_and_who_refuses(contest: Contest) -> None:
    asked = gauntlet(contest, [open_agent(contest), open_agent(contest, is_open=False)])
    plan = batches.plan_batch(contest.conn, *asked)
    assert (plan.games, plan.today.used, plan.today.left) == (2, 0, 500)
    assert [each.refusal is None for each in plan.pairings] == [True, False]
    with pytest.raises(Conflict, match=r"leave a.* out: it accepts no scrim by itself"):
        batches.start_batch(contest.conn, *asked)


def test_a_batch_over_the_daily_limit_starts_nothing(contest: Contest) -> None:
    asked = gauntlet(contest, [open_agent(contest), open_agent(contest)])
    asker, batch = asked
    asker = replace(asker, season=asker.season.model_copy(update={"scrim_games_daily": 3}))
    with pytest.raises(policies.ScrimLimitReached, match="of which this batch takes 4"):
        batches.start_batch(contest.conn, asker, batch)
    assert batches.list_batches(contest.conn, [asker.team_id]) == []


def test_the_matrix_counts_each_pairing(contest: Contest) -> None:
    conn = contest.conn
    asked = gauntlet(contest, [open_agent(contest), open_agent(contest)])
    made = batches.start_batch(conn, *asked)
    one, two = scrims.list_batch_scrims(conn, made.id)
    first, second = reversed(history.list_matches(conn, scrim_id=one.id))
    contest.play(first.id, [1, 2])
    contest.play(second.id, [1, 1])  # a tie
    for match in history.list_matches(conn, scrim_id=two.id):
        seats = [seat.agent_id for seat in match.seats]
        contest.play(match.id, [2 if agent == asked[1].agents[0] else 1 for agent in seats])
    results = batches.read_results(conn, made)
    assert [(cell.score, cell.finished_games) for cell in results.cells] == [(0.75, 2), (0.0, 2)]
    assert (results.games, results.finished_games, results.seconds_left) == (4, 4, None)
    totals = {one.agent_id: (one.points, one.games) for one in results.totals}
    assert totals[AgentId(asked[1].agents[0])] == (1.5, 4)
    assert batches.get_batch(conn, made.id).ended_at is not None
    kinds = [notice.kind for notice in inbox.list_notices(conn, asked[0].user_id, None, 20)]
    assert kinds.count("batch_finished") == 1  # type: ignore[arg-type]
    assert "scrim_finished" not in kinds
    header, *rows = results_csv(results).splitlines()
    assert header.startswith("first,first_version,second")
    assert [row.split(",")[8] for row in rows] == ["0.75", "0.0"]


def test_a_cancelled_batch_gives_games_back_that_had_not_begun(contest: Contest) -> None:
    conn = contest.conn
    asked = gauntlet(contest, [open_agent(contest), open_agent(contest)])
    made = batches.start_batch(conn, *asked)
    one, _ = scrims.list_batch_scrims(conn, made.id)
    contest.play(history.list_matches(conn, scrim_id=one.id)[0].id, [1, 2])
    contest.claim(history.list_matches(conn, scrim_id=one.id)[1].id)
    assert policies.games_today(conn, contest.season, asked[0].team_id).used == 4
    batches.cancel_batch(conn, made.id)
    assert policies.games_today(conn, contest.season, asked[0].team_id).used == 2
    assert {one.state for one in scrims.list_batch_scrims(conn, made.id)} == {"cancelled"}
    assert batches.cancel_batch(conn, made.id) == batches.get_batch(conn, made.id)


def test_versions_play_each_other_once_per_pair(contest: Contest) -> None:
    conn = contest.conn
    user, team = contest.team()
    agent = contest.agent(team)
    versions = [entries.get_entry(conn, contest.active(agent)).submission_id for _ in range(3)]
    asker = Asker(contest.season, team, user)
    batch = NewBatch(season=contest.season.id, kind=BatchKind.VERSIONS, agents=[*versions], games=1)
    made = batches.start_batch(conn, asker, batch)
    pairs = [scrim.lineup for scrim in scrims.list_batch_scrims(conn, made.id)]
    assert pairs == [(versions[0], versions[1]), (versions[0], versions[2]), tuple(versions[1:])]
    with pytest.raises(Invalid, match=r"name a\d+ \d+ once"):
        batches.start_batch(
            conn, asker, batch.model_copy(update={"agents": [versions[0], versions[0]]})
        )
    with pytest.raises(Invalid, match="must be your own"):
        batches.start_batch(
            conn, asker, batch.model_copy(update={"agents": [versions[0], open_agent(contest)]})
        )
