"""Running matches: who may watch them, which ones are played now, and what became of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ladder.database.db import Connection
from ladder.enums import MatchState, ReplayVisibility, Visibility
from ladder.ids import AgentId, LeagueId, MatchId, SeasonId
from ladder.leagues import seasons
from ladder.leagues.records import League
from ladder.matches import history
from ladder.matches.records import Match, match_resource
from ladder.people import visibility
from ladder.people.permissions import may_see
from ladder.people.records import Viewer
from ladder.people.resources import LeagueResource, LiveResource

LOOKED_AT: Final = 40
"""Newest running matches among which a list chooses those that the viewer may watch."""


@dataclass(frozen=True, slots=True)
class LiveState:
    """What may change of a match while people watch it."""

    state: MatchState
    attempt: int
    league: LeagueResource
    is_season_finished: bool
    delay_seconds: int


def live_resource(
    match: Match, league: League, season_state: str, *, hides_something: bool
) -> LiveResource:
    """The permission resource of a running match. ``hides_something`` is about its game."""
    is_withheld = hides_something and any(seat.remote for seat in match.seats)
    return LiveResource(match_resource(match, league), season_state == "finished", is_withheld)


def present_resource(known: LiveResource, found: LiveState) -> LiveResource:
    """The resource with its league and season as they are now, also where its scrim names them."""
    match = replace(known.match, league=found.league)
    scrim = match.scrim
    if scrim is not None:
        origin = scrim.continues
        if origin is not None:
            origin = replace(
                origin,
                match=replace(origin.match, league=found.league),
                is_season_finished=found.is_season_finished,
            )
        match = replace(match, scrim=replace(scrim, league=found.league, continues=origin))
    return replace(known, match=match, is_season_finished=found.is_season_finished)


def live_states(conn: Connection, match_ids: Sequence[MatchId]) -> dict[MatchId, LiveState]:
    """The present state of these matches. Unknown ids are left out."""
    rows = conn.execute(
        "select m.id, m.state, m.attempt, s.league_id, l.visibility, l.replay_visibility,"
        " s.state, l.live_delay_seconds from matches m"
        " join seasons s on s.id = m.season_id join leagues l on l.id = s.league_id"
        " where m.id = any (%s)",
        (list(match_ids),),
    )
    return {
        MatchId(match_id): LiveState(
            MatchState(state),
            attempt,
            LeagueResource(LeagueId(league), Visibility(visibility), ReplayVisibility(replays)),
            season_state == "finished",
            delay,
        )
        for match_id, state, attempt, league, visibility, replays, season_state, delay in rows
    }


def list_running(
    conn: Connection,
    viewer: Viewer,
    hides_something: Callable[[str], bool],
    *,
    league_id: LeagueId | None = None,
    agent_id: AgentId | None = None,
    limit: int = 6,
) -> list[Match]:
    """The newest matches of leagues that are played now and that the viewer may watch.

    ``hides_something`` says of a game, by name, whether its frames show more than an agent sees.
    """
    newest = conn.execute(
        "select m.id from matches m join seasons s on s.id = m.season_id"
        " where m.state = 'running' and m.kind in ('rated', 'tournament')"
        " and (%s::text is null or s.league_id = %s)"
        " and (%s::text is null or exists (select 1 from seats t where t.match_id = m.id"
        " and t.agent_id = %s)) order by m.claimed_at desc limit %s",
        (league_id, league_id, agent_id, agent_id, LOOKED_AT),
    ).fetchall()
    known: dict[SeasonId, tuple[League, str]] = {}
    shown: list[Match] = []
    for match in history.get_matches(conn, [row[0] for row in newest]):
        if match.season_id not in known:
            season, league = seasons.get_season_and_league(conn, match.season_id)
            known[match.season_id] = (league, season.state)
        resource = live_resource(
            match, *known[match.season_id], hides_something=hides_something(match.game)
        )
        if match.state is MatchState.RUNNING and may_see(viewer, resource):
            shown.append(match)
    return shown[:limit]


def count_waiting(
    conn: Connection,
    viewer: Viewer,
    *,
    league_id: LeagueId | None = None,
    agent_id: AgentId | None = None,
) -> int:
    """Number of queued matches of leagues and tournaments that the viewer may see.

    Rated matches of an agent count only for its team: others must not learn who plays next.
    """
    seen, values = visibility.visible_matches(viewer)
    open_to, open_values = visibility.visible_leagues(viewer)
    row = conn.execute(
        "select count(*) from matches m join seasons s on s.id = m.season_id"  # noqa: S608
        " join leagues l on l.id = s.league_id left join scrims c on c.id = m.scrim_id"
        " where m.state = 'queued' and (%s::text is null or s.league_id = %s)"
        " and (%s::text is null or exists (select 1 from seats t where t.match_id = m.id"
        "   and t.agent_id = %s and (m.kind <> 'rated' or t.team_id = any (%s))))"
        f" and (m.kind = 'rated' and {open_to} or m.kind = 'tournament' and {seen})",
        (
            *(league_id, league_id, agent_id, agent_id, list(viewer.team_ids)),
            *(*open_values, *values),
        ),
    ).fetchone()
    assert row is not None
    return int(row[0])


def is_every_slot_busy(conn: Connection) -> bool:
    """Whether matches of all kinds play in all slots of the live workers."""
    row = conn.execute(
        "select (select count(*) from matches where state = 'running') >="
        " (select sum(slots) from workers where live_until > now())"
    ).fetchone()
    assert row is not None
    return bool(row[0])
