"""Creates, counts and voids matches that wait or are in flight."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from ladder import ids, runtime_profiles
from ladder.database.db import Connection, atomic_function
from ladder.enums import MatchKind, VoidCause
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import EntryId, MatchId, ScrimId, SeasonId
from ladder.leagues.records import Season
from ladder.matches.records import LineupSeat

QUEUES: Final = ("play.cpu", "play.gpu", "scrim", "validate")
INSERT_MATCHES: Final = """
    insert into matches (id, kind, season_id, scrim_id, rejudges, queue, turn, goes_first,
    profiles, gpu, speed_class, seed, max_attempts, lease_seconds, deadline_at)
    select m.id, m.kind, s.id, m.scrim_id, m.rejudges, m.queue, m.turn, m.goes_first, m.profiles,
    m.gpu, case when m.kind = 'scrim' then 'any' else s.speed_class end, decode(m.seed, 'hex'),
    s.max_attempts, s.lease_seconds, now() + make_interval(secs => s.queue_seconds)
    from seasons s, jsonb_to_recordset(%s) as m(id text, kind text, scrim_id text, rejudges text,
    queue text, turn integer, goes_first boolean, profiles text[], gpu integer, seed text)
    where s.id = %s
    """
INSERT_SEATS: Final = """
    insert into seats (match_id, seat, entry_id, submission_id, agent_id, team_id, profile)
    select * from unnest(%s::text[], %s::integer[], %s::text[], %s::text[], %s::text[],
    %s::text[], %s::text[])
    """
BATCH: Final = 200  # most matches in one call of lease_reap or lease_expire


@dataclass(frozen=True, slots=True)
class QueueCount:
    queue: str
    queued: int
    running: int
    oldest_queued_at: datetime | None


_NEEDS_ACTIVE: Final = "a rated match needs active entries in all seats"


@dataclass(frozen=True, slots=True)
class RatedMatch:
    """A rated match to create."""

    lineup: Sequence[LineupSeat]
    turn: int = 0
    """Matches with a lower turn get their messages first."""
    goes_first: bool = False
    """Whether a worker claims this match whatever message it took."""


@atomic_function
def create_match(
    conn: Connection,
    *,
    season: Season,
    kind: MatchKind,
    lineup: Sequence[LineupSeat],
    seed: bytes | None = None,
    scrim_id: ScrimId | None = None,
    rejudges: MatchId | None = None,
    turn: int = 0,
    goes_first: bool = False,
) -> MatchId:
    """Queues a match of this lineup; by default the system's generator draws a 128-bit seed.

    A rated match counts as in flight for its entries. With a GPU profile in a seat it needs a GPU,
    and waits in the GPU queue. Matches with a lower ``turn`` get their messages first. A
    worker claims a match that ``goes_first`` whatever message it took.

    ``rejudges`` names a finished rated match to replace, and needs the same lineup. It is refused
    if another rejudgement of the match is in flight or has replaced it. The new match has the old
    seed, or a new seed if an agent is remote: that agent may know the old game.

    Raises Conflict for a refused rejudgement, and for an inactive entry in another rated match.
    Raises Conflict also if the account of an agent's owner was deleted, and Invalid for a wrong
    number of seats.
    """
    _check_seats(season, lineup)
    if rejudges is not None:
        seed = _seed_of_rejudgement(conn, rejudges, season.id, lineup)
    seed = secrets.token_bytes(16) if seed is None else seed
    if len(seed) != 16:
        raise Invalid("seed", f"must be 16 bytes; it is {len(seed)}")
    if kind is not MatchKind.RATED or rejudges is not None:
        _refuse_deleted_owner(conn, lineup)  # of other rated matches all entries are active
    if kind is MatchKind.RATED:
        _count_in_flight(conn, lineup, is_rejudge=rejudges is not None)
    row = _match_row(kind, lineup, turn, goes_first) | {
        "scrim_id": scrim_id,
        "rejudges": rejudges,
        "seed": seed.hex(),
    }
    conn.execute(INSERT_MATCHES, (Jsonb([row]), season.id))
    _insert_seats(conn, [row["id"]], [lineup])
    return MatchId(row["id"])


def lock_active_entries(conn: Connection, lineups: Iterable[Sequence[LineupSeat]]) -> set[EntryId]:
    """Locks the active entries of these lineups until the transaction ends; returns their ids."""
    rows = conn.execute(
        """
        select id from entries where id = any (%s) and state = 'active' order by id
        for no key update
        """,
        (sorted(_count_entries(lineups)),),
    )
    return {EntryId(row[0]) for row in rows}


@atomic_function
def create_rated_matches(
    conn: Connection, season: Season, wanted: Sequence[RatedMatch]
) -> list[MatchId]:
    """Queues rated matches in three statements; returns their ids in the order of ``wanted``.

    Each match becomes as with ``create_match``. The caller has locked all entries with
    ``lock_active_entries`` in its transaction. Raises Invalid for a wrong number of seats, and
    Conflict for a seat without an active entry.
    """
    if not wanted:
        return []
    lineups = [each.lineup for each in wanted]
    for lineup in lineups:
        _check_seats(season, lineup)
    count = _count_entries(lineups)
    counted = conn.execute(
        """
        update entries e set in_flight = in_flight + t.n
        from unnest(%s::text[], %s::integer[]) as t(id, n)
        where e.id = t.id and e.state = 'active'
        """,
        (list(count), list(count.values())),
    )
    if counted.rowcount != len(count) or any(
        seat.entry_id is None for lineup in lineups for seat in lineup
    ):
        raise Conflict(_NEEDS_ACTIVE, field="lineup")
    rows = [
        _match_row(MatchKind.RATED, each.lineup, each.turn, each.goes_first)
        | {"seed": secrets.token_hex(16)}
        for each in wanted
    ]
    match_ids = [MatchId(row["id"]) for row in rows]
    conn.execute(INSERT_MATCHES, (Jsonb(rows), season.id))
    _insert_seats(conn, match_ids, lineups)
    return match_ids


@atomic_function
def queue_scrim_games(
    conn: Connection,
    season: Season,
    scrim_id: ScrimId,
    lineups: Sequence[Sequence[LineupSeat]],
    seeds: Sequence[bytes | None] | None,
    *,
    turn: int,
    queue_seconds: float,
) -> None:
    """Queues one match of a scrim for each lineup, all of the same agents; the first has ``turn``.

    ``seeds`` has 16 bytes a match, or None for a random one. A match that waits ``queue_seconds``
    becomes void. Raises Conflict if the account of an agent's owner was deleted.
    """
    _refuse_deleted_owner(conn, lineups[0])
    profiles = sorted({seat.profile for seat in lineups[0]})
    match_ids = [MatchId(ids.new_id("mat")) for _ in lineups]
    with conn.cursor() as cur:
        cur.executemany(
            """
            insert into matches (id, kind, season_id, scrim_id, queue, turn, profiles, gpu,
            speed_class, seed, max_attempts, lease_seconds, deadline_at)
            values (%s, 'scrim', %s, %s, %s, %s, %s, %s, 'any', %s, %s, %s,
            now() + make_interval(secs => %s))
            """,
            [
                (
                    *(match_id, season.id, scrim_id, queue_of("scrim", profiles), turn + game),
                    *(profiles, int(runtime_profiles.needs_gpu(profiles))),
                    (seeds and seeds[game]) or secrets.token_bytes(16),
                    *(season.max_attempts, season.lease_seconds, queue_seconds),
                )
                for game, match_id in enumerate(match_ids)
            ],
        )
    _insert_seats(conn, match_ids, lineups)


def lineup_of(conn: Connection, match_id: MatchId) -> list[LineupSeat]:
    """Returns the lineup of a match by seat."""
    with conn.cursor(row_factory=class_row(LineupSeat)) as cur:
        return cur.execute(
            """
            select entry_id, submission_id, agent_id, team_id, profile from seats
            where match_id = %s order by seat
            """,
            (match_id,),
        ).fetchall()


def queue_of(kind: str, profiles: Iterable[str]) -> str:
    """Returns the queue for matches of this kind.

    All matches that need a GPU share one queue, so workers without a GPU are not woken for them.
    """
    if runtime_profiles.needs_gpu(profiles):
        return "play.gpu"
    return {"validation": "validate", "scrim": "scrim"}.get(kind, "play.cpu")


def expire_queued(conn: Connection) -> int:
    """Voids matches that waited in the queue past their deadline; returns how many."""
    row = conn.execute("select lease_expire(%s)", (BATCH,)).fetchone()
    assert row is not None
    return int(row[0])


def void_matches(
    conn: Connection, match_ids: Sequence[MatchId], cause: VoidCause, reason: str
) -> int:
    """Voids unfinished matches, even running ones; returns how many. Rates nobody.

    ``reason`` says the cause to people.
    """
    row = conn.execute("select lease_void(%s, %s, %s)", (list(match_ids), cause, reason)).fetchone()
    assert row is not None
    return int(row[0])


def queue_counts(conn: Connection, *, with_hidden: bool = True) -> list[QueueCount]:
    """Returns the length of every queue, with or without the matches that an embargo hides."""
    with conn.cursor(row_factory=class_row(QueueCount)) as cur:
        return cur.execute(
            """
            select q.queue, count(m.id) filter (where m.state = 'queued') as queued,
            count(m.id) filter (where m.state = 'running') as running,
            min(m.created_at) filter (where m.state = 'queued') as oldest_queued_at
            from unnest(%s::text[]) as q(queue) left join matches m
            on m.queue = q.queue and m.state in ('queued', 'running')
            and (%s or not exists (select 1 from tournament_games g
              where g.match_id = m.id and g.embargo <> 'public'))
            group by q.queue order by q.queue
            """,
            (list(QUEUES), with_hidden),
        ).fetchall()


def matches_in_flight(conn: Connection, season_id: SeasonId) -> int:
    """Returns the number of a season's rated matches that are queued or running."""
    row = conn.execute(
        """
        select count(*) from matches where season_id = %s and kind = 'rated'
        and state in ('queued', 'running')
        """,
        (season_id,),
    ).fetchone()
    assert row is not None
    return int(row[0])


