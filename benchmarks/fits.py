"""Measures live ratings and official fits, beside the ``trueskill`` package.

    python -m benchmarks fits [--agents 1000] [--matches 100000] [--rounds 3]

Skills are normal with a standard deviation of 1 beta. A lineup has four random agents within about
a beta of the first seat. Results follow TrueSkill's model, with ties and one fault in fifty seats.

*A fit alone* has its intervals and messages, but not the loading of the log. *Cold* fits the whole
log from nothing. *Warm* starts from the messages of a fit of the first 95 %, as the rater does.

*A rater* works on a real Postgres. *Live* folds the beginning of the log into ratings, one stretch
a transaction. *Official* fits the second half after each growth by a twentieth. It includes
loading, drawing ranks and writing each version, so its rate is the sustainable rate of results.
Finally the benchmark computes both again from the log alone; every bit must agree.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import trueskill

from benchmarks.rated_season import create_rated_season, postgres
from benchmarks.report_tables import HEAD, Target, aligned, describe_machine
from ladder import ids
from ladder.database import db
from ladder.database.db import Connection
from ladder.ids import EntryId, MatchId, SeasonId
from ladder.ratings import fitting, live_ratings, standing_versions
from ladder.ratings.official.fit import GROWTH, Fit, fit
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.learned_priors import Prior
from ladder.ratings.rating_updates import RatedResult, RatingParameters
from tests.rated_log import rate_all

SEATS = 4
GRAIN = 0.05
"""Performances are rounded to this step, so that some seats tie."""
FAULTS = 0.02
BETA = 150.0
WARM_MICROSECONDS = 3.0
"""Most time of a warm fit for each game of the log; a cold one may take four times as long."""
MOST_RATE = 20_000
FOLD = 200
START = 0.5
LIVE = 10_000
PEER_GAMES = 1000


def simulate_season(seed: int, n: int, games: int) -> GameTable:
    """A simulated season."""
    rng = np.random.default_rng(seed)
    skills = np.sort(rng.normal(0.0, 1.0, n))
    lead = rng.integers(0, n, games)
    near = np.searchsorted(skills, skills[lead][:, None] + rng.normal(0.0, 1.0, (games, SEATS - 1)))
    who = np.concatenate([lead[:, None], np.minimum(near, n - 1)], axis=1)
    ordered = np.sort(who, axis=1)
    who = who[(ordered[:, 1:] != ordered[:, :-1]).all(axis=1)]
    performances = np.rint((skills[who] + rng.standard_normal(who.shape)) / GRAIN)
    ranks = np.stack([1 + (performances > row[:, None]).sum(axis=1) for row in performances.T])
    faults = rng.random(who.shape) < FAULTS
    return GameTable(rng.permutation(n)[who].astype(np.int32), ranks.T.astype(np.int16), faults)


def measure_fits(agents: int, matches: int, rounds: int) -> Iterator[Target]:
    """The fit alone, in memory."""
    games, prior = simulate_season(1, agents, matches), Prior.unknown(agents)
    early = fit(games.take(slice(0, int(len(games) / GROWTH))), prior).messages
    seconds: dict[str, list[float]] = {"cold": [], "warm": []}
    fits: dict[str, Fit] = {}
    for _ in range(rounds):
        for kind, messages in (("cold", None), ("warm", early)):
            began = time.perf_counter()
            fits[kind] = fit(games, prior, warm=messages)
            seconds[kind].append(time.perf_counter() - began)
    for kind, factor in (("warm", 1), ("cold", 4)):
        yield Target(
            f"a fit alone, {kind}: a game of the log",
            [1e6 * each / len(games) for each in seconds[kind]],
            "us",
            factor * WARM_MICROSECONDS,
            floor=f"{fits[kind].sweeps} rounds of messages",
        )
    difference = BETA * float(np.abs(fits["warm"].mu - fits["cold"].mu).max())
    yield Target("  warm against cold, largest difference", [difference], "points", 0.5)


def write_match_log(conn: Connection, season_id: SeasonId, matches: int) -> list[RatedResult]:
    """Write this many accepted matches of the season's entries; returns their results."""
    entries = [row[0] for row in conn.execute("select id from entries order by id")]
    games = simulate_season(1, len(entries), matches)
    names = [MatchId(ids.new_id("mat")) for _ in range(len(games))]
    submissions = dict(conn.execute("select id, submission_id from entries").fetchall())
    results = [
        RatedResult(name, tuple(EntryId(entries[c]) for c in who), tuple(ranks), tuple(faults))
        for name, who, ranks, faults in zip(
            names,
            games.contenders.tolist(),
            games.ranks.tolist(),
            games.faults.tolist(),
            strict=True,
        )
    ]
    columns = "id, kind, season_id, state, queue, profiles, seed, max_attempts, lease_seconds"
    with conn.cursor().copy(f"copy matches ({columns}, deadline_at) from stdin") as copy:
        for name in names:
            copy.write_row(
                (name, "rated", season_id, "finished", "play.cpu", "{}", "\\x00", 3, 15, "now")
            )
    columns = "match_id, seat, entry_id, submission_id, agent_id, team_id, placement, verdict"
    with conn.cursor().copy(f"copy seats ({columns}) from stdin") as copy:
        for result in results:
            for seat, entry in enumerate(result.entries):
                verdict = "ERROR" if result.faults[seat] else "DONE"
                placement = result.placements[seat]
                copy.write_row(
                    (result.match_id, seat, entry, submissions[entry], "", "", placement, verdict)
                )
    with conn.cursor().copy("copy acceptances (season_id, no, match_id) from stdin") as copy:
        for no, name in enumerate(names, 1):
            copy.write_row((season_id, no, name))
    conn.execute("update entries set mu = 600, sigma = 200, games = 0")
    conn.execute("update seasons set accepted_no = %s", (len(names),))
    conn.commit()
    conn.execute("analyze")
    conn.commit()
    return results


