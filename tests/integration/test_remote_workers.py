"""Workers that play remote agents: their announcements, and the results of their matches."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from egress.address import parse
from games import GAMES
from ladder.database import db
from ladder.database.blobs import MatchBlobs, open_blobs
from ladder.database.db import Connection
from ladder.entries import agents, entries
from ladder.entries.records import EntryState
from ladder.enums import MatchState
from ladder.ids import EntryId, MatchId
from ladder.leagues import leagues, seasons
from ladder.matches import history, workers
from ladder.settings import Settings
from sandbox.errors import HostFault
from sandbox.listener import Listener, open_listening_socket
from sandbox.remote.manifest import write_manifest
from tests.integration.ladder.contest import Contest, digest, hello, make_contest
from tests.integration.ladder.remote_contest import wait_seconds
from tests.integration.sandbox import remotes
from tests.integration.sandbox.remotes import Daemon, Servers, ok
from workers import main, match_attempt, tasks
from workers.match_attempt import Slots, WorkerContext


@pytest.fixture(scope="module")
def folder(server_state: Path) -> Path:
    made = server_state / "remotes"
    made.mkdir(mode=0o711)
    return made


@pytest.fixture(scope="module")
def node(folder: Path) -> Iterator[Path]:
    """A node that announces its abilities and gets no request: all seats are remote."""
    digests = {"python": "none"}
    told = {"node": "node-none", "launcher": "none", "profiles": ["python"], "lacks": []}
    connections = Listener(
        _lend_nothing, {**told, "image_digests": digests}, frozenset({os.getuid()})
    )
    with open_listening_socket(folder / "node.sock") as listener:
        connections.start_accepting(listener)
        yield folder / "node.sock"
        listener.shutdown(socket.SHUT_RDWR)
    connections.hang_up()


def _lend_nothing(line: socket.socket, message: dict[str, Any], bundles: list[int]) -> None:
    raise HostFault("this node has no boxes")


@pytest.fixture(scope="module")
def servers(folder: Path) -> Iterator[Servers]:
    made = Servers(folder)
    yield made
    made.close()


@pytest.fixture(scope="module")
def daemon(folder: Path) -> Iterator[Daemon]:
    with remotes.running(folder, remotes.TESTERS) as found:
        yield found


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    with db.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def contest(conn: Connection) -> Contest:
    made = make_contest(conn)
    league = leagues.create_league(
        conn,
        slug="snakes",
        title="Snakes",
        game="battlesnake",
        visibility="public",
        replay_visibility="public",
        created_by=made.host,
    )
    season = seasons.create_season(
        conn,
        league.id,
        seasons.SeasonColumns(
            configuration=GAMES["battlesnake"].configure({"maxTurns": 5}),
            configuration_digest=digest("snakes"),
            clock={"act_seconds": 1.0, "bank_seconds": 0.0},
            seats=2,
            remote_agents=True,
            daily_limit=100,
        ),
    )
    workers.register_worker(conn, hello("w1", profiles=("python", "remote")))
    return replace(made, league=league, season=season)


@pytest.fixture
def worker_context(
    node: Path, daemon: Daemon, worker_database_url: str, tmp_path: Path
) -> WorkerContext:
    (tmp_path / "blobs").mkdir()
    blobs = open_blobs((tmp_path / "blobs").as_uri())
    settings = Settings(
        worker_database_url=worker_database_url,
        run_dir=tmp_path,
        node_socket=node,
        remote_socket=daemon.socket,
        blobs_url=(tmp_path / "blobs").as_uri(),
    )
    return WorkerContext(settings, blobs, "w1", 2, Slots(1))


def enter(contest: Contest, blobs: MatchBlobs, url: str) -> tuple[EntryId, MatchId]:
    """A pending entry of this address, and its validation match."""
    stored = blobs.put_bytes(write_manifest(parse(url), "1"))
    submission, _ = agents.add_submission(
        contest.conn, contest.agent(), stored.digest, stored.size, "url", "", None, url=url
    )
    entry = entries.enter_season(contest.conn, contest.season.id, submission.id)[0]
    assert entry.validation_match_id is not None
    return entry.id, entry.validation_match_id


def test_an_absent_or_mute_remote_agent_gets_a_strike(
    contest: Contest, worker_context: WorkerContext, servers: Servers
) -> None:
    moods = {"/here": "well", "/there": "well"}

    def moody(line: socket.socket, path: str, body: bytes) -> None:
        prefix = next(one for one in moods if path.startswith(one))
        if moods[prefix] == "mute" and path.endswith("/move"):
            line.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
        elif moods[prefix] == "away":
            line.shutdown(socket.SHUT_RDWR)
        else:
            ok(line)

    url = servers.listen(moody)
    made = [enter(contest, worker_context.blobs, url + prefix) for prefix in moods]
    for entry, match_id in made:
        assert match_attempt.play_match(worker_context, match_id) == "accepted"
        assert entries.get_entry(contest.conn, entry).state is EntryState.ACTIVE
    one, other = (entry for entry, _ in made)

    def rated() -> tuple[str, MatchId, list[int]]:
        contest.conn.execute("update entries set struck_at = struck_at - interval '1 minute'")
        match_id = contest.rated(one, other)
        outcome = match_attempt.play_match(worker_context, match_id)
        both = [entries.get_entry(contest.conn, entry).strikes for entry in (one, other)]
        return outcome, match_id, both

    moods["/here"] = "mute"
    outcome, match_id, strikes = rated()
    assert (outcome, strikes) == ("accepted", [1, 0])
    row = contest.conn.execute(
        "select node, image_digest from attempts where match_id = %s", (match_id,)
    ).fetchone()
    assert row is not None
    assert row[0].startswith("remote-")
    assert row[1] == "remote"
    moods["/here"] = "away"
    outcome, match_id, strikes = rated()
    assert (outcome, strikes) == ("away", [2, 0])
    assert history.get_match(contest.conn, match_id).state is MatchState.VOID
    moods["/here"] = "well"
    outcome, _, strikes = rated()
    assert (outcome, strikes) == ("accepted", [2, 0]), "ten answered matches remove a strike"


def test_an_agent_absent_after_three_strikes_loses_and_is_paused(
    contest: Contest, worker_context: WorkerContext, servers: Servers
) -> None:
    is_away = False

    def leaving(line: socket.socket, path: str, body: bytes) -> None:
        if is_away and path.startswith("/leaves"):
            line.shutdown(socket.SHUT_RDWR)
        else:
            ok(line)

    url = servers.listen(leaving)
    made = [enter(contest, worker_context.blobs, url + prefix) for prefix in ("/leaves", "/stays")]
    for _, match_id in made:
        assert match_attempt.play_match(worker_context, match_id) == "accepted"
    (away, _), (other, _) = made
    contest.conn.execute("update entries set strikes = 3, tries = 1 where id = %s", (away,))
    is_away = True
    rated = contest.rated(away, other)
    assert match_attempt.play_match(worker_context, rated) == "accepted"
    match = history.get_match(contest.conn, rated)
    assert [seat.verdict for seat in match.seats] == ["ERROR", "DONE"]
    found = entries.get_entry(contest.conn, away)
    assert (found.state, found.strikes) == (EntryState.PAUSED, 3)
    assert 3590 < wait_seconds(contest, away) <= 3600


def test_an_agent_absent_after_the_first_game_of_a_pair_loses(
    contest: Contest,
    worker_context: WorkerContext,
    servers: Servers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(type(GAMES["battlesnake"]), "mirrored", True)
    asked: list[str] = []

    def leaving(line: socket.socket, path: str, body: bytes) -> None:
        if path.startswith("/leaves") and not path.endswith(("/start", "/move", "/end")):
            asked.append(path)
            if len(asked) == 6:  # two games of its validation, in both seats, and one rated game
                line.shutdown(socket.SHUT_RDWR)
                return
        ok(line)

    url = servers.listen(leaving)
    made = [enter(contest, worker_context.blobs, url + prefix) for prefix in ("/leaves", "/stays")]
    for _, match_id in made:
        assert match_attempt.play_match(worker_context, match_id) == "accepted"
    rated = contest.rated(*(entry for entry, _ in made))
    assert match_attempt.play_match(worker_context, rated) == "accepted"
    match = history.get_match(contest.conn, rated)
    assert [seat.verdict for seat in match.seats] == ["ERROR", "DONE"]
    # The start positions decide the first place in the first game.
    assert match.seats[1].placement == 1


def test_an_address_without_an_answer_is_rejected(
    contest: Contest, worker_context: WorkerContext
) -> None:
    entry, match_id = enter(contest, worker_context.blobs, "http://10.0.0.1")
    assert match_attempt.play_match(worker_context, match_id) == "accepted"
    found = entries.get_entry(contest.conn, entry)
    assert found.state is EntryState.REJECTED
    assert "The remote agent did not answer: GET /: 10.0.0.1 is private" in (found.reason or "")


def test_a_worker_serves_remote_agents_while_their_daemon_answers(
    conn: Connection, worker_context: WorkerContext, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "worker_context", None)
    apart = folder / "apart"
    apart.mkdir(mode=0o711)
    settings = worker_context.settings.model_copy(update={"remote_socket": apart / "remote.sock"})
    greet = main.prepare_worker(settings, ["play.cpu"], 1, is_machine=False)._greet

    def served() -> set[str]:
        greet()
        (worker,) = workers.live_workers(conn)
        assert set(worker.image_digests) == set(worker.profiles)
        return set(worker.profiles)

    assert served() == {"python"}
    with remotes.running(apart, remotes.TESTERS) as own:
        assert served() == {"python", "remote"}
        assert served() == {"python", "remote"}
        own.process.kill()
        own.process.wait()
        assert served() == {"python"}


def test_a_worker_sends_no_heartbeat_before_it_is_due(
    conn: Connection, worker_context: WorkerContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "worker_context", None)
    conn.execute(
        "insert into workers (id, host, node, queues, slots, profiles)"
        " select n, '', '', '{}', 0, '{}' from generate_series(1, 50000) as n"
    )
    conn.execute("vacuum analyze workers")  # so many workers pause for 20 seconds
    settings = worker_context.settings
    greet = main.prepare_worker(settings, ["play.cpu"], 1, is_machine=False)._greet

    def seen() -> object:
        greet()
        return conn.execute("select seen_at from workers where slots = 1").fetchone()

    registered, beaten = seen(), seen()
    assert registered != beaten
    assert seen() == beaten
