"""Decides who may see a resource; every page, answer, blob and export asks ``may_see``.

The rules:

| resource | seen by |
|---|---|
| a public league, its seasons, board, entries on the board | everybody |
| a league by invitation, a private one, and all of that | members and admins |
| an agent, a team | its own people, admins, and viewers of a league it has played in |
| a rated match | viewers of the league |
| a validation match | the entry's team, the league's hosts, admins |
| a scrim and its matches | the team that requested it, admins |
| the replay of a rated match | by the league's replay setting; admins |
| the replay of a validation match | the entry's team, admins |
| the replay of a scrim match | the team that requested it, admins |
| the existence of a pending or rejected entry | its team, hosts, admins |
| why it was rejected, the traceback | its team alone |
| a submission (file name, message, size) | its team, admins |
| a bundle's bytes | its team alone |
| a seat's log, reason and failed step | the seat's team alone |
| the audit log, a rejudgement and its preview | the league's hosts, admins |

"Alone" excludes hosts and admins: an agent's output may contain secrets of its owner, and running a
league does not need it. The answer for a hidden resource is the same as for a missing one. Scopes
of a token do not limit reading.
"""

from __future__ import annotations

from dataclasses import dataclass

from ladder.enums import LeagueRole, MatchKind, ReplayVisibility, Visibility
from ladder.ids import LeagueId, TeamId
from ladder.people.records import Viewer


@dataclass(frozen=True, slots=True)
class LeagueResource:
    """A league, its seasons, its board, the entries on it."""

    league_id: LeagueId
    visibility: Visibility
    replay_visibility: ReplayVisibility = ReplayVisibility.PUBLIC


@dataclass(frozen=True, slots=True)
class TeamResource:
    """A team, or an agent of it."""

    team_id: TeamId
    leagues: tuple[LeagueResource, ...]
    """Leagues whose board has shown the team or agent."""


@dataclass(frozen=True, slots=True)
class EntryResource:
    """The existence and state of an entry."""

    team_id: TeamId
    league: LeagueResource
    is_on_board: bool
    """Active, or retired after being active."""


@dataclass(frozen=True, slots=True)
class SubmissionResource:
    """The owner's data of an upload."""

    team_id: TeamId


@dataclass(frozen=True, slots=True)
class TeamPrivateResource:
    """Data for one team alone: seat logs, reasons, tracebacks, bundles."""

    team_id: TeamId


@dataclass(frozen=True, slots=True)
class ScrimResource:
    team_id: TeamId
    """The team that requested the scrim."""


@dataclass(frozen=True, slots=True)
class MatchResource:
    """A match: entries, state, placements, verdicts, charged times."""

    kind: MatchKind
    league: LeagueResource
    team_ids: frozenset[TeamId]
    scrim_team_id: TeamId | None = None


@dataclass(frozen=True, slots=True)
class ReplayResource:
    """The moves of a match in every form: page, stream, blob, export."""

    match: MatchResource
    is_finished: bool
    is_season_finished: bool


Resource = (
    LeagueResource
    | TeamResource
    | EntryResource
    | SubmissionResource
    | TeamPrivateResource
    | ScrimResource
    | MatchResource
    | ReplayResource
)


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
        case EntryResource():
            if resource.is_on_board and may_see(viewer, resource.league):
                return True
            return (
                viewer.is_admin
                or resource.team_id in viewer.team_ids
                or _is_host(viewer, resource.league)
            )
        case SubmissionResource() | ScrimResource():
            return viewer.is_admin or resource.team_id in viewer.team_ids
        case TeamPrivateResource():
            return resource.team_id in viewer.team_ids
        case MatchResource():
            return _may_see_match(viewer, resource)
        case ReplayResource():
            return _may_see_replay(viewer, resource)


def may_enter(viewer: Viewer, league: LeagueResource, team_id: TeamId) -> bool:
    """Whether this viewer may enter this team's agents.

    The viewer must be in the team and, if the league is not public, its competitor or host.
    """
    if team_id not in viewer.team_ids:
        return False
    role = viewer.roles.get(league.league_id)
    return league.visibility is Visibility.PUBLIC or role in (
        LeagueRole.COMPETITOR,
        LeagueRole.HOST,
    )


def may_manage(viewer: Viewer, league: LeagueResource) -> bool:
    """Whether this viewer may change the league: hosts and admins may."""
    return viewer.is_admin or _is_host(viewer, league)


def _may_see_match(viewer: Viewer, match: MatchResource) -> bool:
    if viewer.is_admin:
        return True
    if match.kind is MatchKind.SCRIM:
        return match.scrim_team_id in viewer.team_ids
    if match.kind is MatchKind.VALIDATION:
        return _took_part(viewer, match) or _is_host(viewer, match.league)
    return may_see(viewer, match.league)


def _may_see_replay(viewer: Viewer, replay: ReplayResource) -> bool:
    match = replay.match
    if not replay.is_finished or not _may_see_match(viewer, match):
        return False
    if viewer.is_admin or match.kind is MatchKind.SCRIM:
        return True
    if match.kind is MatchKind.VALIDATION:
        return _took_part(viewer, match)
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
            )


def _took_part(viewer: Viewer, match: MatchResource) -> bool:
    return not match.team_ids.isdisjoint(viewer.team_ids)


def _is_host(viewer: Viewer, league: LeagueResource) -> bool:
    return viewer.roles.get(league.league_id) is LeagueRole.HOST
