"""Creates invitation codes, adds members by code, and records what they agreed to.

A code is ``join_`` and 24 random characters; only its SHA-256 is stored. The membership stores what
its member agreed to: the digest of the terms (``ladder.leagues.terms``) and the settings in them.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from psycopg.rows import dict_row

from ladder import ids
from ladder.database.db import Connection, atomic_function
from ladder.enums import LeagueRole, ReplayVisibility, Visibility
from ladder.errors import Conflict, Invalid, NotFound
from ladder.ids import InvitationId, LeagueId, TeamId, UserId
from ladder.leagues import league_blocks, leagues, members, staff, terms
from ladder.leagues.members import PLAIN
from ladder.leagues.records import League
from ladder.notices.events import EventSubject, record_event
from ladder.notices.kinds import NoticeKind
from ladder.people import quotas, teams, users
from ladder.people.roles import STAFF
from ladder.people.tokens import LETTERS

PREFIX: Final = "join_"
RANDOM_CHARS: Final = 24
INVITATION: Final = (
    "select i.id, i.league_id, i.role, i.label, i.max_uses, (select count(*) from ("
    "   select user_id from joinings where invitation_id = i.id union"
    "   select user_id from code_accounts where invitation_id = i.id) as u) as uses,"
    " i.expires_at, i.revoked_at, i.created_at"
    " from invitations i"
)
WRONG_CODE: Final = (
    "this code is mistyped, expired, revoked or used up; ask the host of the league for a new one"
)
ORDER: Final = (LeagueRole.VIEWER, LeagueRole.COMPETITOR, LeagueRole.CO_HOST, LeagueRole.HOST)


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation without the text of its code."""

    id: InvitationId
    league_id: LeagueId
    role: LeagueRole
    label: str
    max_uses: int | None
    uses: int
    expires_at: datetime | None
    revoked_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Agreement:
    """Terms that a member agreed to. If a host added the member, digest and moment are None."""

    visibility: Visibility
    replays: ReplayVisibility
    terms_digest: str | None
    at: datetime | None


@atomic_function
def create_invitation(
    conn: Connection,
    league_id: LeagueId,
    *,
    role: LeagueRole | str,
    created_by: UserId | None,
    label: str = "",
    max_uses: int | None = None,
    expires_at: datetime | None = None,
) -> tuple[Invitation, str]:
    """Creates an invitation; returns it and its code, which is shown only once.

    Raises Conflict in a private league, where hosts add members. Raises Invalid for the role of
    host, and LimitReached.
    """
    if leagues.get_league(conn, league_id).visibility is Visibility.PRIVATE:
        raise Conflict(
            "visibility: change it to invitation, or add members by role; a"
            " private league takes no codes"
        )
    made = create_roster_invitation(
        conn,
        league_id,
        role=role,
        created_by=created_by,
        label=label,
        max_uses=max_uses,
        expires_at=expires_at,
    )
    quotas.check_invitation_quota(conn, league_id)
    return made


def create_roster_invitation(
    conn: Connection,
    league_id: LeagueId,
    *,
    role: LeagueRole | str,
    created_by: UserId | None,
    label: str,
    max_uses: int | None,
    expires_at: datetime | None = None,
) -> tuple[Invitation, str]:
    """Creates an invitation for a person on the roster; works in any league."""
    if LeagueRole(role) not in PLAIN:
        raise Invalid("role", "a code can make competitors or viewers; hosts give other roles")
    code = PREFIX + "".join(secrets.choice(LETTERS) for _ in range(RANDOM_CHARS))
    invitation_id = InvitationId(ids.new_id("inv"))
    conn.execute(
        "insert into invitations (id, league_id, role, label, hash, max_uses, expires_at,"
        " created_by) values (%s, %s, %s, %s, %s, %s, %s, %s)",
        (
            invitation_id,
            league_id,
            LeagueRole(role).value,
            label,
            _hash_code(code),
            max_uses,
            expires_at,
            created_by,
        ),
    )
    return get_invitation(conn, league_id, invitation_id), code


def get_invitation(
    conn: Connection, league_id: LeagueId, invitation_id: InvitationId
) -> Invitation:
    """Returns an invitation of this league. Raises NotFound."""
    found = _select_invitations(
        conn, "where i.id = %s and i.league_id = %s", (invitation_id, league_id)
    )
    if not found:
        raise NotFound.of("invitation")
    return found[0]


def list_invitations(
    conn: Connection, league_id: LeagueId, after: InvitationId | None = None, limit: int = 50
) -> list[Invitation]:
    """A league's invitations, newest first, including revoked and used ones."""
    return _select_invitations(
        conn,
        "where i.league_id = %s and (%s::text is null or i.id < %s) order by i.id desc limit %s",
        (league_id, after, after, limit),
    )


def revoke_invitation(
    conn: Connection, league_id: LeagueId, invitation_id: InvitationId
) -> Invitation:
    """Revokes a code; its members stay. A repeat is no error. Raises NotFound."""
    conn.execute(
        "update invitations set revoked_at = coalesce(revoked_at, now())"
        " where id = %s and league_id = %s",
        (invitation_id, league_id),
    )
    return get_invitation(conn, league_id, invitation_id)


