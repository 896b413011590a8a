"""A liar among checked machines: ``python -m benchmarks.machine_trust``.

Plays seasons on a real Postgres with 20 simulated machines. Each has the login of a machine, and
calls the functions of the lease. The rater's own functions check replays, compare second plays and
put machines into quarantine. One machine flips a tenth of its results: it makes up the moves of the
winner. Then its results are rejudged, and the board is compared with that of an equal season of
honest machines.

The first table draws which matches of a machine are played again, and says after how many matches
a machine goes into quarantine.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.machine_courses import FLIPPED, LIAR, Course, activate, lineups, make_course
from benchmarks.report_tables import aligned, describe_machine, quantile
from ladder.database.blobs import open_blobs
from ladder.database.db import connect
from ladder.ids import SeasonId
from ladder.leagues import seasons
from ladder.machines import checks, machines
from ladder.matches import wake_up_messages
from ladder.moderation import rejudgements
from ladder.moderation.result_search import Predicate
from ladder.ratings import live_ratings
from ladder.ratings.fitting import OfficialFitter
from ladder.standings import leaderboard
from tests import servers
from tests.integration.ladder.contest import make_contest

SHARES: Final = (0.1, 0.05, 0.02, 0.01, 0.005, 0.001)
MACHINES_DRAWN: Final = 200
MATCHES_DRAWN: Final = 10_000
BATCH: Final = 10
"""Rated matches that are played before the rater works."""
Story = list[tuple[list[int], bytes]]
"""Agents by seat, and seed, of each match."""


def play_season(course: Course, matches: int) -> tuple[dict[int, int], Story]:
    """Plays rated matches, one for each machine in turn, until the liar is in quarantine.
    Returns how many matches each machine in quarantine had played, and lineups and seeds."""
    caught: dict[int, int] = {}
    story: Story = []
    known = course.contest.entries
    while len(story) < matches and LIAR not in caught:
        for lineup, seed in lineups(course, BATCH):
            story.append(([known.index(one) for one in lineup], seed))
            course.contest.rated(*lineup, seed=seed)
        course.beat()
        while play_open(course, caught):
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


def play_open(course: Course, caught: Collection[int]) -> int:
    """Plays what waits for machines, each match by the next machine that may."""
    due = wake_up_messages.mark_matches_woken(course.conn, {"open": 4 * BATCH}, wake_seconds=0.0)
    able = [one for one in course.machines if one.number not in caught]
    for _, match_id in due:
        for _ in able:
            course.turn += 1
            if course.play_as(able[course.turn % len(able)], match_id):
                break
    return len(due)


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
    parser.add_argument(
        "--matches", type=int, default=10_000, help="most rated matches of a season"
    )
    parser.add_argument("--machines", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=5, help="played seasons")
    parser.add_argument("--first", type=int, default=1, help="seed of the first of them")
    options = parser.parse_args()
    print(describe_machine())
    seeds = range(options.first, options.first + options.seeds)
    show_shares()
    if show([play_seed(seed, options.machines, options.matches) for seed in seeds]):
        raise SystemExit(1)


def show_shares() -> None:
    """Prints how long machines play whose moves differ in a share of their matches."""
    rows: list[tuple[str, ...]] = [("other moves", "in quarantine", "median", "95 %")]
    for share in SHARES:
        draw = Random(1)
        played = [matches_until_quarantine(share, draw) for _ in range(MACHINES_DRAWN)]
        caught = sorted(count for count in played if count is not None)
        middle, late = (f"{quantile(caught, part):.0f}" if caught else "-" for part in (0.5, 0.95))
        rows.append((f"{share:.1%}", f"{len(caught) / len(played):.0%}", middle, late))
    print(
        f"\nother moves: share of a machine's matches; in quarantine: share of {MACHINES_DRAWN}"
        f" machines after {MATCHES_DRAWN:,} matches;\nmedian, 95 %: matches until quarantine"
    )
    print(aligned(rows))


def matches_until_quarantine(share: float, draw: Random) -> int | None:
    """Matches of one machine until it is in quarantine. None: it has played MATCHES_DRAWN."""
    latest: deque[bool] = deque(maxlen=checks.LATEST)
    repeat_share = checks.REPEAT_SHARE
    for count in range(1, MATCHES_DRAWN + 1):
        if draw.random() < repeat_share:
            latest.append(draw.random() < share)
            if latest[-1]:
                repeat_share = checks.SUSPECTED_SHARE
            if sum(latest) >= checks.MOST_DIFFERENT:
                return count
    return None


Difference = tuple[float, int]
"""Largest difference of a score from the honest board, and agents in other places."""


@dataclass(frozen=True)
class PlayedSeason:
    """What came of a season."""

    seed: int
    plays: int
    compared: int
    caught: dict[int, int]
    purged: int
    before: Difference
    after: Difference
    seconds: float

    @property
    def honest(self) -> int:
        """Honest machines in quarantine."""
        return len(self.caught.keys() - {LIAR})

    @property
    def missed(self) -> int:
        """Aims that it missed."""
        late = self.caught.get(LIAR, 10**9) > 500
        return late + self.honest + (self.after[0] > 0.1 or self.after[1] > 0)


def play_seed(seed: int, number: int, matches: int) -> PlayedSeason:
    """Plays a season and purges it."""
    started = time.monotonic()
    print(f"season {seed}", flush=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        servers.postgres() as url,
        servers.worker_role(url),
        servers.cloned(url, servers.template(url)) as address,
        connect(address, autocommit=True) as conn,
    ):
        conn.execute("set synchronous_commit = off")
        course = make_course(conn, open_blobs(Path(folder).as_uri()), number, Random(seed))
        caught, story = play_season(course, matches)
        row = conn.execute(
            "select count(*) from machine_samples where is_different is not null"
        ).fetchone()
        assert row is not None
        purged, before, after = purge(course, story)
    played = PlayedSeason(
        seed,
        sum(one.played for one in course.machines),
        row[0],
        caught,
        purged,
        before,
        after,
        time.monotonic() - started,
    )
    print(f"  board: {before} before the purge, {after} after it", flush=True)
    return played


def show(seasons_played: Sequence[PlayedSeason]) -> int:
    """Prints all seasons. Returns how many aims they missed."""
    rows: list[tuple[str, ...]] = [
        ("season", "plays", "compared", "liar: after", "honest", "rejudged",
         "board before", "after the purge", "seconds")
    ]  # fmt: skip
    for one in seasons_played:
        boards = [f"{score:.2f}, {places}" for score, places in (one.before, one.after)]
        after = f"{one.caught.get(LIAR, 'never')}"
        rows.append((f"{one.seed}", f"{one.plays:,}", f"{one.compared}", after, f"{one.honest}",
                     f"{one.purged}", *boards, f"{one.seconds:.0f}"))  # fmt: skip
    print(
        f"\nliar: matches of the machine that flips {FLIPPED:.0%} of its results until quarantine"
        " (aim: 500). honest: other\nmachines in quarantine (aim: 0). board: largest difference of"
        " a score from the board of honest\nmachines, and agents in other places (aim after the"
        " purge: 0)"
    )
    print(aligned(rows))
    return sum(one.missed for one in seasons_played)


def purge(course: Course, story: Story) -> tuple[int, Difference, Difference]:
    """Rejudges the liar's results. Returns how many, and how far the boards before and after are
    from that of honest machines."""
    conn, season = course.conn, course.contest.season
    liar = f"machine-{LIAR}"
    before = board(course, season.id)
    predicate = Predicate(machine=liar)
    rejudgements.create_rejudgement(conn, season.id, predicate, by=None, reason="a liar")
    course.beat()
    while rejudgements.queue_next(conn):
        course.play_at_home()
        course.beat()
    (act,) = rejudgements.end_finished_rejudgements(conn)
    after = board(course, season.id)

    fresh = make_contest(conn, seats=4, max_in_flight=10_000)
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

    def difference(one: list[tuple[int, float]]) -> Difference:
        scores = dict(fair)
        largest = max(abs(score - scores[agent]) for agent, score in one)
        return largest, sum(left[0] != right[0] for left, right in zip(one, fair, strict=True))

    return act.done, difference(before), difference(after)


if __name__ == "__main__":
    main()
