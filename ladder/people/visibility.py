"""Applies the rules of ``ladder.people.permissions.may_see`` in SQL, for lists.

The query filters first, so neither the length of a page nor its cursor reveals anything hidden.
Each function returns a condition and its arguments, for a query with the named table aliases.
tests/integration/api/test_lists.py compares both implementations.
"""

from __future__ import annotations

from typing import Any, Final

from ladder.people.records import Viewer
from ladder.people.resources import HIDDEN_SECONDS
from ladder.people.roles import RoleScope, has_scope

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
        "(t.id = any (%s) or exists (select 1 from entries e"  # noqa: S608
        " join seasons s on s.id = e.season_id join leagues l on l.id = s.league_id"
        f" where e.team_id in (t.id, t.merged_into) and {ON_BOARD} and {LEAGUE}))",
        (list(viewer.team_ids), list(viewer.roles)),
    )


def visible_agents(viewer: Viewer) -> Condition:
    """For a query with agents as ``a``."""
    if viewer.is_admin:
        return EVERYTHING
    return (
        "(a.team_id = any (%s) or exists (select 1 from entries e"  # noqa: S608
        " join seasons s on s.id = e.season_id join leagues l on l.id = s.league_id"
        f" where e.agent_id = a.id and {ON_BOARD} and {LEAGUE}))",
        (list(viewer.team_ids), list(viewer.roles)),
    )


def visible_entries(viewer: Viewer) -> Condition:
    """For a query with entries as ``e`` and their seasons as ``s``."""
    if viewer.is_admin:
        return EVERYTHING
    return (
        f"(e.team_id = any (%s) or s.league_id = any (%s)"  # noqa: S608
        "  or (s.league_id, e.team_id) in (select * from unnest(%s::text[], %s::text[]))"
        f" or ({ON_BOARD} and exists"
        f" (select 1 from leagues l where l.id = s.league_id and {LEAGUE})))",
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
        f"(case m.kind when 'scrim' then {seen}"  # noqa: S608
        " when 'validation' then s.league_id = any (%s) or exists"
        " (select 1 from seats v where v.match_id = m.id and (v.team_id = any (%s)"
        "   or (s.league_id, v.team_id) in (select * from unnest(%s::text[], %s::text[]))))"
        f" when 'tournament' then {_tournament_match()}"
        f" else {shown_lineup()} and exists"
        f" (select 1 from leagues l where l.id = s.league_id and {LEAGUE}) end)",
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
    return (
        "(m.state <> 'queued' and (m.state <> 'running' or not exists (select 1 from seats v"  # noqa: S608
        " where v.match_id = m.id and v.profile = 'remote' and (v.team_id = any (%s)"
        f"   or m.claimed_at > clock_timestamp() - interval '{HIDDEN_SECONDS} seconds'))))"
    )


def _tournament_match() -> str:
    """A condition with the arguments of ``_tournament_values``."""
    return (
        "exists (select 1 from tournament_games g join leagues l on l.id = s.league_id"  # noqa: S608
        f" where g.match_id = m.id and {LEAGUE} and (g.embargo = 'public'"
        " or s.league_id = any (%s) or (g.embargo = 'participants' and exists"
        " (select 1 from seats v where v.match_id = m.id and v.team_id = any (%s)))"
        " or not exists (select 1 from tournament_entrants x join agents a on a.id = x.agent_id"
        " where x.number is not null"
        " and x.tournament_id = g.tournament_id and (s.league_id, a.team_id)"
        " not in (select * from unnest(%s::text[], %s::text[])))))"
    )


def _tournament_values(viewer: Viewer) -> tuple[Any, ...]:
    return (
        list(viewer.roles),
        _hosted_leagues(viewer),
        list(viewer.team_ids),
        *_teams_that_agreed(viewer, RoleScope.SEE_HIDDEN_RESULTS),
    )


def visible_scrims(viewer: Viewer) -> Condition:
    """For a query with scrims as ``c`` and their seasons as ``s``.

    A fork is hidden from those who may not see the replay of the match that it continues.
    """
    if viewer.is_admin:
        return EVERYTHING
    teams, roles = list(viewer.team_ids), list(viewer.roles)
    replay, values = visible_replays(viewer)
    return (
        "((c.team_id = any (%s)"  # noqa: S608
        " or (c.result_audience <> 'asker' and c.side_team_ids && %s::text[])"
        " or (c.result_audience = 'league' and exists"
        f" (select 1 from leagues l where l.id = s.league_id and {LEAGUE}"
        "   and (not c.is_members_only or l.id = any (%s)))))"
        " and not exists (select 1 from forks f"
        " join matches o on o.id = f.match_id join leagues l on l.id = s.league_id"
        f" where f.scrim_id = c.id and not {replay}))",
        (teams, teams, roles, roles, *values),
    )


def visible_replays(viewer: Viewer) -> Condition:
    """For a query with finished matches as ``o``, their seasons as ``s`` and leagues as ``l``.

    Scrims count as visible: the caller has checked their team.
    """
    if viewer.is_admin:
        return EVERYTHING
    teams, hosted = list(viewer.team_ids), _hosted_leagues(viewer)
    commented = [
        league
        for league, role in viewer.roles.items()
        if has_scope(role, RoleScope.SEE_HIDDEN_RESULTS)
    ]
    pairs = [(league, team) for league in commented for team in viewer.agreeing.get(league, ())]
    took_part = "exists (select 1 from seats v where v.match_id = o.id and v.team_id = any (%s))"
    own = f"({took_part} or l.id = any (%s))"
    return (
        f"(case o.kind when 'scrim' then true when 'validation' then {took_part}"  # noqa: S608
        f" else {LEAGUE} and case l.replay_visibility when 'public' then true"
        f" when 'members' then l.id = any (%s) when 'own' then {own}"
        f" else s.state = 'finished' or {own} or (l.id = any (%s) and not exists"
        "  (select 1 from seats v where v.match_id = o.id and (l.id, v.team_id) not in"
        "   (select * from unnest(%s::text[], %s::text[])))) end end)",
        (
            teams,
            list(viewer.roles),
            list(viewer.roles),
            *(teams, hosted),
            *(teams, hosted),
            commented,
            [league for league, _ in pairs],
            [team for _, team in pairs],
        ),
    )


def _hosted_leagues(viewer: Viewer) -> list[str]:
    return [league for league, role in viewer.roles.items() if has_scope(role, RoleScope.MANAGE)]


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