def read_code(conn: Connection, user_id: UserId, code: str) -> tuple[Invitation, League]:
    """Returns the invitation and league of a code. Raises NotFound, one message for all reasons.

    For a person who has already joined by the code, it stays valid until revoked.
    """
    found = _select_invitations(
        conn,
        "join leagues l on l.id = i.league_id where i.hash = %s and i.revoked_at is null"
        " and l.state <> 'closed' and (l.visibility <> 'private' or exists ("
        "   select 1 from roster r where r.invitation_id = i.id)) and (exists ("
        "   select 1 from joinings j where j.invitation_id = i.id and j.user_id = %s) or exists ("
        "   select 1 from code_accounts a where a.invitation_id = i.id and a.user_id = %s)"
        " or (coalesce(i.expires_at > now(), true) and (i.max_uses is null or i.max_uses >"
        "   (select count(*) from (select user_id from joinings where invitation_id = i.id union"
        "     select user_id from code_accounts where invitation_id = i.id) as u))))",
        (_hash_code(code.strip()), user_id, user_id),
    )
    if not found:
        raise NotFound(WRONG_CODE, field="code")
    return found[0], leagues.get_league(conn, found[0].league_id)


def inviter_name(conn: Connection, invitation_id: InvitationId) -> str | None:
    """Name of the person who made an invitation; None without one.

    Only for readers who hold the code. The page of invitations tells the host that they see it.
    """
    row = conn.execute(
        "select u.name from invitations i join users u on u.id = i.created_by where i.id = %s",
        (invitation_id,),
    ).fetchone()
    return None if row is None else str(row[0])


def lock_code(conn: Connection, code: str) -> InvitationId:
    """Locks a valid code for the caller's transaction, so it admits no more than its limit.

    Raises NotFound.
    """
    conn.execute(
        "select 1 from invitations where hash = %s for update", (_hash_code(code.strip()),)
    )
    return read_code(conn, UserId(""), code)[0].id


def reserve_code(conn: Connection, invitation_id: InvitationId, user_id: UserId) -> None:
    """Counts a locked code as used by a person who signed up with it and has not joined yet."""
    conn.execute(
        "insert into code_accounts (invitation_id, user_id) values (%s, %s)",
        (invitation_id, user_id),
    )


def is_wider_role(one: LeagueRole, other: LeagueRole) -> bool:
    """Whether a code of the first role raises a member of the second. Staff get no role so."""
    return other in ORDER and ORDER.index(one) > ORDER.index(other)


@atomic_function
def join_league(
    conn: Connection, user_id: UserId, code: str, terms_digest: str
) -> tuple[Invitation, League, LeagueRole]:
    """Makes a person a member who agreed to the terms; returns the new role too.

    A code never lowers a role. A competitor without a team gets one with their own name. Raises
    NotFound for the code. Raises Conflict if the digest is not that of the current terms.
    """
    _, league = read_code(conn, user_id, code)
    _lock_league(conn, league.id)
    # Lock the code, so it admits no more people than its limit.
    conn.execute(
        "select 1 from invitations where hash = %s for update", (_hash_code(code.strip()),)
    )
    invitation, league = read_code(conn, user_id, code)
    if terms_digest != staff.current_digest(conn, league):
        raise Conflict(
            "terms: read them again; this digest is not that of the league's current terms"
        )
    league_blocks.refuse_blocked_person(conn, league.id, user_id)
    had = members.role_of(conn, league, user_id)
    if had in STAFF:
        raise Conflict(f"you are {had} of this league: you cannot take another role by a code")
    used = conn.execute(
        "select 1 from joinings where invitation_id = %s and user_id = %s",
        (invitation.id, user_id),
    ).fetchone()
    if used is not None and had is None:
        raise NotFound(WRONG_CODE, field="code")  # a host has removed this member
    role = invitation.role if had is None else max(invitation.role, had, key=ORDER.index)
    if used is not None and had is not None:
        role = had
    leagues.set_member_role(conn, league.id, user_id, role)
    _write_agreement(conn, league, user_id, terms_digest, terms.settings_of_league(league))
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


def agreement_of_member(conn: Connection, league_id: LeagueId, user_id: UserId) -> Agreement | None:
    """Returns what this member agreed to; None for a person who is not a member."""
    row = conn.execute(
        "select agreed_visibility, agreed_replays, terms_digest, agreed_at from league_members"
        " where league_id = %s and user_id = %s",
        (league_id, user_id),
    ).fetchone()
    if row is None:
        return None
    return Agreement(Visibility(row[0]), ReplayVisibility(row[1]), row[2], row[3])


