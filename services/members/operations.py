"""What makes people members of a league: invitations, requests, terms, roles and blocks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

from fastapi import Depends, Query

from ladder.enums import LeagueRole, ReplayVisibility, Visibility
from ladder.field_types import RECORD
from ladder.ids import InvitationId, JoinRequestId, LeagueId, UserId
from ladder.leagues import invitations, join_requests, members, terms
from ladder.leagues.invitations import (
    Invitation,
    InvitationCode,
    JoinWithCode,
    MadeInvitation,
    NewInvitation,
)
from ladder.leagues.join_requests import JoinAnswer, JoinRequest, NewJoinRequest, RequestState
from ladder.leagues.members import LeagueBlock, Member, NewBlock, RoleChange
from ladder.leagues.terms import Consent, Terms
from ladder.people import users
from services.http.app_state import Db
from services.http.auth import Anyone, Host, Known, Writer
from services.http.operations import Form, Operations
from services.http.paging import Page, Paging
from services.http.path_parameters import InvitationKey, PersonKey, RequestKey, UserKey
from services.leagues.things import HostedLeague, VisibleLeague
from services.members.pages import (
    ApprovalForm,
    DeclineForm,
    InvitationForm,
    invitations_page,
    people_page,
    refused_join_page,
    request_page,
    terms_page,
)
from services.members.things import LeagueToAsk

operations = Operations("members")
PEOPLE = "/leagues/{league.slug}/people"


@dataclass(frozen=True, slots=True)
class LeagueToJoin:
    """What a person reads before asking to join."""

    __pydantic_config__ = RECORD
    league_id: LeagueId
    slug: str
    title: str
    takes_requests: bool
    terms: Terms


@dataclass(frozen=True, slots=True)
class InvitationTerms:
    """The league and role that a code gives."""

    __pydantic_config__ = RECORD
    league_id: LeagueId
    slug: str
    title: str
    role: LeagueRole
    terms: Terms


@dataclass(frozen=True, slots=True)
class Joined:
    __pydantic_config__ = RECORD
    league_id: LeagueId
    slug: str
    title: str
    role: LeagueRole


@operations(
    "POST",
    "/leagues/{league}/invitations",
    "Make an invitation code",
    status=201,
    problems=(403, 404, 409, 429),
    forms=Form(
        page=invitations_page,
        address="/leagues/{league}/invitations",
        asks=InvitationForm,
        without=("expires_at",),
    ),
)
def create_invitation(
    conn: Db, viewer: Host, league: HostedLeague, invitation: NewInvitation
) -> MadeInvitation:
    """Hosts and administrators only. The code is shown only once. A private league has no codes."""
    invitation_made, code = invitations.create_invitation(
        conn, league.id, created_by=viewer.user_id, **invitation.model_dump()
    )
    return MadeInvitation(**asdict(invitation_made), code=code)


@operations("GET", "/leagues/{league}/invitations", "List invitation codes", problems=(403, 404))
def list_invitations(
    conn: Db, viewer: Known, league: HostedLeague, span: Paging
) -> Page[Invitation]:
    """Hosts and administrators only. Newest first, without the codes themselves."""
    after = InvitationId(span.after) if span.after else None
    rows = invitations.list_invitations(conn, league.id, after, span.limit)
    return span.page(rows, lambda row: row.id, lambda row: row)


@operations(
    "DELETE",
    "/leagues/{league}/invitations/{invitation}",
    "Revoke an invitation code",
    problems=(403, 404),
    forms=Form(
        address="/leagues/{league}/invitations/{invitation}/revoke",
        then="/leagues/{league.slug}/invitations#codes",
    ),
)
def revoke_invitation(
    conn: Db, viewer: Host, league: HostedLeague, invitation: InvitationKey
) -> Invitation:
    """Takes effect at once and for good. People who joined with the code stay members."""
    return invitations.revoke_invitation(conn, league.id, InvitationId(invitation))


@operations("POST", "/join/terms", "Read the terms of a code", problems=(404,))
def read_invitation_terms(conn: Db, viewer: Known, code: InvitationCode) -> InvitationTerms:
    """The league, the role and the terms of a code. Does not use the code up."""
    invitation, league = invitations.read_code(conn, viewer.user_id, code.code)
    text = terms.read_terms(conn, viewer, league, terms.settings_of_league(league))
    return InvitationTerms(league.id, league.slug, league.title, invitation.role, text)


@operations(
    "POST",
    "/join",
    "Join a league with a code",
    forms=Form(
        page=refused_join_page, address="/join/agree", then="/leagues/{answer.slug}?joined=true"
    ),
)
def join_league(conn: Db, viewer: Writer, code: JoinWithCode) -> Joined:
    """Agrees to the terms with this digest. Joining again with the same code changes no role."""
    assert viewer.user_id is not None
    _, league, role = invitations.join_league(conn, viewer.user_id, code.code, code.terms)
    return Joined(league.id, league.slug, league.title, role)


@operations("GET", "/leagues/{league}/terms", "Read the terms of a league", problems=(404,))
def read_terms(
    conn: Db,
    viewer: Anyone,
    league: VisibleLeague,
    visibility: Annotated[Visibility | None, Query()] = None,
    replay_visibility: Annotated[ReplayVisibility | None, Query()] = None,
    remote_agents: Annotated[bool, Query()] = False,
) -> Terms:
    """What joining means. With other settings: what joining would mean under them."""
    now = terms.settings_of_league(league)
    settings = terms.TermsSettings(
        visibility or now.visibility, replay_visibility or now.replays, remote_agents or now.remote
    )
    return terms.read_terms(conn, viewer, league, settings)


@operations(
    "PUT",
    "/leagues/{league}/consent",
    "Agree to the terms",
    forms=Form(
        page=terms_page, address="/leagues/{league}/terms", then="/leagues/{league.slug}/terms"
    ),
)
def give_consent(conn: Db, viewer: Writer, league: VisibleLeague, consent: Consent) -> Terms:
    """Agrees to the present terms, or to wider terms that a host asks for. In a public league the
    caller becomes a competitor."""
    assert viewer.user_id is not None
    settings = terms.record_consent(conn, league, viewer.user_id, consent.terms)
    return terms.read_terms(conn, viewer, league, settings)


@operations(
    "GET", "/leagues/{league}/requests/terms", "Read what joining a league means", problems=(404,)
)
def read_league_to_join(conn: Db, viewer: Known, league: LeagueToAsk) -> LeagueToJoin:
    """Title and terms of a league that takes requests to join, also for people who do not see the
    league."""
    text = terms.read_terms(conn, viewer, league, terms.settings_of_league(league))
    return LeagueToJoin(league.id, league.slug, league.title, league.takes_requests, text)


@operations(
    "POST",
    "/leagues/{league}/requests",
    "Ask to join a league",
    status=201,
    problems=(403, 404, 409, 429),
    forms=Form(
        page=request_page,
        address="/leagues/{league}/request",
        then="/leagues/{league.slug}/request",
    ),
)
def request_to_join(
    conn: Db, viewer: Writer, league: LeagueToAsk, join_request: NewJoinRequest
) -> JoinRequest:
    """Agrees to the terms with this digest. A host approves or declines; after 14 days the request
    expires."""
    assert viewer.user_id is not None
    return join_requests.request_to_join(
        conn, league.id, viewer.user_id, join_request.terms, join_request.words
    )


@operations("GET", "/leagues/{league}/requests", "List requests to join", problems=(403, 404))
def list_join_requests(
    conn: Db,
    viewer: Known,
    league: HostedLeague,
    span: Paging,
    state: Annotated[RequestState | None, Query()] = RequestState.WAITING,
) -> Page[JoinRequest]:
    """Hosts and administrators only. The oldest first."""
    rows = join_requests.list_requests(
        conn, league.id, state=state, after=span.after, limit=span.limit
    )
    return span.page(rows, lambda row: row.id, lambda row: row)


@operations(
    "POST",
    "/leagues/{league}/requests/answers",
    "Approve or decline requests to join",
    takes_key=True,
    forms=(
        Form(
            name="approve_requests",
            page=people_page,
            address="/leagues/{league}/people/requests/approve",
            asks=ApprovalForm,
            then=f"{PEOPLE}#requests",
        ),
        Form(
            name="decline_requests",
            page=people_page,
            address="/leagues/{league}/people/requests/decline",
            asks=DeclineForm,
            then=f"{PEOPLE}#requests",
        ),
    ),
)
def answer_join_requests(
    conn: Db, viewer: Host, league: HostedLeague, answer: JoinAnswer
) -> Page[JoinRequest]:
    """Hosts and administrators only. Answers the named requests, or all that wait. Returns those
    that it answered. A request expires if the terms became wider after it: the person must ask
    again."""
    answered = join_requests.answer_requests(
        conn,
        viewer,
        league,
        None if answer.all else answer.requests,
        role=LeagueRole(answer.role) if answer.act == "approve" else None,
        words=answer.words,
    )
    return Page(items=answered)


@operations("GET", "/me/requests", "List your requests to join", problems=())
def list_own_requests(conn: Db, viewer: Known) -> Page[JoinRequest]:
    """The newest first, with the answers of hosts."""
    assert viewer.user_id is not None
    return Page(items=join_requests.requests_of_person(conn, viewer.user_id))


def key_of_request(request: RequestKey) -> JoinRequestId:
    return JoinRequestId(request)


@operations(
    "DELETE",
    "/me/requests/{request}",
    "Withdraw a request to join",
    forms=Form(address="/me/requests/{request}/withdraw", then="/leagues/{answer.slug}/request"),
)
def withdraw_join_request(
    conn: Db, viewer: Writer, join_request: Annotated[JoinRequestId, Depends(key_of_request)]
) -> JoinRequest:
    """Repeating it changes nothing."""
    assert viewer.user_id is not None
    return join_requests.withdraw_request(conn, viewer.user_id, join_request)


@operations("GET", "/leagues/{league}/members", "List members", problems=(403, 404))
def list_members(conn: Db, viewer: Known, league: HostedLeague, span: Paging) -> Page[Member]:
    """Hosts and administrators only, because people's names are private."""
    after = UserId(span.after) if span.after else None
    rows = members.list_members(conn, league.id, after, span.limit)
    return span.page(rows, lambda row: row.user_id, lambda row: row)


