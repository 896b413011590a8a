"""Lists for hosts what looks like copies of one agent or like thrown games. Proves nothing.

The groups and the throwers come from the results and the newest official standing alone. A name on
this list changes no score, rank or medal, only the pairing. A host can act (``shared_places``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from psycopg.rows import class_row
from pydantic import Field

from ladder.database.db import Connection
from ladder.field_types import RECORD
from ladder.ids import AgentId, EntryId, SeasonId, TeamId
from ladder.leagues import seasons
from ladder.moderation.shared_places import SharedPlace, list_shared_places
from ladder.ratings import standing_versions
from ladder.ratings.official.season_suspects import FavouredEntry
from ladder.ratings.official.standing import OfficialPlace

LEAST_SHARE: Final = 0.5
"""Probability of belonging to a group from which its members are shown."""


@dataclass(frozen=True, slots=True)
class SuspectEntry:
    """An entry with its official score."""

    __pydantic_config__ = RECORD
    entry_id: Annotated[EntryId, Field(examples=["ent_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    agent_id: AgentId
    agent_name: str
    team_id: TeamId
    team_name: str
    score: float
    sigma: float
    """Points."""
    games: int


@dataclass(frozen=True, slots=True)
class NearEqualGroup:
    """Entries whose scores lie together more closely than the rest of the field explains. Honest
    entries of this strength are among them."""

    __pydantic_config__ = RECORD
    score: float
    """Middle of the group in points."""
    expected: float
    """Number of such entries that the other entries explain."""
    members: tuple[SuspectEntry, ...]
    """The likeliest member first."""


@dataclass(frozen=True, slots=True)
class Thrower:
    """An entry that loses to the favourite, comes last in its games or ties with it more often than
    both scores say."""

    __pydantic_config__ = RECORD
    entry: SuspectEntry
    meetings: int
    """Without a fault or a tie."""
    lost: int
    expected: float
    """Expected number of losses."""
    last: int
    """Games with the favourite in which it came last, behind at least two others."""
    expected_last: float
    """Expected number of these; 0 if it came last fewer than two times."""
    tied: int
    """Meetings without a fault that ended in a tie."""
    expected_tied: float
    """Expected number of ties."""
    chance: float
    """Probability that it threw no game, if one opponent in ten throws."""


@dataclass(frozen=True, slots=True)
class Favourite:
    """An entry to whom several others lose, or with whom they tie, against expectation."""

    __pydantic_config__ = RECORD
    entry: SuspectEntry
    chance: float
    """Expected number of such favourites in a season without thrown games, if skills were known."""
    throwers: tuple[Thrower, ...]
    """The least likely first."""


@dataclass(frozen=True, slots=True)
class Suspects:
    """What looks like copies of one agent or like thrown games. It proves nothing."""

    __pydantic_config__ = RECORD
    version: int | None
    """Version of the official standing; null before the first one, and if a match has one seat."""
    groups: tuple[NearEqualGroup, ...]
    favourites: tuple[Favourite, ...]
    shared_places: tuple[SharedPlace, ...]
    """Places that teams share now."""


def list_suspects(conn: Connection, season_id: SeasonId) -> Suspects:
    """Returns the suspects of the newest official standing.

    A season of one seat has none. Raises NotFound.
    """
    season = seasons.get_season(conn, season_id)
    shared = tuple(list_shared_places(conn, season_id))
    latest = standing_versions.latest_version(conn, season_id)
    if latest is None or season.measures:
        return Suspects(None, (), (), shared)
    version, places = latest
    found = standing_versions.suspects_of_version(conn, season_id, version.version)
    groups = [group for group in found.groups if group.share >= LEAST_SHARE]
    named = {entry for group in groups for entry in group.members}
    for favourite in found.favourites:
        named.add(favourite.entry_id)
        named.update(each.entry_id for each in favourite.throwers)
    who = _select_entries(conn, season_id, sorted(named), places)
    return Suspects(
        version.version,
        tuple(
            NearEqualGroup(
                season.mu0 + (group.middle - version.reference) * season.beta,
                group.explained,
                tuple(who[each] for each in group.members if each in who),
            )
            for group in groups
        ),
        tuple(_name_favourite(each, who) for each in found.favourites if each.entry_id in who),
        shared,
    )


def _name_favourite(found: FavouredEntry, who: Mapping[EntryId, SuspectEntry]) -> Favourite:
    return Favourite(
        who[found.entry_id],
        found.chance,
        tuple(
            Thrower(
                who[each.entry_id],
                each.meetings,
                each.lost,
                each.expected,
                each.last,
                each.expected_last,
                each.tied,
                each.expected_tied,
                each.chance,
            )
            for each in found.throwers
            if each.entry_id in who
        ),
    )


@dataclass(frozen=True, slots=True)
class _Named:
    id: EntryId
    agent_id: AgentId
    agent_name: str
    team_id: TeamId
    team_name: str
    games: int


def _select_entries(
    conn: Connection,
    season_id: SeasonId,
    wanted: Sequence[EntryId],
    places: dict[EntryId, OfficialPlace],
) -> dict[EntryId, SuspectEntry]:
    """Returns these competing entries by id; reference agents are no suspects."""
    with conn.cursor(row_factory=class_row(_Named)) as cur:
        rows = cur.execute(
            "select e.id, e.agent_id, a.name as agent_name, e.team_id, t.name as team_name, e.games"
            " from entries e join agents a on a.id = e.agent_id join teams t on t.id = e.team_id"
            " where e.season_id = %s and e.id = any (%s) and not e.is_anchor",
            (season_id, list(wanted)),
        ).fetchall()
    return {
        row.id: SuspectEntry(
            row.id,
            row.agent_id,
            row.agent_name,
            row.team_id,
            row.team_name,
            places[row.id].score,
            places[row.id].sigma,
            row.games,
        )
        for row in rows
    }
