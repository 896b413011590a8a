"""Remote agents that do not answer: strikes, pauses, tries, and an end to it.

An entry whose agent was away in a rated match gets a strike and rests for a minute; ten answered
matches in a row take a strike away, and the third pauses it (``remote_strike`` and
``remote_count_answers`` in the SQL): it stands on the board and is paired no more. It is tried by
validation matches, by the instance in growing steps and by its owner at any time; one that passes
has it play again. Of a paused entry either ``next_try_at`` is set or, while a try is under way,
``deadline_at``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from psycopg.types.json import Jsonb

from ladder.database.db import Connection, atomic_function
from ladder.entries import declared_entry, entries, validations
from ladder.entries.records import Entry, EntryState
from ladder.errors import Conflict, LimitReached
from ladder.ids import EntryId, MatchId, SeasonId
from ladder.leagues import seasons
from ladder.leagues.records import League, Season
from ladder.matches import lease, matches

GIVEN_UP_AFTER: Final = timedelta(days=7)
GIVEN_UP: Final = "it was away for 7 days; once it answers, submit it under another path"
SECONDS_BETWEEN_TRIES: Final = timedelta(minutes=1)
"""Between two tries that an owner asks for; each may be a whole match."""


class RetriedTooSoon(LimitReached):
    """The paused entry was tried less than a minute ago."""

    def _told(self) -> str:
        return (
            f"it was tried less than a minute ago; it can be tried again from {self._moment()} on"
        )


def void_for_unreachable_agents(
    conn: Connection, match_id: MatchId, attempt: int, worker: str, reasons: Mapping[int, str]
) -> bool:
    """Gives up a rated match that could not be played since the agents in these seats were away.

    It is void and rates nobody; their entries get a strike with the reason, for their owner. False:
    this attempt no longer held the match. Raises ProtocolError for a match that is not rated and
    for seats that are not remote.
    """
    with lease.protocol_errors():
        row = conn.execute(
            "select remote_unreachable(%s, %s, %s, %s)",
            (match_id, attempt, worker, Jsonb({str(seat): why for seat, why in reasons.items()})),
        ).fetchone()
    assert row is not None
    return bool(row[0])


def seasons_open_to_remote_agents(conn: Connection, limit: int = 50) -> list[tuple[Season, League]]:
    """Seasons that take remote agents and uploads now, with their leagues, newest of all leagues
    first; who may enter is another question."""
    rows = conn.execute(
        "select s.id from seasons s join leagues l on l.id = s.league_id where s.remote_agents"
        " and s.state = 'open' and l.state <> 'closed' and s.opens_at <= now()"
        " and coalesce(least(s.closes_at, s.ends_at) > now(), true) order by s.id desc limit %s",
        (limit,),
    ).fetchall()
    return seasons.seasons_with_leagues(conn, [SeasonId(row[0]) for row in rows])[::-1]


@atomic_function
def retry_paused_entry(conn: Connection, entry_id: EntryId) -> Entry:
    """Tries a paused entry now, because its owner asks for it.

    Raises NotFound, Conflict (it is not paused, it is being tried, nothing is played there any
    more), LimitReached (it was tried a moment ago).
    """
    entry, season = _lock_entry_and_season(conn, entry_id)
    if entry.state is not EntryState.PAUSED:
        raise Conflict(f"the entry is {entry.state}; only a paused one is resumed")
    if entry.next_try_at is None and entry.deadline_at is not None:
        raise Conflict("it is being tried at this moment: wait for the end of its match")
    if not _season_is_playing(conn, season):
        raise Conflict("the season is over or its league is closed; nothing is played there")
    row = conn.execute(
        "select finished_at + %s from matches where id = %s and finished_at > %s"
        " and finished_at + %s > now()",
        (SECONDS_BETWEEN_TRIES, entry.validation_match_id, entry.paused_at, SECONDS_BETWEEN_TRIES),
    ).fetchone()
    if row is not None:
        raise RetriedTooSoon("tries of a paused entry a minute", 1, 1, row[0])
    validations.make_validation_match(conn, season, entry_id)
    return entries.get_entry(conn, entry_id)


@atomic_function
def retry_due_entries(conn: Connection, limit: int = 100) -> list[EntryId]:
    """Tries the paused entries whose time has come, and retires those that were away for too long.

    A try that came to nothing through no fault of theirs is made again after the same wait.
    Returns the entries touched.
    """
    due = conn.execute(
        "select id, season_id, validation_match_id, deadline_at is not null from entries"
        " where state = 'paused' and coalesce(deadline_at, next_try_at) <= now()"
        " order by id limit %s",
        (limit,),
    ).fetchall()
    stale = [match_id for _, _, match_id, is_tried in due if is_tried]
    entries.lock_matches_and_seasons(conn, stale, [season_id for _, season_id, _, _ in due])
    matches.void_matches(conn, stale, "not validated in time")
    touched = []
    for entry_id, _, match_id, is_tried in due:
        entry, season = _lock_entry_and_season(conn, entry_id)
        moment = entry.deadline_at if is_tried else entry.next_try_at
        if (
            entry.state is not EntryState.PAUSED
            or entry.validation_match_id != match_id
            or moment is None
        ):
            continue  # decided while we looked
        touched.append(EntryId(entry_id))
        if is_tried or not _season_is_playing(conn, season):
            _wait_until_next_try(conn, entry_id, season)
        elif _unreachable_too_long(conn, entry, season):
            entries.take_off_board(conn, entry, GIVEN_UP)
        else:
            conn.execute("update entries set tries = tries + 1 where id = %s", (entry_id,))
            validations.make_validation_match(conn, season, entry_id)
    return touched


def _lock_entry_and_season(conn: Connection, entry_id: EntryId) -> tuple[Entry, Season]:
    """The entry and its season as they stand, until the caller's transaction ends."""
    season_id = entries.get_entry(conn, entry_id).season_id
    conn.execute("select 1 from seasons where id = %s for no key update", (season_id,))
    conn.execute("select 1 from entries where id = %s for update", (entry_id,))
    return entries.get_entry(conn, entry_id), seasons.get_season(conn, season_id)


def _season_is_playing(conn: Connection, season: Season) -> bool:
    row = conn.execute(
        "select s.state <> 'finished' and coalesce(s.ends_at > now(), true)"
        " and l.state <> 'closed' from seasons s join leagues l on l.id = s.league_id"
        " where s.id = %s",
        (season.id,),
    ).fetchone()
    return row is not None and bool(row[0])


def _unreachable_too_long(conn: Connection, entry: Entry, season: Season) -> bool:
    """Whether it was away for too long; what its team declared stays once uploads are locked."""
    row = conn.execute("select now() - %s >= %s", (entry.paused_at, GIVEN_UP_AFTER)).fetchone()
    stays = season.state == "locked" and entry.id == declared_entry.declared_entry_of_team(
        conn, season.id, entry.team_id
    )
    return row is not None and bool(row[0]) and not stays


def _wait_until_next_try(conn: Connection, entry_id: EntryId, season: Season) -> None:
    """Until its next look; none comes once the season is finished, whose board stays as it is."""
    conn.execute(
        "update entries set deadline_at = null,"
        " next_try_at = case when %s then null else now() + remote_retry_delay(tries) end"
        " where id = %s",
        (season.state == "finished", entry_id),
    )
