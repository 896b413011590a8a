"""Records events. Call ``record_event`` in the transaction of the act that it tells of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from psycopg.types.json import Jsonb

from ladder.database.db import Connection
from ladder.ids import AgentId, EntryId, LeagueId, MatchId, ScrimId, SeasonId, TeamId, UserId
from ladder.notices.kinds import NoticeKind


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSubject:
    """What an event is about, by ids. Names are looked up when a notice is shown.

    An entry gives its agent, team and season; a season gives its league. So name only the nearest.
    """

    league_id: LeagueId | None = None
    season_id: SeasonId | None = None
    team_id: TeamId | None = None
    agent_id: AgentId | None = None
    entry_id: EntryId | None = None
    match_id: MatchId | None = None
    scrim_id: ScrimId | None = None
    user_id: UserId | None = None
    """Who acted, or the person whom the event is about. That person is not told, unless the kind is
    for that person alone.
    """
    details: Mapping[str, int | str] | None = None
    """Numbers and keys of enums for the notice's words; never a text that a person typed."""


def record_event(conn: Connection, kind: NoticeKind, about: EventSubject) -> str:
    """Writes an event and the notices of its people; returns the event's id.

    A rolled-back act tells nobody. Never call it once for each match: people get one notice for
    several faults in a row, and one for a scrim.
    """
    given = {field.name: getattr(about, field.name) for field in fields(about)}
    row = conn.execute(
        "select notices_record(%s, %s)",
        (kind.value, Jsonb({name: value for name, value in given.items() if value is not None})),
    ).fetchone()
    assert row is not None
    return str(row[0])
