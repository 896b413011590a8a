"""Creates validation matches (copies of an entry in all seats) and estimates their wait.

What the result makes of the entry is decided by ``entry_decide`` in ``entries.sql``.

The turn of a validation match is the number of other waiting uploads of its team. A team without
members has only agents that the operator entered. The turn of its upload is one higher, so the
first waiting upload of each team of people goes first. If such a match is void, for example because
it waited too long (`queue_seconds` of the season), the next one of its entry has turn 0. Then only
uploads that wait already go before it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Final

from ladder.database.db import Connection, fetch_one
from ladder.entries.records import ShownPlace
from ladder.enums import FaultCause, MatchKind
from ladder.ids import EntryId, MatchId
from ladder.leagues.records import Season
from ladder.matches import matches, worker_availability
from ladder.matches import workers as matches_workers
from ladder.matches.records import LineupSeat

PLAY_SECONDS: Final = 8100.0  # longest time of a validation match after its wait in the queue
ETA_SAMPLE: Final = 20  # recent validations whose duration predicts the next one
PROMPT_SECONDS: Final = 10.0
"""A free slot takes a waiting validation within this time. After that nobody knows why it waits."""

QUEUE_PLACE: Final = """
    with ended as not materialized (
      select o.id, o.season_id, extract(epoch from v.finished_at - v.claimed_at) as seconds
      from entries o join matches v on v.id = o.validation_match_id and v.state = 'finished'
    )
    select (
             select count(*) from matches q
             where q.queue = m.queue and q.state = 'queued' and m.state = 'queued'
               and (q.turn, q.id) < (m.turn, m.id)
           ),
           (
             select coalesce(sum(slots), 0)::integer from workers
             where m.queue = any (queues) and live_until > now()
           ),
           coalesce(
             (
               select avg(seconds) from (
                 select seconds from ended where season_id = e.season_id
                 order by id desc limit %(sample)s
               ) newest
             ),
             (select avg(seconds) from (
               select seconds from ended order by id desc limit %(sample)s
             ) newest)
           )::float8,
           extract(epoch from now() - m.claimed_at)::float8,
           extract(epoch from now() - m.created_at)::float8,
           m.state, m.turn, m.queue, m.profiles, m.speed_class,
           (select count(*) from attempts a where a.match_id = m.id), m.max_attempts,
           (
             select a.fault_cause from attempts a where a.match_id = m.id
             order by a.attempt desc limit 1
           )
    from entries e join matches m on m.id = e.validation_match_id
    where e.id = %(entry)s
      and (e.state = 'pending' or e.state = 'paused' and e.deadline_at is not null)
    """


@dataclass(frozen=True, slots=True)
class QueuePlace(ShownPlace):
    reason: str | None = None
    """What the entry needs and no node has, or why its last attempt had no result. For example: "no
    node serves profile torch now; ...".
    """
    others_may_pass: bool = False
    """Whether new uploads of other teams go before it: its turn is above 0."""


def make_validation_match(conn: Connection, season: Season, entry_id: EntryId) -> MatchId:
    """Creates the entry's next validation match and sets its deadline."""
    *owner, others, has_members, validations = fetch_one(
        conn,
        lambda *columns: columns,
        """
        select submission_id, agent_id, team_id, profile,
               (
                 select count(*) from entries o
                 where o.state = 'pending' and o.team_id = e.team_id and o.id <> e.id
               ),
               exists (select 1 from memberships m where m.team_id = e.team_id),
               validations
        from entries e where id = %(entry)s
        """,
        {"entry": entry_id},
    )
    turn = others if has_members else 0 if validations else others + 1
    seat = LineupSeat(entry_id, *owner)
    match_id = matches.create_match(
        conn, season=season, kind=MatchKind.VALIDATION, lineup=[seat] * season.seats, turn=turn
    )
    conn.execute(
        "select entry_await_validation(%s, %s, %s)",
        (entry_id, match_id, season.queue_seconds + PLAY_SECONDS),
    )
    return match_id


def queue_place_of(conn: Connection, entry_id: EntryId) -> QueuePlace | None:
    """Returns the place of an entry in the validation queue; None if it does not wait.

    The estimate uses the mean duration of the season's last validations, else of all last
    validations. There is none if no validation has ended yet, and once this one or each one that
    must end before it has taken longer. A second one need not wait for the end of a slow one.
    """
    row = conn.execute(QUEUE_PLACE, {"entry": entry_id, "sample": ETA_SAMPLE}).fetchone()
    if row is None:
        return None
    ahead, slots, usual, ran, waited, state, turn, queue, needed, speed_class, *past = row
    if state == "running":
        left = None if usual is None or ran >= usual else max(1.0, usual - ran)
        return QueuePlace(ahead, left, ran, reason=_reason_for_repeat(*past))
    reason = worker_availability.why_no_worker_fits(
        matches_workers.live_workers(conn),
        queue=queue,
        needed=needed,
        speed_class=speed_class,
    )
    if reason is not None:
        return QueuePlace(ahead, None, None, reason=reason)
    return QueuePlace(
        ahead,
        None if usual is None else _seconds_until_end(conn, queue, slots, ahead, usual, waited),
        None,
        reason=_reason_for_repeat(*past),
        others_may_pass=turn > 0,
    )


def _seconds_until_end(
    conn: Connection, queue: str, slots: int, ahead: int, usual: float, waited: float
) -> float | None:
    """Seconds until a waiting validation should end, with ``ahead`` others before it.

    Validations have half of the slots, as while other matches wait; with two or three slots they
    have a second one beside a slow validation (`lease_claim`). None if nothing known says when one
    of these slots is free.
    """
    rows = conn.execute(
        """
        select extract(epoch from now() - claimed_at)::float8,
        extract(epoch from lease_slow_validation())::float8 from matches
        where queue = %s and state = 'running'
        """,
        (queue,),
    ).fetchall()
    running = [float(row[0]) for row in rows]
    # Seconds until slots are free. Nobody knows when a validation ends that took longer than usual.
    free_in = [-waited] * max(0, max(1, slots // 2) - len(running))
    if len(rows) == 1 and slots in (2, 3):
        free_in.append(max(-waited, rows[0][1] - running[0]))
    if free_in and min(free_in) < -PROMPT_SECONDS:
        return None  # other matches hold the slots
    free_at = [max(0.0, left) for left in free_in] + [usual - ran for ran in running if ran < usual]
    if not free_at:
        return None
    heapq.heapify(free_at)
    for _ in range(ahead):
        heapq.heapreplace(free_at, free_at[0] + usual)
    return max(1.0, free_at[0] + usual)


def _reason_for_repeat(attempts: int, most: int, cause: str | None) -> str | None:
    """Returns why the last attempt had no result; None if there was no attempt.

    The attempt's own text may hold facts about the host. So owners see one of two fixed sentences.
    """
    if not attempts:
        return None
    is_late = cause == FaultCause.NO_BOX
    why = "no box was ready in time because the host is busy" if is_late else "the host had a fault"
    return (
        f"{attempts} of {most} attempts were used: in the last one {why}; it will be played again"
    )