@operations(
    "PUT",
    "/leagues/{league}/members/{user}",
    "Give a role",
    forms=Form(
        page=people_page,
        address="/leagues/{league}/people/role",
        repeats=True,
        then=f"{PEOPLE}#members",
    ),
)
def put_member(
    conn: Db, viewer: Host, league: HostedLeague, user: PersonKey, change: RoleChange
) -> None:
    """Hosts and administrators only; co-hosts give the roles competitor and viewer. Replaces the
    user's earlier role. A grader or commentator sees only teams of which all people agreed to
    the terms."""
    members.change_role(conn, viewer, league, users.require_user(conn, user), change.role)


@operations(
    "DELETE",
    "/leagues/{league}/members/{user}",
    "Remove a role",
    forms=Form(
        page=people_page,
        address="/leagues/{league}/people/remove-role",
        repeats=True,
        then=f"{PEOPLE}#members",
    ),
)
def delete_member(conn: Db, viewer: Host, league: HostedLeague, user: PersonKey) -> None:
    """Hosts and administrators only; co-hosts take the roles competitor and viewer. Changes nothing
    if the user has no role. Entries play on."""
    members.change_role(conn, viewer, league, users.require_user(conn, user), None)


@operations("GET", "/leagues/{league}/blocks", "List blocked people", problems=(403, 404))
def list_league_blocks(
    conn: Db, viewer: Known, league: HostedLeague, span: Paging
) -> Page[LeagueBlock]:
    """Hosts and administrators only."""
    after = UserId(span.after) if span.after else None
    rows = members.list_blocks(conn, league.id, after, span.limit)
    return span.page(rows, lambda row: row.user_id, lambda row: row)


@operations(
    "PUT",
    "/leagues/{league}/blocks/{user}",
    "Block a person from a league",
    forms=Form(
        page=people_page,
        address="/leagues/{league}/people/block",
        repeats=True,
        prefix="block.",
        then=f"{PEOPLE}#blocks",
    ),
)
def block_from_league(
    conn: Db, viewer: Host, league: HostedLeague, user: PersonKey, block: NewBlock
) -> None:
    """Hosts and administrators only. Ends the person's role. The person cannot join, ask to join or
    enter agents, and reads the reason. Entries play on: disqualify them if they must go."""
    person = users.require_user(conn, user)
    members.block_person(conn, viewer, league, person, block.reason)


@operations(
    "DELETE",
    "/leagues/{league}/blocks/{user}",
    "Unblock a person",
    problems=(403, 404),
    forms=Form(
        page=people_page,
        address="/leagues/{league}/people/unblock",
        repeats=True,
        then=f"{PEOPLE}#blocks",
    ),
)
def unblock_from_league(conn: Db, viewer: Host, league: HostedLeague, user: UserKey) -> None:
    """Hosts and administrators only. The person may join again, but gets no role by
    this. Repeating it changes nothing."""
    members.unblock_person(conn, viewer, league, UserId(user), "unblocked")
