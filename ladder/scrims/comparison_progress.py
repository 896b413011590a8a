"""Plays comparisons: counts ended pairs, decides, and issues further pairs. A job of the scheduler.

Each call reads rows and may run at any time or twice. Pairs count in the order of their numbers:
in the order of their ends, short games would count first, and the verdict could err more often.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from estimates.comparison import Verdict, picture_after
from ladder.database.db import Connection, fetch, update
from ladder.enums import VoidCause
from ladder.errors import Conflict, NotFound
from ladder.ids import ComparisonId, MatchId
from ladder.leagues import seasons
from ladder.matches import matches
from ladder.notices.kinds import EventSubject, NoticeKind, record_event
from ladder.scrims import comparisons, policies, scrims
from ladder.scrims.comparisons import (
    Comparison,
    IssuedPair,
    issued_pairs,
    pair_plan,
    played_pairs,
)
from ladder.scrims.scrims import Asker

PAIRS_AT_ONCE: Final = 8
"""Pairs of a comparison that are queued or running at a time."""
MOST_REPLAYS: Final = 3
"""How often a pair is played again after faults of hosts."""
ASK_AGAIN: Final = timedelta(minutes=10)
"""How long a comparison waits after an opponent refused a game."""
ENDED_BY_BOUNDS: Final = (Verdict.BETTER, Verdict.NOT_BETTER)
OPPONENT_GONE: Final = """
    exists (
      select 1 from jsonb_array_elements_text(x.opponents) o(id)
      join submissions b on b.id = o.id join agents a on a.id = b.agent_id
      where a.team_id <> x.team_id and not exists (
        select 1 from entries e
        where e.submission_id = b.id and e.season_id = x.season_id
          and e.state in ('active', 'paused')
      )
    )"""
"""Whether an opponent of another team was retired, so that it plays no more games. SQL."""
DUE: Final = f"""
    select x.id from comparisons x
    where x.state = 'running' and (
      x.deadline_at <= now() or {OPPONENT_GONE}
      or exists (
        select 1 from comparison_pairs p
        join matches o on o.id = p.old_match_id join matches n on n.id = p.new_match_id
        where p.comparison_id = x.id and p.difference is null
          and o.state = 'finished' and n.state = 'finished'
      )
      or coalesce(x.waits_until, now()) <= now() and (
        %(few)s >= (
          select count(*) from comparison_pairs p
          where p.comparison_id = x.id and p.difference is null
        )
        or exists (
          select 1 from comparison_pairs p
          join matches m on m.id in (p.old_match_id, p.new_match_id) and m.state = 'void'
          where p.comparison_id = x.id and p.difference is null
        )
      )
    )
    order by x.id"""
LOCKED: Final = f"""
    select now() >= deadline_at, coalesce(waits_until, now()) <= now(), {OPPONENT_GONE}
    from comparisons x where id = %s and state = 'running'
    for no key update skip locked"""


def comparisons_to_advance(conn: Connection) -> list[ComparisonId]:
    """Returns running comparisons that can count a pair, issue pairs, or end without a verdict."""
    return fetch(conn, ComparisonId, DUE, {"few": PAIRS_AT_ONCE // 2})


def advance(conn: Connection, comparison_id: ComparisonId) -> Verdict | None:
    """Counts, decides and issues what is due now. Returns the verdict, if there is one now.

    The caller's transaction locks the comparison. Nothing happens to one that another has locked.
    """
    locked = conn.execute(LOCKED, (comparison_id,)).fetchone()
    if locked is None:
        return None
    is_late, may_issue, opponent_gone = locked
    comparison = comparisons.get_comparison(conn, comparison_id)
    verdict = _count_pairs(conn, comparison)
    if verdict is not None:
        ended_by = "bounds" if verdict in ENDED_BY_BOUNDS else "pairs"
        return _finish(conn, comparison, verdict, ended_by)
    if is_late:
        return _finish(conn, comparison, Verdict.CANNOT_TELL, "deadline")
    if opponent_gone:
        return _finish(conn, comparison, Verdict.CANNOT_TELL, "opponent_gone")
    issued = issued_pairs(conn, comparison_id)
    void = [pair for pair in issued if pair.difference is None and pair.is_void]
    if any(pair.replays >= MOST_REPLAYS for pair in void):
        return _finish(conn, comparison, Verdict.CANNOT_TELL, "host_faults")
    if may_issue:
        _replay_pairs(conn, comparison, void)
        _issue_pairs(conn, comparison, issued)
    return None


def _count_pairs(conn: Connection, comparison: Comparison) -> Verdict | None:
    """Counts the pairs that follow the counted ones without a gap. Returns the verdict if any."""
    query = """
        select difference from comparison_pairs
        where comparison_id = %s and difference is not null order by number"""
    differences = fetch(conn, float, query, (comparison.id,))
    for pair in played_pairs(conn, comparison, uncounted=True):
        if pair.number != len(differences) + 1:
            return None
        differences.append(pair.difference)
        picture = picture_after(differences, comparison.rule)
        update(
            conn,
            "comparison_pairs",
            {"comparison_id": comparison.id, "number": pair.number},
            difference=pair.difference,
            low=picture.low,
            high=picture.high,
        )
        if picture.verdict is not None:
            return picture.verdict
    return None


def _finish(conn: Connection, comparison: Comparison, verdict: Verdict, ended_by: str) -> Verdict:
    conn.execute(
        """
        update comparisons set state = 'finished', verdict = %(verdict)s, ended_by = %(ended_by)s,
          waits_until = null, finished_at = clock_timestamp()
        where id = %(comparison)s
        """,
        {"verdict": verdict, "ended_by": ended_by, "comparison": comparison.id},
    )
    comparisons.void_unfinished(conn, comparison.id, VoidCause.NOT_NEEDED)
    about = EventSubject(
        season_id=comparison.season_id,
        team_id=comparison.team_id,
        details={"comparison": comparison.id, "verdict": verdict.value},
    )
    record_event(conn, NoticeKind.COMPARISON_FINISHED, about)
    return verdict


def _replay_pairs(conn: Connection, comparison: Comparison, void: Sequence[IssuedPair]) -> None:
    """Plays pairs with a void match again, with the same seed, seat and opponents."""
    for pair in void:
        games = sorted([pair.old_match_id, pair.new_match_id])
        reason = "the other game of its pair is void"
        matches.void_matches(conn, games, VoidCause.NOT_NEEDED, reason)
        match_ids = _try_to_queue(conn, comparison, pair.number)
        if match_ids is None:
            return
        conn.execute(
            """
            with replayed as (
              update comparison_pairs
              set old_match_id = %(old)s, new_match_id = %(new)s, replays = replays + 1
              where comparison_id = %(comparison)s and number = %(number)s
            )
            update comparisons set replayed_pairs = replayed_pairs + 1 where id = %(comparison)s
            """,
            _row_of_pair(comparison, pair.number, match_ids),
        )


def _issue_pairs(conn: Connection, comparison: Comparison, issued: Sequence[IssuedPair]) -> None:
    """Queues new pairs, so that a few are always unfinished."""
    unfinished = sum(not pair.is_finished for pair in issued)
    last = min(comparison.most_pairs, len(issued) + PAIRS_AT_ONCE - unfinished)
    for number in range(len(issued) + 1, last + 1):
        match_ids = _try_to_queue(conn, comparison, number)
        if match_ids is None:
            return
        conn.execute(
            """
            insert into comparison_pairs (comparison_id, number, old_match_id, new_match_id)
            values (%(comparison)s, %(number)s, %(old)s, %(new)s)
            """,
            _row_of_pair(comparison, number, match_ids),
        )
    if comparison.waits_until is not None:
        update(conn, "comparisons", {"id": comparison.id}, waits_until=None)


def _row_of_pair(
    comparison: Comparison, number: int, match_ids: tuple[MatchId, MatchId]
) -> dict[str, object]:
    old, new = match_ids
    return {"comparison": comparison.id, "number": number, "old": old, "new": new}


def _try_to_queue(
    conn: Connection, comparison: Comparison, number: int
) -> tuple[MatchId, MatchId] | None:
    """Queues both games of a pair. None: not now, and the comparison waits."""
    waits_until = datetime.now(UTC) + ASK_AGAIN
    try:
        with conn.transaction():
            return _queue_pair(conn, comparison, number)
    except policies.ScrimLimitReached as limit:
        waits_until = limit.resets_at
    except (Conflict, NotFound):  # an opponent takes no scrims now
        pass
    update(conn, "comparisons", {"id": comparison.id}, waits_until=waits_until)
    return None


def _queue_pair(conn: Connection, comparison: Comparison, number: int) -> tuple[MatchId, MatchId]:
    """Queues each game as a scrim of its own, so that limits and policies of scrims count."""
    plan = pair_plan(comparison, number)
    season = seasons.get_season(conn, comparison.season_id)
    asker = Asker(season, comparison.team_id, comparison.requested_by)
    others = [comparison.opponent_submission_ids[opponent] for opponent in plan.opponents]
    games = []
    for version in (comparison.old_submission_id, comparison.new_submission_id):
        scrim = scrims.request_scrim(
            conn,
            asker,
            [*others[: plan.seat], version, *others[plan.seat :]],
            games=1,
            seeds=[plan.seed],
        )
        update(conn, "scrims", {"id": scrim.id}, comparison_id=comparison.id)
        games += fetch(conn, MatchId, "select id from matches where scrim_id = %s", (scrim.id,))
    return games[0], games[1]
