"""The list of an agent's submissions on its page, with the first rated match of a new entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from ladder.database.db import Connection
from ladder.entries import agents, entries, validations
from ladder.entries.records import Agent, Entry, EntryState
from ladder.enums import MatchState
from ladder.ids import EntryId
from ladder.leagues import seasons as leagues_seasons
from ladder.leagues.records import League, Season
from ladder.matches import history
from ladder.matches.match_search import MatchFilter
from ladder.matches.records import Match
from ladder.people.records import Viewer
from ladder.reports import insights
from services.agents.validation_steps import ValidationSteps, read_validation_steps
from services.http import permissions
from services.http.app_state import AppState
from services.http.live_answers import may_watch

NEW_FOR: Final = timedelta(hours=1)
"""How long after its validation an entry counts as new."""


@dataclass(frozen=True, slots=True)
class FirstMatch:
    """An entry's first rated match, and the rank that follows from it."""

    match: Match
    ending: str | None
    """How it ended for the entry; None while it is not finished."""
    is_live: bool
    """Whether the visitor may watch it now."""
    rank: int | None
    ranked: int
    """Number of teams with a rank."""
    is_on_board: bool
    """Whether the leaderboard counts it. The one of a large league may be older for some time."""

    @property
    def waits_for_rank(self) -> bool:
        """Whether the match has ended and its rank follows."""
        return self.ending is not None and self.rank is None and not self.is_on_board


def is_new(entry: Entry) -> bool:
    """Whether the entry passed its validation a short time ago and plays."""
    is_recent = entry.activated_at and datetime.now(UTC) - entry.activated_at < NEW_FOR
    return entry.state is EntryState.ACTIVE and bool(is_recent)


def read_first_match(
    conn: Connection, app_state: AppState, viewer: Viewer, entry: Entry, season: Season
) -> FirstMatch | None:
    """The first rated match of a new entry; None for older entries, and while it is hidden."""
    match = history.first_rated_match(conn, entry.id, viewer) if is_new(entry) else None
    if match is None:
        return None
    board = app_state.boards.board(season.id, season.revision)
    own = board.rows.row_of(entry.id)
    on_board = board.rows.order.entries.get(entry.id)
    return FirstMatch(
        match=match,
        ending=MatchFilter(entry_id=entry.id).ending(match),
        is_live=match.state is MatchState.RUNNING and may_watch(conn, viewer, match.id),
        rank=own.rank if own else None,
        ranked=board.rows.ranked,
        is_on_board=board.revision >= season.revision
        or (on_board is not None and on_board.games > 0),
    )


@dataclass(frozen=True, slots=True)
class SubmissionRow:
    """A submission in a season and its state."""

    entry: Entry
    season: str
    """Title of its league, with the season's number from the second season on."""
    score: float | None
    """None if a match has one seat."""
    message: str
    place: validations.QueuePlace | None
    steps: ValidationSteps | None
    """How far the validation match is, for the owner."""
    first_match_seconds: float | None
    """Shown to the owner of a waiting entry, if known."""
    first_match: FirstMatch | None
    """Shown to the owner of a new entry, once it is made."""
    url: str | None
    """Address of a remote agent, shown to its team alone."""
    may: bool
    """Whether this session's token may resume the entry."""
    reads: bool
    """Whether the visitor may read the reason and the log."""
    log: str
    """Address of the log of a failed validation; empty if it has none."""
    better: str
    """Address of the form that compares it with the version before; empty if there is none."""


def submission_rows(
    conn: Connection, app_state: AppState, viewer: Viewer, agent: Agent, shown: Sequence[Entry]
) -> dict[str, Any]:
    """Rows of the list, and what one of them waits for: empty if nothing waits."""
    own = permissions.may_see_private(viewer, agent.team_id)
    entered = leagues_seasons.seasons_with_leagues(conn, {entry.season_id for entry in shown})
    seasons = {season.id: (season, league) for season, league in entered}
    logs = failed_logs(conn, viewer, shown)
    submissions = agents.get_submissions(conn, {e.submission_id for e in shown}) if own else {}
    rows = []
    for entry in shown:
        season, league = seasons[entry.season_id]
        sent = submissions.get(entry.submission_id)
        waits = own and entry.state in entries.VALIDATED
        redis_url = app_state.settings.redis_url
        rows.append(
            SubmissionRow(
                entry=entry,
                season=league.title + f", season {season.number}" * (season.number > 1),
                score=entry.mu + season.score_offset if entry.has_score else None,
                message=sent.message if sent else "",
                url=sent.url if sent and entry.team_id in viewer.team_ids else None,
                place=validations.queue_place_of(conn, entry.id) if waits else None,
                steps=read_validation_steps(redis_url, conn, entry) if waits else None,
                first_match_seconds=insights.first_match_seconds(conn, entry, season)
                if waits or (own and is_new(entry) and not entry.games)
                else None,
                first_match=read_first_match(conn, app_state, viewer, entry, season)
                if own
                else None,
                may="agents:write" in viewer.scopes,
                reads=permissions.may_read_logs(viewer, agent.team_id, entry.league_id),
                log=logs.get(entry.id, ""),
                better=better_address(shown, entry, season, league) if own else "",
            )
        )
    stage = ""
    if any(row.entry.state == "pending" or row.place is not None for row in rows):
        stage = "validation"
    elif own and any(
        (is_new(row.entry) and not row.entry.games)
        or (row.first_match is not None and row.first_match.waits_for_rank)
        for row in rows
    ):
        stage = "first_match"
    return {"entries": rows, "stage": stage}


def better_address(shown: Sequence[Entry], entry: Entry, season: Season, league: League) -> str:
    """The form that compares the newest version of a season with the version before it. Empty if
    there is none, or if the season is over.
    """
    its = [
        row
        for row in shown
        if row.season_id == entry.season_id and row.state is not EntryState.REJECTED
    ]
    is_left_out = season.state == "finished" or season.seats == 1
    if is_left_out or len(its) < 2 or entry.id != its[0].id:
        return ""
    return f"/leagues/{league.slug}/better?new={entry.submission_id}&old={its[1].submission_id}"


def failed_logs(conn: Connection, viewer: Viewer, shown: Sequence[Entry]) -> dict[EntryId, str]:
    """Addresses of the logs of failed validations that the visitor may read: of the first copy that
    failed.
    """
    entry_of = {
        entry.validation_match_id: entry
        for entry in shown
        if entry.state is EntryState.REJECTED
        and entry.validation_match_id
        and permissions.may_read_logs(viewer, entry.team_id, entry.league_id)
    }
    addresses = {}
    for match in history.get_matches(conn, list(entry_of)) if entry_of else []:
        failed = [s for s in match.seats if s.log_digest and s.verdict not in (None, "DONE")]
        if failed:
            first = min(failed, key=lambda seat: seat.failed_step or 0)
            addresses[entry_of[match.id].id] = f"/logs/{match.id}/{first.seat}"
    return addresses
