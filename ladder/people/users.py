"""Creates and reads people and their teams, and checks the names that people choose.

Only these tables hold names. Reserved names, and names that look like another one, are refused.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Sequence
from typing import Final

from confusable_homoglyphs import confusables
from psycopg import errors

from ladder import ids
from ladder.database.db import Connection, atomic, exists, fetch, fetch_one, fetch_optional, insert
from ladder.enums import LeagueRole
from ladder.errors import Conflict, Forbidden, Invalid, NotFound
from ladder.ids import LeagueId, TeamId, UserId
from ladder.people.records import ROLE, STAFF, Team, User, Viewer
from ladder.people.tokens import (
    SCOPES,
    user_of_token,
)
from ladder.slugs import normal_text, slug_of

TEAM_SLUG: Final = 30
"""Most characters of a team's slug that is made from its name."""
TEAM: Final = "select t.id, t.slug, t.name, t.created_at, t.ended_at, t.merged_into from teams t"


def create_user(conn: Connection, name: str, *, is_admin: bool = False) -> User:
    """Creates a user. Raises Conflict if the name, or one that looks like it, is taken."""
    name = normal_text(name)
    try:
        with atomic(conn):
            return fetch_one(
                conn,
                User,
                """insert into users (id, name, look_alike, is_admin) values (%s, %s, %s, %s)
                returning id, name, is_admin, created_at""",
                (ids.new_id("usr"), name, look_alike_key(name), is_admin),
            )
    except errors.UniqueViolation:
        raise Conflict(
            f"a user {name!r} already exists, or one with a similar name; choose another name",
            field="name",
        ) from None


def get_user(conn: Connection, user_id: UserId) -> User:
    """Returns the person with this id. Raises NotFound."""
    query = "select id, name, is_admin, created_at from users where id = %s"
    return fetch_one(conn, User, query, (user_id,), NotFound.of("user"))


def find_user(conn: Connection, text: str) -> UserId | None:
    """Returns the person with this id, or with this exact name in any case; None if unknown."""
    query = """select id from users
        where (id = %(text)s or lower(name) = lower(%(name)s)) and erased_at is null
        order by id = %(text)s desc limit 1"""
    return fetch_optional(conn, UserId, query, {"text": text, "name": normal_text(text)})


def require_user(conn: Connection, text: str) -> UserId:
    """Returns the person of ``find_user``. Raises NotFound."""
    user_id = find_user(conn, text)
    if user_id is None:
        raise NotFound("give the exact name or the id of a person with an account", field="user")
    return user_id


def find_owner(conn: Connection, name: str | None) -> UserId | None:
    """Returns the person with this name or id; None without a name. Raises Invalid for the field
    ``owner`` if nobody has it."""
    user_id = None if name is None else find_user(conn, name)
    if name is not None and user_id is None:
        raise Invalid("owner", "nobody has this name or id")
    return user_id


def create_team(conn: Connection, name: str, slug: str, user_id: UserId | None) -> Team:
    """Creates a team of this user, or without members (None).

    Raises Conflict if the slug is taken, or the name, or one that looks like it.
    """
    try:
        with atomic(conn):
            team = fetch_one(
                conn,
                Team,
                """insert into teams (id, slug, name, look_alike, created_by)
                values (%s, %s, %s, %s, %s) returning id, slug, name, created_at""",
                (ids.new_id("tea"), slug, name, look_alike_key(name), user_id),
            )
            if user_id is not None:
                insert(conn, "memberships", team_id=team.id, user_id=user_id, is_owner=True)
            return team
    except errors.UniqueViolation as error:
        raise _taken(error, name, slug) from None
    except errors.ForeignKeyViolation:
        raise NotFound.of("user") from None


def update_team_name(conn: Connection, team_id: TeamId, name: str, slug: str) -> None:
    """Changes name and slug of a team. Raises the Conflict of `create_team`."""
    try:
        with atomic(conn):
            conn.execute(
                "update teams set name = %s, look_alike = %s, slug = %s where id = %s",
                (name, look_alike_key(name), slug, team_id),
            )
    except errors.UniqueViolation as error:
        raise _taken(error, name, slug) from None


