"""A mirrored pair in real boxes: by a worker, and by a local run."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from games import GAMES
from games.episode import from_bytes
from ladder.database import db
from ladder.database.blobs import open_blobs
from ladder.database.db import Connection
from ladder.entries import agents, entries
from ladder.enums import MatchKind
from ladder.ids import MatchId
from ladder.leagues import seasons
from ladder.matches import history, matches, workers
from ladder.matches.records import LineupSeat
from sandbox.match import local_match
from sandbox.match.clock import Clock
from tests.integration.ladder.contest import Contest, digest, hello, make_contest
from tests.integration.real_node import RealNode
from tests.integration.worker_stage import station_at
from workers import match_attempt

pytestmark = pytest.mark.bubblewrap
GOLAD = GAMES["golad"]
SMALL = GOLAD.configure({"width": 6, "height": 6, "startingCells": 10, "maxRounds": 3})
PASS = b"def agent(observation):\n    print(observation['you'])\n    return 'pass'\n"
LOSE = b"def agent(observation):\n    raise ValueError('no idea')\n"


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    with db.connect(database_url, autocommit=True) as connection:
        yield connection


def duel(conn: Connection) -> Contest:
    """A season of small boards."""
    made = make_contest(conn, seats=2)
    conn.execute("update leagues set game = 'golad' where id = %s", (made.league.id,))
    season = seasons.create_season(
        conn,
        made.league.id,
        seasons.SeasonColumns(
            configuration=SMALL,
            configuration_digest=digest("small"),
            clock=dict(GOLAD.clock),
            seats=2,
        ),
    )
    return Contest(conn, made.host, made.league, season)


def test_a_worker_reports_a_mirrored_pair_as_one_result(
    node: RealNode, conn: Connection, worker_database_url: str, tmp_path: Path
) -> None:
    contest = duel(conn)
    workers.register_worker(conn, hello("w1", profiles=("python",)))
    (tmp_path / "blobs").mkdir()
    blobs = open_blobs((tmp_path / "blobs").as_uri())
    worker_context = station_at(node.socket, tmp_path, worker_database_url, blobs)
    lineup = []
    for bundle in (PASS, LOSE):
        stored = blobs.put_bytes(bundle)
        made, _ = agents.add_submission(
            conn, contest.agent(), stored.digest, stored.size, "main.py", "", None
        )
        entry, _, _ = entries.enter_season(conn, contest.season.id, made.id, profile="python")
        assert entry.validation_match_id is not None
        if bundle is PASS:
            assert match_attempt.play_match(worker_context, entry.validation_match_id) == "accepted"
        else:  # otherwise it would fail validation
            conn.execute("update entries set state = 'active' where id = %s", (entry.id,))
        lineup.append(entry.id)
    seats = [
        LineupSeat(each.id, each.submission_id, each.agent_id, each.team_id, "python")
        for each in (entries.get_entry(conn, entry_id) for entry_id in lineup)
    ]
    match_id: MatchId = matches.create_match(
        conn, season=contest.season, kind=MatchKind.RATED, lineup=seats
    )
    assert match_attempt.play_match(worker_context, match_id) == "accepted"
    match = history.get_match(conn, match_id)
    one, two = (from_bytes(b"".join(blobs.open(each.replay_digest))) for each in match.episodes)
    assert one.chance == two.chance
    assert one.verdicts == two.verdicts[::-1] == ("DONE", "ERROR")
    assert [seat.verdict for seat in match.seats] == ["DONE", "ERROR"]
    assert match.seats[0].reward == one.rewards[0] + two.rewards[1]  # type: ignore[operator]
    assert match.seats[0].log_digest is not None
    log = json.loads(gzip.decompress(b"".join(blobs.open(match.seats[0].log_digest))))
    told = [(move.get("episode", 0), move["stdout"]) for move in log["moves"] if move["stdout"]]
    assert {(0, "0\n"), (1, "1\n")} == set(told)


def test_a_local_mirrored_pair_is_one_game_with_two_replays(node: RealNode, tmp_path: Path) -> None:
    paths = []
    for name, source in (("still", PASS), ("lost", LOSE)):
        (tmp_path / f"{name}.py").write_bytes(source)
        paths.append(tmp_path / f"{name}.py")
    clock = Clock.from_json(dict(GOLAD.clock))
    plan = local_match.LocalPlan(GOLAD, SMALL, clock, tuple(paths), 1, bytes(16), profile="python")
    (result,) = local_match.play_games(
        plan, local_match.prepare_bundles(plan, tmp_path), node.socket
    )
    files = local_match.save_files(result, plan, tmp_path / "out")
    one, two = (
        from_bytes(Path(files[name]).read_bytes()) for name in ("replay", "mirrored_replay")
    )
    assert (one.chance, one.verdicts) == (two.chance, two.verdicts[::-1])
    assert "kaggle_replay" not in files
    document = local_match.result_json(result, plan, files)
    assert document["steps"] == len(one.steps) + len(two.steps)
    assert local_match.summarize_agents(plan, [result])[1].faults == 1
