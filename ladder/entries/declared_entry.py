"""The entry a team stands by because its owner said so; without one it stands by its best."""

from __future__ import annotations

from ladder.database.db import Connection, atomic_function
from ladder.errors import Conflict, NotFound
from ladder.ids import EntryId, SeasonId, TeamId, UserId


def declared_entry_of_team(
    conn: Connection, season_id: SeasonId, team_id: TeamId
) -> EntryId | None:
    """What the team declared in this season, if it did."""
    row = conn.execute(
        "select entry_id from declared_entries where season_id = %s and team_id = %s",
        (season_id, team_id),
    ).fetchone()
    return None if row is None else EntryId(row[0])


@atomic_function
def declare_entry(
    conn: Connection,
    season_id: SeasonId,
    team_id: TeamId,
    entry_id: EntryId | None,
    by: UserId | None,
) -> None:
    """The team stands by this entry from the next standing on, or by its best again (None).

    Raises NotFound, Conflict (uploads are locked; the entry is another's, or not active).
    """
    season = conn.execute(
        "select state = 'open' and coalesce(least(closes_at, ends_at) > now(), true) from seasons"
        " where id = %s for update",
        (season_id,),
    ).fetchone()
    if season is None:
        raise NotFound.of("season")
    if not season[0]:
        raise Conflict("uploads to this season are locked; teams stand by what they declared")
    if entry_id is None:
        changed = conn.execute(
            "delete from declared_entries where season_id = %s and team_id = %s",
            (season_id, team_id),
        ).rowcount
    else:
        _refuse_undeclarable(conn, season_id, team_id, entry_id)
        changed = conn.execute(
            "insert into declared_entries as d (season_id, team_id, entry_id, declared_by)"
            " values (%s, %s, %s, %s) on conflict (season_id, team_id) do update"
            " set entry_id = excluded.entry_id, declared_by = excluded.declared_by,"
            " declared_at = now() where d.entry_id <> excluded.entry_id",
            (season_id, team_id, entry_id, by),
        ).rowcount
    if changed:
        conn.execute(
            "update seasons set revision = revision + 1, official_is_stale = true where id = %s",
            (season_id,),
        )


def _refuse_undeclarable(
    conn: Connection, season_id: SeasonId, team_id: TeamId, entry_id: EntryId
) -> None:
    row = conn.execute(
        "select state, is_anchor from entries where id = %s and season_id = %s and team_id = %s",
        (entry_id, season_id, team_id),
    ).fetchone()
    if row is None:
        raise Conflict("it is not this team's in this season", field="entry")
    state, is_anchor = row
    if is_anchor:
        raise Conflict("reference agents pin the scale; no team stands by one", field="entry")
    if state != "active":
        raise Conflict(f"it is {state}; a team stands by an active one", field="entry")
