"""Measures the time to choose the next lineups: ``python -m benchmarks.pairing``.

It measures whole decisions, from the stored candidates to lineups ready to write. The peer in the
same run draws random lineups under the same rules.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from random import Random

import numpy as np
from msgspec.structs import replace

from benchmarks.report_tables import HEAD, Target, aligned, describe_machine
from ladder.ids import AgentId, EntryId, SubmissionId, TeamId
from ladder.matches.pairing import Candidate, EncounterCounts, propose_lineups
from ladder.matches.pairing.candidates import may_share_lineup
from ladder.matches.records import LineupSeat

SEATS = 4
BATCH = 50
AGENTS = (100, 1_000, 10_000)
CROWD = 1_200
BETA = 150.0
CHUNK = 250_000


def league(agents: int) -> list[Candidate]:
    """A league in mid-season: two agents a team, one in fifty new, one in four in a match."""
    draw = np.random.default_rng(agents)
    mu = 600 + BETA * draw.standard_normal(agents)
    sigma = np.where(np.arange(agents) % 50 == 0, 200.0, draw.uniform(20, 60, agents))
    return [
        Candidate(
            EntryId(f"ent_{n:026d}"),
            SubmissionId(f"sub_{n:026d}"),
            AgentId(f"age_{n:026d}"),
            TeamId(f"tea_{n // 2:026d}"),
            f"{n:064x}",
            "numpy",
            float(mu[n]),
            float(sigma[n]),
            games=100,
            in_flight=int(n % 4 == 0),
            weight=1.0,
            loss=None if n % 50 == 0 else float(draw.random() / agents),
            seat_games=(25, 25, 25, 25),
        )
        for n in range(agents)
    ]


def one_team_league() -> list[Candidate]:
    """A league of one large team without opponents: the few others share one bundle."""
    field = league(CROWD + SEATS)
    team, bundle = field[0].team_id, field[-1].digest
    return [
        *(replace(each, team_id=team) for each in field[:CROWD]),
        *(
            replace(each, team_id=TeamId(f"tea_other{n}"), digest=bundle)
            for n, each in enumerate(field[CROWD:])
        ),
    ]


def past(field: Sequence[Candidate], matches: int) -> EncounterCounts:
    """Encounters of that many matches among neighbours within a tenth of the league."""
    draw = np.random.default_rng(1)
    by_rating = np.argsort([each.mu for each in field])
    numbers = {each.entry_id: n for n, each in enumerate(field)}
    met, agents = EncounterCounts(numbers), len(field)
    for begun in range(0, matches, CHUNK):
        count = min(CHUNK, matches - begun)
        middle = draw.integers(0, agents, (count, 1))
        near = draw.integers(-agents // 10, agents // 10 + 1, (count, SEATS))
        lineups = by_rating[np.clip(middle + near, 0, agents - 1)]
        lineups.sort(axis=1)
        twice = lineups[:, 1:] == lineups[:, :-1]
        met = met.plus(numbers, lineups[~twice.any(axis=1)])
    return met


def at_random(field: Sequence[Candidate], lineups: int, rng: Random) -> list[list[LineupSeat]]:
    """The peer: entries in random order; it draws again when two may not meet."""
    made: list[list[LineupSeat]] = []
    while len(made) < lineups:
        drawn = rng.sample(field, SEATS)
        if all(may_share_lineup(each, drawn[:n], False) for n, each in enumerate(drawn)):
            made.append([each.seat for each in drawn])
    return made


def timed(decide: Callable[[int], object], seconds: float) -> list[float]:
    """The seconds of each call, after two calls that do not count."""
    for number in range(2):
        decide(number)
    times: list[float] = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(times) < 5:
        began = time.perf_counter()
        decide(len(times))
        times.append(time.perf_counter() - began)
    return times


def rows(agents: int, matches: int, seconds: float) -> Iterator[Target]:
    """Our pairing and the peer on one field."""
    field = league(agents)
    met = past(field, matches)

    def ours(number: int, lineups: int = BATCH) -> None:
        rng = Random(number)
        made = propose_lineups(field, seats=SEATS, lineups=lineups, rng=rng, beta=BETA, met=met)
        assert len(made.lineups) == lineups

    def peer(number: int) -> None:
        at_random(field, BATCH, Random(number))

    among = f"{agents:,} agents, {matches:,} past matches"
    random = timed(peer, seconds / 4)
    batch = timed(ours, seconds)
    yield Target(f"at random: a lineup, {agents:,} agents", _lineup_microseconds(random), "us")
    yield Target(f"a lineup in {BATCH}, {among}", _lineup_microseconds(batch), "us", 200)
    yield Target(f"a decision of {BATCH}, {among}", [1e3 * t for t in batch], "ms", 10)
    single = timed(lambda number: ours(number, 1), seconds / 2)
    yield Target(f"a decision of one, {among}", [1e3 * t for t in single], "ms", 10)


def measure_impossible_lineups(seconds: float) -> Iterator[Target]:
    """The time to find that no lineup is possible."""
    field = one_team_league()

    def ours(number: int) -> None:
        rng = Random(number)
        assert not propose_lineups(field, seats=SEATS, lineups=BATCH, rng=rng, beta=BETA).lineups

    times = timed(ours, seconds / 2)
    what = f"a decision of {BATCH}, {CROWD:,} entries of a team without opponents"
    yield Target(what, [1e3 * t for t in times], "ms", 10)


def _lineup_microseconds(times: Sequence[float]) -> list[float]:
    return [1e6 * t / BATCH for t in times]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=4.0, help="of measurement in each field")
    options.add_argument("--matches", type=int, default=10_000_000, help="of the largest league")
    chosen = options.parse_args()
    print(f"Pairing, {SEATS} seats: {describe_machine()}\n", flush=True)
    lines: list[Sequence[str]] = [HEAD]
    for agents in AGENTS:
        matches = chosen.matches * agents // max(AGENTS)
        lines += [row.cells() for row in rows(agents, matches, chosen.seconds)]
    lines += [row.cells() for row in measure_impossible_lineups(chosen.seconds)]
    print(aligned(lines))


if __name__ == "__main__":
    main()
