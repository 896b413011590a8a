"""What people do with teams: make, rename, invite, join, leave, hand over, merge, dissolve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ladder.entries import team_merges
from ladder.entries.team_merges import NewTeamMerge, TeamMerge
from ladder.ids import TeamInvitationId, UserId
from ladder.people import administration, team_invitations, teams
from ladder.people.records import Team, TeamMember
from ladder.people.team_invitations import (
    MadeTeamInvitation,
    NewTeamInvitation,
    TeamCode,
    TeamInvitation,
)
from ladder.people.teams import NewOwner, NewTeam, NewTeamMember, TeamAct, TeamName
from ladder.reports import team_results
from ladder.reports.team_results import TeamRecord
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Admin, Anyone, Known, Writer
from services.http.operations import Form, Operations
from services.http.paging import Page, Paging
from services.http.path_parameters import TeamInvitationKey, UserKey
from services.http.problems import ProblemError
from services.teams.pages import InvitationForm, join_page, new_team_page, team_page
from services.teams.things import MembersMerge, MembersTeam, VisibleTeam

operations = Operations("teams")
MANAGE = "/teams/{team.id}#manage"
MINE = "/me#teams"


@operations(
    "POST",
    "/teams",
    "Create a team",
    status=201,
    forms=Form(page=new_team_page, address="/teams/new", then="/teams/{answer.id}", only=("name",)),
)
def create_team(conn: Db, viewer: Writer, team: NewTeam) -> Team:
    """You become its owner. A name that is reserved, taken, or looks like another team's or
    person's name is refused. Administrators may name another owner and any free name."""
    return teams.create_team(conn, viewer, team)


@operations("GET", "/teams/{team}", "Read a team", problems=(404,))
def read_team(viewer: Anyone, team: VisibleTeam) -> Team:
    """Answers 404 if the team plays only in leagues hidden from the caller."""
    return team


@operations(
    "PATCH",
    "/teams/{team}",
    "Rename a team",
    forms=Form(page=team_page, address="/teams/{team}/rename", then=MANAGE),
)
def rename_team(conn: Db, viewer: Writer, team: VisibleTeam, new: TeamName) -> Team:
    """Owners only. The slug changes with the name; the id stays."""
    return teams.rename_team(conn, team.id, new.name, viewer)


@operations(
    "DELETE",
    "/teams/{team}",
    "Dissolve a team",
    forms=Form(page=team_page, address="/teams/{team}/dissolve", then=MINE, type_again="team"),
    confirms="All members leave the team, and its entries of unfinished seasons retire.",
)
def dissolve_team(conn: Db, viewer: Writer, team: VisibleTeam) -> None:
    """Owners only, for good. Its entries of unfinished seasons retire, and all members leave.
    Finished results stay."""
    team_merges.dissolve_team(conn, team.id, viewer)


@operations("GET", "/teams/{team}/members", "List a team's members", problems=(403, 404))
def list_team_members(conn: Db, viewer: Known, team: VisibleTeam) -> Page[TeamMember]:
    """In order of joining, for the team, for hosts of its leagues and for administrators."""
    if not permissions.may_see_people(conn, viewer, team):
        raise ProblemError("forbidden", "Only the team and hosts of its leagues see its people.")
    return Page(items=teams.list_members(conn, team.id))


@operations(
    "GET", "/teams/{team}/opponents", "Compare a team with the teams that it met", problems=(404,)
)
def list_opponents(conn: Db, viewer: Anyone, team: VisibleTeam) -> Page[TeamRecord]:
    """From the newest rated matches of its agents that the caller may see; the teams that it met
    most often come first."""
    return Page(items=team_results.head_to_heads(conn, viewer, team.id))


@operations("POST", "/teams/{team}/members", "Add a member")
def add_team_member(conn: Db, viewer: Admin, team: VisibleTeam, member: NewTeamMember) -> None:
    """Administrators only, and only other people; others invite. Adding a member again changes
    nothing."""
    administration.add_to_team(conn, viewer, team.id, UserId(member.user), is_owner=member.is_owner)


