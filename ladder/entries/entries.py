"""Creates, reads and retires entries: the participation of a submission in a season."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Final

from ladder import ids
from ladder.database.db import Connection, atomic_function, exists, fetch, fetch_one, fetch_optional
from ladder.entries import agents, deadlines, validations
from ladder.entries.records import (
    Entry,
    EntryState,
    Newcomers,
    ShownEntry,
    ShownPlace,
    Submission,
    part_of_record,
)
from ladder.enums import VoidCause
from ladder.errors import Conflict, Invalid, NotFound
from ladder.field_types import Key, RequestModel
from ladder.ids import AgentId, EntryId, MatchId, SeasonId, SubmissionId, TeamId, UserId
from ladder.leagues import members, seasons
from ladder.leagues.records import Season
from ladder.matches import matches
from ladder.people import competitors, visibility
from ladder.people.permissions import may_see
from ladder.people.records import Viewer
from ladder.people.resources import LogResource
from ladder.runtime_profiles import Name as Profile
from ladder.sizes import size_text

ON_BOARD: Final = (EntryState.ACTIVE, EntryState.PAUSED)
VALIDATED: Final = (EntryState.PENDING, EntryState.PAUSED)  # states with a validation match
VALIDATIONS: Final = 3  # validation matches before an entry is rejected without a result
ENTRY: Final = """
    select e.id, e.season_id, s.league_id, e.agent_id, a.name as agent_name, e.team_id,
           t.name as team_name, e.submission_id, b.number as submission_number,
           submission_version(b.agent_id, b.number) as version, e.profile,
           e.profile = 'remote' as remote, e.state, e.reason, e.is_anchor, e.pairing_weight,
           e.validation_match_id, e.deadline_at, e.mu, e.sigma, e.games, e.in_flight, e.faults,
           e.last_match_at, e.created_at, e.activated_at, e.disqualified_at,
           s.measures is null as is_rated, e.strikes, e.pause_cause, e.paused_at, e.next_try_at
    from entries e
    join seasons s on s.id = e.season_id
    join agents a on a.id = e.agent_id
    join teams t on t.id = e.team_id
    join submissions b on b.id = e.submission_id
    """
USUAL_PROFILE: Final = """
    case when b.url is not null then 'remote' else coalesce((
      select n.profile from entries n
      where n.agent_id = b.agent_id and n.profile <> 'remote'
      order by n.submission_id = b.id desc, n.season_id = %(season)s desc, n.id desc limit 1
    ), 'numpy') end
    """
"""The libraries of a submission ``b`` in a season for which nobody chose them, in SQL.

