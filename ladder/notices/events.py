"""Records events. Call ``record_event`` in the transaction of the act that it tells of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from psycopg.types.json import Jsonb

from ladder.database.db import Connection, fetch
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
    return record_events(conn, [(kind, about)])[0]


def record_events(conn: Connection, events: Iterable[tuple[NoticeKind, EventSubject]]) -> list[str]:
    """Writes several events of one act, as ``record_event`` does; returns their ids in order."""
    return fetch(
        conn,
        str,
        """select notices_record(event ->> 'kind', event -> 'about')
        from jsonb_array_elements(%s) with ordinality as events (event, place) order by place""",
        (Jsonb([{"kind": kind.value, "about": _columns(about)} for kind, about in events]),),
    )


def _columns(about: EventSubject) -> dict[str, object]:
    columns = {field.name: getattr(about, field.name) for field in fields(about)}
    return {name: value for name, value in columns.items() if value is not None}
