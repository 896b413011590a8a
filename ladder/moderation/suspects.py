"""Lists for hosts what looks like copies of one agent or like thrown games. Proves nothing.

The groups and the throwers come from the results and the newest official standing alone. A name on
this list changes no score, rank or medal, only the pairing. A host can act (``shared_places``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from ladder.database.db import Connection, fetch
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
    version_suspects = standing_versions.suspects_of_version(conn, season_id, version.version)
    groups = [group for group in version_suspects.groups if group.share >= LEAST_SHARE]
    named = {entry for group in groups for entry in group.members}
    for favourite in version_suspects.favourites:
        named.add(favourite.entry_id)
        named.update(thrower.entry_id for thrower in favourite.throwers)
    entries = _select_entries(conn, season_id, sorted(named), places)
    return Suspects(
        version.version,
        tuple(
            NearEqualGroup(
                season.mu0 + (group.middle - version.reference) * season.beta,
                group.explained,
                tuple(entries[key] for key in group.members if key in entries),
            )
            for group in groups
        ),
        tuple(
            _name_favourite(favourite, entries)
            for favourite in version_suspects.favourites
            if favourite.entry_id in entries
        ),
        shared,
    )


def _name_favourite(favourite: FavouredEntry, entries: Mapping[EntryId, SuspectEntry]) -> Favourite:
    return Favourite(
        entries[favourite.entry_id],
        favourite.chance,
        tuple(
            Thrower(
                entries[thrower.entry_id],
                thrower.meetings,
                thrower.lost,
                thrower.expected,
                thrower.last,
                thrower.expected_last,
                thrower.tied,
                thrower.expected_tied,
                thrower.chance,
            )
            for thrower in favourite.throwers
            if thrower.entry_id in entries
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
    entry_ids: Sequence[EntryId],
    places: dict[EntryId, OfficialPlace],
) -> dict[EntryId, SuspectEntry]:
    """Returns these competing entries by id; reference agents are no suspects."""
    query = """select e.id, e.agent_id, a.name as agent_name, e.team_id, t.name as team_name,
          e.games
        from entries e join agents a on a.id = e.agent_id join teams t on t.id = e.team_id
        where e.season_id = %(season_id)s and e.id = any (%(wanted)s) and not e.is_anchor"""
    rows = fetch(conn, _Named, query, {"season_id": season_id, "wanted": list(entry_ids)})
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
