"""Decides who may see a resource; every page, answer, blob and export asks ``may_see``.

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
"""

from __future__ import annotations

from ladder.enums import (
    Embargo,
    LogAudience,
    MatchKind,
    ReplayVisibility,
    ScrimAudience,
    Visibility,
)
from ladder.ids import LeagueId, TeamId
from ladder.people.records import Viewer
from ladder.people.resources import (
    EntryResource,
    LeagueResource,
    LiveResource,
    LogResource,
    MatchResource,
    PersonResource,
    ReplayResource,
    Resource,
    ScrimRequestResource,
    ScrimResource,
    SubmissionResource,
    TeamPeopleResource,
    TeamPrivateResource,
    TeamResource,
)
from ladder.people.roles import STAFF, RoleScope, has_scope


def may_see(viewer: Viewer, resource: Resource) -> bool:
    """Whether this viewer may see this resource. No other check grants access."""
    match resource:
        case LeagueResource():
            return (
                resource.visibility is Visibility.PUBLIC
                or viewer.is_admin
                or resource.league_id in viewer.roles
            )
        case TeamResource():
            return (
                viewer.is_admin
                or resource.team_id in viewer.team_ids
                or any(may_see(viewer, league) for league in resource.leagues)
            )
        case TeamPeopleResource():
            return (
                viewer.is_admin
                or resource.team_id in viewer.team_ids
                or any(_is_host(viewer, league) for league in resource.leagues)
            )
        case EntryResource():
            if resource.is_on_board and may_see(viewer, resource.league):
                return True
            return (
                viewer.is_admin
                or resource.team_id in viewer.team_ids
                or _is_host(viewer, resource.league)
                or _is_grader_of(viewer, resource.league.league_id, resource.team_id)
            )
        case SubmissionResource():
            return viewer.is_admin or resource.team_id in viewer.team_ids
        case ScrimResource():
            return viewer.is_admin or (
                _is_among(viewer, resource, resource.privacy.results)
                and (resource.continues is None or may_see(viewer, resource.continues))
            )
        case ScrimRequestResource():
            sides = {resource.team_id, resource.asked_team_id}
            return viewer.is_admin or not sides.isdisjoint(viewer.team_ids)
        case TeamPrivateResource():
            return resource.team_id in viewer.team_ids
        case LogResource():
            return (
                resource.team_id in viewer.team_ids
                or _is_grader_of(viewer, resource.league_id, resource.team_id)
                or (resource.scrim is not None and _may_read_all_logs(viewer, resource.scrim))
            )
        case MatchResource():
            return _may_see_match(viewer, resource)
        case ReplayResource():
            return _may_see_replay(viewer, resource)
        case LiveResource():
            return _may_watch_live(viewer, resource)
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


def _may_see_match(viewer: Viewer, match: MatchResource) -> bool:
    if viewer.is_admin:
        return True
    if match.kind is MatchKind.SCRIM:
        return match.scrim is not None and may_see(viewer, match.scrim)
    if match.kind is MatchKind.VALIDATION:
        return (
            _took_part(viewer, match)
            or _is_host(viewer, match.league)
            or all(_is_grader_of(viewer, match.league.league_id, team) for team in match.team_ids)
        )
    if match.kind is MatchKind.TOURNAMENT and not _may_see_result(viewer, match):
        return False
    if match.kind is MatchKind.RATED and (
        match.is_lineup_hidden or not match.away_team_ids.isdisjoint(viewer.team_ids)
    ):
        return False
    return may_see(viewer, match.league)


def _may_see_result(viewer: Viewer, match: MatchResource) -> bool:
    """Whether the embargo of this match of a tournament is over for the viewer."""
    return (
        match.embargo is Embargo.PUBLIC
        or (match.embargo is Embargo.PARTICIPANTS and _took_part(viewer, match))
        or _is_host(viewer, match.league)
        or _comments_on(viewer, match)
    )


