"""Checks of machines that are not trusted: replays, second plays, and quarantine.

The result of such a machine waits until ``workers.result_checks`` played its replay again by the
rules. The match stays running meanwhile. A result that nobody checks within 10 minutes is lost, and
the match is queued again (lease.sql).

Some rated matches are played twice more, by trusted machines, with the same seed. Nobody sees these
two plays. If both made the same moves, the lineup is repeatable, and other moves of the machine
count against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from ladder import ids
from ladder.database.db import Connection, atomic_function, exists, fetch, fetch_one
from ladder.enums import Json, MatchKind
from ladder.errors import Conflict
from ladder.ids import MachineId, MatchId, SeasonId, UserId
from ladder.leagues import seasons
from ladder.machines import machines
from ladder.matches import matches
from ladder.notices.kinds import EventSubject, NoticeKind, record_events

AT_ONCE: Final = 100
REPEAT_SHARE: Final = 0.1
"""Share of a machine's rated matches that are played again."""
SUSPECTED_SHARE: Final = 0.5
"""The same for a machine that has made other moves in one of them."""
WAITING_HOURS: Final = 24
"""A match whose second plays have not ended by then is not compared."""
MOST_MISMATCHES: Final = 3
"""Results that their replays do not give, from which a machine goes into quarantine. An honest
machine has none."""
MOST_DIFFERENT: Final = 5
"""Compared matches with other moves, among the latest ones, from which a machine goes into
quarantine. An honest machine has some, if an agent does not always make the same moves."""
LATEST: Final = 60
"""Latest compared matches that count. So a machine that begins to lie is found as soon as a new
one."""


@dataclass(frozen=True, slots=True)
class Report:
    """A reported result and what the match was to be."""

    match_id: MatchId
    attempt: int
    machine_id: MachineId
    game: str
    configuration: dict[str, Json]
    clock: dict[str, Json]
    seed: bytes
    seats: list[dict[str, Json]]
    """As the fields of `SeatResult`, with missing ones where the machine left them out."""
    episodes: list[dict[str, Json]]
    """As the fields of `EpisodeResult`."""


@dataclass(frozen=True, slots=True)
class PlayedAgain:
    """A match of a machine whose two second plays have ended."""

    match_id: MatchId
    control_id: str
    """Id of the pair of second plays."""
    first_match_id: MatchId
    second_match_id: MatchId


def are_waiting(conn: Connection) -> bool:
    """Whether a result waits for its check, or a match for its comparison."""
    return exists(conn, "select 1 from machine_reports") or bool(list_played_again(conn))


def waiting_reports(conn: Connection, games: Sequence[str]) -> list[Report]:
    """The results of these games that wait, oldest first, at most AT_ONCE."""
    query = """select r.match_id, r.attempt, r.machine_id, s.game, s.configuration, s.clock, m.seed,
          r.seats, r.episodes
        from machine_reports r join matches m on m.id = r.match_id
        join seasons s on s.id = m.season_id
        where s.game = any (%(games)s) order by r.reported_at, r.match_id limit %(most)s"""
    return fetch(conn, Report, query, {"games": list(games), "most": AT_ONCE})


def judge_report(conn: Connection, report: Report, mismatch: str | None) -> bool:
    """Lets the result count, or ends the attempt and counts the mismatch against the machine.
    False: the result waits no longer. Call it in a transaction of its own."""
    return fetch_one(
        conn, bool, "select lease_judge(%s, %s, %s)", (report.match_id, report.attempt, mismatch)
    )


