"""Handles remote agents that do not answer: strikes, pauses, tries, retirement.

An entry gets a strike if its agent is unreachable in a rated match, and rests for a minute. Ten
answered matches in a row remove a strike. The third strike pauses the entry (``remote_strike`` and
``remote_count_answers`` in the SQL): it keeps its rank and is not paired.

A try is a validation match. The instance makes tries at growing intervals, and the owner may ask
for one. An entry that passes plays again. ``PauseCause.UNREACHABLE`` has all changes of its state;
entries that are paused for another cause are not tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from psycopg.types.json import Jsonb

from ladder.database.db import Connection, atomic_function, fetch_one, fetch_optional
from ladder.entries import blocked_accounts, entries, validations
from ladder.entries.records import Entry, EntryState, PauseCause
from ladder.enums import VoidCause
from ladder.errors import Conflict, LimitReached
from ladder.ids import EntryId, MatchId
from ladder.leagues import seasons
from ladder.leagues.records import League, Season
from ladder.matches import lease, matches

LEAST_BETWEEN_TRIES: Final = timedelta(minutes=1)
"""Least time between two tries that an owner asks for; a try may be a whole match."""


class RetriedTooSoon(LimitReached):
    """The paused entry was tried less than a minute ago."""

    def _message_text(self) -> str:
        return f"it was tried less than a minute ago; try again from {self._reset_time_text()} on"


def void_for_unreachable_agents(
    conn: Connection, match_id: MatchId, attempt: int, worker: str, reasons: Mapping[int, str]
) -> bool:
    """Voids a rated match because the agents in these seats were unreachable.

    A void match rates nobody. Their entries get a strike with the reason, which only the owner
    sees. Returns False if this attempt no longer held the match. Raises ProtocolError if the match
    is not rated or a seat is not remote.
    """
    values = (match_id, attempt, worker, Jsonb({str(seat): why for seat, why in reasons.items()}))
    with lease.protocol_errors():
        return fetch_one(conn, bool, "select remote_unreachable(%s, %s, %s, %s)", values)


def seasons_open_to_remote_agents(conn: Connection, limit: int = 50) -> list[tuple[Season, League]]:
    """Seasons that now take uploads of remote agents, with their leagues; newest first.

    The caller checks who may enter.
    """
    return seasons.seasons_open_to_uploads(conn, limit, remote=True)


@atomic_function
def retry_paused_entry(conn: Connection, entry_id: EntryId) -> Entry:
    """Tries a paused entry now because its owner asks for it.

    Raises NotFound. Raises Conflict if the entry is not paused or its team is blocked, if a try is
    running, or the season is over. Raises LimitReached if a try ended less than a minute ago.
    """
    entry, season = _lock_entry_and_season(conn, entry_id)
    if entry.state is not EntryState.PAUSED:
        raise Conflict(f"the entry is {entry.state}; only a paused entry can be resumed")
    if entry.pause_cause is PauseCause.TEAM_BLOCKED:
        raise Conflict(blocked_accounts.REASON)
    if entry.next_try_at is None and entry.deadline_at is not None:
        raise Conflict("wait for the end of the running try")
    if not _season_is_playing(conn, season):
        raise Conflict("the season is over or its league is closed; no matches are played")
    query = """
        select finished_at + %(wait)s from matches
        where id = %(match)s and finished_at > %(paused)s and finished_at + %(wait)s > now()"""
    values = {
        "wait": LEAST_BETWEEN_TRIES,
        "match": entry.validation_match_id,
        "paused": entry.paused_at,
    }
    resets_at = fetch_optional(conn, datetime, query, values)
    if resets_at is not None:
        raise RetriedTooSoon("tries per minute of a paused entry", 1, 1, resets_at)
    validations.make_validation_match(conn, season, entry_id)
    return entries.get_entry(conn, entry_id)


@atomic_function
def retry_due_entries(conn: Connection, limit: int = 100) -> list[EntryId]:
    """Puts paused entries that are due into play again.

    If a try is late, the end of the pause stays the same (``remote_next_try``). Returns the changed
    entries.
    """
    due = conn.execute(
        """
        select id, season_id, validation_match_id, deadline_at is not null from entries
        where state = 'paused' and pause_cause = %s
          and coalesce(deadline_at, next_try_at) <= now() order by id limit %s
        """,
        (PauseCause.UNREACHABLE, limit),
    ).fetchall()
    stale = [match_id for _, _, match_id, is_tried in due if is_tried]
    entries.lock_matches_and_seasons(conn, stale, [season_id for _, season_id, _, _ in due])
    matches.void_matches(conn, stale, VoidCause.OVERDUE, "not validated in time")
    touched = []
    for entry_id, _, match_id, is_tried in due:
        entry, season = _lock_entry_and_season(conn, entry_id)
        moment = entry.deadline_at if is_tried else entry.next_try_at
        if (
            entry.pause_cause is not PauseCause.UNREACHABLE
            or entry.validation_match_id != match_id
            or moment is None
        ):
            continue  # the entry changed meanwhile
        touched.append(EntryId(entry_id))
        if is_tried:
            conn.execute("select entry_fail_try(%s, null)", (entry_id,))
        elif not _season_is_playing(conn, season):
            conn.execute("select entry_delay_try(%s)", (entry_id,))
        else:
            conn.execute("select entry_count_try(%s)", (entry_id,))
            conn.execute("update seasons set revision = revision + 1 where id = %s", (season.id,))
            conn.execute("select entry_resume(%s)", (entry_id,))
    return touched


def _lock_entry_and_season(conn: Connection, entry_id: EntryId) -> tuple[Entry, Season]:
    """Locks and returns the entry and its season, until the caller's transaction ends."""
    season_id = entries.get_entry(conn, entry_id).season_id
    conn.execute("select 1 from seasons where id = %s for no key update", (season_id,))
    conn.execute("select 1 from entries where id = %s for update", (entry_id,))
    return entries.get_entry(conn, entry_id), seasons.get_season(conn, season_id)


def _season_is_playing(conn: Connection, season: Season) -> bool:
    query = """
        select s.state <> 'finished' and coalesce(s.ends_at > now(), true) and l.state <> 'closed'
        from seasons s join leagues l on l.id = s.league_id where s.id = %s"""
    return fetch_one(conn, bool, query, (season.id,))