def _may_see_replay(viewer: Viewer, replay: ReplayResource) -> bool:
    match = replay.match
    if not replay.is_finished or not _may_see_match(viewer, match):
        return False
    if viewer.is_admin:
        return True
    if match.scrim is not None:
        return _is_among(viewer, match.scrim, match.scrim.privacy.replays)
    if match.kind is MatchKind.VALIDATION:
        return _took_part(viewer, match)
    if match.kind is MatchKind.TOURNAMENT and match.embargo is not Embargo.PUBLIC:
        return True
    match match.league.replay_visibility:
        case ReplayVisibility.PUBLIC:
            return True
        case ReplayVisibility.MEMBERS:
            return match.league.league_id in viewer.roles
        case ReplayVisibility.OWN:
            return _took_part(viewer, match) or _is_host(viewer, match.league)
        case ReplayVisibility.AFTER_CLOSE:
            return (
                replay.is_season_finished
                or _took_part(viewer, match)
                or _is_host(viewer, match.league)
                or _comments_on(viewer, match)
            )


def _may_watch_live(viewer: Viewer, live: LiveResource) -> bool:
    """As the replay after the end. Commentators agreed to see replays, not running matches."""
    if live.is_withheld:
        return False
    match, season_is_over = live.match, live.is_season_finished
    if not _may_see_replay(viewer, ReplayResource(match, True, season_is_over)):
        return False
    delayed = match.kind in (MatchKind.RATED, MatchKind.TOURNAMENT)
    if not delayed or viewer.is_admin or season_is_over:
        return True
    is_hidden = match.embargo is not Embargo.PUBLIC
    if is_hidden or match.league.replay_visibility is ReplayVisibility.AFTER_CLOSE:
        return _took_part(viewer, match) or _is_host(viewer, match.league)
    return True


def _is_among(viewer: Viewer, scrim: ScrimResource, audience: ScrimAudience) -> bool:
    """Whether the viewer belongs to this audience of a scrim."""
    if scrim.team_id in viewer.team_ids:
        return True
    if audience is ScrimAudience.ASKER:
        return False
    if not scrim.side_team_ids.isdisjoint(viewer.team_ids):
        return True
    return (
        audience is ScrimAudience.LEAGUE
        and may_see(viewer, scrim.league)
        and (not scrim.privacy.is_members_only or scrim.league.league_id in viewer.roles)
    )


def _may_read_all_logs(viewer: Viewer, scrim: ScrimResource) -> bool:
    """Whether the viewer reads what all agents print in this scrim. No admin does by that right."""
    if scrim.privacy.logs is LogAudience.OWN or not may_see(viewer, scrim):
        return False
    return _is_among(viewer, scrim, ScrimAudience(scrim.privacy.logs.value))


def _took_part(viewer: Viewer, match: MatchResource) -> bool:
    return not match.team_ids.isdisjoint(viewer.team_ids)


def _is_host(viewer: Viewer, league: LeagueResource) -> bool:
    return has_scope(viewer.roles.get(league.league_id), RoleScope.MANAGE)


def _is_grader_of(viewer: Viewer, league_id: LeagueId | None, team_id: TeamId) -> bool:
    """Whether the viewer is a grader of the league and all people of the team agreed to it."""
    if league_id is None:
        return False
    is_grader = has_scope(viewer.roles.get(league_id), RoleScope.READ_LOGS)
    return is_grader and team_id in viewer.agreeing.get(league_id, ())


def _comments_on(viewer: Viewer, match: MatchResource) -> bool:
    """Whether the viewer is a commentator to whom the teams of the match agreed."""
    league_id = match.league.league_id
    is_commentator = has_scope(viewer.roles.get(league_id), RoleScope.SEE_HIDDEN_RESULTS)
    teams = match.team_ids | match.entrant_team_ids
    return is_commentator and teams <= viewer.agreeing.get(league_id, frozenset())
