"""A season on a real Postgres and its simulated machines, one of which lies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from psycopg import sql
from psycopg.types.json import Jsonb

from benchmarks import simulated_machine
from benchmarks.simulated_machine import Played
from games.episode import to_bytes
from ladder.database.blobs import Blobs
from ladder.database.db import Connection
from ladder.entries import entries
from ladder.ids import EntryId, MachineId, MatchId, SubmissionId
from ladder.leagues import seasons
from ladder.machines import lease_blobs, machines
from ladder.matches import lease, workers
from ladder.matches.records import EpisodeResult, MatchOrder
from ladder.people import users
from ladder.people.records import Viewer
from tests.integration.ladder.contest import Contest, digest, hello, make_contest
from workers.result_checks import check_waiting_reports, compare_second_plays

AGENTS: Final = 16
LIAR: Final = 3
"""Number of the machine that lies."""
FLIPPED: Final = 0.1
"""Share of its results that it makes up."""
HOME: Final = "home"


@dataclass
class Machine:
    """A simulated machine: its login, and what it played."""

    id: MachineId
    login: str
    number: int
    played: int = 0
    flipped: int = 0

    @property
    def worker(self) -> str:
        return f"worker-{self.number}"


@dataclass
class Course:
    """A season with its machines. All randomness comes from ``draw``."""

    conn: Connection
    contest: Contest
    blobs: Blobs
    draw: Random
    skills: dict[str, float]
    machines: list[Machine]
    turn: int = 0
    """Machines that were asked."""

    def policies(self, order: MatchOrder) -> list[simulated_machine.Policy]:
        return [simulated_machine.careful(self.skills[one]) for one in order.digests]

    @contextmanager
    def login(self, machine: Machine) -> Iterator[None]:
        """As the machine's own connection: the functions of the lease know it by this login."""
        self.conn.execute(
            sql.SQL("set session authorization {}").format(sql.Identifier(machine.login))
        )
        try:
            yield
        finally:
            self.conn.execute("reset session authorization")

    def beat(self) -> None:
        """Keeps simulated workers alive and leases valid in slow runs."""
        self.conn.execute("update workers set live_until = now() + interval '1 hour'")

    def play_as(self, machine: Machine, match_id: MatchId) -> bool:
        """Claims, plays and reports as the machine. False: it got nothing."""
        with self.login(machine):
            order = lease.claim_match(self.conn, match_id, machine.worker)
        if order is None:
            return False
        machine.played += 1
        played = simulated_machine.play(order, self.policies(order))
        if machine.number == LIAR and self.draw.random() < FLIPPED:
            honest = [seat.placement for seat in played.seats]
            false = simulated_machine.play(order, self.policies(order), lie=honest.index(1))
            if [seat.placement for seat in false.seats] != honest:
                played = false
                machine.flipped += 1
        replay = self.blobs.put_bytes(to_bytes(played.episode)).digest
        for blob in (replay, digest("log")):
            lease_blobs.record_upload(self.conn, machine.id, blob, 1)
        with self.login(machine):
            self.finish(order, machine.worker, played, replay)
        return True

    def play_at_home(self) -> int:
        """Plays all matches that trusted machines have to play."""
        rows = self.conn.execute(
            "select id from matches where state = 'queued' and queue in ('play.cpu', 'scrim')"
            " and season_id = %s order by id",
            (self.contest.season.id,),
        ).fetchall()
        for (match_id,) in rows:
            order = lease.claim_match(self.conn, match_id, HOME)
            assert order is not None
            played = simulated_machine.play(order, self.policies(order))
            replay = self.blobs.put_bytes(to_bytes(played.episode)).digest
            self.finish(order, HOME, played, replay)
        return len(rows)

    def finish(self, order: MatchOrder, worker: str, played: Played, replay: str) -> None:
        lease.finish_match(
            self.conn,
            order.match_id,
            order.attempt,
            worker,
            [replace(seat, log_digest=digest("log")) for seat in played.seats],
            [EpisodeResult(len(played.episode.steps), replay)],
            node=worker,
            image_digest="",
            rules_digest="",
        )

    def check(self) -> None:
        """The rater's part."""
        check_waiting_reports(self.conn, self.blobs, lambda: False, lambda: None)
        self.play_at_home()
        compare_second_plays(self.conn, self.blobs, lambda: False, lambda: None)


def make_course(conn: Connection, blobs: Blobs, number: int, draw: Random) -> Course:
    """A season whose agents may run anywhere, and this many checked machines."""
    game = simulated_machine.GAME
    contest = make_contest(conn, seats=4, max_in_flight=10_000)
    conn.execute(
        "update seasons set configuration = %s, clock = %s",
        (Jsonb(game.configure({})), Jsonb(dict(game.clock))),
    )
    contest.season = seasons.get_season(conn, contest.season.id)
    for _ in range(AGENTS):
        contest.active()
    conn.execute("update agents set machine_tier = 'volunteer'")
    rows = conn.execute("select digest from submissions order by id").fetchall()
    skills = {name: 0.5 + 0.5 * place / (len(rows) - 1) for place, (name,) in enumerate(rows)}
    root = users.viewer_of_user(conn, users.create_user(conn, "root", is_admin=True).id)
    assert root is not None
    made = [join(conn, root, one) for one in range(number)]
    workers.register_worker(conn, hello(HOME, slots=100))
    course = Course(conn, contest, blobs, draw, skills, made)
    for machine in made:
        register(course, machine)
    return course


def join(conn: Connection, root: Viewer, number: int) -> Machine:
    invitation = machines.invite(conn, root)
    joined, _ = machines.join(conn, invitation.code, f"machine-{number}")
    return Machine(joined.id, joined.login, number)


def register(course: Course, machine: Machine) -> None:
    said = hello(machine.worker, queues=("open",), slots=4)
    with course.login(machine):
        workers.register_worker(course.conn, said)


def lineups(course: Course, count: int) -> Iterator[tuple[list[EntryId], bytes]]:
    for _ in range(count):
        yield course.draw.sample(course.contest.entries, 4), course.draw.randbytes(16)


def activate(contest: Contest, submission: SubmissionId) -> EntryId:
    entry = entries.enter_season(contest.conn, contest.season.id, submission)[0]
    assert entry.validation_match_id is not None
    contest.play(entry.validation_match_id, [1] * 4)
    return entry.id
