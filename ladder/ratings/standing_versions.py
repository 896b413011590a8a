"""Reads, lists and thins out versions of a season's official standing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec
import numpy as np

from ladder.database.db import Connection, fetch, fetch_one, fetch_optional
from ladder.enums import Json
from ladder.errors import Conflict, NotFound
from ladder.ids import EntryId, SeasonId
from ladder.ratings.official.season_suspects import SeasonSuspects
from ladder.ratings.official.standing import OfficialPlace, PairingPlaces

SEASONS_KEPT: Final = 16


VERSION: Final = """select season_id, version, log_no, parent, seed, fitted_by, boundary_weight,
      centre, spread, kappa, reference, wrong_medals, teams, medals, digest, made_at
    from standings"""


_CONTENT: Final = msgspec.json.Decoder(
    list[tuple[EntryId, float, float, int | None, int, int, tuple[float, float, float], float]]
)


class _PairingRow(msgspec.Struct, array_like=True, gc=False, forbid_unknown_fields=True):
    """A row of a standing as the pairing reads it; the fields have the order of ``_CONTENT``.

    The chances stay text: the pairing does not use them, and their decoding takes time.
    """

    entry_id: EntryId
    score: float
    sigma: float
    rank: int | None
    rank_low: int
    rank_high: int
    chances: msgspec.Raw
    loss: float


_PAIRING: Final = msgspec.json.Decoder(list[_PairingRow])


class RowsDropped(Conflict):
    """The rows of this version of the standings have been deleted."""


@dataclass(frozen=True, slots=True)
class StandingVersion:
    """Data of an official standing without its rows."""

    season_id: SeasonId
    version: int
    log_no: int
    """The standing includes every result up to this log number."""
    parent: int | None
    """The version whose messages the fit began from; None: a cold fit."""
    seed: int
    fitted_by: int
    boundary_weight: float
    """Weight of the medal boundaries in the value of a game."""
    centre: float
    spread: float
    kappa: float
    reference: float
    wrong_medals: float
    teams: int | None
    """Number of teams for the medals; None in old versions: the ranked teams."""
    medals: dict[str, Json] | None
    """The season's medal rules as JSON when the version was made; None: as now."""
    digest: str
    made_at: datetime


def latest_version(
    conn: Connection, season_id: SeasonId
) -> tuple[StandingVersion, dict[EntryId, OfficialPlace]] | None:
    """Returns the current official standing and a place for each active entry, or None."""
    row = conn.execute(
        "select version, content from standings where season_id = %s order by version desc limit 1",
        (season_id,),
    ).fetchone()
    if row is None:
        return None
    return get_version(conn, season_id, row[0]), places_of_content(row[1])


def latest_head(conn: Connection, season_id: SeasonId) -> StandingVersion | None:
    """Returns the current official standing without its rows, or None."""
    return next(iter(list_versions(conn, season_id, limit=1)), None)


def suspects_of_version(conn: Connection, season_id: SeasonId, version: int) -> SeasonSuspects:
    """Returns the suspects of a version."""
    query = "select suspects from standings where season_id = %s and version = %s"
    return SeasonSuspects.from_json(fetch_optional(conn, str, query, (season_id, version)))


def latest_pairing_places(
    conn: Connection, season_id: SeasonId
) -> tuple[int, PairingPlaces, SeasonSuspects]:
    """Returns what the pairing needs of the newest version; version 0: there is none yet."""
    query = """select version, content, suspects from standings
        where season_id = %(season_id)s order by version desc limit 1"""
    row = conn.execute(query, {"season_id": season_id}).fetchone()
    if row is None:
        return 0, PairingPlaces.none(), SeasonSuspects()
    version, content, suspects = row
    places = _PAIRING.decode(content)
    columns = [
        [row.score for row in places],
        [row.sigma for row in places],
        [row.loss for row in places],
    ]
    entry_ids = [row.entry_id for row in places]
    pairing_places = PairingPlaces(entry_ids, np.array(columns, np.float64))
    return version, pairing_places, SeasonSuspects.from_json(suspects)


def get_version(conn: Connection, season_id: SeasonId, version: int) -> StandingVersion:
    """Returns a version. Raises NotFound."""
    query = f"{VERSION} where season_id = %s and version = %s"
    missing = NotFound("there is no such version of the standings")
    return fetch_one(conn, StandingVersion, query, (season_id, version), missing)


def list_versions(
    conn: Connection, season_id: SeasonId, *, limit: int = 50
) -> list[StandingVersion]:
    """Returns versions of a season, newest first."""
    query = f"{VERSION} where season_id = %s order by version desc limit %s"
    return fetch(conn, StandingVersion, query, (season_id, limit))


def places_of_content(content: str) -> dict[EntryId, OfficialPlace]:
    """Returns the rows of a version's content."""
    return {
        EntryId(entry): OfficialPlace(score, sigma, rank, low, high, (gold, silver, bronze), loss)
        for entry, score, sigma, rank, low, high, (gold, silver, bronze), loss in _CONTENT.decode(
            content
        )
    }


def why_dropped(conn: Connection, season_id: SeasonId, version: int) -> str:
    """Returns the message for a version without rows: which versions still have theirs."""
    oldest, following = fetch_one(
        conn,
        tuple[int, int],
        """select min(version), min(version) filter (where version > %(version)s) from standings
        where season_id = %(season_id)s and content is not null""",
        {"version": version, "season_id": season_id},
    )
    return (
        f"version: the rows of version {version} were dropped in time, so it cannot be computed"
        f" again; the oldest version that can is {oldest}, the next after this one {following}"
    )


def drop_old_rows(conn: Connection) -> int:
    """Deletes rows of old versions; returns how many.

    Keeps one version an hour after an hour, one a day after a month. Keeps each version that sealed
    a medal, and each season's last version.
    """
    query = """update standings s set content = null
        where content is not null and made_at < now() - interval '1 hour'
          and version <> (select official_version from seasons where id = s.season_id)
          and not exists (select 1 from sealed_medals m
            where m.season_id = s.season_id and m.version = s.version)
          and exists (select 1 from standings o
            where o.season_id = s.season_id and o.version < s.version and o.content is not null
              and date_trunc(
                case when s.made_at < now() - interval '30 days' then 'day' else 'hour' end,
                o.made_at at time zone 'utc')
                = date_trunc(
                  case when s.made_at < now() - interval '30 days' then 'day' else 'hour' end,
                  s.made_at at time zone 'utc'))"""
    return conn.execute(query).rowcount
