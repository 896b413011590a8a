"""Decides who may see a resource, with ``ladder.people.visibility``.

The rules:

| resource | seen by |
|---|---|
| a public league, its seasons, board, entries on the board | everybody |
| a league by invitation, a private one, and all of that | members and admins |
| an agent, a team | its own people, admins, and viewers of a league it has played in |
| the names of a team's people | its own people, hosts of a league it has played in, admins |
| a rated match | viewers of the league |
| a validation match | the entry's team, the league's hosts, its graders, admins |
| a request for a scrim | both teams, admins |
| a scrim and its matches | the team that asked, or both sides, or the league, as it says; admins |
| a fork and its matches | of that team, who may see the replay that it continues; admins |
| the replay of a rated match | by the league's replay setting; commentators; admins |
| the replay of a validation match | the entry's team, admins |
| the replay of a scrim match | as the scrim says, at most who sees the match; admins |
| a running match, move by move | as its replay later, but no commentators before the season ends |
| the existence of a pending or rejected entry | its team, hosts, graders, admins |
| why it was rejected, the traceback | its team, graders whom the team agreed to |
| a submission (file name, message, size) | its team, admins |
| a bundle's bytes | its team alone |
| a seat's log, reason and failed step | the seat's team; graders whom it agreed to; of a scrim
whom it names, and no graders |
| a tournament match | by its embargo: its teams, viewers; before: hosts, commentators, admins |
| the audit log, a rejudgement and its preview, suspects | the league's hosts, admins |
| a notice, a channel, a private feed | the person alone |

Hosts are hosts and co-hosts. Graders and commentators see only what belongs to teams of which all
people agreed to terms that name these roles (``Viewer.agreeing``). "Alone" excludes hosts and
admins: an agent's output may contain secrets of its owner, and running a league does not need it.
The answer for a hidden resource is the same as for a missing one. Scopes of a token
do not limit reading.

``visibility`` decides in SQL about teams, agents, entries, scrims, matches, replays and logs.
``may_see`` decides about the others, from their records.
"""

from __future__ import annotations

from ladder.enums import Visibility
from ladder.ids import LeagueId, TeamId
from ladder.people.records import STAFF, RoleScope, Viewer, has_scope
from ladder.people.resources import (
    LeagueResource,
    LogResource,
    PersonResource,
    Resource,
    ScrimRequestResource,
    SubmissionResource,
    TeamPrivateResource,
)


def may_see(viewer: Viewer, resource: Resource) -> bool:
    """Whether this viewer may see this resource."""
    match resource:
        case LeagueResource():
            return (
                resource.visibility is Visibility.PUBLIC
                or viewer.is_admin
                or resource.league_id in viewer.roles
            )
        case SubmissionResource():
            return viewer.is_admin or resource.team_id in viewer.team_ids
        case ScrimRequestResource():
            sides = {resource.team_id, resource.asked_team_id}
            return viewer.is_admin or not sides.isdisjoint(viewer.team_ids)
        case TeamPrivateResource():
            return resource.team_id in viewer.team_ids
        case LogResource():
            return resource.team_id in viewer.team_ids or _is_grader_of(
                viewer, resource.league_id, resource.team_id
            )
        case PersonResource():
            return viewer.user_id == resource.user_id


def may_enter(viewer: Viewer, league: LeagueResource, team_id: TeamId) -> bool:
    """Whether this viewer may enter this team's agents.

    The viewer must be in the team and, if the league is not public, have a role that competes.
    Graders and commentators never compete.
    """
    if team_id not in viewer.team_ids:
        return False
    role = viewer.roles.get(league.league_id)
    if role in STAFF:
        return False
    return league.visibility is Visibility.PUBLIC or has_scope(role, RoleScope.COMPETE)


def may_manage(viewer: Viewer, league: LeagueResource) -> bool:
    """Whether this viewer may change the league: hosts, co-hosts and admins may."""
    return viewer.is_admin or _is_host(viewer, league)


def may_appoint(viewer: Viewer, league_id: LeagueId) -> bool:
    """Whether this viewer may give all roles and change who sees the league: hosts and admins."""
    return viewer.is_admin or has_scope(viewer.roles.get(league_id), RoleScope.APPOINT)


def _is_host(viewer: Viewer, league: LeagueResource) -> bool:
    return has_scope(viewer.roles.get(league.league_id), RoleScope.MANAGE)


def _is_grader_of(viewer: Viewer, league_id: LeagueId, team_id: TeamId) -> bool:
    """Whether the viewer is a grader of the league and all people of the team agreed to it."""
    is_grader = has_scope(viewer.roles.get(league_id), RoleScope.READ_LOGS)
    return is_grader and team_id in viewer.agreeing.get(league_id, ())
