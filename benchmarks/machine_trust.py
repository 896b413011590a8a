"""Liars among machines that are not trusted: ``python -m benchmarks.machine_trust``.

The first part plays a season on a real Postgres with 20 simulated machines. Each has the login of a
machine, and calls the functions of the lease. The rater's own functions check replays, compare
samples with controls and put machines into quarantine. One machine flips a tenth of its results:
it makes up the moves of the winner. Another charges 15 % more time. Then the liar's results are
rejudged, and the board is compared with that of an equal season of honest machines.

The second part asks the function that judges machines about many seasons. Samples come from chance:
an honest machine has another speed than it measured, by a standard deviation of 1 to 5 %, and one
sample in 1,000 differs by itself. Each season is judged after every ten samples of a machine.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from math import log
from pathlib import Path
from random import Random
from typing import Final

from psycopg import sql
from psycopg.types.json import Jsonb

from benchmarks import simulated_machine
from benchmarks.report_tables import aligned, describe_machine, quantile
from benchmarks.simulated_machine import Played
from games.episode import to_bytes
from ladder.database.blobs import Blobs, open_blobs
from ladder.database.db import Connection, connect
from ladder.entries import entries
from ladder.enums import MachineTier
from ladder.ids import EntryId, MachineId, MatchId, SeasonId, SubmissionId
from ladder.leagues import seasons
from ladder.machines import invitations, lease_blobs, machines, residuals, samples
from ladder.machines.residuals import Evidence
from ladder.matches import lease, wake_up_messages, workers
from ladder.matches.records import EpisodeResult, MatchOrder
from ladder.moderation import rejudgements
from ladder.moderation.result_search import Predicate
from ladder.people import users
from ladder.people.records import Viewer
from ladder.ratings import live_ratings
from ladder.ratings.fitting import OfficialFitter
from ladder.standings import leaderboard
from tests import servers
from tests.integration.ladder.contest import Contest, digest, hello, raise_contest
from workers.result_checks import check_waiting_reports
from workers.sample_comparison import compare_waiting

AGENTS: Final = 16
LIAR, STRETCHER = 3, 7
FLIPPED: Final = 0.1
STRETCHED: Final = 1.15
SPREAD: Final = 0.02
"""Standard deviation between a machine's speed and the speed that it measured."""
HOME: Final = "home"


@dataclass
class Machine:
    """A simulated machine: its login, its speed, and what it does wrong."""

    id: MachineId
    login: str
    number: int
    true_speed: float
    measured_speed: float
    played: int = 0
    flipped: int = 0

    @property
    def worker(self) -> str:
        return f"worker-{self.number}"

    @property
    def slowness(self) -> float:
        """Factor of all charged times."""
        return (STRETCHED if self.number == STRETCHER else 1.0) / self.true_speed


@dataclass
class Course:
    """A season with its machines. All randomness comes from ``draw``."""

    conn: Connection
    contest: Contest
    blobs: Blobs
    draw: Random
    skills: dict[str, float]
    machines: list[Machine]

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
        self.conn.execute("update workers set seen_at = now()")

    def play_as(self, machine: Machine, match_id: MatchId) -> bool:
        """Claims, plays and reports as the machine. False: it got nothing."""
        with self.login(machine):
            order = lease.claim_match(self.conn, match_id, machine.worker)
        if order is None:
            return False
        machine.played += 1
        name = f"machine {machine.number}"
        played = simulated_machine.play(
            order, self.policies(order), speed=machine.slowness, machine=name
        )
        if machine.number == LIAR and self.draw.random() < FLIPPED:
            honest = [seat.placement for seat in played.seats]
            false = simulated_machine.play(
                order,
                self.policies(order),
                speed=machine.slowness,
                machine=name,
                lie=honest.index(1),
            )
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
            played = simulated_machine.play(order, self.policies(order), machine=HOME)
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
        compare_waiting(self.conn, self.blobs, lambda: False, lambda: None)


def raise_course(conn: Connection, blobs: Blobs, number: int, draw: Random) -> Course:
    """A season whose agents may run anywhere, and this many machines of volunteers."""
    game = simulated_machine.GAME
    contest = raise_contest(conn, seats=4, max_in_flight=10_000)
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
    made = [join(conn, root, one, draw) for one in range(number)]
    workers.register_worker(conn, hello(HOME, slots=100, speed=1.0))
    course = Course(conn, contest, blobs, draw, skills, made)
    for machine in made:
        register(course, machine)
    return course


def join(conn: Connection, root: Viewer, number: int, draw: Random) -> Machine:
    _, code = invitations.invite_machine(conn, root, tier=MachineTier.VOLUNTEER)
    joined, _ = machines.join(conn, code, f"machine-{number}")
    measured = draw.lognormvariate(0.0, 0.25)
    true = measured * draw.lognormvariate(0.0, SPREAD)
    return Machine(joined.id, joined.login, number, true, measured)


