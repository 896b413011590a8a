"""Measures the filters of match lists over ten million matches, and prints the slowest plans.

    python -m benchmarks.match_filters [--matches 10000000] [--agents 1000] [--queries 30]

Postgres is real. SQL makes the rows: ten seasons, two seats a match, one result in 500 a fault, one
match in 50 a validation. Every filter is asked for random agents through
`match_search.search_matches`, as a stranger, with a page of 50. A time includes reading the seats
of the page. The CPU time is that of this process and of the server's.

The same questions are asked twice: after a restart of the server without any page of its files in
memory, and once more.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.report_tables import aligned, describe_machine, quantile
from ladder import ids
from ladder.database.db import Connection, connect, use_one_process
from ladder.database.migrate import migrate, migration_files
from ladder.enums import MatchKind, MatchState
from ladder.ids import AgentId, SeasonId, SubmissionId
from ladder.matches import match_search
from ladder.matches.match_search import MatchFilter, Outcome, SeatVerdict
from ladder.people.records import STRANGER
from services import embedded_servers
from tests import servers
from tests.integration.ladder.contest import make_contest

SEASONS = 10
SPAN = timedelta(days=100)
TABLES = ("matches", "seats")
LIMIT_MS = 50.0
PLANS = 6
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
    began = time.monotonic()
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
    conn.execute("drop table meetings")
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
        print(f"\r{given['to']:,} matches", end="", flush=True)
    loaded = time.monotonic()
    conn.execute("set maintenance_work_mem = '512MB'")
    for text in indexes:
        conn.execute(text)
    indexed = time.monotonic()
    migration = dict(migration_files())["0025_before_meetings.sql"]
    conn.execute(migration.replace("create table", "create unlogged table").encode())
    migrated = time.monotonic()
    for table in (*TABLES, "meetings"):
        conn.execute(f"vacuum analyze {table}")
    taken = conn.execute(
        "select pg_database_size(current_database()), pg_total_relation_size('meetings')"
    ).fetchone()
    assert taken is not None
    print(
        f"\nloaded in {loaded - began:.0f} s, indexes in {indexed - loaded:.0f} s,"
        f" the migration of meetings in {migrated - indexed:.0f} s;"
        f" {taken[0] / 1e9:.1f} GB, of it meetings {taken[1] / 1e9:.2f} GB"
    )


def make_partitions(conn: Connection) -> None:
    """Makes the partitions of the months of SPAN, without a write-ahead log for any partition."""
    month = (datetime.now(UTC) - SPAN).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    while month < datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0):
        following = (month + timedelta(days=32)).replace(day=1)
        low, high = (
            "mat_" + ids.time_part(round(one.timestamp() * 1000)) for one in (month, following)
        )
        for table in TABLES:
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
    print(describe_machine())
    place = servers.fast_place() if options.matches <= IN_MEMORY else DISK
    with servers.short_folder(place) as folder:
        made = load(folder, options.matches, options.agents)
        forget_files(folder)
        ask(folder, made, options.queries)


def load(folder: Path, matches: int, agents: int) -> Contents:
    """Makes a database with these matches in a folder."""
    server = embedded_servers.start_postgres(folder, durable=False)
    try:
        migrate(server.url)
        with connect(server.url, autocommit=True) as conn:
            made = make_contents(conn, agents)
            fill(conn, matches, made.seasons, agents // SEASONS)
    finally:
        server.stop()
    return made


def ask(folder: Path, made: Contents, queries: int) -> None:
    """Starts a server on the folder, asks everything twice and prints times and plans."""
    server = embedded_servers.start_postgres(folder, durable=False)
    try:
        with connect(server.url, autocommit=True) as conn:
            use_one_process(conn)  # as the site's connections
            draw = random.Random(5)
            asked = [questions(made, draw) for _ in range(queries + 1)]
            for memory in ("cold: no page of the files in memory", "warm: asked once more"):
                print(f"\n{memory}; load average {os.getloadavg()[0]:.1f}")
                slowest = measure(conn, asked)
            for name, wanted in slowest.items():
                print(f"\nslowest plan of: {name}")
                for line in explain(conn, wanted):
                    print(f"  {line}")
    finally:
        server.stop()


def forget_files(folder: Path) -> None:
    """Drops the pages of a stopped server's files from the memory of the operating system."""
    for path in folder.rglob("*"):
        if path.is_file():
            file = os.open(path, os.O_RDONLY)
            os.fsync(file)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


def measure(conn: Connection, asked: Sequence[dict[str, MatchFilter]]) -> dict[str, MatchFilter]:
    """Prints the times of all filters; returns the slowest question of the slowest filters.

    The first questions only fill the server's memory of its catalogue.
    """
    times: dict[str, list[float]] = {}
    work: dict[str, list[float]] = {}
    worst: dict[str, MatchFilter] = {}
    for wanted in asked[0].values():
        match_search.search_matches(conn, STRANGER, wanted)
    for name, wanted in (pair for one in asked[1:] for pair in one.items()):
        began, worked = time.perf_counter(), cpu_seconds(conn)
        match_search.search_matches(conn, STRANGER, wanted)
        took = 1000 * (time.perf_counter() - began)
        work.setdefault(name, []).append(1000 * (cpu_seconds(conn) - worked))
        times.setdefault(name, []).append(took)
        if took >= max(times[name]):
            worst[name] = wanted
    rows = [["filter", "median ms", "p95 ms", "worst ms", "cpu median ms", "cpu p95 ms"]]
    for name, took_ms in times.items():
        took_ms, cpu_ms = sorted(took_ms), sorted(work[name])
        shown = [quantile(took_ms, 0.5), quantile(took_ms, 0.95), took_ms[-1]]
        shown += [quantile(cpu_ms, 0.5), quantile(cpu_ms, 0.95)]
        rows.append([name, *(f"{one:.1f}" for one in shown)])
    every = sorted(one for took_ms in times.values() for one in took_ms)
    every_cpu = sorted(one for cpu_ms in work.values() for one in cpu_ms)
    print(aligned(rows))
    print(
        f"all filters: p95 {quantile(every, 0.95):.1f} ms, aim {LIMIT_MS:.0f} ms;"
        f" of it cpu {quantile(every_cpu, 0.95):.1f} ms"
    )
    slowest = sorted(times, key=lambda one: -max(times[one]))[:PLANS]
    return {name: worst[name] for name in slowest}


def cpu_seconds(conn: Connection) -> float:
    """CPU time of this process and of its process at the server, which is on this machine.

    On a busy machine it shows what a query costs; the wall time also has the wait for a core.
    """
    on_cpu = Path(f"/proc/{conn.info.backend_pid}/schedstat").read_text().split()[0]
    return time.process_time() + int(on_cpu) / 1e9


def explain(conn: Connection, wanted: MatchFilter) -> list[str]:
    """The plan of the query for the candidates or the newest matches, as Postgres ran it."""
    if wanted.names_a_player or wanted.season_id:
        text, arguments = match_search.candidates_query(wanted, None, 62)
    else:
        text, arguments = match_search.all_leagues_query(STRANGER, wanted, None, 50)
    rows = conn.execute(f"explain (analyze, buffers, costs off) {text}", arguments)
    return [row[0] for row in rows]


if __name__ == "__main__":
    main()
