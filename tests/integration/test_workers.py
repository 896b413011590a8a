"""A worker's attempt at a match: results, refusals, and faults without blame."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import tarfile
import threading
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis

from games.episode import Episode, from_bytes
from games.frames import LiveFrames, frames_json
from ladder.database.blobs import Blobs
from ladder.entries import deadlines, entries
from ladder.entries.records import EntryState
from ladder.enums import VoidCause
from ladder.ids import MatchId
from ladder.matches import history, lease, live_stream, matches, workers
from ladder.scrims import forks
from ladder.scrims.forks import ForkPoint
from ladder.scrims.scrims import Asker, Draws
from sandbox.match import loans
from sandbox.match.match_record import read_log
from tests.integration import real_node
from tests.integration.ladder.contest import Contest, hello
from tests.integration.real_node import RealNode
from tests.integration.worker_stage import EAST, SLOW, enter, station_at
from tests.integration.worker_stage import blobs as blobs
from tests.integration.worker_stage import conn as conn
from tests.integration.worker_stage import contest as contest
from tests.waiting import wait_until
from workers import liveness, match_attempt
from workers.lease_renewal import held_leases

RANDOM = b"import random\ndef agent(o):\n    return random.choice(['NORTH', 'EAST'])\n"


pytestmark = pytest.mark.bubblewrap


def archive(name: str) -> bytes:
    """A tar.gz with a main.py and one entry of this name."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        for each in ("main.py", name):
            info = tarfile.TarInfo(each)
            info.size = len(EAST)
            tar.addfile(info, io.BytesIO(EAST))
    return content.getvalue()


def test_a_healthy_agent_passes_validation(
    node: RealNode, contest: Contest, blobs: Blobs, worker_database_url: str, tmp_path: Path
) -> None:
    workers.register_worker(contest.conn, hello("w1", profiles=("python",)))
    entry_id, match_id = enter(contest, blobs, EAST)
    worker_context = station_at(node.socket, tmp_path, worker_database_url, blobs)
    assert match_attempt.play_match(worker_context, match_id) == "accepted"
    assert entries.get_entry(contest.conn, entry_id).state is EntryState.ACTIVE
    match = history.get_match(contest.conn, match_id)
    assert blobs.exists(match.episodes[0].replay_digest)
    assert match.episodes[0].steps == 29
    log = match.seats[0].log_digest
    assert log is not None
    document = json.loads(gzip.decompress(b"".join(blobs.open(log))))
    assert document["format"] == "peck-log/1"
    recorded = contest.conn.execute(
        "select image_digest from attempts where match_id = %s", (match_id,)
    ).fetchone()
    assert recorded == (loans.node_hello(node.socket).image_digests["python"],)
    assert held_leases(tmp_path) == []
    assert match_attempt.play_match(worker_context, match_id) == "not_ours"


def test_an_agent_without_return_passes_validation_with_a_warning(
    node: RealNode, contest: Contest, blobs: Blobs, worker_database_url: str, tmp_path: Path
) -> None:
    workers.register_worker(contest.conn, hello("w1", profiles=("python",)))
    entry_id, match_id = enter(contest, blobs, b"def agent(o):\n    'NORTH'\n")
    worker_context = station_at(node.socket, tmp_path, worker_database_url, blobs)
    assert match_attempt.play_match(worker_context, match_id) == "accepted"
    entry = entries.get_entry(contest.conn, entry_id)
    assert entry.state is EntryState.ACTIVE
    assert re.fullmatch(
        r'Your agent answered None in all \d+ turns; the rules played "NORTH" for it\.'
        r" Does the function return its action\?",
        str(entry.reason),
    )