def register(course: Course, machine: Machine) -> None:
    said = hello(machine.worker, queues=("open",), slots=4, speed=machine.measured_speed)
    with course.login(machine):
        workers.register_worker(course.conn, said)


def lineups(course: Course, count: int) -> Iterator[tuple[list[EntryId], bytes]]:
    for _ in range(count):
        yield course.draw.sample(course.contest.entries, 4), course.draw.randbytes(16)


Story = list[tuple[list[int], bytes]]
"""Agents by seat, and seed, of each match."""


def play_season(course: Course, matches: int) -> tuple[dict[int, int], Story]:
    """Plays rated matches, one for each machine in turn, until both liars are in quarantine.
    Returns how many matches each machine in quarantine had played, and lineups and seeds."""
    caught: dict[int, int] = {}
    story = []
    known = course.contest.entries
    turn = 0
    for lineup, seed in lineups(course, matches):
        if {LIAR, STRETCHER} <= caught.keys():
            break
        story.append(([known.index(one) for one in lineup], seed))
        course.contest.rated(*lineup, seed=seed)
        course.beat()
        while True:
            due = wake_up_messages.mark_matches_woken(course.conn, {"open": 8}, wake_seconds=0.0)
            if not due:
                break
            for _, match_id in due:
                able = [one for one in course.machines if one.number not in caught]
                for _ in able:
                    turn += 1
                    if course.play_as(able[turn % len(able)], match_id):
                        break
            course.check()
            for one in machines.list_machines(course.conn):
                number = int(one.name.split("-")[1])
                if one.quarantined_at is not None and number not in caught:
                    caught[number] = course.machines[number].played
                    print(
                        f"  {one.name} in quarantine after {caught[number]} matches:"
                        f" {one.quarantine_reason}",
                        flush=True,
                    )
    return caught, story


def board(course: Course, season_id: SeasonId) -> list[tuple[int, float]]:
    """Index of each agent and its official score, best first."""
    while live_ratings.rate_season(course.conn, season_id):
        pass
    OfficialFitter().refit(course.conn, season_id)
    rows = leaderboard.read_board(course.conn, season_id).rows
    known = course.contest.entries
    return [(known.index(one.entry_id), one.score_and_sigma[0]) for one in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--matches", type=int, default=10_000, help="rated matches of the season")
    parser.add_argument("--machines", type=int, default=20)
    parser.add_argument("--seasons", type=int, default=50, help="seasons of the second part")
    asked = parser.parse_args()
    print(describe_machine())
    failed = play_part(asked.machines, asked.matches)
    failed += judge_part(asked.seasons)
    if failed:
        raise SystemExit(1)


def play_part(number: int, matches: int) -> int:
    """The first part. Returns how many aims it missed."""
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        servers.postgres() as url,
        servers.worker_role(url),
        servers.cloned(url, servers.template(url)) as address,
        connect(address, autocommit=True) as conn,
    ):
        conn.execute("set synchronous_commit = off")
        course = raise_course(conn, open_blobs(Path(folder).as_uri()), number, Random(1))
        caught, story = play_season(course, matches)
        missed = show_course(course, caught)
        missed += purge(course, story)
    print(f"{time.monotonic() - started:.0f} s")
    return missed


def show_course(course: Course, caught: dict[int, int]) -> int:
    flips = course.machines[LIAR].flipped
    counts = dict(
        course.conn.execute(
            "select case when c.is_canary then 'canaries' else 'repeats' end, count(*)"
            " from machine_samples s join machine_controls c on c.id = s.control_id"
            " where s.compared_at is not null group by 1"
        ).fetchall()
    )
    rows = [("machine", "fault", "matches until quarantine", "aim")]
    faults = {LIAR: f"flips 10 % ({flips} flipped)", STRETCHER: "charges 15 % more"}
    for number, fault in faults.items():
        rows.append((f"{number}", fault, str(caught.get(number, "never")), "500"))
    honest = [number for number in caught if number not in (LIAR, STRETCHER)]
    print(
        f"\n{len(course.machines)} machines, {sum(m.played for m in course.machines):,} plays,"
        f" compared: {dict(counts)}"
    )
    print(aligned(rows))
    print(f"honest machines in quarantine: {len(honest)} (aim: 0)")
    return sum(caught.get(number, 10**9) > 500 for number in (LIAR, STRETCHER)) + len(honest)