def _taken(error: errors.UniqueViolation, name: str, slug: str) -> Conflict:
    if error.diag.constraint_name == "teams_look_alike":
        return Conflict(
            f"a team {name!r} already exists, or one with a similar name; choose another name",
            field="name",
        )
    return Conflict(f"a team {slug!r} already exists; choose another slug", field="slug")


def require_all_scopes(conn: Connection, viewer: Viewer) -> None:
    """Raises Forbidden if the viewer's token has fewer scopes than a session with a password.

    Ask this before a change of the account. So a token with few scopes cannot win more.
    """
    assert viewer.user_id is not None
    needed = set(SCOPES) if get_user(conn, viewer.user_id).is_admin else set(SCOPES) - {"admin"}
    lacking = sorted(needed - viewer.scopes)
    if lacking:
        raise Forbidden(
            f"Sign in with your password: the token of this session lacks {lacking[0]!r}."
        )


def create_own_team(
    conn: Connection, name: str, user_id: UserId | None, or_else: str | None = None
) -> Team:
    """Creates a team of this name, which nobody chose; its slug is made from the name.

    If a team has this name or one that looks like it, the new name is ``or_else``, or the name with
    a number. ``user_id`` None makes a team without members.
    """
    names = [name, *([or_else] if or_else else []), *(f"{name} {n}" for n in range(2, 6))]
    for free in (*names, f"{name} {secrets.token_hex(4)}"):
        key = look_alike_key(free)
        if not exists(conn, "select 1 from teams where look_alike = %s", (key,)):
            break
    slug = team_slug(free)
    if exists(conn, "select 1 from teams where slug = %s", (slug,)):
        slug = f"{slug}-{secrets.token_hex(4)}"
    try:
        return create_team(conn, free, slug, user_id)
    except Conflict:  # another request took the name or the slug a moment earlier
        again = secrets.token_hex(4)
        return create_team(conn, f"{name} {again}", f"{team_slug(name)}-{again}", user_id)


def team_slug(name: str) -> str:
    """Makes the slug of a team from its name; ``team`` if no letter or digit is left."""
    return slug_of(name, TEAM_SLUG) or "team"


def get_team(conn: Connection, team: TeamId | str) -> Team:
    """Returns the team with this id or slug. Raises NotFound."""
    query = f"{TEAM} where t.id = %s" if ids.is_id(team, "tea") else f"{TEAM} where t.slug = %s"
    return fetch_one(conn, Team, query, (team,), NotFound.of("team"))


def teams_of(conn: Connection, user_id: UserId) -> list[Team]:
    """Returns the living teams of a person, oldest first."""
    query = f"""{TEAM}
        join memberships m on m.team_id = t.id
        where m.user_id = %(user_id)s and t.ended_at is null order by t.id"""
    return fetch(conn, Team, query, {"user_id": user_id})


def viewer_of_token(conn: Connection, token_text: str) -> Viewer | None:
    """Returns the viewer of a token; None if unknown, mistyped, expired or revoked.

    The viewer is an admin only if the user is one and the token has the scope ``admin``.
    """
    owner = user_of_token(conn, token_text)
    return None if owner is None else viewer_of_user(conn, *owner)


def viewer_of_user(
    conn: Connection, user_id: UserId, scopes: Sequence[str] = SCOPES
) -> Viewer | None:
    """Returns the viewer for a signed-in user with these scopes; None if unknown or blocked."""
    query = f"""select u.name, u.is_admin,
          array(select team_id from memberships where user_id = u.id),
          array(select league_id from league_members where user_id = u.id order by league_id),
          array(select {ROLE} from league_members where user_id = u.id order by league_id)
        from users u
        where u.id = %(user_id)s and u.erased_at is null
          and not exists (select 1 from user_blocks b where b.user_id = u.id)"""
    row = conn.execute(query, {"user_id": user_id}).fetchone()
    if row is None:
        return None
    name, is_admin, teams, leagues, league_roles = row
    roles = {LeagueId(k): LeagueRole(r) for k, r in zip(leagues, league_roles, strict=True)}
    return Viewer(
        user_id=user_id,
        name=name,
        is_admin=is_admin and "admin" in scopes,
        scopes=frozenset(scopes),
        team_ids=frozenset(TeamId(t) for t in teams),
        roles=roles,
        agreeing=_agreeing_teams(conn, user_id) if any(r in STAFF for r in roles.values()) else {},
    )