They are those of its newest entry anywhere, else of its agent's newest entry in the season, else of
its agent's newest entry.
"""

OF_SUBMISSION: Final = "from submissions b where b.id = %(submission)s"
NEWCOMERS: Final = """
    select e.season_id, count(*) filter (where e.state = 'pending'),
           count(*) filter (where e.state = 'active' and e.in_flight = 0),
           count(*) filter (where e.state = 'active' and e.in_flight > 0)
    from entries e
    join seasons s on s.id = e.season_id and s.state <> 'finished'
    join leagues l on l.id = s.league_id and l.state <> 'closed'
    where e.season_id = any (%s) and e.state in ('pending', 'active') and e.games = 0
      and not e.is_anchor
    """


class NewEntry(RequestModel):
    submission: Key
    profile: Profile | None = None
    """Default: the profile of the submission or agent elsewhere, else numpy."""


@atomic_function
def enter_season(
    conn: Connection,
    season_id: SeasonId,
    submission_id: SubmissionId,
    *,
    profile: str | None = None,
    is_anchor: bool = False,
    count_limit: bool = True,
    began: float | None = None,
    by: UserId | None = None,
) -> tuple[Entry, deadlines.UploadLimits, bool]:
    """Returns the submission's entry in the season, the team's limits, and whether it is new.

    A submission has one entry in a season; a repeat changes nothing. A rejected remote submission
    is validated again, since its owner can repair the agent. A new entry counts as an upload of the
    day unless ``count_limit`` is false. It gets a validation match in the caller's transaction.

    ``began`` is the moment of ``time.monotonic`` at which the request arrived; None: now. It must
    precede the deadline. A remote submission always has the profile ``remote``. Without ``profile``
    another one keeps the libraries that it or its agent has elsewhere.

    Unless the entry is an anchor, all members of the team compete in the season for this team from
    now on. Messages are for the person ``by``.

    Raises NotFound. Raises Conflict if the season or league is not open, refuses remote agents, or
    has disqualified the agent or team, or if a person of the team is its grader or commentator, or
    blocked. Raises Conflict if the team has ended, or a member competes for another team. Raises
    Invalid for a bundle that is too large, and DailyLimitReached.
    """
    season = seasons.get_season(conn, season_id)
    submission = agents.get_submission(conn, submission_id)
    entered = _find_entry(conn, season_id, submission_id)
    if entered is not None and not (submission.url and entered.state is EntryState.REJECTED):
        return entered, deadlines.upload_limits(conn, season_id, submission.team_id), False
    competitors.lock_team(conn, submission.team_id)
    if not is_anchor:  # anchors may enter before the season opens
        members.refuse_team_with_staff(conn, season, submission.team_id)
        members.refuse_team_with_blocked_person(conn, season.league_id, submission.team_id)
        deadlines.refuse_late_upload(conn, season, submission.team_id, began)
        competitors.add_members_at_entry(conn, season_id, submission.team_id, by)
    _refuse_excluded(conn, season_id, submission)
    _refuse_unfit_submission(season, submission, is_anchor)
    taken_day = deadlines.count_upload(conn, season, submission.team_id) if count_limit else None
    if entered is None:
        entry_id = EntryId(ids.new_id("ent"))
        columns = {
            "id": entry_id,
            "profile": (None if submission.url else profile)
            or fetch_one(
                conn,
                str,
                f"select {USUAL_PROFILE} {OF_SUBMISSION}",
                {"season": season_id, "submission": submission_id},
            ),
            "is_anchor": is_anchor,
            "taken_day": taken_day,
        }
        is_new = _insert_entry(conn, season, submission, columns)
    else:
        entry_id = entered.id
        is_new = _make_rejected_pending(conn, entry_id, taken_day)
    if is_new:
        validations.make_validation_match(conn, season, entry_id)
    elif taken_day is not None:  # another request was a moment earlier
        deadlines.uncount_upload(conn, season_id, submission.team_id, taken_day)
    entry = _find_entry(conn, season_id, submission_id)
    assert entry is not None
    limits = deadlines.upload_limits(conn, season_id, submission.team_id)
    return entry, limits, is_new


def get_entry(conn: Connection, entry_id: EntryId) -> Entry:
    """Returns the entry with this id. Raises NotFound."""
    query = f"{ENTRY} where e.id = %(entry)s"
    return fetch_one(conn, Entry, query, {"entry": entry_id}, missing=NotFound.of("entry"))


def list_entries(
    conn: Connection,
    *,
    viewer: Viewer | None = None,
    season_id: SeasonId | None = None,
    agent_id: AgentId | None = None,
    team_id: TeamId | None = None,
    submission_id: SubmissionId | None = None,
    state: EntryState | str | None = None,
    after: EntryId | None = None,
    limit: int = 50,
) -> list[Entry]:
    """Entries that match all given arguments, newest first, after ``after``.

    With a ``viewer``, only entries that the viewer may see.
    """
    condition, values = visibility.visible_entries(viewer) if viewer else visibility.EVERYTHING
    filters = {
        "e.season_id = %s": season_id,
        "e.agent_id = %s": agent_id,
        "e.team_id = %s": team_id,
        "e.submission_id = %s": submission_id,
        "e.state = %s": state,
        "e.id < %s": after,
    }
    used = {clause: value for clause, value in filters.items() if value is not None}
    query = f"{ENTRY} where {' and '.join((*used, condition))} order by e.id desc limit %s"
    return fetch(conn, Entry, query, (*used.values(), *values, limit))


def show_entry(conn: Connection, viewer: Viewer, entry: Entry) -> ShownEntry:
    """The part of an entry that the viewer may see.

    The caller checks that the viewer may see the entry.
    """
    shown = part_of_record(entry, ShownEntry)
    if not entry.has_score:
        shown = replace(shown, mu=None, sigma=None)
    if not may_see(viewer, LogResource(entry.team_id, entry.league_id)):
        return replace(
            shown,
            reason=None,
            validation_match_id=None,
            strikes=None,
            next_try_at=None,
            pause_cause=None,
        )
    place = validations.queue_place_of(conn, entry.id) if entry.state in VALIDATED else None
    if place is None:
        return shown
    return replace(
        shown, queue=part_of_record(place, ShownPlace), reason=place.reason or shown.reason
    )


@atomic_function
def retire_entry(conn: Connection, entry_id: EntryId, *, with_team: bool = False) -> Entry:
    """Retires an entry for good; matches in flight still count.

    ``with_team``: all entries of the team leave the season. Raises NotFound. Raises Conflict if the
    season is finished. Otherwise raises it if uploads are locked, or if the team has an older entry
    on the board.
    """
    entry = get_entry(conn, entry_id)
    if entry.state in ON_BOARD:
        _refuse_withdrawal(conn, entry, with_team)
    if entry.validation_match_id is not None and entry.state in VALIDATED:
        lock_matches_and_seasons(conn, [entry.validation_match_id], [entry.season_id])
        matches.void_matches(
            conn, [entry.validation_match_id], VoidCause.ENTRY_LEFT, "the entry was withdrawn"
        )
        entry = get_entry(conn, entry_id)  # its validation may have finished a moment earlier
    if entry.state in ON_BOARD:
        take_off_board(conn, entry)
    else:
        retire_entries(conn, [entry_id])
    return get_entry(conn, entry_id)


def lock_matches_and_seasons(
    conn: Connection, match_ids: Sequence[MatchId], season_ids: Sequence[SeasonId]
) -> None:
    """Locks matches, then seasons: the lock order before changing entries."""
    conn.execute(
        "select 1 from matches where id = any (%s) order by id for update", (list(match_ids),)
    )
    conn.execute(
        "select 1 from seasons where id = any (%s) order by id for no key update",
        (list(season_ids),),
    )


def take_off_board(conn: Connection, entry: Entry, reason: str | None = None) -> None:
    """Retires an entry that is on the board; the caller has checked that it may retire."""
    # The board loses a row. The season is locked before the entry, as in the lease.
    conn.execute(
        "update seasons set revision = revision + 1, official_is_stale = true where id = %s",
        (entry.season_id,),
    )
    retire_entries(conn, [entry.id], reason)


def retire_entries(
    conn: Connection, entry_ids: Sequence[EntryId], reason: str | None = None
) -> None:
    """Retires entries; the caller has checked that they may retire. See ``entry_retire``."""
    conn.execute("select entry_retire(%s, %s)", (list(entry_ids), reason))


@atomic_function
def expire_pending(conn: Connection, limit: int = 100) -> list[EntryId]:
    """Handles pending entries past their deadline or with a void validation match.

    Such an entry gets up to VALIDATIONS validation matches. Then it is rejected, the reason names
    our fault, and the upload no longer counts. Returns the changed entries.
    """
    due = conn.execute(
        """
        select id, season_id, validation_match_id, validations from entries
        where state = 'pending' and deadline_at <= now() order by deadline_at, id limit %(limit)s
        """,
        {"limit": limit},
    ).fetchall()
    touched = []
    for entry_id, season_id, match_id, validations_made in due:
        if match_id is not None:
            matches.void_matches(conn, [match_id], VoidCause.OVERDUE, "not validated in time")
        query = """
            select 1 from entries where id = %s and state = 'pending'
            and validation_match_id is not distinct from %s for update"""
        if not exists(conn, query, (entry_id, match_id)):
            continue  # a result decided the entry meanwhile
        if validations_made < VALIDATIONS:
            validations.make_validation_match(conn, seasons.get_season(conn, season_id), entry_id)
        else:
            reason = (
                f"our fault, not yours: {validations_made} validation matches could not be played;"
                " the upload does not count against the daily limit, so submit it again"
            )
            conn.execute("select entry_reject(%s, %s, true, null)", (entry_id, reason))
        touched.append(EntryId(entry_id))
    return touched


def count_teams(conn: Connection, season_ids: Sequence[SeasonId]) -> dict[SeasonId, int]:
    """Number of teams with an active entry that is no anchor; seasons without one are missing."""
    query = """
        select season_id, count(distinct team_id) from entries
        where season_id = any (%s) and state = 'active' and not is_anchor group by season_id"""
    return dict(fetch(conn, tuple[SeasonId, int], query, (list(season_ids),)))


def count_newcomers(
    conn: Connection, viewer: Viewer, season_ids: Sequence[SeasonId]
) -> dict[SeasonId, Newcomers]:
    """Counts the entries whose first rated match has not ended, by season; anchors do not count.

    Counts only entries that the viewer may see. Seasons without such entries are left out, and so
    are finished seasons and those of closed leagues.
    """
    condition, values = visibility.visible_entries(viewer)
    rows = conn.execute(
        f"{NEWCOMERS} and {condition} group by e.season_id", (list(season_ids), *values)
    )
    return {SeasonId(row[0]): Newcomers(*row[1:]) for row in rows}


def _insert_entry(
    conn: Connection, season: Season, submission: Submission, columns: Mapping[str, object]
) -> bool:
    """Inserts a pending entry. False: another request has made the submission's entry."""
    inserted = conn.execute(
        """
        insert into entries (id, season_id, agent_id, team_id, submission_id, parent_entry_id,
        profile, is_anchor, mu, sigma, taken_day)
        select %(id)s, %(season_id)s, %(agent_id)s, %(team_id)s, %(submission_id)s,
          (select max(id) from entries where season_id = %(season_id)s
            and agent_id = %(agent_id)s and state in ('active', 'paused', 'retired')),
          %(profile)s, %(is_anchor)s, %(mu)s, %(sigma)s, %(taken_day)s
        on conflict (season_id, submission_id) do nothing
        """,
        {
            **columns,
            "season_id": season.id,
            "agent_id": submission.agent_id,
            "team_id": submission.team_id,
            "submission_id": submission.id,
            "mu": season.mu0,
            "sigma": season.sigma0,
        },
    )
    return inserted.rowcount == 1


