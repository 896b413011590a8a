"""A tournament reaches its champion although workers, node, scheduler, Redis and Postgres die."""

from __future__ import annotations

import hashlib
import itertools
import json
import time
from pathlib import Path

import pytest

from games import GAMES
from ladder.database import db
from ladder.database.blobs import open_blobs
from ladder.entries import agents, entries
from ladder.entries.records import EntryState
from ladder.enums import ReplayVisibility, Visibility
from ladder.ids import AgentId, SeasonId, TournamentId
from ladder.leagues import leagues, seasons
from ladder.people import users
from ladder.tournaments import course_acts, courses, entrants, tournaments
from ladder.tournaments.formats.records import State
from ladder.tournaments.records import NewTournament
from tests.chaos.fleet import Fleet, wait_for_node
from tests.chaos.test_chaos import Killer, ask, count, left
from tests.sizes import sized
from tests.waiting import wait_until

pytestmark = [pytest.mark.bubblewrap]

ENTRANTS = sized(4, 64)
MORE_PAIRS = sized(1, 2)
"""Further pairs of games of a pairing whose pairs are level."""
STEPS = sized(20, 60)
KILL_EVERY_SECONDS = sized(1, 3)
ACCIDENTS = sized(6, 128)
"""Among the first six are all kinds: scheduler, Redis, Postgres, and three at playing parts."""
LONGEST_SECONDS = sized(1100, 3000)
AGENT = Path(__file__).resolve().parents[2] / "agents" / "hungry_geese" / "random_legal"
FINISHED = "select count(*)::integer from tournaments where state = 'finished'"


def make_season(fleet: Fleet) -> tuple[SeasonId, list[AgentId]]:
    """A two-seat season without rated matches, and agents of as many teams."""
    configuration = GAMES["hungry_geese"].configure({"episodeSteps": STEPS})
    digest = hashlib.sha256(json.dumps(configuration, sort_keys=True).encode()).hexdigest()
    blobs = open_blobs(fleet.blobs_url)
    made = []
    with db.connect(fleet.database_url) as conn:
        owner = users.create_user(conn, "cup owner").id
        league = leagues.create_league(
            conn,
            slug="chaos",
            title="Chaos",
            game="hungry_geese",
            visibility=Visibility.PUBLIC,
            replay_visibility=ReplayVisibility.PUBLIC,
            created_by=owner,
        )
        leagues.set_league_state(conn, league.id, "paused")
        columns = seasons.SeasonColumns(
            configuration=configuration,
            configuration_digest=digest,
            clock={"act_seconds": 1.0, "bank_seconds": 60.0},
            seats=2,
            lease_seconds=6.0,
            max_attempts=3,
        )
        season = seasons.create_season(conn, league.id, columns)
        for number in range(ENTRANTS):
            team = users.create_team(conn, f"Team {number}", f"team-{number}", None)
            agent = agents.create_agent(conn, team.id, f"Agent {number}", f"agent-{number}")
            source = (AGENT / "main.py").read_bytes() + f"\n# {number}\n".encode()
            stored = blobs.put_bytes(source)
            submission, _ = agents.add_submission(
                conn, agent.id, stored.digest, stored.size, "main.py", "", owner
            )
            entries.enter_season(
                conn, season.id, submission.id, profile="python", count_limit=False
            )
            made.append(agent.id)
    return season.id, made


def start_tournament(fleet: Fleet, season_id: SeasonId, made: list[AgentId]) -> TournamentId:
    """A single elimination of all agents, which begins now."""
    stage = {"format": "single_elimination", "series": {"more_pairs": MORE_PAIRS}}
    wanted = NewTournament(title="Cup", plan={"stages": [stage]})
    with db.connect(fleet.database_url) as conn:
        season, league = seasons.get_season_and_league(conn, season_id)
        cup = tournaments.create_tournament(conn, league, season, wanted, None).id
        for agent in made:
            entrants.enter_agent(conn, cup, agents.get_agent(conn, agent), None)
        entrants.lock_entrants(conn, cup, None)
        course_acts.start_tournament(conn, cup, None)
    return cup


def test_a_tournament_finishes_despite_killed_processes(fleet: Fleet) -> None:
    with fleet.printing_logs():
        wait_for_node(fleet)
        season, made = make_season(fleet)
        waits = f"select count(*)::integer from entries where state <> '{EntryState.ACTIVE}'"
        wait_until(lambda: left(fleet, waits) == 0, "all agents are valid", 600 + 10 * ENTRANTS)
        cup = start_tournament(fleet, season, made)
        killer, began = Killer(fleet), time.monotonic()
        accidents = itertools.cycle(
            [
                lambda: fleet.strike("scheduler"),
                fleet.empty_redis,
                killer.strike,
                fleet.restart_postgres,
                *[killer.strike] * 6,
            ]
        )
        done = 0
        while count(fleet, FINISHED) == 0:
            assert time.monotonic() - began < LONGEST_SECONDS, problems(fleet)
            time.sleep(KILL_EVERY_SECONDS)
            if done < ACCIDENTS:
                next(accidents)()
                done += 1
            fleet.start_stalled_again()
        report(fleet, killer, done, time.monotonic() - began)
        check(fleet, cup)


def problems(fleet: Fleet) -> object:
    return ask(fleet, "select state, position, problem from tournaments")


def report(fleet: Fleet, killer: Killer, done: int, seconds: float) -> None:
    ends = ask(fleet, "select ended, fault, count(*) from attempts group by 1, 2 order by 1, 2")
    games = ask(fleet, "select outcome, count(*) from tournament_games group by 1 order by 1")
    print(f"\n{ENTRANTS} entrants, {seconds:.0f} s, {done} accidents, kills {dict(killer.kills)}")
    print(f"games by outcome {games}\nattempts by end {ends}")


def check(fleet: Fleet, cup: TournamentId) -> None:
    """No round is open, no game is lost, doubled, or decided by a fault of ours."""
    doubled = (
        "select pairing, game from tournament_games where outcome = 'counted'"
        " group by 1, 2 having count(*) > 1"
    )
    assert ask(fleet, doubled) == []
    assert count(fleet, "select count(*) from tournament_rounds where finished_at is null") == 0
    open_games = "select count(*) from tournament_games where outcome is null"
    assert count(fleet, open_games) == 0
    blamed = (
        "select verdict, reason from seats t join tournament_games g using (match_id)"
        " where t.verdict <> 'DONE'"
    )
    assert ask(fleet, blamed) == []
    with db.connect(fleet.database_url) as conn:
        found = tournaments.get_tournament(conn, cup)
        inputs = courses.read_inputs(conn, found)
        course = courses.compute(inputs, courses.read_games(conn, cup))
    assert course.finished
    assert course.champion == found.champion
    assert {one.state for one in course.pairings} == {State.FINISHED}
    assert len(course.pairings) == ENTRANTS - 1
