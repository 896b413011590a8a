"""Reads and sets the entry that a team declared; otherwise ``representatives`` chooses one.

A declaration ends when uploads lock. Then results alone decide which entry stands for a team.
"""

from __future__ import annotations

from dataclasses import dataclass

from ladder.database.db import (
    Connection,
    atomic_function,
    exists,
    fetch_one,
    fetch_optional,
)
from ladder.errors import Conflict, NotFound
from ladder.field_types import RECORD, Key, RequestModel
from ladder.ids import EntryId, SeasonId, TeamId, UserId


class Declaration(RequestModel):
    entry: Key | None
    """Entry that represents the team; null: the service chooses."""


@dataclass(frozen=True, slots=True)
class DeclaredEntry:
    __pydantic_config__ = RECORD
    season_id: SeasonId
    team_id: TeamId
    entry_id: EntryId | None
    """Null: the service chooses the entry."""


def declared_entry_of_team(
    conn: Connection, season_id: SeasonId, team_id: TeamId
) -> EntryId | None:
    """Entry that the team declared in this season, or None."""
    return fetch_optional(
        conn,
        EntryId,
        """
        select entry_id from declared_entries
        where season_id = %(season)s and team_id = %(team)s
        """,
        {"season": season_id, "team": team_id},
    )


def ranked_entry_of_team(conn: Connection, season_id: SeasonId, team_id: TeamId) -> EntryId | None:
    """Entry on the board that stands for the team in the newest official standing, or None."""
    return fetch_optional(
        conn,
        EntryId,
        """
        select e.id
        from seasons s
        join standings v on v.season_id = s.id and v.version = s.official_version
        cross join jsonb_array_elements(v.content::jsonb) place
        join entries e on e.id = place ->> 0
        where s.id = %(season)s and e.team_id = %(team)s and e.state in ('active', 'paused')
          and place ->> 3 is not null
        order by e.id desc limit 1
        """,
        {"season": season_id, "team": team_id},
    )


@atomic_function
def declare_entry(
    conn: Connection,
    season_id: SeasonId,
    team_id: TeamId,
    entry_id: EntryId | None,
    by: UserId | None,
) -> None:
    """Keeps this entry as the team's representative until uploads lock; None: the rules choose.

    A team may declare only the entry that stands for it now, which results chose. Raises NotFound.
    Raises Conflict if uploads are locked, if the entry is another team's or not active, or if
    another entry stands for the team. If none stands, only a team that has not played may declare.
    """
    is_open, has_measures = fetch_one(
        conn,
        lambda *columns: columns,
        """
        select state = 'open' and coalesce(least(closes_at, ends_at) > now(), true),
               measures is not null
        from seasons where id = %(season)s for update
        """,
        {"season": season_id},
        missing=NotFound.of("season"),
    )
    if not is_open:
        raise Conflict(
            "uploads to this season are locked; a team's declaration can no longer change"
        )
    values = {"season": season_id, "team": team_id, "entry": entry_id, "by": by}
    if entry_id is None:
        changed = conn.execute(
            "delete from declared_entries where season_id = %(season)s and team_id = %(team)s",
            values,
        ).rowcount
    else:
        _refuse_undeclarable(conn, season_id, team_id, entry_id)
        if not has_measures:  # with measures the best one stands
            _refuse_other_than_ranked(conn, season_id, team_id, entry_id)
        changed = conn.execute(
            """
            insert into declared_entries as d (season_id, team_id, entry_id, declared_by)
            values (%(season)s, %(team)s, %(entry)s, %(by)s)
            on conflict (season_id, team_id) do update
            set entry_id = excluded.entry_id, declared_by = excluded.declared_by,
                declared_at = now()
            where d.entry_id <> excluded.entry_id
            """,
            values,
        ).rowcount
    if changed:
        conn.execute(
            "update seasons set revision = revision + 1, official_is_stale = true where id = %s",
            (season_id,),
        )


def _refuse_other_than_ranked(
    conn: Connection, season_id: SeasonId, team_id: TeamId, entry_id: EntryId
) -> None:
    """Raises Conflict if another entry stands for the team, or none though one has played."""
    ranked = ranked_entry_of_team(conn, season_id, team_id)
    if ranked is None:
        query = """
            select 1 from entries
            where season_id = %(season)s and team_id = %(team)s and games > 0 and not is_anchor
            """
        if exists(conn, query, {"season": season_id, "team": team_id}):
            raise Conflict(
                "no entry stands for the team now; wait for the next official standing",
                field="entry",
            )
    elif ranked != entry_id:
        raise Conflict(
            "another entry stands for the team; a team may declare only the one that stands",
            field="entry",
        )


def _refuse_undeclarable(
    conn: Connection, season_id: SeasonId, team_id: TeamId, entry_id: EntryId
) -> None:
    state, is_anchor = fetch_one(
        conn,
        lambda *columns: columns,
        """
        select state, is_anchor from entries
        where id = %(entry)s and season_id = %(season)s and team_id = %(team)s
        """,
        {"entry": entry_id, "season": season_id, "team": team_id},
        missing=Conflict("this entry is not the team's, or not in this season", field="entry"),
    )
    if is_anchor:
        raise Conflict(
            "a reference agent cannot represent a team; choose another entry", field="entry"
        )
    if state != "active":
        raise Conflict(f"this entry is {state}; declare an active one", field="entry")
