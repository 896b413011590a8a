"""Measures rounds of pairing with all their SQL, beside random lineups under the same rules.

    python -m benchmarks pairing [--agents N ...] [--matches N] [--lineups N ...] [--rounds N]

A season in a real Postgres has many active entries of as many teams, and a log of many matches.
The scheduler has read it. Then rounds follow as in a season under way: a round reads what changed,
chooses lineups and writes their matches, as the scheduler does. Then as many matches end: their
results, ratings and games are written. Every tenth round finds a new official standing of all
entries; on a busy site a fit of such a season takes longer than ten rounds.

The scheduler's rounds begin at least 0.25 s apart. So a site that plays 200 matches a second has
rounds of 50 lineups, and one that plays 800 has rounds of 200. *amortised* is the time for 50
lineups: the mean over ten rounds, of which one reads a new standing.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Iterator, Sequence
from random import Random

import numpy as np

from benchmarks.match_filters import drop_indexes
from benchmarks.report_tables import HEAD, Target, aligned, describe_machine
from ladder.database import migrate
from ladder.database.db import Connection, connect
from ladder.ids import AgentId, EntryId, SeasonId, SubmissionId, TeamId
from ladder.leagues import seasons
from ladder.matches import matches
from ladder.matches import workers as matches_workers
from ladder.matches.pairing import Candidate
from ladder.matches.pairing.candidates import may_share_lineup
from ladder.matches.records import LineupSeat
from ladder.scheduling.season_cache import SeasonCache
from tests import servers
from tests.integration.ladder.contest import make_contest

SEATS = 4
LINEUPS = (50, 200)
"""Lineups of a round."""
DECISION = 50
"""Amortised times are for so many lineups."""
AGENTS = (1_000, 10_000)
MATCHES = 10_000_000
ROUNDS_OF_A_STANDING = 10
BETA = 150.0
AT_ONCE = 500_000
IN_MEMORY = 1_000_000
"""Matches of which the database may lie in memory; more of them lie on the disk."""
DISK = "/var/tmp"
TABLES = ("matches_default", "seats_default", "acceptances")
ENTRIES = (
    "insert into teams (id, slug, name) select 'tea_' || lpad(n::text, 26, '0'), 'fill-' || n,"
    " 'Fill ' || n from generate_series(1, %(agents)s) n",
    "insert into agents (id, team_id, slug, name) select 'age_' || lpad(n::text, 26, '0'),"
    " 'tea_' || lpad(n::text, 26, '0'), 'fill', 'Fill' from generate_series(1, %(agents)s) n",
    "insert into submissions (id, agent_id, digest, size_bytes, filename)"
    " select 'sub_' || lpad(n::text, 26, '0'), 'age_' || lpad(n::text, 26, '0'),"
    " encode(sha256(n::text::bytea), 'hex'), 1, 'main.py' from generate_series(1, %(agents)s) n",
    "insert into entries (id, season_id, agent_id, team_id, submission_id, state, mu, sigma,"
    " games) select 'ent_' || lpad(n::text, 26, '0'), %(season)s,"
    " 'age_' || lpad(n::text, 26, '0'), 'tea_' || lpad(n::text, 26, '0'),"
    " 'sub_' || lpad(n::text, 26, '0'), 'active', 600 + 150 * sin(n), 40, 40"
    " from generate_series(1, %(agents)s) n",
)
PLAYED = """
with made as materialized (
    select n, 'mat_' || lpad(n::text, 26, '0') as id
      from generate_series(%(from)s::bigint, %(to)s::bigint) as numbers(n)
), played as (
    insert into matches (id, kind, season_id, state, queue, profiles, deadline_at, seed,
                         max_attempts, lease_seconds, accepted_no, created_at, claimed_at,
                         finished_at)
    select id, 'rated', %(season)s, 'finished', 'play.cpu', '{numpy}', now(), '\\x00'::bytea, 3,
           15, n, now(), now(), now()
      from made
), accepted as (
    insert into acceptances (season_id, no, match_id) select %(season)s, n, id from made
)
insert into seats (match_id, seat, entry_id, submission_id, agent_id, team_id, placement, reward,
                   verdict)
select made.id, s, 'ent_' || k, 'sub_' || k, 'age_' || k, 'tea_' || k, 1 + (s + n) %% 4, 0, 'DONE'
  from made, generate_series(0, 3) as places(s),
       lateral (select lpad((1 + (n * 7919 + s * (1 + n %% 97)) %% %(agents)s)::text, 26, '0')
                    as k) p
