"""Measures the filters of match lists over ten million matches.

    python -m benchmarks match_filters [--matches 10000000] [--agents 1000] [--queries 30]

Postgres is real. SQL makes the rows: ten seasons, two seats a match, one result in 500 a fault, one
match in 50 a validation. Every filter is asked for random agents through
`match_search.search_matches`, as a stranger, with a page of 50. A time includes reading the seats
of the page. The CPU time is that of this process and of the server's.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.report_tables import HEAD, Target, aligned, describe_machine, quantile
from ladder import ids
from ladder.database.db import Connection, connect, use_one_process
from ladder.database.migrate import migrate
from ladder.enums import MatchKind, MatchState
from ladder.ids import AgentId, SeasonId, SubmissionId
from ladder.matches import match_search
from ladder.matches.match_search import MatchFilter, Outcome, SeatVerdict
from ladder.people.records import STRANGER
from services.run import embedded_servers
from tests import servers
from tests.integration.ladder.contest import make_contest

SEASONS = 10
SPAN = timedelta(days=100)
TABLES = ("matches", "seats", "meetings")
LIMIT_MS = 50.0
DISK = "/var/tmp"
IN_MEMORY = 2_000_000
"""Matches of which the database may lie in memory; more of them lie on the disk."""
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
ROWS = """
with made as materialized (
    select n, fill_id(n) as id from generate_series(%(from)s::bigint, %(to)s::bigint) as numbers(n)
), played as (
    insert into matches (id, kind, season_id, state, queue, profiles, deadline_at, seed,
                         max_attempts, lease_seconds, accepted_no, created_at, finished_at)
    select id, case when n %% 50 = 0 then 'validation' else 'rated' end,
           (%(seasons)s::text[])[1 + n %% %(count)s], 'finished', 'play.cpu', '{numpy}', now(),
           '\\x00'::bytea, 3, 15, n, now(), now()
      from made
)
insert into seats (match_id, seat, entry_id, submission_id, agent_id, team_id, placement, reward,
                   verdict, charged_seconds, max_move_seconds)
select made.id, s, a.entry_id, a.submission_id, a.agent_id, a.team_id,
       (1 + (s + n / 7) %% 2)::int, 0,
       case when (n * 2 + s) %% 500 = 0 then 'TIMEOUT' else 'DONE' end, 1, 0.1
  from made,
       generate_series(0, 1) as places(s),
       lateral (select (n %% %(count)s) * %(size)s as base) b,
       lateral (select b.base
         + ((n / %(count)s) * (1 + s * 6) + s * (1 + n %% 97)) %% %(size)s as k) p
  join fill_agents a on a.place = p.k
"""
MEETINGS = """
insert into meetings (match_id, pair)
select distinct a.match_id, pair_of(a.agent_id, b.agent_id)
  from seats a join seats b on b.match_id = a.match_id and b.seat > a.seat
"""


@dataclass(frozen=True, slots=True)
class Contents:
    """What the filters ask for."""

    seasons: list[SeasonId]
    agents: list[AgentId]
    """By season."""
    submissions: list[SubmissionId]
    """Each agent's submission."""


def make_contents(conn: Connection, agents: int) -> Contents:
    """Makes seasons and agents, and a table of the agents for `fill`."""
    made = Contents([], [], [])
    conn.execute(
        "create table fill_agents (place bigint primary key, entry_id text, submission_id text,"
        " agent_id text, team_id text)"
    )
    size = agents // SEASONS
    for season in range(SEASONS):
        contest = make_contest(conn, seats=2)
        made.seasons.append(contest.season.id)
        for number in range(size):
            one = contest.submission()
            conn.execute(
                "insert into fill_agents select %s, %s, %s, %s, team_id from agents where id = %s",
                (season * size + number, ids.new_id("ent"), one.id, one.agent_id, one.agent_id),
            )
            made.agents.append(one.agent_id)
            made.submissions.append(one.id)
    return made


def fill(conn: Connection, matches: int, seasons: list[SeasonId], size: int) -> None:
    """Makes the rows with ids spread over SPAN, half a million at a time, and then the indexes."""
    start = int((datetime.now(UTC) - SPAN).timestamp() * 1000)
    every = SPAN.total_seconds() * 1000 / matches
    # The id of match n: its moment in the alphabet of ids, and n as the random part.
    moment = f"({start} + (n * {every})::bigint)"
    digits = [f"substr('{ALPHABET}', (({moment} >> {45 - 5 * i}) & 31)::int + 1, 1)"
              for i in range(10)]  # fmt: skip
    conn.execute(
        "create function fill_id(n bigint) returns text language sql immutable parallel safe as"
        f" $$ select 'mat_' || {' || '.join(digits)} || lpad(n::text, 16, '0') $$"
    )
    make_partitions(conn)
    indexes = drop_indexes(conn)
    conn.execute("alter table seats disable trigger seats_meet")
    step = 500_000
    for first in range(1, matches + 1, step):
        given: dict[str, Any] = {
            "from": first,
            "to": min(matches, first + step - 1),
            "seasons": seasons,
            "count": SEASONS,
            "size": size,
        }
        conn.execute(ROWS, given)
    conn.execute(MEETINGS)
    conn.execute("set maintenance_work_mem = '512MB'")
    for text in indexes:
        conn.execute(text)
    conn.execute("alter table seats enable trigger seats_meet")
    for table in TABLES:
        conn.execute(f"vacuum analyze {table}")