@atomic_function
def record_consent(conn: Connection, league: League, user_id: UserId, terms_digest: str) -> None:
    """Records that a person agrees to a text: the current terms, or wider ones.

    The person agrees to the graders and commentators that the text names.

    In a public league a person who is not yet a member becomes a competitor. Raises Conflict if the
    digest is of narrower terms than the current ones. Raises NotFound if the person may not join.
    """
    _lock_league(conn, league.id)
    league = leagues.get_league(conn, league.id)
    league_blocks.refuse_blocked_person(conn, league.id, user_id)
    told = terms.settings_with_digest(terms_digest, staff.staff_names(conn, league.id))
    if told is None or not terms.is_covered_by(told, terms.settings_of_league(league)):
        raise Conflict("terms: this digest is not that of the league's terms or of wider terms")
    if agreement_of_member(conn, league.id, user_id) is None:
        if league.visibility is not Visibility.PUBLIC:
            raise NotFound.of("league")
        leagues.set_member_role(conn, league.id, user_id, LeagueRole.COMPETITOR)
    _write_agreement(conn, league, user_id, terms_digest, told)


@atomic_function
def refuse_unagreed_settings(
    conn: Connection,
    league_id: LeagueId,
    visibility: Visibility | None = None,
    replays: ReplayVisibility | None = None,
    *,
    remote: bool = False,
) -> None:
    """Raises Conflict if people agreed to narrower terms than these settings need.

    Settings that are None stay as they are. ``remote`` means a season that takes remote agents. The
    function counts members, except hosts, who agreed to less. It also counts teams that entered
    without a member. They are assumed to have agreed to the settings at that time. Teams that the
    service made for itself do not count.

    The league stays locked for the caller's transaction, so nobody joins during the change.
    """
    conn.execute("select 1 from leagues where id = %s for update", (league_id,))
    league = leagues.get_league(conn, league_id)
    now = terms.settings_of_league(league)
    wished = terms.TermsSettings(
        visibility or now.visibility, replays or now.replays, remote or now.remote
    )
    if terms.is_covered_by(now, wished):
        return
    kept = conn.execute(
        "select agreed_visibility, agreed_replays, agreed_remote, count(*) from league_members"
        " where league_id = %s and role <> 'host' and duty is null group by 1, 2, 3",
        (league_id,),
    ).fetchall()
    people = sum(
        count
        for seen, shown, told, count in kept
        if not terms.is_covered_by(
            terms.TermsSettings(Visibility(seen), ReplayVisibility(shown), told), wished
        )
    )
    row = conn.execute(
        "select count(distinct e.team_id) from entries e join seasons s on s.id = e.season_id"
        " join teams t on t.id = e.team_id and t.created_by is not null"
        " where s.league_id = %s and not e.is_anchor and not exists (select 1 from memberships p"
        "   join league_members m on m.user_id = p.user_id and m.league_id = s.league_id"
        "   where p.team_id = e.team_id)",
        (league_id,),
    ).fetchone()
    assert row is not None
    if people or row[0]:
        raise Conflict(
            f"{'remote_agents' if remote else 'visibility, replay_visibility'}: {people} members"
            f" and {row[0]} teams without a member joined under narrower terms; each must agree"
            f" first: peck league consent {league.slug} --visibility {wished.visibility}"
            f" --replays {wished.replays}{' --remote-agents' * wished.remote}"
        )


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
    conn.execute("select pg_advisory_xact_lock(hashtext(%s))", (f"{league_id} {name.lower()}",))
    row = conn.execute(
        "select t.id from roster_teams r join teams t on t.id = r.team_id"
        " where r.league_id = %s and r.name_digest = sha256(convert_to(lower(%s), 'UTF8'))"
        " and t.ended_at is null",
        (league_id, name),
    ).fetchone()
    if row is None:
        slug = leagues.get_league(conn, league_id).slug
        made = users.create_own_team(conn, name, user_id, f"{name} ({slug})")
        conn.execute(
            "insert into roster_teams (league_id, name_digest, team_id)"
            " values (%s, sha256(convert_to(lower(%s), 'UTF8')), %s)"
            " on conflict (league_id, name_digest) do update set team_id = excluded.team_id",
            (league_id, name, made.id),
        )
        return made.id
    team_id = TeamId(row[0])
    if all(team.id != team_id for team in users.teams_of(conn, user_id)):
        teams.add_member(conn, team_id, user_id, user_id)
    return team_id


def _write_agreement(
    conn: Connection,
    league: League,
    user_id: UserId,
    terms_digest: str,
    told: terms.TermsSettings,
) -> None:
    conn.execute(
        "update league_members set agreed_visibility = %s, agreed_replays = %s,"
        " agreed_remote = %s, terms_digest = %s, agreed_at = now()"
        " where league_id = %s and user_id = %s",
        (*told, terms_digest, league.id, user_id),
    )
    staff.record_staff_agreement(conn, league.id, user_id, staff.list_staff(conn, league.id))


def _lock_league(conn: Connection, league_id: LeagueId) -> None:
    conn.execute("select 1 from leagues where id = %s for share", (league_id,))


def _hash_code(code: str) -> bytes:
    return hashlib.sha256(code.encode()).digest()


def _select_invitations(
    conn: Connection, tail: str, arguments: tuple[object, ...]
) -> list[Invitation]:
    with conn.cursor(row_factory=dict_row) as cur:
        return [
            Invitation(**{**row, "role": LeagueRole(row["role"])})
            for row in cur.execute(f"{INVITATION} {tail}", arguments)
        ]
