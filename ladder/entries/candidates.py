"""Reads the entries that can be paired."""

from __future__ import annotations

from collections.abc import Collection

from ladder.database.db import Connection
from ladder.ids import EntryId, SeasonId
from ladder.matches.pairing import Candidate


def pairing_candidates(conn: Connection, season_id: SeasonId) -> list[Candidate]:
    """Active entries of the season for pairing, except those that rest after a strike."""
    return candidates_by_season(conn, [season_id])[season_id]


def candidates_by_season(
    conn: Connection, season_ids: Collection[SeasonId], *, with_pending: bool = False
) -> dict[SeasonId, list[Candidate]]:
    """Candidates of several seasons; ``with_pending`` adds entries that wait for validation."""
    by_season: dict[SeasonId, list[Candidate]] = {season_id: [] for season_id in season_ids}
    rows = conn.execute(
        """
        select e.season_id, e.id, e.submission_id, e.agent_id, e.team_id, b.digest, e.profile,
               e.mu, e.sigma, e.games, e.in_flight, e.pairing_weight, e.is_anchor
        from entries e join submissions b on b.id = e.submission_id
        where e.season_id = any (%s) and e.state = any (%s)
          and (e.struck_at is null or e.struck_at <= now() - remote_rest_period())
        order by e.id
        """,
        (list(season_ids), ["active", "pending"] if with_pending else ["active"]),
    )
    for season_id, *columns in rows:
        by_season[season_id].append(Candidate(*columns))
    return by_season


def entries_without_matches(conn: Connection, entry_ids: Collection[EntryId]) -> set[EntryId]:
    """Those of these entries that have no rated match, played or waiting.

    They have neither a game nor a match in flight. But a result counts in games only after it is
    rated.
    """
    if not entry_ids:
        return set()
    rows = conn.execute(
        """
        select e.id from unnest(%s::text[]) e(id)
        where not exists (
          select 1 from seats t join matches m on m.id = t.match_id
          where t.entry_id = e.id and m.kind = 'rated' and m.state = 'finished'
        )
        """,
        (sorted(entry_ids),),
    )
    return {EntryId(row[0]) for row in rows}