@operations(
    "DELETE",
    "/teams/{team}/members/{user}",
    "Leave a team, or remove a member",
    forms=(
        Form(name="remove_member", page=team_page, address="/teams/{team}/remove", then=MANAGE),
        Form(
            name="leave_team",
            page=team_page,
            address="/teams/{team}/leave",
            then=MINE,
            fixed={"user": "me"},
        ),
    ),
)
def remove_team_member(conn: Db, viewer: Writer, team: VisibleTeam, user: UserKey) -> None:
    """You may leave with `me`; owners may remove members. Who leaves still competes for this team
    in its seasons. The last owner hands the team over first."""
    user_id = UserId(str(viewer.user_id) if user == "me" else user)
    teams.remove_member(conn, team.id, user_id, viewer)


@operations(
    "PUT",
    "/teams/{team}/owner",
    "Hand a team over",
    forms=Form(page=team_page, address="/teams/{team}/hand-over", then=MANAGE),
    confirms="Only the new owner can hand the team back.",
)
def hand_over_team(
    conn: Db, viewer: Writer, team: VisibleTeam, owner: NewOwner
) -> Page[TeamMember]:
    """Owners only: makes a member the owner, and the caller an ordinary member."""
    teams.hand_over(conn, team.id, UserId(owner.user), viewer)
    return Page(items=teams.list_members(conn, team.id))


@operations(
    "GET",
    "/teams/{team}/acts",
    "Read what people did with a team",
    problems=(403, 404),
)
def list_team_acts(conn: Db, viewer: Known, team: MembersTeam, span: Paging) -> Page[TeamAct]:
    """Newest first, for members and administrators."""
    rows = teams.list_team_acts(conn, team.id, after=span.after, limit=span.limit)
    return span.page(rows, lambda row: row.id, lambda row: row)


@operations(
    "POST",
    "/teams/{team}/invitations",
    "Invite people to a team",
    status=201,
    forms=Form(
        page=team_page,
        address="/teams/{team}/invite",
        asks=InvitationForm,
        without=("expires_at",),
    ),
)
def create_team_invitation(
    conn: Db, viewer: Writer, team: VisibleTeam, invitation: NewTeamInvitation
) -> MadeTeamInvitation:
    """Owners only. With `person` the invitation also waits for that person, who accepts or declines
    it. Without, anybody with the code may join, up to `max_uses` people."""
    return team_invitations.invite(conn, team.id, viewer, invitation)


@operations(
    "GET",
    "/teams/{team}/invitations",
    "List a team's invitations",
    problems=(403, 404),
)
def list_team_invitations(
    conn: Db, viewer: Known, team: MembersTeam, span: Paging
) -> Page[TeamInvitation]:
    """Newest first, for members and administrators, with those that can no longer be used."""
    rows = team_invitations.list_invitations(conn, team.id, span.after, span.limit)
    return span.page(rows, lambda row: row.id, lambda row: row)


@operations(
    "DELETE",
    "/teams/{team}/invitations/{invitation}",
    "Revoke an invitation to a team",
    problems=(403, 404),
    forms=Form(page=team_page, address="/teams/{team}/revoke", then=MANAGE),
)
def revoke_team_invitation(
    conn: Db, viewer: Writer, team: VisibleTeam, invitation: TeamInvitationKey
) -> TeamInvitation:
    """Owners only. People who joined by it stay. Repeating it changes nothing."""
    return team_invitations.revoke_invitation(conn, team.id, TeamInvitationId(invitation), viewer)


@operations("GET", "/users/me/team-invitations", "List invitations to you", problems=())
def list_own_team_invitations(conn: Db, viewer: Known, span: Paging) -> Page[TeamInvitation]:
    """The invitations by name that wait for your answer, newest first."""
    assert viewer.user_id is not None
    rows = team_invitations.invitations_to(conn, viewer.user_id, span.after, span.limit)
    return span.page(rows, lambda row: row.id, lambda row: row)