def first_turn_of_queue(conn: Connection, queue: str) -> int | None:
    """Returns the lowest turn of the matches in this queue; None if it is empty."""
    row = conn.execute(
        "select min(turn) from matches where queue = %s and state = 'queued'", (queue,)
    ).fetchone()
    assert row is not None
    return None if row[0] is None else int(row[0])


def _check_seats(season: Season, lineup: Sequence[LineupSeat]) -> None:
    if len(lineup) != season.seats:
        raise Invalid(
            "lineup",
            f"the lineup has {len(lineup)} seats; give {season.seats}, as this season plays",
        )


def _match_row(
    kind: MatchKind,
    lineup: Sequence[LineupSeat],
    turn: int,
    goes_first: bool,
) -> dict[str, Any]:
    """A new match as ``INSERT_MATCHES`` takes it, without its seed."""
    profiles = sorted({seat.profile for seat in lineup})
    return {
        "id": ids.new_id("mat"),
        "kind": kind.value,
        "queue": queue_of(kind.value, profiles),
        "turn": turn,
        "goes_first": goes_first,
        "profiles": profiles,
        "gpu": int(runtime_profiles.needs_gpu(profiles)),
    }


def _insert_seats(
    conn: Connection, match_ids: Sequence[MatchId], lineups: Sequence[Sequence[LineupSeat]]
) -> None:
    """Inserts the seats of all these matches in one statement."""
    rows = [
        (match_id, n, s.entry_id, s.submission_id, s.agent_id, s.team_id, s.profile)
        for match_id, lineup in zip(match_ids, lineups, strict=True)
        for n, s in enumerate(lineup)
    ]
    conn.execute(INSERT_SEATS, [list(column) for column in zip(*rows, strict=True)])


