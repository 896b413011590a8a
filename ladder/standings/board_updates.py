"""Reads the next revision of a board: only the entries that changed.

Postgres stores with each row the transaction that wrote it (``xmin``). So the rows that changed
since an earlier read are found without a column of our own, and no writer can forget to mark one.
The database looks at each entry of the season, but only changed ones are sent and ranked again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ladder.database.db import Connection
from ladder.ids import SeasonId
from ladder.ratings import standing_versions
from ladder.standings.board_ranking import Board, BoardRows
from ladder.standings.leaderboard import (
    ENTRY,
    BoardSeason,
    board_entry,
    board_season,
    medal_terms,
    read_board,
)

LEAST_ENTRIES: Final = 1000
"""A board of fewer entries is read whole: that is faster than looking for changed names."""
MOST_NAMES: Final = 1000
SINCE: Final = "(select age(%(since)s::text::xid))"


def read_next_board(
    conn: Connection, before: Board | None, season_id: SeasonId, least: int = LEAST_ENTRIES
) -> Board:
    """Returns the season's board as of now; ``before`` is an earlier one. Raises NotFound.

    The connection is in no transaction. All is read at one moment. A board of fewer than ``least``
    entries is read whole.
    """
    with conn.transaction():
        conn.execute("set transaction isolation level repeatable read, read only")
        if before is not None and len(before.rows.order.entries) >= least:
            updated = _update(conn, before, board_season(conn, season_id))
            if updated is not None:
                return updated
        return read_board(conn, season_id)


def _update(conn: Connection, before: Board, season: BoardSeason) -> Board | None:
    """Returns the board as of now; None if each of its rows may have changed."""
    version = standing_versions.latest_head(conn, season.season_id)
    if (
        (version and version.version) != (before.fitted and before.fitted.version)
        or season.is_final != before.terms.is_final
        or season.score_offset != before.rows.order.score_offset
        or season.measures
        or before.measures
    ):
        return None
    since = {"season": season.season_id, "since": before.oldest_xid % 2**32}
    names = conn.execute(
        f"""
        select id from teams where age(xmin) <= {SINCE}
        union all select id from agents where age(xmin) <= {SINCE} limit {MOST_NAMES}
        """,
        since,
    ).fetchall()
    if len(names) == MOST_NAMES:
        return None
    named = [name for (name,) in names]
    found = conn.execute(
        f"""
        with changed as materialized (select id, state from entries where season_id = %(season)s
        and (age(xmin) <= {SINCE} or team_id = any (%(named)s) or agent_id = any (%(named)s)))
        select id, state from changed
        """,
        {**since, "named": named},
    ).fetchall()
    shown = [entry for entry, state in found if state in ("active", "paused")]
    rows = conn.execute(f"select {ENTRY} where e.id = any (%s)", (shown,)).fetchall()
    order, places = before.rows.order, before.places
    changed = {
        row[0]: board_entry(row, places.get(row[0]))
        for row in rows
        if row[0] in places or not season.is_final
    }
    declared = {
        entry
        for (entry,) in conn.execute(
            "select entry_id from declared_entries where season_id = %s", (season.season_id,)
        )
    }
    for entry in (declared ^ order.declared) & order.entries.keys() - changed.keys():
        changed[entry] = replace(order.entries[entry], is_declared=entry in declared)
    gone = [entry for entry, _ in found if entry not in changed]
    after = order.updated(changed.values(), gone)
    terms = medal_terms(conn, season, version, after.entries.values())
    return season.board(version, BoardRows(after, terms), terms, places)