def _make_rejected_pending(conn: Connection, entry_id: EntryId, taken_day: date | None) -> bool:
    """Makes a rejected entry pending again. False: another request has done so."""
    query = "select entry_revive(%(entry)s, %(day)s)"
    return fetch_one(conn, bool, query, {"entry": entry_id, "day": taken_day})


def _refuse_withdrawal(conn: Connection, entry: Entry, with_team: bool) -> None:
    """Raises Conflict if withdrawing the entry could improve which entry stands for its team."""
    season = seasons.get_season(conn, entry.season_id)
    if season.state == "finished":
        raise Conflict("the season is finished; its entries can no longer be retired")
    if entry.is_anchor:
        return
    if with_team:
        return
    if season.state == "locked":
        raise Conflict("uploads are locked; entries on the board stay until the season ends")
    if season.measures:
        return  # the best entry stands for a team
    query = """
        select 1 from entries where season_id = %s and team_id = %s and id < %s
        and state in ('active', 'paused') and not is_anchor limit 1"""
    if exists(conn, query, (season.id, entry.team_id, entry.id)):
        raise Conflict(
            "the team has an older entry on the board; entries leave oldest first, so withdraw"
            " that one first or upload a newer version"
        )


def _refuse_unfit_submission(season: Season, submission: Submission, is_anchor: bool) -> None:
    """Raises Conflict for a refused remote agent, and Invalid for a bundle too large."""
    if submission.url is not None and not season.remote_agents:
        raise Conflict(
            "upload a bundle: this season takes no remote agents; or ask the host for one that does"
        )
    if submission.url is not None and is_anchor:
        raise Conflict("give a bundle: an anchor fixes the scale and must not change")
    if submission.size_bytes > season.max_bundle_bytes:
        raise Invalid(
            "submission",
            f"send at most {size_text(season.max_bundle_bytes)}: this season allows no more",
        )


def _refuse_excluded(conn: Connection, season_id: SeasonId, submission: Submission) -> None:
    query = "select subject from exclusions where season_id = %s and subject in (%s, %s)"
    values = (season_id, submission.agent_id, submission.team_id)
    subject = fetch_optional(conn, str, query, values)
    if subject is not None:
        whose = "this team" if subject == submission.team_id else "this agent"
        raise Conflict(f"{whose} is disqualified from this season: ask its host")


def _find_entry(conn: Connection, season_id: SeasonId, submission_id: SubmissionId) -> Entry | None:
    query = f"{ENTRY} where e.season_id = %(season)s and e.submission_id = %(submission)s"
    return fetch_optional(conn, Entry, query, {"season": season_id, "submission": submission_id})