def test_one_message_brings_all_matches_of_its_queue_while_time_is_left(
    node: RealNode,
    contest: Contest,
    blobs: Blobs,
    worker_database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workers.register_worker(contest.conn, hello("w1", profiles=("python",)))
    first, *_ = (enter(contest, blobs, EAST + b"# %d" % n)[1] for n in range(3))
    worker_context = station_at(node.socket, tmp_path, worker_database_url, blobs)
    monkeypatch.setattr(match_attempt, "PLAY_ON_SECONDS", 0.0)
    assert match_attempt.play_matches(worker_context, first) == ["accepted"]
    monkeypatch.setattr(match_attempt, "PLAY_ON_SECONDS", 3600.0)
    second = contest.conn.execute("select id from matches where state = 'queued'").fetchone()
    assert second is not None
    outcomes = match_attempt.play_matches(worker_context, MatchId(second[0]))
    assert outcomes == ["accepted", "accepted", "not_ours"]


def test_a_running_match_is_published_and_a_silent_redis_costs_it_nothing(
    node: RealNode,
    contest: Contest,
    blobs: Blobs,
    worker_database_url: str,
    tmp_path: Path,
    redis_url: str,
) -> None:
    workers.register_worker(contest.conn, hello("w1", profiles=("python",)))
    for address in (redis_url, f"unix://{tmp_path}/nobody.sock"):
        _, match_id = enter(contest, blobs, EAST)
        worker_context = station_at(node.socket, tmp_path, worker_database_url, blobs)
        settings = worker_context.settings.model_copy(update={"redis_url": address})
        outcome = match_attempt.play_match(replace(worker_context, settings=settings), match_id)
        assert outcome == "accepted"
        if address == redis_url:
            published = match_id
    client: Any = redis.Redis.from_url(redis_url)
    key = live_stream.stream_key(published, 1)

    def entries_sent() -> list[dict[str, Any]]:
        return [json.loads(one[live_stream.FIELD]) for _, one in client.xrange(key)]

    wait_until(lambda: {"over": True} in entries_sent(), "the end is published")
    start, *more = [one for one in entries_sent() if "steps" in one]
    frames = LiveFrames(start["start"])
    for step in [*start["steps"], *(step for one in more for step in one["steps"])]:
        frames.add(step)
    digest = history.get_match(contest.conn, published).episodes[0].replay_digest
    replay = frames_json(from_bytes(b"".join(blobs.open(digest))))
    streamed = json.loads(frames.cut(0, len(frames)))
    assert streamed["frames"] == json.loads(json.dumps(replay["frames"]))
    assert streamed["steps"] == json.loads(json.dumps(replay["steps"]))
    assert 0 < client.ttl(key) <= live_stream.KEPT_AFTER_SECONDS


def test_a_bad_archive_is_rejected_with_the_entry_named(
    node: RealNode, contest: Contest, blobs: Blobs, worker_database_url: str, tmp_path: Path
) -> None:
    workers.register_worker(contest.conn, hello("w1", profiles=("python",)))
    entry_id, match_id = enter(contest, blobs, archive("../../etc/evil.py"))
    worker_context = station_at(node.socket, tmp_path, worker_database_url, blobs)
    assert match_attempt.play_match(worker_context, match_id) == "accepted"
    entry = entries.get_entry(contest.conn, entry_id)
    assert entry.state is EntryState.REJECTED
    assert entry.reason is not None
    assert "../../etc/evil.py" in entry.reason
    match = history.get_match(contest.conn, match_id)
    assert {seat.verdict for seat in match.seats} == {"ERROR"}


def test_an_upload_without_main_py_does_not_count(
    node: RealNode, contest: Contest, blobs: Blobs, worker_database_url: str, tmp_path: Path
) -> None:
    workers.register_worker(contest.conn, hello("w1", profiles=("python",)))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as zipped:
        zipped.writestr("my_agent/main.py", EAST)
    entry_id, match_id = enter(contest, blobs, content.getvalue())
    entry = entries.get_entry(contest.conn, entry_id)
    used = [deadlines.upload_limits(contest.conn, entry.season_id, entry.team_id).used]
    worker_context = station_at(node.socket, tmp_path, worker_database_url, blobs)
    assert match_attempt.play_match(worker_context, match_id) == "accepted"
    used += [deadlines.upload_limits(contest.conn, entry.season_id, entry.team_id).used]
    assert used == [1, 0]
    reason = entries.get_entry(contest.conn, entry_id).reason or ""
    assert "there is no main.py at the root" in reason
    assert reason.endswith(
        "; the upload does not count against the daily limit, so correct it and send it again"
    )


def test_a_raising_agent_is_rejected_with_its_traceback(
    node: RealNode, contest: Contest, blobs: Blobs, worker_database_url: str, tmp_path: Path
) -> None:
    workers.register_worker(contest.conn, hello("w1", profiles=("python",)))
    entry_id, match_id = enter(contest, blobs, b"def agent(o):\n    return o['no such key']\n")
    worker_context = station_at(node.socket, tmp_path, worker_database_url, blobs)
    assert match_attempt.play_match(worker_context, match_id) == "accepted"
    entry = entries.get_entry(contest.conn, entry_id)
    assert entry.state is EntryState.REJECTED
    assert entry.reason is not None
    assert "no such key" in entry.reason
    assert deadlines.upload_limits(contest.conn, entry.season_id, entry.team_id).used == 1
    log = history.get_match(contest.conn, match_id).seats[0].log_digest
    assert log is not None
    assert "KeyError" in json.loads(gzip.decompress(b"".join(blobs.open(log))))["traceback"]


def test_a_fork_continues_the_record_in_real_boxes(
    node: RealNode, contest: Contest, blobs: Blobs, worker_database_url: str, tmp_path: Path
) -> None:
    workers.register_worker(contest.conn, hello("w1", profiles=("python",)))
    entry_id, match_id = enter(contest, blobs, RANDOM)
    worker_context = station_at(node.socket, tmp_path, worker_database_url, blobs)
    assert match_attempt.play_match(worker_context, match_id) == "accepted"
    match = history.get_match(contest.conn, match_id)
    record = from_bytes(b"".join(blobs.open(match.episodes[0].replay_digest)))
    step = len(record.steps) // 2
    team, user = match.seats[0].team_id, contest.host
    lineup = [entries.get_entry(contest.conn, entry_id).submission_id] * 4

    def forked(moves: dict[int, list[str]]) -> Episode:
        point = ForkPoint(match, 0, step, Draws.RECORD, moves)
        scrim = forks.request_fork(
            contest.conn, Asker(contest.season, team, user), point, lineup, 1
        )
        (game,) = history.list_matches(contest.conn, scrim_id=scrim.id)
        assert match_attempt.play_match(worker_context, game.id) == "accepted"
        played, fork = history.get_match(contest.conn, game.id), scrim.fork
        assert fork is not None
        assert (played.is_fork, fork.match_id, fork.step) == (True, match_id, step)
        return from_bytes(b"".join(blobs.open(played.episodes[0].replay_digest)))

    def moves_and_chance(episode: Episode) -> list[object]:
        return [(one.moves, one.chance) for one in episode.steps]

    assert moves_and_chance(forked({})) == moves_and_chance(record)
    seat = history.list_matches(contest.conn)[0].seats[1]
    same = read_log(b"".join(blobs.open(str(seat.log_digest))))["record"]
    asked = sum(one.moves[seat.seat] is not None for one in record.steps[: step + 1])
    assert same == {"compared": asked, "different": 0, "first": []}
    mover = next(n for n, move in enumerate(record.steps[step].moves) if move is not None)
    other = "EAST" if record.steps[step].moves[mover] != "EAST" else "WEST"
    changed = forked({mover: [other]})
    assert changed.steps[:step] == record.steps[:step]
    assert changed.steps[step].moves[mover] == other


def test_an_unreachable_node_costs_no_attempt(
    contest: Contest,
    blobs: Blobs,
    worker_database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(match_attempt, "NODE_PAUSE_SECONDS", 0.0)
    workers.register_worker(contest.conn, hello("w1", profiles=("python",)))
    _, match_id = enter(contest, blobs, EAST)
    worker_context = station_at(tmp_path / "nobody.sock", tmp_path, worker_database_url, blobs)
    before = time.monotonic()
    assert match_attempt.play_match(worker_context, match_id) == "no_node"
    assert liveness.last_answer_at() >= before, "waiting for a node is not deafness"
    assert history.get_match(contest.conn, match_id).attempt == 0


def test_a_match_is_queued_again_after_its_node_dies(
    contest: Contest, blobs: Blobs, worker_database_url: str, tmp_path: Path
) -> None:
    workers.register_worker(contest.conn, hello("w1", profiles=("python",)))
    entry_id, match_id = enter(contest, blobs, SLOW)
    with real_node.running("bubblewrap") as doomed:
        worker_context = station_at(doomed.socket, tmp_path, worker_database_url, blobs)
        outcomes: list[str] = []
        thread = threading.Thread(
            target=lambda: outcomes.append(match_attempt.play_match(worker_context, match_id))
        )
        thread.start()
        wait_until(lambda: len(held_leases(tmp_path)) == 1, "the match is played")
        doomed.kill()
        thread.join(60)
    assert outcomes == ["host_fault"]
    match = history.get_match(contest.conn, match_id)
    assert (match.state, match.attempt) == ("queued", 1)
    assert entries.get_entry(contest.conn, entry_id).state is EntryState.PENDING


@pytest.mark.parametrize("ends", ["lapsed", "cancelled"])
def test_only_a_lease_that_lapsed_is_logged_as_lost(
    node: RealNode,
    contest: Contest,
    blobs: Blobs,
    worker_database_url: str,
    tmp_path: Path,
    ends: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    workers.register_worker(contest.conn, hello("w1", profiles=("python",)))
    _, match_id = enter(contest, blobs, SLOW)
    worker_context = station_at(node.socket, tmp_path, worker_database_url, blobs)
    outcomes: list[str] = []
    thread = threading.Thread(
        target=lambda: outcomes.append(match_attempt.play_match(worker_context, match_id))
    )
    thread.start()
    wait_until(lambda: len(held_leases(tmp_path)) == 1, "the match is played")
    if ends == "lapsed":  # no thread renews it, as on a machine that was stopped for a minute
        os.utime(tmp_path / "leases" / f"{match_id}.1", (1, 1))
        contest.conn.execute("update matches set lease_until = now() where id = %s", (match_id,))
        assert lease.reap_lapsed_leases(contest.conn).requeued == 1
    else:
        matches.void_matches(contest.conn, [match_id], VoidCause.CALLED_OFF, "it was cancelled")
    thread.join(60)
    assert outcomes == ["late"]
    assert ("lease_lost" in capsys.readouterr().err) == (ends == "lapsed")


def test_a_missing_bundle_is_a_worker_fault(
    node: RealNode, contest: Contest, blobs: Blobs, worker_database_url: str, tmp_path: Path
) -> None:
    workers.register_worker(contest.conn, hello("w1", profiles=("python",)))
    _, match_id = enter(contest, blobs, EAST)
    blobs.delete(blobs.put_bytes(EAST).digest)
    worker_context = station_at(node.socket, tmp_path, worker_database_url, blobs)
    assert match_attempt.play_match(worker_context, match_id) == "worker_fault"
    row = contest.conn.execute(
        "select ended, fault, detail from attempts where match_id = %s", (match_id,)
    ).fetchone()
    assert row is not None
    assert row[:2] == ("fault", "worker")
    assert "NotFound" in row[2]


def test_workers_may_not_query_tables(worker_database_url: str) -> None:
    for query in ("select * from tokens", "select * from matches", "update seats set placement=1"):
        with (
            psycopg.connect(worker_database_url) as conn,
            pytest.raises(psycopg.Error, match="per"),
        ):
            conn.execute(query.encode())
