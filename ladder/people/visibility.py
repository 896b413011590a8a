"""Who may see leagues, teams, agents, entries, scrims and matches: conditions in SQL.

One row and a list are read with the same condition. A list's query filters first, so neither the
length of a page nor its cursor reveals anything hidden. Each function returns a condition and its
arguments, for a query with the named table aliases. ``ladder.people.permissions`` has the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from ladder.database.db import Connection, exists
from ladder.ids import AgentId, EntryId, ScrimBatchId, ScrimId, TeamId
from ladder.people.records import RoleScope, Viewer, has_scope
from ladder.people.resources import HIDDEN_SECONDS

Condition = tuple[str, tuple[Any, ...]]
EVERYTHING: Final[Condition] = ("true", ())
LEAGUE: Final = "(l.visibility = 'public' or l.id = any (%s))"
ON_BOARD: Final = "(e.state = 'active' or e.activated_at is not null)"
"""Entries that are or were on the board; an entry retired before activation never was."""


def visible_leagues(viewer: Viewer) -> Condition:
    """For a query with leagues as ``l``."""
    return EVERYTHING if viewer.is_admin else (LEAGUE, (list(viewer.roles),))


def visible_teams(viewer: Viewer) -> Condition:
    """For a query with teams as ``t``. A merged team is as visible as the one that it joined."""
    if viewer.is_admin:
        return EVERYTHING
    return (
        f"""
        (t.id = any (%s) or exists (select 1 from entries e
        join seasons s on s.id = e.season_id join leagues l on l.id = s.league_id
        where e.team_id in (t.id, t.merged_into) and {ON_BOARD} and {LEAGUE}))
        """,
        (list(viewer.team_ids), list(viewer.roles)),
    )


def visible_agents(viewer: Viewer) -> Condition:
    """For a query with agents as ``a``."""
    if viewer.is_admin:
        return EVERYTHING
    return (
        f"""
        (a.team_id = any (%s) or exists (select 1 from entries e
        join seasons s on s.id = e.season_id join leagues l on l.id = s.league_id
        where e.agent_id = a.id and {ON_BOARD} and {LEAGUE}))
        """,
        (list(viewer.team_ids), list(viewer.roles)),
    )


def visible_entries(viewer: Viewer) -> Condition:
    """For a query with entries as ``e`` and their seasons as ``s``."""
    if viewer.is_admin:
        return EVERYTHING
    return (
        f"""
        (e.team_id = any (%s) or s.league_id = any (%s)
         or (s.league_id, e.team_id) in (select * from unnest(%s::text[], %s::text[]))
        or ({ON_BOARD} and exists
        (select 1 from leagues l where l.id = s.league_id and {LEAGUE})))
        """,
        (
            list(viewer.team_ids),
            _hosted_leagues(viewer),
            *_graded_teams(viewer),
            list(viewer.roles),
        ),
    )


def visible_matches(viewer: Viewer) -> Condition:
    """For a query with matches as ``m``, their seasons as ``s`` and scrims as ``c``."""
    if viewer.is_admin:
        return EVERYTHING
    teams = list(viewer.team_ids)
    seen, values = visible_scrims(viewer)
    return (
        f"""
        (case m.kind when 'scrim' then {seen}
        when 'validation' then s.league_id = any (%s) or exists
        (select 1 from seats v where v.match_id = m.id and (v.team_id = any (%s)
          or (s.league_id, v.team_id) in (select * from unnest(%s::text[], %s::text[]))))
        when 'tournament' then {_tournament_match()}
        else {shown_lineup()} and exists
        (select 1 from leagues l where l.id = s.league_id and {LEAGUE}) end)
        """,
        (
            *(*values, _hosted_leagues(viewer), teams, *_graded_teams(viewer)),
            *_tournament_values(viewer),
            teams,
            list(viewer.roles),
        ),
    )


def shown_lineup() -> str:
    """A condition on a rated match ``m``, with the ids of the viewer's teams as its argument.

    Who plays in a queued match is shown to nobody. A running one with a remote agent is shown to
    nobody in its first ``HIDDEN_SECONDS``, and never to a team with a remote agent in it. Otherwise
    its owner could leave chosen opponents without an answer, also signed out.
    """
    return f"""
        (m.state <> 'queued' and (m.state <> 'running' or not exists (select 1 from seats v
        where v.match_id = m.id and v.profile = 'remote' and (v.team_id = any (%s)
          or m.claimed_at > clock_timestamp() - interval '{HIDDEN_SECONDS} seconds'))))
        """


def _tournament_match() -> str:
    """A condition with the arguments of ``_tournament_values``.

    Commentators see a hidden result if the teams of the match and all entrants agreed.
    """
    return f"""
        exists (select 1 from tournament_games g join leagues l on l.id = s.league_id
        where g.match_id = m.id and {LEAGUE} and (g.embargo = 'public'
        or s.league_id = any (%s) or (g.embargo = 'participants' and exists
        (select 1 from seats v where v.match_id = m.id and v.team_id = any (%s)))
        or (s.league_id = any (%s) and not exists (
          select 1 from (
            select a.team_id from tournament_entrants x join agents a on a.id = x.agent_id
            where x.number is not null and x.tournament_id = g.tournament_id
            union all select v.team_id from seats v where v.match_id = m.id
          ) played
          where (s.league_id, played.team_id)
            not in (select * from unnest(%s::text[], %s::text[]))
        ))))
        """


def _tournament_values(viewer: Viewer) -> tuple[Any, ...]:
    return (
        list(viewer.roles),
        _hosted_leagues(viewer),
        list(viewer.team_ids),
        _leagues_with(viewer, RoleScope.SEE_HIDDEN_RESULTS),
        *_teams_that_agreed(viewer, RoleScope.SEE_HIDDEN_RESULTS),
    )


def visible_scrims(viewer: Viewer) -> Condition:
    """For a query with scrims as ``c`` and their seasons as ``s``.

    A fork is hidden from those who may not see the replay of the match that it continues.
    """
    if viewer.is_admin:
        return EVERYTHING
    seen, seen_values = _audience(viewer, "result")
    replay, values = _season_replays(viewer, "o")
    return (
        f"""
        ({seen} and not exists (
          select 1 from forks f
            join matches o on o.id = f.match_id join leagues l on l.id = s.league_id
          where f.scrim_id = c.id and not {replay}
        ))
        """,
        (*seen_values, *values),
    )


def visible_batches(viewer: Viewer) -> Condition:
    """For a query with a scrim of the batch as ``c``, and its season as ``s``.

    A side of one scrim of a batch does not see the others.
    """
    return EVERYTHING if viewer.is_admin else _audience(viewer, "result", sides="'{}'::text[]")


def visible_replays(viewer: Viewer) -> Condition:
    """For a query with matches as ``m``, seasons as ``s``, leagues as ``l`` and scrims as ``c``."""
    seen, values = _watched_matches(viewer)
    return f"(m.state = 'finished' and {seen})", values


def watchable_matches(viewer: Viewer, open_games: Sequence[str]) -> Condition:
    """For the same query: matches that the viewer may watch while they are played. In most
    leagues these are the people who may see the replay.

    Commentators agreed to see replays, not running matches. In a game outside of ``open_games`` an
    agent does not see everything. Then the owner of a remote agent could watch what the agent must
    not know, so nobody watches.
    """
    seen, values = _watched_matches(viewer)
    shown = """
        (s.game = any (%s) or not exists (
          select 1 from seats v where v.match_id = m.id and v.profile = 'remote'
        ))
        """
    if viewer.is_admin:
        return f"({shown} and {seen})", (list(open_games), *values)
    return (
        f"""
        ({shown} and {seen} and (
          m.kind not in ('rated', 'tournament') or s.state = 'finished'
          or (l.replay_visibility <> 'after_close' and not {HIDDEN_GAME})
          or l.id = any (%s)
          or exists (select 1 from seats v where v.match_id = m.id and v.team_id = any (%s))
        ))
        """,
        (list(open_games), *values, _hosted_leagues(viewer), list(viewer.team_ids)),
    )


def visible_logs(viewer: Viewer) -> Condition:
    """For a query with seats as ``t``, matches as ``m``, seasons as ``s`` and scrims as ``c``: log,
    reason and failed step. Administrators have no right of their own."""
    scrim, scrim_values = visible_scrims(viewer)
    shared, shared_values = _audience(viewer, "log")
    return (
        f"""
        (t.team_id = any (%s) or case when c.id is null
          then (s.league_id, t.team_id) in (select * from unnest(%s::text[], %s::text[]))
          else c.log_audience <> 'own' and {scrim} and {shared}
        end)
        """,
        (list(viewer.team_ids), *_graded_teams(viewer), *scrim_values, *shared_values),
    )


def sees_team(conn: Connection, viewer: Viewer, team_id: TeamId) -> bool:
    seen, values = visible_teams(viewer)
    return exists(conn, f"select 1 from teams t where t.id = %s and {seen}", (team_id, *values))


def sees_agent(conn: Connection, viewer: Viewer, agent_id: AgentId) -> bool:
    seen, values = visible_agents(viewer)
    return exists(conn, f"select 1 from agents a where a.id = %s and {seen}", (agent_id, *values))


def sees_entry(conn: Connection, viewer: Viewer, entry_id: EntryId) -> bool:
    seen, values = visible_entries(viewer)
    query = f"""
        select 1 from entries e join seasons s on s.id = e.season_id where e.id = %s and {seen}
        """
    return exists(conn, query, (entry_id, *values))


def sees_scrim(conn: Connection, viewer: Viewer, scrim_id: ScrimId) -> bool:
    seen, values = visible_scrims(viewer)
    return exists(conn, f"{SCRIM} where c.id = %s and {seen}", (scrim_id, *values))


def sees_batch(conn: Connection, viewer: Viewer, batch_id: ScrimBatchId) -> bool:
    seen, values = visible_batches(viewer)
    return exists(conn, f"{SCRIM} where c.batch_id = %s and {seen}", (batch_id, *values))


SCRIM: Final = "select 1 from scrims c join seasons s on s.id = c.season_id"
HIDDEN_GAME: Final = """
    exists (select 1 from tournament_games g where g.match_id = m.id and g.embargo <> 'public')
    """


def _watched_matches(viewer: Viewer) -> Condition:
    """Whose moves the viewer sees, before or after the end of the match."""
    if viewer.is_admin:
        return EVERYTHING
    seen, seen_values = visible_matches(viewer)
    scrim, scrim_values = _audience(viewer, "replay")
    replay, replay_values = _season_replays(viewer, "m")
    return (
        f"({seen} and case when m.kind = 'scrim' then {scrim}"
        f" when m.kind = 'tournament' and {HIDDEN_GAME} then true else {replay} end)",
        (*seen_values, *scrim_values, *replay_values),
    )


def _audience(
    viewer: Viewer,
    what: Literal["result", "replay", "log"],
    sides: str = "c.side_team_ids",
) -> Condition:
    """Whether the viewer belongs to this audience of a scrim ``c``."""
    teams, roles = list(viewer.team_ids), list(viewer.roles)
    league, league_values = visible_leagues(viewer)
    return (
        f"""
        (c.team_id = any (%s) or (c.{what}_audience not in ('asker', 'own') and {sides} && %s)
          or (c.{what}_audience = 'league' and exists (
            select 1 from leagues l where l.id = s.league_id and {league}
              and (not c.is_members_only or l.id = any (%s))
          )))
        """,
        (teams, teams, *league_values, roles),
    )


def _season_replays(viewer: Viewer, match: Literal["m", "o"]) -> Condition:
    """Replays by the rules of validations and leagues, with seasons as ``s`` and leagues as ``l``.

    Scrims count as visible: the caller checks their audience.
    """
    teams, hosted = list(viewer.team_ids), _hosted_leagues(viewer)
    commented = _leagues_with(viewer, RoleScope.SEE_HIDDEN_RESULTS)
    took_part = (
        f"exists (select 1 from seats v where v.match_id = {match}.id and v.team_id = any (%s))"
    )
    own = f"({took_part} or l.id = any (%s))"
    return (
        f"""
        (case {match}.kind when 'scrim' then true when 'validation' then {took_part}
          else {LEAGUE} and case l.replay_visibility when 'public' then true
            when 'members' then l.id = any (%s) when 'own' then {own}
            else s.state = 'finished' or {own} or (l.id = any (%s) and not exists (
              select 1 from seats v where v.match_id = {match}.id and (l.id, v.team_id)
                not in (select * from unnest(%s::text[], %s::text[]))
            )) end end)
        """,
        (
            *(teams, list(viewer.roles), list(viewer.roles), teams, hosted, teams, hosted),
            *(commented, *_teams_that_agreed(viewer, RoleScope.SEE_HIDDEN_RESULTS)),
        ),
    )


def _hosted_leagues(viewer: Viewer) -> list[str]:
    return _leagues_with(viewer, RoleScope.MANAGE)


def _leagues_with(viewer: Viewer, scope: RoleScope) -> list[str]:
    """Leagues in which the viewer's role has this right."""
    return [league for league, role in viewer.roles.items() if has_scope(role, scope)]


def _graded_teams(viewer: Viewer) -> tuple[list[str], list[str]]:
    """Pairs of league and team whose logs the viewer reads as grader, as two columns."""
    return _teams_that_agreed(viewer, RoleScope.READ_LOGS)


def _teams_that_agreed(viewer: Viewer, scope: RoleScope) -> tuple[list[str], list[str]]:
    """Pairs of league and team that agreed to the viewer's role, if the role has this right."""
    pairs = [
        (league, team)
        for league, teams in viewer.agreeing.items()
        if has_scope(viewer.roles.get(league), scope)
        for team in sorted(teams)
    ]
    return [league for league, _ in pairs], [team for _, team in pairs]
