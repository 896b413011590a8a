"""A season of short matches, bundles that enter it, and the context of a worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from games import GAMES
from ladder.database import db
from ladder.database.blobs import Blobs, MatchBlobs, open_blobs
from ladder.database.db import Connection
from ladder.entries import agents, entries
from ladder.ids import EntryId, MatchId
from ladder.leagues import seasons
from ladder.settings import Settings
from tests.integration.ladder.contest import Contest, digest, make_contest
from workers.match_attempt import Slots, WorkerContext

EAST = b"def agent(observation, configuration):\n    return 'EAST'\n"
SLOW = b"import time\ndef agent(observation):\n    time.sleep(0.2)\n    return 'EAST'\n"


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    with db.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def contest(conn: Connection) -> Contest:
    made = make_contest(conn)
    configuration = GAMES["hungry_geese"].configure({"episodeSteps": 30})
    season = seasons.create_season(
        conn,
        made.league.id,
        seasons.SeasonColumns(
            configuration=configuration,
            configuration_digest=digest("short"),
            clock={"act_seconds": 1.0, "bank_seconds": 5.0},
            seats=4,
        ),
    )
    return Contest(conn, made.host, made.league, season)


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    (tmp_path / "blobs").mkdir()
    return open_blobs((tmp_path / "blobs").as_uri())


def station_at(socket: Path, run_dir: Path, worker_url: str, blobs: Blobs) -> WorkerContext:
    settings = Settings(worker_database_url=worker_url, run_dir=run_dir, node_socket=socket)
    return WorkerContext(settings, blobs, "w1", 4, Slots(1))


def enter(contest: Contest, blobs: MatchBlobs, bundle: bytes) -> tuple[EntryId, MatchId]:
    """A pending entry of this upload, and its validation match."""
    stored = blobs.put_bytes(bundle)
    submission, _ = agents.add_submission(
        contest.conn, contest.agent(), stored.digest, stored.size, "main.py", "", None
    )
    entry, _, _ = entries.enter_season(
        contest.conn, contest.season.id, submission.id, profile="python"
    )
    assert entry.validation_match_id is not None
    return entry.id, entry.validation_match_id