def measure_trueskill_package(results: Sequence[RatedResult]) -> float:
    """Matches a second of the package alone."""
    environment = trueskill.TrueSkill(600.0, 200.0, 150.0, 0.0, 0.05)
    known: dict[EntryId, trueskill.Rating] = {}
    began = time.perf_counter()
    for result in results[:PEER_GAMES]:
        before = [(known.get(entry) or environment.create_rating(),) for entry in result.entries]
        after = environment.rate(before, ranks=list(result.placements))
        known.update(zip(result.entries, (one for (one,) in after), strict=True))
    return min(PEER_GAMES, len(results)) / (time.perf_counter() - began)


def measure_live_rating(conn: Connection, season_id: SeasonId) -> float:
    """Matches a second of the fold into ratings."""
    folded, began = 0, time.perf_counter()
    while folded < LIVE and (count := live_ratings.rate_season(conn, season_id, FOLD)):
        conn.commit()
        folded += count
    return folded / (time.perf_counter() - began)


def measure_growing_fits(
    conn: Connection, season_id: SeasonId, matches: int
) -> tuple[float, list[float]]:
    """Matches a second of repeated fits of a growing log, and the seconds of each version."""
    fitter, seconds = fitting.OfficialFitter(), list[float]()
    number = START * matches
    while True:
        until = min(matches, int(number))
        conn.execute("update seasons set rated_no = %s where id = %s", (until, season_id))
        conn.commit()
        began = time.perf_counter()
        fitter.refit(conn, season_id)
        conn.commit()
        seconds.append(time.perf_counter() - began)
        if until == matches:
            return (matches - START * matches) / sum(seconds[1:]), seconds
        number *= GROWTH


def is_replayed(conn: Connection, season_id: SeasonId, results: Sequence[RatedResult]) -> bool:
    """Whether the log alone gives the same bits for the ratings and the last official version."""
    anew = rate_all(RatingParameters(), results[:LIVE])
    rows = conn.execute("select id, mu, sigma from entries where games > 0")
    same = all((anew[entry].mu, anew[entry].sigma) == (mu, sigma) for entry, mu, sigma in rows)
    version = standing_versions.list_versions(conn, season_id, limit=1)[0]
    return same and fitting.recompute_digest(conn, season_id, version.version) == version.digest


def main() -> None:
    """Fit in memory; then fill a season, rate it, fit it, compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fits", description=__doc__)
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--matches", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    figures = list(measure_fits(options.agents, options.matches, options.rounds))
    with tempfile.TemporaryDirectory(prefix="peck-bench-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o711)  # under root, Postgres runs as another user
        figures += measure_rater(Path(folder), options.agents, options.matches)
    size = f"{options.matches:,} matches of {SEATS} seats, {options.agents:,} agents"
    print(f"{size}, one core: {describe_machine()}, numpy {np.__version__}")
    print(aligned([HEAD, *(figure.cells() for figure in figures)]))


def measure_rater(state: Path, agents: int, matches: int) -> Iterator[Target]:
    """One rater, with rows and commits."""
    with postgres(state) as url:
        season_id = SeasonId(create_rated_season(url, agents))
        with db.connect(url) as conn:
            results = write_match_log(conn, season_id, matches)
            peer = measure_trueskill_package(results)
            folded = measure_live_rating(conn, season_id)
            grown, seconds = measure_growing_fits(conn, season_id, len(results))
            same = is_replayed(conn, season_id, results)
    yield Target("the trueskill package alone", [peer], "/s")
    yield Target("live: folded, written, committed", [folded], "/s", 0.6 * peer, better="more")
    yield Target("  of the package's rate", [folded / peer], "times")
    yield Target("official: fitted at 5 % growth", [grown], "/s", MOST_RATE, better="more")
    yield Target("  one version of it", [1e3 * each for each in seconds], "ms")
    yield Target("  of the package's rate", [grown / peer], "times")
    yield Target("computed again from the log", "the same bits" if same else "DIFFERENT", "")


if __name__ == "__main__":
    main()