@operations(
    "POST",
    "/users/me/team-invitations/{invitation}/accept",
    "Accept an invitation to a team",
    forms=Form(
        page=join_page, address="/team-invitations/{invitation}/accept", then="/teams/{answer.id}"
    ),
)
def accept_team_invitation(conn: Db, viewer: Writer, invitation: TeamInvitationKey) -> Team:
    """Makes you a member. Repeating it changes nothing."""
    assert viewer.user_id is not None
    return team_invitations.accept_invitation(conn, viewer.user_id, TeamInvitationId(invitation))


@operations(
    "POST",
    "/users/me/team-invitations/{invitation}/decline",
    "Decline an invitation to a team",
    forms=Form(page=join_page, address="/team-invitations/{invitation}/decline", then=MINE),
)
def decline_team_invitation(
    conn: Db, viewer: Writer, invitation: TeamInvitationKey
) -> TeamInvitation:
    """Declines for good. Repeating it changes nothing."""
    assert viewer.user_id is not None
    return team_invitations.decline_invitation(conn, viewer.user_id, TeamInvitationId(invitation))


@operations("POST", "/join-team/invitation", "Read the invitation of a code")
def read_team_code(conn: Db, viewer: Known, code: TeamCode) -> TeamInvitation:
    """Says which team the code admits to. An expired, revoked or used-up code answers 409, and one
    for another person 403."""
    assert viewer.user_id is not None
    return team_invitations.read_link(conn, viewer.user_id, code.code)


@operations(
    "POST",
    "/join-team",
    "Join a team with a code",
    forms=Form(page=join_page, address="/join-team", then="/teams/{answer.id}"),
)
def join_team(conn: Db, viewer: Writer, code: TeamCode) -> Team:
    """Makes you a member of the team. If it competes in a season in which you compete for another
    team, the answer is 409. Repeating it changes nothing."""
    assert viewer.user_id is not None
    return team_invitations.join_by_link(conn, viewer.user_id, code.code)


@operations(
    "POST",
    "/teams/{team}/merges",
    "Ask another team for a merge",
    status=201,
    forms=Form(page=team_page, address="/teams/{team}/merge", then=MANAGE),
)
def ask_for_merge(conn: Db, viewer: Writer, team: VisibleTeam, merge: NewTeamMerge) -> TeamMerge:
    """Owners only. Your team becomes part of the other one if an owner of that one agrees within a
    week. Uploads must be open where your team competes, and both teams together may not have made
    more of them than one team could."""
    other = permissions.visible_team(conn, viewer, merge.into)
    return team_merges.ask_for_merge(conn, team.id, other.id, viewer)


@operations(
    "GET",
    "/teams/{team}/merges",
    "List open requests for a merge",
    problems=(403, 404),
)
def list_merges(conn: Db, viewer: Known, team: MembersTeam) -> Page[TeamMerge]:
    """From and to the team, newest first, for members and administrators."""
    return Page(items=team_merges.list_merges(conn, team.id))


@operations(
    "POST",
    "/team-merges/{merge}/accept",
    "Agree to a merge",
    forms=Form(address="/team-merges/{merge}/accept", then="/teams/{answer.id}"),
    confirms="The teams become one, and nobody can separate them.",
)
def accept_merge(conn: Db, viewer: Writer, merge: MembersMerge) -> Team:
    """Owners of the team that remains only, for good. Members, agents and entries of unfinished
    seasons move to it."""
    return team_merges.accept_merge(conn, merge.id, viewer)


def page_of_own_team(values: Mapping[str, Any]) -> str:
    merge: TeamMerge = values["merge"]
    is_asked = merge.into_team_id in values["viewer"].team_ids
    return f"/teams/{merge.into_team_id if is_asked else merge.team_id}#manage"


@operations(
    "DELETE",
    "/team-merges/{merge}",
    "Decline or withdraw a merge",
    problems=(403, 404),
    forms=Form(address="/team-merges/{merge}/end", then=page_of_own_team),
)
def end_merge(conn: Db, viewer: Writer, merge: MembersMerge) -> None:
    """Owners of either team only."""
    team_merges.end_merge(conn, merge.id, viewer)