def purge(course: Course, story: Sequence[tuple[list[int], bytes]]) -> int:
    """Rejudges the liar's results, and compares the board with that of honest machines."""
    conn, season = course.conn, course.contest.season
    liar = f"machine-{LIAR}"
    before = board(course, season.id)
    predicate = Predicate(machine=liar)
    preview = rejudgements.preview_rejudgement(conn, season.id, predicate)
    rejudgements.create_rejudgement(conn, season.id, predicate, by=None, reason="a liar")
    course.beat()
    while rejudgements.queue_next(conn):
        course.play_at_home()
    (act,) = rejudgements.end_finished_rejudgements(conn)
    after = board(course, season.id)

    fresh = raise_contest(conn, seats=4, max_in_flight=10_000)
    honest = Course(conn, fresh, course.blobs, course.draw, course.skills, [])
    conn.execute(
        "update seasons set configuration = a.configuration, clock = a.clock from seasons a"
        " where a.id = %s and seasons.id = %s",
        (season.id, fresh.season.id),
    )
    fresh.season = seasons.get_season(conn, fresh.season.id)
    for entry in course.contest.entries:
        row = conn.execute(
            "select b.digest from entries e join submissions b on b.id = e.submission_id"
            " where e.id = %s",
            (entry,),
        ).fetchone()
        assert row is not None
        made = fresh.submission()
        conn.execute("update submissions set digest = %s where id = %s", (row[0], made.id))
        fresh.entries.append(activate(fresh, made.id))
    for lineup, seed in story:
        honest.contest.rated(*(honest.contest.entries[one] for one in lineup), seed=seed)
    honest.beat()
    honest.play_at_home()
    fair = board(honest, honest.contest.season.id)

    def largest(one: list[tuple[int, float]]) -> float:
        scores = dict(fair)
        return max(abs(score - scores[agent]) for agent, score in one)

    def moved(one: list[tuple[int, float]]) -> int:
        return sum(left[0] != right[0] for left, right in zip(one, fair, strict=True))

    print(
        f"\npurge: {len(preview.suspects)} results of the liar, {len(preview.changes)} changes in"
        f" the preview, rejudged {act.done} of {act.total}"
    )
    print(
        aligned(
            [
                ("board beside that of honest machines", "largest difference", "other places"),
                ("with the liar's results", f"{largest(before):.2f} points", f"{moved(before)}"),
                ("after the purge", f"{largest(after):.2f} points", f"{moved(after)}"),
            ]
        )
    )
    return int(largest(after) > 0.1 or moved(after) > 0)


def activate(contest: Contest, submission: SubmissionId) -> EntryId:
    entry = entries.enter_season(contest.conn, contest.season.id, submission)[0]
    assert entry.validation_match_id is not None
    contest.play(entry.validation_match_id, [1] * 4)
    return entry.id


def judge_part(count: int) -> int:
    """The second part. Returns how many aims it missed."""
    rows: list[tuple[str, ...]] = [
        ("machines", "spread", "flips: caught", "charges: caught", "median of matches", "false")
    ]
    missed = 0
    for number, spread in product((20, 200), (0.01, 0.02, 0.03, 0.05)):
        found = [judge_season(number, spread, Random(n)) for n in range(count)]
        liars = [one[0] for one in found]
        stretchers = [one[1] for one in found]
        false = sum(one[2] for one in found) / count
        caught = sorted(one for one in liars if one is not None)
        rows.append(
            (
                *(f"{number}", f"{spread:.0%}"),
                f"{sum(one is not None for one in liars) / count:.0%}",
                f"{sum(one is not None for one in stretchers) / count:.0%}",
                f"{quantile(caught, 0.5):.0f}" if caught else "-",
                f"{false:.2f}",
            )
        )
        missed += false > 1
    print(
        "\nThe function that judges, over seasons of 500 matches for each machine. spread: of"
        " honest machines\naround the speed that they measured; caught: share of seasons; median:"
        " until the quarantine of the machine\nthat flips; false: honest machines in quarantine"
    )
    print(aligned(rows))
    return missed


def judge_season(number: int, spread: float, draw: Random) -> tuple[int | None, int | None, int]:
    """Matches until the quarantine of a liar and of a stretcher, and honest machines in quarantine,
    in a season of 500 matches for each machine."""
    offsets = [draw.gauss(0.0, spread) for _ in range(number)]
    offsets[STRETCHER] += log(STRETCHED)
    field = [Evidence(MachineId(f"{n}"), 0, 0, 0, []) for n in range(number)]
    caught: dict[int, int] = {}
    for matches in range(50, 501, 50):
        for n, one in enumerate(field):
            if n in caught:
                continue
            share = samples.SUSPECTED_SHARE if one.different else samples.REPEAT_SHARE
            count = sum(draw.random() < share + samples.CANARY_SHARE for _ in range(50))
            lies = FLIPPED if n == LIAR else 0.001
            different = sum(draw.random() < lies for _ in range(count))
            times = [draw.gauss(offsets[n], 0.06) for _ in range(count - different)]
            field[n] = Evidence(one.machine_id, 0, one.samples + count, one.different + different,
                                [*one.log_time_ratios, *times])  # fmt: skip
        judged = residuals.judge_field([one for n, one in enumerate(field) if n not in caught])
        caught |= {int(key): matches for key, one in judged.items() if one.reason is not None}
    return caught.get(LIAR), caught.get(STRETCHER), len(caught.keys() - {LIAR, STRETCHER})


if __name__ == "__main__":
    main()