def _refuse_deleted_owner(conn: Connection, lineup: Sequence[LineupSeat]) -> None:
    """Raises Conflict if a team was erased. Locks the teams, so that an erasure waits."""
    teams = sorted({seat.team_id for seat in lineup})
    rows = conn.execute(
        "select erased_at from teams where id = any (%s) order by id for key share", (teams,)
    ).fetchall()
    if any(erased_at is not None for (erased_at,) in rows):
        raise Conflict("the owner of an agent in this lineup deleted it", field="lineup")


def _count_entries(lineups: Iterable[Sequence[LineupSeat]]) -> Counter[EntryId]:
    """Counts the lineups of each entry."""
    return Counter(
        entry
        for lineup in lineups
        for entry in {seat.entry_id for seat in lineup}
        if entry is not None
    )


def _count_in_flight(conn: Connection, lineup: Sequence[LineupSeat], *, is_rejudge: bool) -> None:
    entries = sorted({seat.entry_id for seat in lineup if seat.entry_id is not None})
    counted = conn.execute(
        """
        update entries set in_flight = in_flight + 1 where id in (
        select id from entries where id = any (%s) and (state = 'active' or %s)
        order by id for update)
        """,
        (entries, is_rejudge),
    )
    if counted.rowcount != len(entries) or any(seat.entry_id is None for seat in lineup):
        raise Conflict(_NEEDS_ACTIVE, field="lineup")


def _seed_of_rejudgement(
    conn: Connection, old: MatchId, season_id: SeasonId, lineup: Sequence[LineupSeat]
) -> bytes | None:
    """Returns the old match's seed; None if an agent is remote. Refuses a wrong rejudgement.

    Locks the old match, so only one rejudgement can succeed.
    """
    row = conn.execute(
        "select seed, kind, state, season_id from matches where id = %s for update", (old,)
    ).fetchone()
    if row is None:
        raise NotFound.of("match")
    seed, kind, state, played_in = row
    if played_in != season_id:
        raise Conflict("choose a match of this season", field="rejudges")
    if kind != "rated" or state != "finished":
        raise Conflict("only a finished rated match can be judged again", field="rejudges")
    other = conn.execute(
        "select 1 from matches where rejudges = %s and state <> 'void' limit 1", (old,)
    ).fetchone()
    if other is not None:
        raise Conflict(
            "this match has a rejudgement already, running or finished", field="rejudges"
        )
    if list(lineup) != lineup_of(conn, old):
        raise Conflict(
            "a rejudgement must have the lineup of the match that it replaces", field="lineup"
        )
    is_remote = any(seat.profile == runtime_profiles.REMOTE for seat in lineup)
    return None if is_remote else bytes(seed)
