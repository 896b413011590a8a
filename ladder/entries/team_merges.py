"""Dissolves teams, and merges two: one asks, the other agrees, and becomes the team of both.

The members, the agents and the entries of unfinished seasons move. Finished seasons and finished
matches keep the first team's name. Its members still see its old logs. A dissolved team retires its
entries, and keeps what their results need.

A merge needs open uploads in every unfinished season in which the first team competes. There both
teams together may have made at most as many uploads as one team could: the daily limit for each
day since the season opened. So nobody gets more uploads by starting with two teams.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final

from psycopg import errors
from pydantic import ConfigDict, Field

from ladder import ids
from ladder.database.db import Connection, atomic, atomic_function, fetch, fetch_one
from ladder.entries import entries
from ladder.errors import Conflict, Forbidden, NotFound
from ladder.field_types import RECORD, Key, RequestModel
from ladder.ids import EntryId, SeasonId, TeamId, TeamMergeId
from ladder.people import competitors, teams, users, visibility
from ladder.people.records import Team, Viewer
from ladder.people.teams import record_team_act

LIFE: Final = timedelta(days=7)
"""Time in which the other team can agree."""
SELECT: Final = """
    select m.id, m.team_id, t.name as team_name, m.into_team_id, i.name as into_team_name,
    m.created_at, m.expires_at from team_merges m join teams t on t.id = m.team_id
    join teams i on i.id = m.into_team_id
    """
IS_OPEN: Final = (
    "m.outcome is null and m.expires_at > now() and exists (select 1 from memberships o"
    " where o.team_id = m.team_id and o.user_id = m.asked_by and o.is_owner)"
)
"""A request ends with the rights of the owner who asked."""

WITHDRAW: Final = """
    update team_merges m set outcome = 'withdrawn', answered_at = now() where outcome is null
    """
MERGED_SEASONS: Final = """
    s.number,
    s.state = 'open' and coalesce(least(s.closes_at, s.ends_at) > now(), true),
    exists (
      select 1 from exclusions x where x.season_id = s.id and x.subject in (
        select %(team)s union all select %(into)s
        union all select id from agents where team_id in (%(team)s, %(into)s)
        union all
        select id from entries where season_id = s.id and team_id in (%(team)s, %(into)s)
      )
    ),
    exists (
      select 1 from entries e
      where e.season_id = s.id and e.is_anchor and e.team_id in (%(team)s, %(into)s)
    ),
    (
      select coalesce(sum(d.used), 0) from daily_uploads d
      where d.season_id = s.id and d.team_id in (%(team)s, %(into)s)
    ),
    s.daily_limit
      * (1 + (now() at time zone 'utc')::date - (s.opens_at at time zone 'utc')::date)
    from seasons s join leagues l on l.id = s.league_id
    where s.state <> 'finished'
      and exists (select 1 from entries e where e.season_id = s.id and e.team_id = %(team)s)
    order by s.id for no key update of s
    """
"""The unfinished seasons of a team: what a merge asks about each."""


class NewTeamMerge(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"into": "night-geese"}]})
    into: Annotated[Key, Field(title="Short name of the other team")]
    """Id or slug of the team that remains. Its owner has a week to agree. Your people, agents and
    entries then belong to it for good."""


@dataclass(frozen=True, slots=True)
class TeamMerge:
    """An open request: the team wants to become part of the other one."""

    __pydantic_config__ = RECORD
    id: Annotated[TeamMergeId, Field(examples=["tme_01j8x6m3c2k4v9q0w7r5t1y8z3"])]
    team_id: TeamId
    team_name: str
    into_team_id: TeamId
    into_team_name: str
    created_at: datetime
    expires_at: datetime


@atomic_function
def ask_for_merge(
    conn: Connection, team_id: TeamId, into_team_id: TeamId, viewer: Viewer
) -> TeamMerge:
    """Asks another team to take this one in. Only owners of the team may, so no administrator.

    The request lasts a week. Raises Forbidden. Raises Conflict if a merge is impossible now, or the
    same request is open.
    """
    if team_id == into_team_id:
        raise Conflict("choose another team: a team cannot be merged with itself", field="into")
    competitors.lock_team(conn, team_id, into_team_id)
    _require_own_team(conn, team_id, viewer)
    _refuse_impossible(conn, team_id, into_team_id, viewer)
    conn.execute(
        f"{WITHDRAW} and team_id = %(team)s and into_team_id = %(into)s and not ({IS_OPEN})",
        {"team": team_id, "into": into_team_id},
    )
    merge_id = TeamMergeId(ids.new_id("tme"))
    try:
        with atomic(conn):
            conn.execute(
                """
                insert into team_merges (id, team_id, into_team_id, asked_by, expires_at)
                values (%s, %s, %s, %s, now() + %s)
                """,
                (merge_id, team_id, into_team_id, viewer.user_id, LIFE),
            )
    except errors.UniqueViolation:
        raise Conflict("wait for the answer: your team has already asked this team") from None
    record_team_act(conn, team_id, viewer.user_id, "ask_merge", into_team_id)
    return get_merge(conn, merge_id)


def get_merge(conn: Connection, merge_id: TeamMergeId) -> TeamMerge:
    """Returns an open request. Raises NotFound for others."""
    query, missing = f"{SELECT} where m.id = %(merge)s and {IS_OPEN}", NotFound.of("merge request")
    return fetch_one(conn, TeamMerge, query, {"merge": merge_id}, missing=missing)


def list_merges(conn: Connection, team_id: TeamId) -> list[TeamMerge]:
    """The open requests from and to a team, newest first."""
    condition = f"%(team)s in (m.team_id, m.into_team_id) and {IS_OPEN}"
    return fetch(
        conn, TeamMerge, f"{SELECT} where {condition} order by m.id desc", {"team": team_id}
    )


@atomic_function
def accept_merge(conn: Connection, merge_id: TeamMergeId, viewer: Viewer) -> Team:
    """Merges the teams and returns the one that remains. Only owners of that one may.

    Raises NotFound, Forbidden. Raises Conflict if a merge is impossible now: uploads are locked,
    the uploads together are too many, a team is disqualified, or a member competes for a third one.
    """
    merge = get_merge(conn, merge_id)
    competitors.lock_team(conn, merge.team_id, merge.into_team_id)
    get_merge(conn, merge_id)  # it may have ended a moment earlier
    _require_own_team(conn, merge.into_team_id, viewer)
    _refuse_impossible(conn, merge.team_id, merge.into_team_id, viewer)
    _move_uploads_and_entries(conn, merge.team_id, merge.into_team_id)
    _move_people(conn, merge.team_id, merge.into_team_id)
    competitors.add_competitors_of_team(conn, merge.into_team_id, viewer.user_id)
    everybody = [member.id for member in teams.list_members(conn, merge.into_team_id)]
    competitors.refuse_blocked_people(conn, merge.into_team_id, everybody)
    conn.execute(
        """
        update teams set ended_at = coalesce(ended_at, now()), merged_into = %s
        where id = %s or merged_into = %s
        """,
        (merge.into_team_id, merge.team_id, merge.team_id),
    )
    _close(conn, merge_id, viewer, "merged")
    conn.execute(f"{WITHDRAW} and %(team)s in (m.team_id, m.into_team_id)", {"team": merge.team_id})
    for team_id in (merge.team_id, merge.into_team_id):
        record_team_act(conn, team_id, viewer.user_id, "merge", merge.team_id)
    return users.get_team(conn, merge.into_team_id)


@atomic_function
def end_merge(conn: Connection, merge_id: TeamMergeId, viewer: Viewer) -> None:
    """Declines or withdraws a request: owners of either team may. Raises NotFound, Forbidden."""
    merge = get_merge(conn, merge_id)
    competitors.lock_team(conn, merge.team_id, merge.into_team_id)
    get_merge(conn, merge_id)
    is_theirs = teams.is_owner(conn, merge.into_team_id, viewer.user_id)
    if not is_theirs:
        teams.require_owner(conn, merge.team_id, viewer)
    outcome = "declined" if is_theirs else "withdrawn"
    _close(conn, merge_id, viewer, outcome)
    record_team_act(conn, merge.team_id, viewer.user_id, f"{outcome}_merge", merge.into_team_id)


def _require_own_team(conn: Connection, team_id: TeamId, viewer: Viewer) -> None:
    if not teams.is_owner(conn, team_id, viewer.user_id):
        raise Forbidden("Ask an owner of the team: only owners may do this.")


def _close(conn: Connection, merge_id: TeamMergeId, viewer: Viewer, outcome: str) -> None:
    conn.execute(
        "update team_merges set outcome = %s, answered_at = now(), answered_by = %s where id = %s",
        (outcome, viewer.user_id, merge_id),
    )


def _refuse_impossible(conn: Connection, team_id: TeamId, into: TeamId, viewer: Viewer) -> None:
    """Raises Conflict unless every unfinished season of the first team allows the merge.

    It locks these seasons. The message names a league only to people who may see it.
    """
    condition, values = visibility.visible_leagues(viewer)
    named = {f"visible_{place}": value for place, value in enumerate(values)}
    for name in named:
        condition = condition.replace("%s", f"%({name})s", 1)
    rows = conn.execute(
        f"select case when {condition} then l.title end, {MERGED_SEASONS}",
        {"team": team_id, "into": into, **named},
    ).fetchall()
    for title, number, is_open, is_excluded, has_anchor, used, allowed in rows:
        season = f"season {number} of {title}" if title else "a season of the other team"
        if not is_open:
            raise Conflict(f"wait until {season} is finished: its uploads are locked")
        if is_excluded:
            raise Conflict(f"ask the host of the league: a disqualification in {season} forbids it")
        if has_anchor:
            raise Conflict(f"an agent of one of the teams is a reference agent in {season}")
        if used > allowed:
            raise Conflict(
                f"the teams made {used} uploads together in {season}, one team may have made"
                f" {allowed} by now; try again on a later day"
            )


def _move_uploads_and_entries(conn: Connection, team_id: TeamId, into: TeamId) -> None:
    teams_of_merge: dict[str, object] = {"team": team_id, "into": into}
    season_ids = fetch(
        conn,
        SeasonId,
        """
        update seasons set revision = revision + 1, official_is_stale = true
        where state <> 'finished' and id in (select season_id from entries where team_id = %(team)s)
        returning id
        """,
        teams_of_merge,
    )
    values = {**teams_of_merge, "seasons": season_ids}
    conn.execute(
        """
        with undeclared as (  -- the declared entry of the team that remains stays
          delete from declared_entries where team_id = %(team)s and season_id = any (%(seasons)s)
        ), taken as (
          delete from daily_uploads where team_id = %(team)s and season_id = any (%(seasons)s)
          returning season_id, day, used
        )
        insert into daily_uploads as u (season_id, team_id, day, used)
        select season_id, %(into)s, day, used from taken
        on conflict (season_id, team_id, day) do update set used = u.used + excluded.used
        """,
        values,
    )
    conn.execute(  # in the order of other locks, such as those of a round of pairing
        "select 1 from entries where team_id in (%(team)s, %(into)s) order by id for no key update",
        values,
    )
    conn.execute(
        """
        update entries set team_id = %(into)s
        where team_id = %(team)s and season_id = any (%(seasons)s)
        """,
        values,
    )
    _retire_above_limit(conn, into)
    conn.execute(  # an agent whose slug is taken gets one that is free
        """
        update agents a set team_id = %(into)s, slug = case when exists (
          select 1 from agents o where o.team_id = %(into)s and o.slug = a.slug)
          then left(a.slug, 31) || '-' || right(a.id, 8) else a.slug end
        where a.team_id = %(team)s
        """,
        values,
    )


def _retire_above_limit(conn: Connection, team_id: TeamId) -> None:
    """Keeps a team's newest entries on the board, as many as each season allows.

    The lease does the same when an entry becomes active (``entry_decide``).
    """
    conn.execute(
        """
        select entry_retire(array(
          select p.id from (
            select e.id, s.team_active_limit, row_number() over (
              partition by e.season_id order by e.activated_at desc, e.id desc
            ) as place
            from entries e join seasons s on s.id = e.season_id
            where e.team_id = %(team)s and not e.is_anchor and s.state <> 'finished'
              and e.state in ('active', 'paused')
          ) p where p.place > p.team_active_limit
        ), 'newer submissions of its team play instead')
        """,
        {"team": team_id},
    )


def _move_people(conn: Connection, team_id: TeamId, into: TeamId) -> None:
    """Copies the members; they also stay in the ended team, so that they see its old logs."""
    conn.execute(
        """
        insert into memberships (team_id, user_id) select %s, user_id from memberships
        where team_id = %s on conflict do nothing
        """,
        (into, team_id),
    )
    row = conn.execute("select count(*) from memberships where team_id = %s", (into,)).fetchone()
    assert row is not None
    if row[0] > teams.MOST_MEMBERS:
        raise Conflict(f"together the teams have more than {teams.MOST_MEMBERS} members")
    conn.execute(
        """
        update season_competitors set team_id = %s where team_id = %s
        and season_id in (select id from seasons where state <> 'finished')
        """,
        (into, team_id),
    )
    conn.execute("update roster set team_id = %s where team_id = %s", (into, team_id))
    # The other team never agreed to the people of a roster, so a later line makes a new team.
    conn.execute("delete from roster_teams where team_id = %s", (team_id,))
    conn.execute(
        "update team_invitations set revoked_at = now() where team_id = %s and revoked_at is null",
        (team_id,),
    )


@atomic_function
def dissolve_team(conn: Connection, team_id: TeamId, viewer: Viewer) -> None:
    """Ends a team for good. Owners and administrators may.

    Its entries of unfinished seasons retire, and its members leave. Finished results, its name and
    its agents stay, so nobody else can take the name. A team without agents is deleted, and its
    name is free. People who competed for the team compete for no other team in the same season.

    Raises Forbidden. Raises Conflict while uploads are locked and the team declared an entry.
    """
    competitors.lock_team(conn, team_id)
    teams.require_owner(conn, team_id, viewer)
    _retire_entries(conn, team_id)
    conn.execute(
        "update team_invitations set revoked_at = now() where team_id = %s and revoked_at is null",
        (team_id,),
    )
    conn.execute(
        """
        update team_merges set outcome = 'withdrawn', answered_at = now(), answered_by = %s
        where %s in (team_id, into_team_id) and outcome is null
        """,
        (viewer.user_id, team_id),
    )
    conn.execute("delete from memberships where team_id = %s", (team_id,))
    record_team_act(conn, team_id, viewer.user_id, "dissolve")
    if not _delete_unused(conn, team_id):
        conn.execute("update teams set ended_at = now() where id = %s", (team_id,))


def _retire_entries(conn: Connection, team_id: TeamId) -> None:
    rows = conn.execute(
        """
        select e.id, e.season_id, e.validation_match_id from entries e
        join seasons s on s.id = e.season_id where e.team_id = %s
        and e.state in ('pending', 'active', 'paused') and s.state <> 'finished' order by e.id
        """,
        (team_id,),
    ).fetchall()
    entries.lock_matches_and_seasons(
        conn, [match for _, _, match in rows if match], [season for _, season, _ in rows]
    )
    for entry_id, _, _ in rows:
        entries.retire_entry(conn, EntryId(entry_id), with_team=True)


def _delete_unused(conn: Connection, team_id: TeamId) -> bool:
    """Deletes a team to which no other row refers, except those about its members."""
    try:
        with atomic(conn):
            conn.execute(
                """
                delete from team_joinings where invitation_id in (
                select id from team_invitations where team_id = %s)
                """,
                (team_id,),
            )
            conn.execute("delete from team_invitations where team_id = %s", (team_id,))
            conn.execute("delete from team_merges where %s in (team_id, into_team_id)", (team_id,))
            conn.execute("delete from roster_teams where team_id = %s", (team_id,))
            conn.execute("delete from teams where id = %s", (team_id,))
    except errors.ForeignKeyViolation:
        return False
    return True
