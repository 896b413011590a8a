"""Erases accounts, and tells before what that does. Results stay under a pseudonym.

``erase_person`` acts at once: nobody signs in any more, the matches in flight become void, and no
ordinary row names the person. The scheduler calls ``finish_erasures``, which erases what may be
much: reasons and logs of finished matches, and blobs. It also removes what a request wrote that had
begun before the deletion.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from psycopg import sql
from psycopg.types.json import Jsonb

from ladder.database import erased_blobs
from ladder.database.blobs import Blobs
from ladder.database.db import Connection, atomic_function, exists, fetch, fetch_one, insert
from ladder.entries import entries
from ladder.enums import Json, LeagueRole, VoidCause
from ladder.errors import Conflict, NotFound
from ladder.field_types import RECORD
from ladder.ids import MatchId, SeasonId, UserId
from ladder.matches import matches
from ladder.people import users
from ladder.privacy.rules import AGENTS, OWN_SEATS, RULES, Rule
from ladder.privacy.rules.contests import PICTURES
from ladder.slugs import slug_of

VOID_REASON: Final = "the owner of an agent deleted it"
FINISH_AFTER: Final = timedelta(seconds=5)
"""Requests that began before the deletion have ended by then, except uploads, which are refused."""
SEATS_AT_ONCE: Final = 2000


@atomic_function
def erase_person(conn: Connection, user_id: UserId) -> str:
    """Erases a person; returns the pseudonym. The scheduler erases the rest within a minute.

    Raises NotFound. Raises Conflict for the last administrator.
    """
    _lock_teams(conn, user_id)  # before the person, as an entry and a join do
    query = "select is_admin from users where id = %s and erased_at is null for update"
    if fetch_one(conn, bool, query, (user_id,), NotFound.of("user")):
        _refuse_last_administrator(conn, user_id)
    _lock_teams(conn, user_id)  # also one that the person joined meanwhile
    ended, left = teams_by_fate(conn, user_id)
    closing, _ = leagues_by_fate(conn, user_id, list(ended))
    scope = _scope(user_id, list(ended), list(closing))
    scope["near"] = _leagues_taken_part_in(conn, user_id, [*ended, *left])
    scope["left"] = list(left)
    names = names_of_person(conn, scope)
    _hand_over_teams(conn, user_id, list(left))
    _hand_over_leagues(conn, user_id)
    _stop_playing(conn, list(ended))
    _renew_boards(conn, [*ended, *left])
    apply_rules(conn, scope, names)
    conn.execute("update users set erased_at = now() where id = %s", (user_id,))
    insert(conn, "erasures", user_id=user_id, team_ids=list(ended), league_ids=list(closing))
    return fetch_one(conn, str, "select name from users where id = %s", (user_id,))


def finish_erasures(conn: Connection, blobs: Blobs) -> list[UserId]:
    """Ends the erasures that began some seconds ago; returns whose. The scheduler calls this.

    Needs an autocommit connection: each step is a transaction of its own, and may be repeated.
    """
    query = """select user_id, team_ids, league_ids from erasures
        where finished_at is null and requested_at < now() - %(finish_after)s
        order by requested_at limit 10"""
    due = conn.execute(query, {"finish_after": FINISH_AFTER}).fetchall()
    for user_id, team_ids, league_ids in due:
        scope = _scope(user_id, team_ids, league_ids)
        with conn.transaction():
            _stop_playing(conn, team_ids)
        with conn.transaction():
            _queue_bundles_and_pictures(conn, scope)
            apply_rules(conn, scope, [], large=True)
        while _erase_seats(conn, scope):
            pass
    while erased_blobs.delete_queued_blobs(conn, blobs):
        pass
    conn.execute(
        "update erasures set finished_at = now() where user_id = any (%s)",
        ([row[0] for row in due],),
    )
    return [UserId(row[0]) for row in due]


def _scope(user_id: UserId, team_ids: list[str], league_ids: list[str]) -> Scope:
    return {"user": user_id, "teams": team_ids, "leagues": league_ids, "near": [], "left": []}


def _lock_teams(conn: Connection, user_id: UserId) -> None:
    query = """select 1 from teams
        where id in (select team_id from memberships where user_id = %(user_id)s) order by id
        for update"""
    conn.execute(query, {"user_id": user_id})


def _refuse_last_administrator(conn: Connection, user_id: UserId) -> None:
    query = """select 1 from users u
        where is_admin and erased_at is null and id <> %(user_id)s
          and not exists (select 1 from user_blocks b where b.user_id = u.id)"""
    has_other = exists(conn, query, {"user_id": user_id})
    if not has_other:
        raise Conflict("make another administrator first: this account is the last one")


def _leagues_taken_part_in(conn: Connection, user_id: UserId, team_ids: list[str]) -> list[str]:
    query = """select league_id from league_members where user_id = %(user)s
        union
        select id from leagues where created_by = %(user)s
        union
        select s.league_id from entries e join seasons s on s.id = e.season_id
        where e.team_id = any (%(teams)s)"""
    return fetch(conn, str, query, {"user": user_id, "teams": team_ids})


def _hand_over_teams(conn: Connection, user_id: UserId, team_ids: list[str]) -> None:
    """Makes the member of longest standing the owner where the person was the only owner."""
    query = """update memberships m set is_owner = true
        from (select distinct on (o.team_id) o.team_id, o.user_id from memberships o
          where o.team_id = any (%(teams)s) and o.user_id <> %(user)s
            and not exists (select 1 from memberships p
              where p.team_id = o.team_id and p.is_owner and p.user_id <> %(user)s)
          order by o.team_id, o.created_at, o.user_id) heir
        where m.team_id = heir.team_id and m.user_id = heir.user_id"""
    conn.execute(query, {"teams": team_ids, "user": user_id})


def _hand_over_leagues(conn: Connection, user_id: UserId) -> None:
    """Makes the co-host of longest standing the host where the person was the only host."""
    query = """update league_members m set role = %(host)s, duty = null
        from (select distinct on (o.league_id) o.league_id, o.user_id from league_members o
          join league_members l on l.league_id = o.league_id and l.user_id = %(user)s
            and l.role = %(host)s
          where o.duty = %(co_host)s
            and not exists (select 1 from league_members p
              where p.league_id = o.league_id and p.role = %(host)s and p.user_id <> %(user)s)
          order by o.league_id, o.created_at, o.user_id) heir
        where m.league_id = heir.league_id and m.user_id = heir.user_id"""
    conn.execute(query, {"user": user_id, "host": LeagueRole.HOST, "co_host": LeagueRole.CO_HOST})


def _stop_playing(conn: Connection, team_ids: list[str]) -> None:
    """Voids the matches in flight of these teams, and retires their entries."""
    query = f"""select m.id, m.season_id from matches m
        where m.state in ('queued', 'running')
          and exists (
            select 1 from seats t where t.match_id = m.id and t.agent_id in ({AGENTS}))"""
    in_flight = fetch(conn, tuple[MatchId, SeasonId], query, {"teams": team_ids})
    playing = [match_id for match_id, _ in in_flight]
    query = """select distinct e.season_id from entries e join seasons s on s.id = e.season_id
        where e.team_id = any (%(team_ids)s) and s.state <> 'finished'
          and e.state in ('pending', 'active', 'paused')"""
    open_seasons = fetch(conn, SeasonId, query, {"team_ids": team_ids})
    season_ids = sorted({*open_seasons, *(season_id for _, season_id in in_flight)})
    entries.lock_matches_and_seasons(conn, playing, season_ids)
    query = """select 1 from entries
        where team_id = any (%(team_ids)s)
          or id in (select entry_id from seats where match_id = any (%(playing)s)) order by id
        for update"""
    conn.execute(query, {"team_ids": team_ids, "playing": playing})
    matches.void_matches(conn, playing, VoidCause.ENTRY_LEFT, VOID_REASON)
    conn.execute("update seasons set official_is_stale = true where id = any (%s)", (open_seasons,))
    conn.execute(
        "delete from declared_entries where team_id = any (%s) and season_id = any (%s)",
        (team_ids, open_seasons),
    )
    conn.execute(
        """
        select entry_retire(array(
          select id from entries where team_id = any (%(teams)s) and season_id = any (%(seasons)s)
        ), null)
        """,
        {"teams": team_ids, "seasons": open_seasons},
    )


def _renew_boards(conn: Connection, team_ids: list[str]) -> None:
    """Lets no board show the old names from a cache."""
    query = """update seasons set revision = revision + 1
        where id in (select season_id from entries where team_id = any (%(team_ids)s))"""
    conn.execute(query, {"team_ids": team_ids})


def _queue_bundles_and_pictures(conn: Connection, scope: Scope) -> None:
    query = f"""select digest from submissions where agent_id in ({AGENTS})
        union
        select digest from pictures x where digest is not null and ({PICTURES})"""
    digests = fetch(conn, str, query, scope)
    erased_blobs.queue_blobs(conn, digests)


def _erase_seats(conn: Connection, scope: Scope) -> int:
    """Erases reasons and logs of some finished seats; returns how many."""
    with conn.transaction():
        conn.execute("select set_config('peck.erasing', 'on', true)")
        query = f"""with part as (select match_id, seat, log_digest from seats
              where {OWN_SEATS} and (reason is not null or log_digest is not null) limit %(most)s
              for update)
            update seats t set reason = null, log_digest = null from part
            where t.match_id = part.match_id and t.seat = part.seat returning part.log_digest"""
        digests = fetch(conn, str, query, {**scope, "most": SEATS_AT_ONCE})
        erased_blobs.queue_blobs(conn, [digest for digest in digests if digest is not None])
    return len(digests)


@dataclass(frozen=True, slots=True)
class AccountFate:
    """What the deletion of an account would end."""

    __pydantic_config__ = RECORD
    ended_teams: tuple[str, ...]
    """Names of teams without other members; their agents and bundles go."""
    left_teams: tuple[str, ...]
    """Names of teams that other members keep."""
    ended_leagues: tuple[str, ...]
    """Titles of leagues that close, because nobody else takes part."""
    orphan_leagues: tuple[str, ...]
    """Titles of leagues that go on without a host or co-host."""


def preview_erasure(conn: Connection, user_id: UserId) -> AccountFate:
    """Returns what the deletion of an account would do. Writes nothing."""
    ended, left = teams_by_fate(conn, user_id)
    closing, orphans = leagues_by_fate(conn, user_id, list(ended))
    return AccountFate(
        tuple(ended.values()),
        tuple(left.values()),
        tuple(closing.values()),
        tuple(orphans.values()),
    )


def teams_by_fate(conn: Connection, user_id: UserId) -> tuple[dict[str, str], dict[str, str]]:
    """The person's teams without other members, and with others; names by id."""
    query = """select t.id, t.name,
          exists (select 1 from memberships o where o.team_id = t.id and o.user_id <> %(user_id)s)
        from teams t join memberships m on m.team_id = t.id
        where m.user_id = %(user_id)s order by t.id"""
    rows = conn.execute(query, {"user_id": user_id}).fetchall()
    return (
        {team: name for team, name, has_others in rows if not has_others},
        {team: name for team, name, has_others in rows if has_others},
    )