def make_partitions(conn: Connection) -> None:
    """Makes the partitions of the months of SPAN, without a write-ahead log for any partition."""
    month = (datetime.now(UTC) - SPAN).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    while month < datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0):
        following = (month + timedelta(days=32)).replace(day=1)
        low, high = (
            "mat_" + ids.time_part(round(one.timestamp() * 1000)) for one in (month, following)
        )
        for table in TABLES[:2]:
            conn.execute(
                f"create table {table}_{month:%Y_%m} partition of {table}"
                f" for values from ('{low}') to ('{high}')"
            )
        month = following
    for (name,) in conn.execute(
        "select inhrelid::regclass::text from pg_inherits where inhparent = any (%s::regclass[])",
        (list(TABLES),),
    ).fetchall():
        conn.execute(f"alter table {name} set unlogged")
    conn.execute("alter table meetings set unlogged")


def drop_indexes(conn: Connection, tables: Sequence[str] = TABLES) -> list[str]:
    """Drops keys and indexes of these tables; returns the statements that make them again."""
    found = []
    keys = conn.execute(
        "select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint"
        " where contype = 'p' and conrelid = any (%s::regclass[])",
        (list(tables),),
    ).fetchall()
    for table, name, text in keys:
        conn.execute(f"alter table {table} drop constraint {name}")
        found.append(f"alter table {table} add constraint {name} {text}")
    indexes = conn.execute(
        "select indexname, indexdef from pg_indexes where tablename = any (%s)", (list(tables),)
    ).fetchall()
    for name, text in indexes:
        conn.execute(f"drop index {name}")
        found.append(text.replace(" ON ONLY ", " ON "))
    return found


def questions(made: Contents, draw: random.Random) -> dict[str, MatchFilter]:
    """One filter of each kind, for agents of one season."""
    agents = made.agents
    size = len(agents) // SEASONS
    base = draw.randrange(SEASONS) * size
    place = base + draw.randrange(size)
    one, other = agents[place], agents[base + draw.randrange(size)]
    recent = datetime.now(UTC) - timedelta(days=draw.randrange(1, 90))
    season = made.seasons[base // size]
    return {
        "all leagues": MatchFilter(),
        "league": MatchFilter(season_id=season),
        "league, since": MatchFilter(season_id=season, since=recent),
        "league, kind": MatchFilter(season_id=season, kind=MatchKind.VALIDATION),
        "league, kind never": MatchFilter(season_id=season, kind=MatchKind.SCRIM),
        "league, state never": MatchFilter(season_id=season, state=MatchState.VOID),
        "agent": MatchFilter(agent_id=one),
        "agent, outcome": MatchFilter(agent_id=one, outcome=draw.choice(list(Outcome))),
        "agent, verdict": MatchFilter(agent_id=one, verdict=SeatVerdict.TIMEOUT),
        "agent, verdict never": MatchFilter(agent_id=one, verdict=SeatVerdict.INVALID),
        "agent, seat": MatchFilter(agent_id=one, seat=draw.randrange(2)),
        "agent, version": MatchFilter(agent_id=one, submission_id=made.submissions[place]),
        "agent, since": MatchFilter(agent_id=one, since=recent),
        "agent, kind": MatchFilter(agent_id=one, kind=MatchKind.VALIDATION),
        "agent, opponent": MatchFilter(agent_id=one, opponent_id=other),
        "opponent, outcome": MatchFilter(agent_id=one, opponent_id=other, outcome=Outcome.LOST),
        "opponent elsewhere": MatchFilter(
            agent_id=one, opponent_id=agents[(place + size) % len(agents)]
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matches", type=int, default=10_000_000)
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=30)
    options = parser.parse_args()
    place = servers.fast_place() if options.matches <= IN_MEMORY else DISK
    with servers.short_folder(place) as folder:
        server = embedded_servers.start_postgres(folder, durable=False)
        try:
            migrate(server.url)
            with connect(server.url, autocommit=True) as conn:
                contents = make_contents(conn, options.agents)
                fill(conn, options.matches, contents.seasons, options.agents // SEASONS)
            with connect(server.url, autocommit=True) as conn:
                use_one_process(conn)  # as the site's connections
                draw = random.Random(5)
                asked = [questions(contents, draw) for _ in range(options.queries + 1)]
                print(f"{options.matches:,} matches; {describe_machine()}")
                measure(conn, asked)
        finally:
            server.stop()


def measure(conn: Connection, asked: Sequence[dict[str, MatchFilter]]) -> None:
    """Prints the times of all filters. The first questions only fill the server's catalogue."""
    times_ms: dict[str, list[float]] = {}
    cpu_ms: dict[str, list[float]] = {}
    for wanted in asked[0].values():
        match_search.search_matches(conn, STRANGER, wanted)
    for name, wanted in (pair for one in asked[1:] for pair in one.items()):
        began, worked = time.perf_counter(), cpu_seconds(conn)
        match_search.search_matches(conn, STRANGER, wanted)
        times_ms.setdefault(name, []).append(1000 * (time.perf_counter() - began))
        cpu_ms.setdefault(name, []).append(1000 * (cpu_seconds(conn) - worked))
    rows = [Target(f"all filters, p95, {len(times_ms)} kinds", [_p95(times_ms)], "ms", LIMIT_MS)]
    rows.append(Target("  of it processor time", [_p95(cpu_ms)], "ms"))
    rows += [Target(name, times, "ms") for name, times in times_ms.items()]
    print(aligned([HEAD, *(row.cells() for row in rows)]))


def _p95(samples: dict[str, list[float]]) -> float:
    return quantile([each for some in samples.values() for each in some], 0.95)


def cpu_seconds(conn: Connection) -> float:
    """CPU time of this process and of its process at the server, which is on this machine.

    On a busy machine it shows what a query costs; the wall time also has the wait for a core.
    """
    on_cpu = Path(f"/proc/{conn.info.backend_pid}/schedstat").read_text().split()[0]
    return time.process_time() + int(on_cpu) / 1e9


if __name__ == "__main__":
    main()