def _agreeing_teams(conn: Connection, user_id: UserId) -> dict[LeagueId, frozenset[TeamId]]:
    """Returns by league of a grader or commentator the teams of which all people agreed to terms
    that name these roles.

    The team of the reference agents, which nobody made and which has no people, agrees.
    """
    query = """
        select s.league_id, array_agg(t.id) from league_members s cross join teams t
        where s.user_id = %(user)s and s.duty = any (%(roles)s) and (
          t.created_by is null and not exists (select 1 from memberships m where m.team_id = t.id)
          or t.id in (
            select m.team_id from role_agreements a join memberships m on m.user_id = a.user_id
            where a.league_id = s.league_id
            group by m.team_id
            having count(*) = (select count(*) from memberships o where o.team_id = m.team_id)
          )
        )
        group by 1
        """
    rows = conn.execute(query, {"user": user_id, "roles": list(STAFF)})
    return {LeagueId(league): frozenset(TeamId(t) for t in teams) for league, teams in rows}


RESERVED: Final = (
    *("admin", "administrator", "anonymous", "everybody", "host", "me", "moderator", "nobody"),
    *("operator", "owner", "peck", "pecking-order", "root", "security", "staff", "support"),
    *("new", "reference agents"),
    *("demo", "player", "system", "team", "user"),
)
SPACES: Final = re.compile(r"[\s._-]+")
SHAPES: Final = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l"})
"""Characters of one shape. A capital I looks like l, so i and l are one in all names."""
LATIN: Final = re.compile(
    r"LATIN (?:SMALL LETTER|CAPITAL LETTER|LETTER SMALL CAPITAL) ([A-Z])(?: WITH .+)?"
)
FILLERS: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u3164\uffa0"
    + "".join(map(chr, range(0xFE00, 0xFE10)))
)
"""Characters without a shape that Unicode does not class as formats."""


def look_alike_key(name: str) -> str:
    """Returns the same text for names that people would confuse: ``Аda`` and ``ada``.

    Case, spaces, dots and invisible characters do not count, nor do accents of Latin and Greek
    letters. Letters of other scripts become the Latin letters that they look like (the confusables
    of Unicode TR39). So do small capitals. By the same list ``0`` is o, ``1``, I and l are one, and
    ``rn`` is m.
    """
    shown = "".join(
        character for character in unicodedata.normalize("NFKC", name) if not _is_unseen(character)
    )
    latin = "".join(_latin_letter(character) for character in shown).casefold()
    again = "".join(_latin_letter(_without_accents(character)) for character in latin)
    plain = SPACES.sub("", again).casefold()
    return plain.translate(SHAPES).replace("rn", "m") or shown.casefold()


def refuse_reserved_name(name: str) -> None:
    """Raises Invalid if the name, or one that looks like it, belongs to the service."""
    if look_alike_key(name) in {look_alike_key(reserved) for reserved in RESERVED}:
        raise Invalid("name", f"{name!r} is reserved; choose another name")


def _is_unseen(character: str) -> bool:
    """Whether people do not see this character: formats, variation selectors, fillers."""
    return unicodedata.category(character) in ("Cf", "Cc", "Co", "Cn") or character in FILLERS


def _without_accents(letter: str) -> str:
    """The base of a Latin or Greek letter. In other scripts a mark can make another letter."""
    parts = unicodedata.normalize("NFKD", letter)
    is_plain = unicodedata.name(parts[0], "").startswith(("LATIN", "GREEK"))
    if is_plain and all(unicodedata.combining(mark) for mark in parts[1:]):
        return parts[0]
    return "" if unicodedata.name(letter, "").startswith("COMBINING") else letter


def _latin_letter(letter: str) -> str:
    if letter.isascii():
        return letter
    confusable = confusables.is_confusable(letter, greedy=True, preferred_aliases=[])
    alike = [character["c"] for character in confusable[0]["homoglyphs"]] if confusable else []
    latin = [character for character in alike if character.isascii()]
    names = (
        unicodedata.name(character, "") for character in (letter, *alike) if len(character) == 1
    )
    bases = [base[1].lower() for name in names if (base := LATIN.fullmatch(name))]
    return next(iter((*latin, *bases)), letter)