@atomic_function
def choose_second_plays(conn: Connection, match_id: MatchId, chance: Random) -> None:
    """Decides by chance whether an accepted match of a machine is played again, and then queues two
    plays for trusted machines. Only rated matches are."""
    query = """
        select m.season_id, m.seed, t.machine_id,
               exists (select 1 from machine_samples s
                        where s.machine_id = t.machine_id and s.is_different
                          and s.created_at > c.judged_from)
          from matches m
          join attempts t on t.match_id = m.id and t.ended = 'finished'
          join machines c on c.id = t.machine_id
         where m.id = %(match)s and m.kind = 'rated'
        """
    row = conn.execute(query, {"match": match_id}).fetchone()
    if row is None:
        return
    season_id, seed, machine_id, is_suspected = row
    if chance.random() >= (SUSPECTED_SHARE if is_suspected else REPEAT_SHARE):
        return
    season = seasons.get_season(conn, SeasonId(season_id))
    lineup = matches.lineup_of(conn, match_id)
    try:
        first, second = (
            matches.create_match(
                conn, season=season, kind=MatchKind.SCRIM, lineup=lineup, seed=bytes(seed)
            )
            for _ in range(2)
        )
    except Conflict:  # the owner of an agent deleted it
        return
    conn.execute(
        """
        with control as (
            insert into machine_controls (id, season_id, first_match_id, second_match_id)
            values (%(control)s, %(season)s, %(first)s, %(second)s)
            returning id
        )
        insert into machine_samples (match_id, control_id, machine_id)
        select %(match)s, id, %(machine)s from control
        """,
        {
            "control": ids.new_id("mct"),
            "season": season.id,
            "first": first,
            "second": second,
            "match": match_id,
            "machine": machine_id,
        },
    )


def list_played_again(conn: Connection) -> list[PlayedAgain]:
    """The matches that can be compared now, oldest first, at most AT_ONCE."""
    query = """select s.match_id, c.id as control_id, c.first_match_id, c.second_match_id
        from machine_samples s join machine_controls c on c.id = s.control_id
        join matches a on a.id = c.first_match_id and a.state = 'finished'
        join matches b on b.id = c.second_match_id and b.state = 'finished'
        where s.compared_at is null and s.machine_id is not null order by s.match_id
        limit %(most)s"""
    return fetch(conn, PlayedAgain, query, {"most": AT_ONCE})


def store_comparison(conn: Connection, match: PlayedAgain, is_different: bool | None) -> None:
    """Records whether the machine made other moves. None: the lineup is not repeatable."""
    conn.execute(
        """
        with control as (
            update machine_controls set is_repeatable = %(is_different)s::boolean is not null
             where id = %(control)s
        )
        update machine_samples set is_different = %(is_different)s, compared_at = now()
         where match_id = %(match)s
        """,
        {"is_different": is_different, "control": match.control_id, "match": match.match_id},
    )


def give_up_second_plays(conn: Connection) -> int:
    """Ends the wait for second plays that did not end in time. Returns how many matches."""
    query = """
        with late as (
            update machine_samples set compared_at = now()
             where compared_at is null and created_at < now() - make_interval(hours => %(hours)s)
            returning control_id
        ), controls as (
            update machine_controls set is_repeatable = false
             where is_repeatable is null and id in (select control_id from late)
        )
        select control_id from late
        """
    return conn.execute(query, {"hours": WAITING_HOURS}).rowcount


@atomic_function
def judge_machines(conn: Connection) -> list[MachineId]:
    """Puts machines into quarantine, and tells all administrators. Returns these machines."""
    rows = conn.execute(
        """
        select c.id, mismatches.count, latest.compared, latest.different
          from machines c
         cross join lateral (
               select count(*) from machine_mismatches
                where machine_id = c.id and found_at > c.judged_from) as mismatches
         cross join lateral (
               select count(*) as compared, count(*) filter (where is_different) as different
                 from (select is_different from machine_samples
                        where machine_id = c.id and is_different is not null
                          and created_at > c.judged_from
                        order by compared_at desc limit %(latest)s) as s) as latest
         where c.revoked_at is null and c.quarantined_at is null and c.tier <> 'trusted'
           and (mismatches.count >= %(mismatches)s or latest.different >= %(different)s)
         order by c.id
        """,
        {"latest": LATEST, "mismatches": MOST_MISMATCHES, "different": MOST_DIFFERENT},
    ).fetchall()
    for machine_id, mismatches, compared, different in rows:
        machines.quarantine(
            conn,
            MachineId(machine_id),
            f"{mismatches} results that their replays do not give"
            if mismatches >= MOST_MISMATCHES
            else f"other moves than trusted machines in {different} of {compared} compared matches",
        )
    if rows:
        query = "select id from users where is_admin and erased_at is null order by id"
        administrators = fetch(conn, UserId, query)
        record_events(
            conn,
            [
                (
                    NoticeKind.MACHINE_QUARANTINED,
                    EventSubject(user_id=user_id, details={"machine": machine_id}),
                )
                for machine_id, *_ in rows
                for user_id in administrators
            ],
        )
    return [MachineId(machine_id) for machine_id, *_ in rows]
