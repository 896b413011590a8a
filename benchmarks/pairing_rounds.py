"""Measures a round of pairing with its SQL: ``python -m benchmarks.pairing_rounds``.

A season in a real Postgres has many active entries of as many teams, and a log of results that the
scheduler has read. Each round reads the candidates and chooses lineups, as the scheduler does. Its
matches are written too, in one transaction that is rolled back, so each round starts alike.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from random import Random

import numpy as np

from benchmarks.report_tables import HEAD, Target, aligned, describe_machine
from ladder.database.db import Connection, connect
from ladder.entries import entries
from ladder.enums import MatchKind
from ladder.ids import SeasonId
from ladder.leagues import seasons
from ladder.matches import matches
from ladder.ratings.official.game_table import GameTable
from ladder.ratings.official.standing import OfficialPlace
from ladder.scheduling.season_cache import SeasonCache
from ladder.scheduling.season_field import PairingTerms, SeasonField
from tests import servers
from tests.integration.ladder.contest import raise_contest

SEATS = 4
LINEUPS = 50
AGENTS = (1_000, 10_000)
GAMES = 40
"""Games of an entry in the log."""
ROUNDS = 10


def fill(conn: Connection, season_id: SeasonId, agents: int) -> None:
    """Makes that many teams, each with one active entry."""
    given = {"season": season_id, "agents": agents}
    for statement in (
        "insert into teams (id, slug, name) select 'tea_' || lpad(n::text, 26, '0'), 'fill-' || n,"
        " 'Fill ' || n from generate_series(1, %(agents)s) n",
        "insert into agents (id, team_id, slug, name) select 'age_' || lpad(n::text, 26, '0'),"
        " 'tea_' || lpad(n::text, 26, '0'), 'fill', 'Fill' from generate_series(1, %(agents)s) n",
        "insert into submissions (id, agent_id, digest, size_bytes, filename)"
        " select 'sub_' || lpad(n::text, 26, '0'), 'age_' || lpad(n::text, 26, '0'),"
        " encode(sha256(n::text::bytea), 'hex'), 1, 'main.py'"
        " from generate_series(1, %(agents)s) n",
        "insert into entries (id, season_id, agent_id, team_id, submission_id, state, mu, sigma,"
        " games) select 'ent_' || lpad(n::text, 26, '0'), %(season)s,"
        " 'age_' || lpad(n::text, 26, '0'), 'tea_' || lpad(n::text, 26, '0'),"
        " 'sub_' || lpad(n::text, 26, '0'), 'active', 600 + 150 * sin(n), 40, 40"
        " from generate_series(1, %(agents)s) n",
    ):
        conn.execute(statement, given)
    conn.execute("vacuum analyze entries")


def known_field(conn: Connection, season_id: SeasonId, agents: int) -> SeasonField:
    """What the scheduler has read of the season: a log and a standing."""
    found = entries.pairing_candidates(conn, season_id)
    rng, field = np.random.default_rng(1), SeasonField()
    rows = np.tile(np.arange(agents, dtype=np.int32), (GAMES, 1))
    lineups = rng.permuted(rows, axis=1).reshape(-1, SEATS)
    games = GameTable(lineups, np.ones(lineups.shape, np.int16), np.zeros(lineups.shape, np.bool_))
    field.count_games({each.entry_id: n for n, each in enumerate(found)}, games)
    losses = rng.random(agents) / agents
    field.set_places(
        {
            each.entry_id: OfficialPlace(each.mu, each.sigma, 1, 1, 1, (0.0, 0.0, 0.0), float(loss))
            for each, loss in zip(found, losses, strict=True)
        }
    )
    return field


def measure(conn: Connection, agents: int) -> Iterator[Target]:
    """The parts of a round and the whole."""
    season = raise_contest(conn, seats=SEATS).season
    fill(conn, season.id, agents)
    season = seasons.get_season(conn, season.id)
    field = known_field(conn, season.id, agents)
    terms = PairingTerms(season.seats, season.beta, season.score_offset)
    cache = SeasonCache()
    reading, choosing, writing = list[float](), list[float](), list[float]()
    for number in range(ROUNDS + 2):
        began = time.perf_counter()
        cache.turns.set_least_turn(matches.first_turn_of_queue(conn, "play.cpu"))
        matches.matches_in_flight(conn, season.id)
        cache.usual.of(conn, season.id)
        found = entries.pairing_candidates(conn, season.id)
        read = time.perf_counter()
        made = field.propose_lineups(found, terms, lineups=LINEUPS, rng=Random(number)).lineups
        chosen = time.perf_counter()
        assert len(made) == LINEUPS
        with conn.transaction(force_rollback=True):
            for lineup in made:
                matches.create_match(
                    conn, season=season, kind=MatchKind.RATED, lineup=lineup, turn=0
                )
        if number > 1:  # the first rounds fill caches
            reading.append(1e3 * (read - began))
            choosing.append(1e3 * (chosen - read))
            writing.append(1e3 * (time.perf_counter() - chosen))
    who = f"{agents:,} agents"
    yield Target(f"reading the candidates, {who}", reading, "ms")
    yield Target(f"choosing {LINEUPS} lineups, {who}", choosing, "ms")
    yield Target(f"writing {LINEUPS} matches, {who}", writing, "ms")
    both = [a + b for a, b in zip(reading, choosing, strict=True)]
    yield Target(f"a decision of {LINEUPS} with its reading, {who}", both, "ms", 10)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--agents", type=int, action="append")
    chosen = options.parse_args()
    print(f"Rounds of pairing, {SEATS} seats: {describe_machine()}\n", flush=True)
    lines: list[Sequence[str]] = [HEAD]
    for agents in chosen.agents or AGENTS:
        with servers.postgres() as url:
            name = servers.template(url)
            with servers.cloned(url, name) as address, connect(address, autocommit=True) as conn:
                lines += [row.cells() for row in measure(conn, agents)]
    print(aligned(lines))


if __name__ == "__main__":
    main()