"""
"""Opponents lie within 300 places, so that most pairs meet often."""
ENDED = (
    "update seats set placement = seat + 1, verdict = 'DONE' where match_id = any (%(ids)s)",
    "insert into acceptances (season_id, no, match_id) select %(season)s,"
    " %(no)s + n, id from unnest(%(ids)s::text[]) with ordinality as m(id, n)",
    "update matches set state = 'finished', claimed_at = now(), finished_at = now()"
    " where id = any (%(ids)s)",
    "update entries e set in_flight = in_flight - t.n, games = games + t.n, mu = mu + 0.1"
    " from (select entry_id, count(*) as n from seats where match_id = any (%(ids)s)"
    " group by 1) t where e.id = t.entry_id",
    "update seasons set accepted_no = accepted_no + %(count)s, rated_no = rated_no + %(count)s"
    " where id = %(season)s",
)


def fill(conn: Connection, season_id: SeasonId, agents: int, played: int) -> None:
    """Makes that many teams, each with one active entry, and their matches."""
    given = {"season": season_id, "agents": agents}
    for statement in ENTRIES:
        conn.execute(statement, given)
    began = time.monotonic()
    for name in TABLES:
        conn.execute(f"alter table {name} set unlogged")
    indexes = drop_indexes(conn)
    conn.execute("alter table seats disable trigger seats_meet")
    for first in range(1, played + 1, AT_ONCE):
        conn.execute(PLAYED, {**given, "from": first, "to": min(played, first + AT_ONCE - 1)})
    conn.execute("set maintenance_work_mem = '512MB'")
    for text in indexes:
        conn.execute(text)
    conn.execute("alter table seats enable trigger seats_meet")
    conn.execute(
        "update seasons set accepted_no = %s, rated_no = %s where id = %s",
        (played, played, season_id),
    )
    for name in ("entries", "submissions", *TABLES):
        conn.execute(f"vacuum analyze {name}")
    print(f"{played:,} matches made in {time.monotonic() - began:.0f} s", flush=True)


def write_standing(conn: Connection, season_id: SeasonId, version: int) -> None:
    """Writes an official standing of all entries."""
    rows = conn.execute(
        "select id, mu from entries where season_id = %s order by id", (season_id,)
    ).fetchall()
    rng = np.random.default_rng(version)
    losses = rng.random(len(rows)) / len(rows)
    scores = np.array([mu for _, mu in rows]) + rng.standard_normal(len(rows))
    content = [
        [entry, score, 20.0, 1, 1, 9, [0.1, 0.2, 0.3], loss]
        for (entry, _), score, loss in zip(rows, scores.tolist(), losses.tolist(), strict=True)
    ]
    conn.execute(
        "insert into standings (season_id, version, log_no, seed, fitted_by, boundary_weight,"
        " centre, spread, kappa, reference, wrong_medals, digest, content)"
        " select id, %s, rated_no, 1, 1, 0.08, 0, 1, 0, 0, 0, '', %s from seasons where id = %s",
        (version, json.dumps(content, separators=(",", ":")), season_id),
    )
    conn.execute(
        "update seasons set official_version = %s, official_no = rated_no, official_at = now()"
        " where id = %s",
        (version, season_id),
    )


def end_matches(conn: Connection, season_id: SeasonId, ids: Sequence[str]) -> None:
    """Writes the results, ratings and games of these matches."""
    no = seasons.get_season(conn, season_id).accepted_no
    given = {"season": season_id, "ids": list(ids), "no": no, "count": len(ids)}
    with conn.transaction():
        for statement in ENDED:
            conn.execute(statement, given)


def read_whole_log(conn: Connection, season_id: SeasonId, cache: SeasonCache) -> None:
    """Lets the scheduler read the log to its end, as it does over many rounds."""
    began, season = time.monotonic(), seasons.get_season(conn, season_id)
    cache.read_entries(conn, season_id)
    while cache.read_log(conn, season) < season.accepted_no:
        pass
    print(f"log read in {time.monotonic() - began:.0f} s", flush=True)


def prepare(conn: Connection, agents: int, played: int) -> tuple[SeasonId, SeasonCache]:
    """A season that the scheduler has read."""
    season_id = make_contest(conn, seats=SEATS).season.id
    fill(conn, season_id, agents, played)
    write_standing(conn, season_id, 1)
    cache = SeasonCache()
    read_whole_log(conn, season_id, cache)
    return season_id, cache


def measure(
    conn: Connection, season_id: SeasonId, cache: SeasonCache, rounds: int, lineups: int
) -> Iterator[Target]:
    """The parts of rounds of so many lineups, and the whole."""
    version = seasons.get_season(conn, season_id).official_version
    reading, choosing, writing = list[float](), list[float](), list[float]()
    for number in range(rounds + ROUNDS_OF_A_STANDING):
        began = time.perf_counter()
        (season,) = seasons.playing_seasons(conn)
        seasons.league_makers(conn, [season.id])
        matches_workers.live_workers(conn)
        cache.turns.set_least_turn(matches.first_turn_of_queue(conn, "play.cpu"))
        matches.matches_in_flight(conn, season.id)
        cache.usual.of(conn, season.id)
        cache.read_entries(conn, season.id)
        assert not cache.entries_without_matches(conn, season.id, {"numpy"})
        cache.read_log(conn, season)
        read = time.perf_counter()
        made = cache.propose_lineups(season, lineups=lineups, rng=Random(number)).lineups
        chosen = time.perf_counter()
        assert len(made) == lineups
        with conn.transaction():
            assert matches.lock_active_entries(conn, made)
            wanted = [matches.RatedMatch(lineup) for lineup in made]
            ids = matches.create_rated_matches(conn, season, wanted)
        written = time.perf_counter()
        end_matches(conn, season_id, ids)
        if number % ROUNDS_OF_A_STANDING == 0:
            write_standing(conn, season_id, version + number + 1)
        if number >= ROUNDS_OF_A_STANDING:  # the first rounds fill caches
            reading.append(1e3 * (read - began))
            choosing.append(1e3 * (chosen - read))
            writing.append(1e3 * (written - chosen))
    both = np.array(reading) + np.array(choosing)
    amortised = both.reshape(-1, ROUNDS_OF_A_STANDING).mean(axis=1) * DECISION / lineups
    yield Target(f"{lineups} lineups: reading what changed", reading, "ms")
    yield Target(f"{lineups} lineups: choosing them", choosing, "ms")
    yield Target(f"{lineups} lineups: both", both.tolist(), "ms")
    yield Target(f"{lineups} lineups: {DECISION} of them, amortised", amortised.tolist(), "ms", 10)
    yield Target(f"{lineups} lineups: writing their matches", writing, "ms")


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


def at_random(field: Sequence[Candidate], lineups: int, rng: Random) -> list[list[LineupSeat]]:
    """The peer: entries in random order; it draws again when two may not meet."""
    proposed: list[list[LineupSeat]] = []
    while len(proposed) < lineups:
        drawn = rng.sample(field, SEATS)
        if all(may_share_lineup(each, drawn[:n], False) for n, each in enumerate(drawn)):
            proposed.append([each.seat for each in drawn])
    return proposed


def measure_peer(agents: int, rounds: int) -> Target:
    """Random lineups of as many entries, already in memory."""
    field, times = league(agents), list[float]()
    for number in range(rounds):
        began = time.perf_counter()
        at_random(field, DECISION, Random(number))
        times.append(1e3 * (time.perf_counter() - began))
    return Target(f"{DECISION} lineups: at random", times, "ms")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--agents", type=int, action="append")
    options.add_argument("--matches", type=int, default=MATCHES, help="of the largest season")
    options.add_argument("--rounds", type=int, default=100)
    options.add_argument("--lineups", type=int, action="append", help="of a round")
    chosen = options.parse_args()
    rounds = -(-chosen.rounds // ROUNDS_OF_A_STANDING) * ROUNDS_OF_A_STANDING
    print(f"Rounds of pairing, {SEATS} seats: {describe_machine()}", flush=True)
    gc.freeze()  # as the scheduler does
    sizes = chosen.agents or AGENTS
    for agents in sizes:
        played = chosen.matches * agents // max(sizes)
        print(f"\n{agents:,} agents, {played:,} matches", flush=True)
        lines: list[Sequence[str]] = [HEAD]
        place = servers.fast_place() if played <= IN_MEMORY else DISK
        with servers.postgres(place) as url:
            name = servers.template(url)
            with servers.cloned(url, name) as address:
                with connect(address, autocommit=True) as conn:
                    migrate.turn_off_jit(conn)  # a clone does not have the template's options
                with connect(address, autocommit=True) as conn:
                    season_id, cache = prepare(conn, agents, played)
                    for lineups in chosen.lineups or LINEUPS:
                        found = measure(conn, season_id, cache, rounds, lineups)
                        lines += [row.cells() for row in found]
        lines.append(measure_peer(agents, rounds).cells())
        print(aligned(lines), flush=True)


if __name__ == "__main__":
    main()
