"""Lists for hosts what looks like copies of one agent or like thrown games. Proves nothing.

The groups and the throwers come from the results and the newest official standing alone. A name on
this list changes no score, rank or medal, only the pairing.

A host can act: teams of equal entries share one place, and can be separated again. Teams that share
a place have one score, one rank and one medal from the next version of the standings on. Together
they count as one team. Each act writes an audit entry in its own transaction. Matches, results and
the ratings of entries stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

from pydantic import ConfigDict, Field

from ladder.database.db import Connection, atomic_function, fetch, fetch_one, fetch_optional, update
from ladder.errors import Conflict, Invalid, NotFound
from ladder.field_types import RECORD, KeptAs, Key, Reason, RequestModel, WordsOfPerson
from ladder.ids import AgentId, EntryId, SeasonId, TeamId, UserId
from ladder.leagues import medals, seasons
from ladder.people import audit_log
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


MOST_TEAMS: Final = 1000
"""Highest number of teams in one act."""


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """Teams that share one score, rank and medal by an act of a host."""

    __pydantic_config__ = RECORD
    id: Annotated[str, Field(examples=["aud_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    """Id in the audit log."""
    reason: WordsOfPerson
    created_at: datetime
    teams: tuple[TeamId, ...]
    """Ids of the teams, by name."""
    team_names: Annotated[tuple[str, ...], KeptAs(())]
    separated: bool
    """Whether a later act separated them."""


class SharedPlaceRequest(RequestModel):
    """Teams that shall share one place, and the reason."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "teams": ["tea_01j8x6m3c2k4v9q0w7r5t1y8z3", "tea_01j8x6m3c2k4v9q0w7r5t1y8z4"],
                    "reason": "They entered copies of one agent.",
                }
            ]
        },
    )
    teams: Annotated[list[Key], Field(min_length=2, max_length=MOST_TEAMS)]
    """Ids of the teams."""
    reason: Reason


class SeparationRequest(RequestModel):
    """The reason to give teams their own places again."""

    reason: Reason


@atomic_function
def share_place(
    conn: Connection,
    season_id: SeasonId,
    team_ids: Sequence[TeamId],
    *,
    by: UserId | None,
    reason: str,
) -> SharedPlace:
    """Lets these teams share one place from the next version of the standings on.

    All sealed medals of the season are revoked, because the ranks of others change too. Raises
    NotFound, Invalid for fewer than two teams or a team without an entry, Conflict if a team shares
    a place already or the season has no scores.
    """
    season = seasons.get_season(conn, season_id)
    teams = sorted(set(team_ids))
    if not 2 <= len(teams) <= MOST_TEAMS:
        raise Invalid("teams", f"give 2 to {MOST_TEAMS} different teams")
    if season.measures:
        raise Conflict("teams share a place by their scores; a match of this season has one seat")
    version = _next_version(conn, season_id)
    query = """select distinct team_id from entries
        where season_id = %(season_id)s and team_id = any (%(teams)s) and not is_anchor
          and state in ('active', 'paused', 'retired')"""
    entered = fetch(conn, TeamId, query, {"season_id": season_id, "teams": teams})
    missing = sorted(set(teams) - set(entered))
    if missing:
        raise Invalid("teams", f"choose teams with an entry in this season: {missing[0]} has none")
    query = """select t.name from shared_places p join teams t on t.id = p.team_id
        where p.season_id = %(season_id)s and p.team_id = any (%(teams)s)
          and p.until_version is null order by t.name limit 1"""
    taken = fetch_optional(conn, str, query, {"season_id": season_id, "teams": teams})
    if taken is not None:
        raise Conflict(f"separate {taken} first: it shares a place already", field="teams")
    place = audit_log.record_audit(
        conn,
        season.league_id,
        by=by,
        act="share_place",
        subject=season_id,
        reason=reason,
        season_id=season_id,
        details={"teams": [*teams]},
    )
    with conn.cursor() as cur:
        cur.executemany(
            """insert into shared_places (place, season_id, team_id, from_version)
            values (%s, %s, %s, %s)""",
            [(place, season_id, team, version) for team in teams],
        )
    _stand_again(conn, season_id, place)
    return get_shared_place(conn, season_id, place)


@atomic_function
def separate(
    conn: Connection, season_id: SeasonId, place: str, *, by: UserId | None, reason: str
) -> SharedPlace:
    """Gives each of these teams its own place again. Raises NotFound, Conflict if it has one."""
    season = seasons.get_season(conn, season_id)
    version = _next_version(conn, season_id)
    if get_shared_place(conn, season_id, place).separated:
        raise Conflict("they have their own places already")
    update(conn, "shared_places", {"place": place}, until_version=version - 1)
    audit_id = audit_log.record_audit(
        conn,
        season.league_id,
        by=by,
        act="separate",
        subject=place,
        reason=reason,
        season_id=season_id,
    )
    _stand_again(conn, season_id, audit_id)
    return get_shared_place(conn, season_id, place)


def get_shared_place(conn: Connection, season_id: SeasonId, place: str) -> SharedPlace:
    """Returns a shared place of this season. Raises NotFound."""
    for shared_place in _select_places(conn, season_id, place):
        return shared_place
    raise NotFound.of("shared place")


def list_shared_places(conn: Connection, season_id: SeasonId) -> list[SharedPlace]:
    """Returns the places that teams share now, oldest first."""
    return [place for place in _select_places(conn, season_id, None) if not place.separated]


def teams_sharing(conn: Connection, season_id: SeasonId, version: int) -> frozenset[TeamId]:
    """Returns the teams that share a place in this version of the standings."""
    query = """select unnest(array_remove(array[t.id, t.merged_into], null)) from shared_places p
        join teams t on t.id = p.team_id
        where p.season_id = %(season_id)s
          and %(version)s between p.from_version and coalesce(p.until_version, %(version)s)"""
    teams = fetch(conn, TeamId, query, {"season_id": season_id, "version": version})
    return frozenset(teams)


def _select_places(conn: Connection, season_id: SeasonId, place: str | None) -> list[SharedPlace]:
    query = """select p.place as id, a.reason, a.created_at,
          array_agg(p.team_id order by lower(t.name), t.id) as teams,
          array_agg(t.name order by lower(t.name), t.id) as team_names,
          bool_and(p.until_version is not null) as separated
        from shared_places p join audits a on a.id = p.place join teams t on t.id = p.team_id
        where p.season_id = %(season_id)s and (%(place)s::text is null or p.place = %(place)s)
        group by p.place, a.reason, a.created_at order by p.place"""
    return fetch(conn, SharedPlace, query, {"season_id": season_id, "place": place})


def _next_version(conn: Connection, season_id: SeasonId) -> int:
    """Locks the season, so that no version is written meanwhile; returns the next one's number."""
    return fetch_one(
        conn,
        int,
        "select official_version + 1 from seasons where id = %s for no key update",
        (season_id,),
    )


def _stand_again(conn: Connection, season_id: SeasonId, audit_id: str) -> None:
    """Revokes the seals and asks for a new version; a finished season gets another final one."""
    medals.unseal_all_medals(conn, season_id, audit_id)
    query = """update seasons
        set official_is_stale = true, final_version = null, revision = revision + 1
        where id = %(season_id)s"""
    conn.execute(query, {"season_id": season_id})