def leagues_by_fate(
    conn: Connection, user_id: UserId, ended_teams: list[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Leagues without another host or co-host: those that nobody else takes part in, and others."""
    rows = conn.execute(
        """select l.id, l.title, exists (
            select 1 from league_members o where o.league_id = l.id and o.user_id <> %(user)s)
          or exists (select 1 from entries e join seasons s on s.id = e.season_id
            where s.league_id = l.id and not e.is_anchor and e.team_id <> all (%(teams)s))
        from leagues l join league_members m on m.league_id = l.id
        where m.user_id = %(user)s and m.role = %(host)s
          and not exists (select 1 from league_members o
            where o.league_id = l.id and o.user_id <> %(user)s
              and (o.role = %(host)s or o.duty = %(co_host)s)) order by l.id""",
        {
            "user": user_id,
            "teams": ended_teams,
            "host": LeagueRole.HOST,
            "co_host": LeagueRole.CO_HOST,
        },
    ).fetchall()
    return (
        {league: title for league, title, has_others in rows if not has_others},
        {league: title for league, title, has_others in rows if has_others},
    )


REPLACEMENT: Final = "[deleted]"
Scope = dict[str, Any]
"""The values of a rule's conditions."""


def names_of_person(conn: Connection, scope: Scope) -> list[str]:
    """All texts that name the person: names of account and teams, addresses, roster lines."""
    names: set[str] = set()
    for rule in RULES:
        for column in rule.words:
            query = sql.SQL("select {} from {} x where {}").format(
                sql.Identifier(column), sql.Identifier(rule.table), _text(rule.mine)
            )
            names |= set(filter(None, fetch(conn, str, query, scope)))
    names |= {slug for name in names if (slug := slug_of(name, users.TEAM_SLUG))}
    return sorted(names, key=len, reverse=True)


def apply_rules(conn: Connection, scope: Scope, names: list[str], *, large: bool = False) -> None:
    """Erases by the rules; ``large`` adds the tables that may be large, except seats."""
    conn.execute("select set_config('peck.erasing', 'on', true)")
    for rule in RULES:
        if rule.table == "seats" or (rule.is_large and not large):
            continue
        if rule.mine and rule.deleted:
            conn.execute(
                sql.SQL("delete from {} x where {}").format(
                    sql.Identifier(rule.table), _text(rule.mine)
                ),
                scope,
            )
        elif rule.mine and rule.erased:
            _overwrite(conn, rule, scope)
        for column in rule.named if names else ():
            _replace_names(conn, rule, column, scope, names)
    conn.execute("select set_config('peck.erasing', '', true)")


def _overwrite(conn: Connection, rule: Rule, scope: Scope) -> None:
    columns = [sql.Identifier(column) for column in rule.erased]
    values = [_text(value) for value in rule.erased.values()]
    conn.execute(
        sql.SQL("update {table} x set {new} where ({mine}) and ({differs})").format(
            table=sql.Identifier(rule.table),
            new=sql.SQL(", ").join(
                sql.SQL("{} = {}").format(*pair) for pair in zip(columns, values, strict=True)
            ),
            mine=_text(rule.mine),
            differs=sql.SQL(" or ").join(
                sql.SQL("x.{} is distinct from ({})").format(*pair)
                for pair in zip(columns, values, strict=True)
            ),
        ),
        scope,
    )


def _replace_names(
    conn: Connection, rule: Rule, column: str, scope: Scope, names: list[str]
) -> None:
    """Replaces the person's names in a column of text or JSON; a slug gets another value."""
    pattern = _names_pattern(names)
    texts = sorted({*names, *(json.dumps(name, ensure_ascii=False)[1:-1] for name in names)})
    table, field = sql.Identifier(rule.table), sql.Identifier(column)
    rows = conn.execute(
        sql.SQL(
            """select x.ctid, x.{field} from {table} x
            where ({where}) and exists (select 1 from unnest(%(texts)s::text[]) n
              where strpos(lower(x.{field}::text), lower(n)) > 0)
            for update of x"""
        ).format(field=field, table=table, where=_text(rule.named_where)),
        {**scope, "texts": texts},
    ).fetchall()
    for place, value in rows:
        cleaned = _clean(value, pattern)
        if cleaned != value:
            if column == "slug":
                cleaned = f"renamed-{secrets.token_hex(5)}"
            conn.execute(
                sql.SQL("update {} set {} = %s where ctid = %s").format(table, field),
                (cleaned if isinstance(cleaned, str) else Jsonb(cleaned), place),
            )


def _names_pattern(names: Iterable[str]) -> re.Pattern[str]:
    """A pattern of these names as whole words, the longest first."""
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE)


def _clean(value: Json, pattern: re.Pattern[str]) -> Json:
    """The text or JSON with each name replaced; keys of objects stay."""
    if isinstance(value, str):
        return pattern.sub(REPLACEMENT, value)
    if isinstance(value, list):
        return [_clean(item, pattern) for item in value]
    if isinstance(value, Mapping):
        return {key: _clean(item, pattern) for key, item in value.items()}
    return value


def _text(text: str) -> sql.SQL:
    """A condition of the rules, which are constants of the program."""
    return sql.SQL(text)
