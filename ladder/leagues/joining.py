"""Makes people members of a league by an invitation code."""

from __future__ import annotations

import hashlib
from typing import Final

from ladder.database.db import Connection, atomic_function
from ladder.enums import LeagueRole
from ladder.errors import Conflict, NotFound
from ladder.ids import InvitationId, LeagueId, TeamId, UserId
from ladder.leagues import agreements, invitations, league_blocks, leagues, members, staff, terms
from ladder.leagues.records import League
from ladder.notices.events import EventSubject, record_event
from ladder.notices.kinds import NoticeKind
from ladder.people import teams, users
from ladder.people.roles import STAFF
from ladder.slugs import name_key

ORDER: Final = (LeagueRole.VIEWER, LeagueRole.COMPETITOR, LeagueRole.CO_HOST, LeagueRole.HOST)


def is_wider_role(one: LeagueRole, other: LeagueRole) -> bool:
    """Whether an invitation with role ``one`` gives more rights to a member with role ``other``.

    False for graders and commentators: a code never changes their role.
    """
    return other in ORDER and ORDER.index(one) > ORDER.index(other)


@atomic_function
def join_league(
    conn: Connection, user_id: UserId, code: str, terms_digest: str
) -> tuple[invitations.Invitation, League, LeagueRole]:
    """Adds a person who agreed to the terms to a league.

    Returns the invitation, the league and the person's role. A code never lowers a role. A
    competitor without a team gets one with their own name. Raises NotFound if the code is not
    valid. Raises Conflict if the digest is not that of the current terms, or if the person is a
    grader or a commentator.
    """
    _, league = invitations.read_code(conn, user_id, code)
    agreements.lock_league(conn, league.id)
    invitation, league = invitations.lock_code(conn, user_id, code)
    if terms_digest != staff.current_digest(conn, league):
        raise Conflict(
            "terms: read them again; this digest is not that of the league's current terms"
        )
    league_blocks.refuse_blocked_person(conn, league.id, user_id)
    had = members.role_of(conn, league.id, user_id)
    if had in STAFF:
        raise Conflict(f"you are {had} of this league: you cannot take another role by a code")
    used = conn.execute(
        "select 1 from joinings where invitation_id = %s and user_id = %s",
        (invitation.id, user_id),
    ).fetchone()
    if used is not None and had is None:
        raise NotFound(invitations.WRONG_CODE, field="code")  # a host has removed this member
    role = invitation.role if had is None else max(invitation.role, had, key=ORDER.index)
    if used is not None and had is not None:
        role = had
    leagues.set_member_role(conn, league.id, user_id, role)
    agreements.write_agreement(
        conn, league, user_id, terms_digest, terms.settings_of_league(league)
    )
    conn.execute(
        "insert into joinings (invitation_id, user_id) values (%s, %s) on conflict do nothing",
        (invitation.id, user_id),
    )
    _join_as_roster_line(conn, invitation.id, user_id, role)
    if had is None:
        about = EventSubject(league_id=league.id, user_id=user_id)
        record_event(conn, NoticeKind.MEMBER_JOINED, about)
    if role is LeagueRole.COMPETITOR and not users.teams_of(conn, user_id):
        users.create_own_team(conn, users.get_user(conn, user_id).name, user_id)
    return invitation, league, role


def _join_as_roster_line(
    conn: Connection, invitation_id: InvitationId, user_id: UserId, role: LeagueRole
) -> None:
    """If the code belongs to a roster line, links the person to it and to its team.

    A host who tries a code joins no team, because a team's private data is not for hosts.
    """
    row = conn.execute(
        "select league_id, team from roster where invitation_id = %s and user_id is null",
        (invitation_id,),
    ).fetchone()
    if row is None:
        return
    team_id = None
    if row[1] and role is LeagueRole.COMPETITOR:
        team_id = _join_roster_team(conn, row[0], row[1], user_id)
    conn.execute(
        "update roster set user_id = %s, team_id = %s where invitation_id = %s",
        (user_id, team_id, invitation_id),
    )


def _join_roster_team(conn: Connection, league_id: LeagueId, name: str, user_id: UserId) -> TeamId:
    """Adds a person to the roster's team of this name; the first one to join creates it.

    The team keeps its place in the roster if it is renamed, and loses it if it is merged or
    dissolved. Raises the Conflict of `teams.add_member`.
    """
    digest = team_digest(name)
    conn.execute("select pg_advisory_xact_lock(hashtext(%s))", (f"{league_id} {digest.hex()}",))
    row = conn.execute(
        "select t.id from roster_teams r join teams t on t.id = r.team_id"
        " where r.league_id = %s and r.name_digest = %s"
        " and t.ended_at is null",
        (league_id, digest),
    ).fetchone()
    if row is None:
        slug = leagues.get_league(conn, league_id).slug
        made = users.create_own_team(conn, name, user_id, f"{name} ({slug})")
        conn.execute(
            "insert into roster_teams (league_id, name_digest, team_id)"
            " values (%s, %s, %s)"
            " on conflict (league_id, name_digest) do update set team_id = excluded.team_id",
            (league_id, digest, made.id),
        )
        return made.id
    team_id = TeamId(row[0])
    if all(team.id != team_id for team in users.teams_of(conn, user_id)):
        teams.add_member(conn, team_id, user_id, user_id)
    return team_id


def team_digest(name: str) -> bytes:
    """SHA-256 of the key of a roster team's name: names stand elsewhere."""
    return hashlib.sha256(name_key(name).encode()).digest()
