"""What people do with agents, their submissions and their entries.

`uploads` receives the bytes of a submission.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import Field

from games import GAMES
from ladder import runtime_profiles
from ladder.entries import agents, anchors, declared_entry, entries, remote_agents
from ladder.entries.agents import AgentChange, NewAgent
from ladder.entries.anchors import NewAnchors
from ladder.entries.declared_entry import Declaration, DeclaredEntry
from ladder.entries.entries import NewEntry
from ladder.entries.records import Agent, EntryState, ShownEntry, Submission, part_of_record
from ladder.entries.submit import NewRemote, SeasonToEnter, refuse_unsupported_game
from ladder.field_types import RECORD
from ladder.ids import AgentId, EntryId, MatchId, SubmissionId
from ladder.matches import workers
from ladder.matches.workers import Worker
from ladder.ratings import live_ratings
from ladder.reports import season_health
from sandbox import profiles
from services.agents import uploads
from services.agents.pages import MachinesForm, RemoteForm, agent_page, machines_page
from services.agents.things import (
    OwnAgent,
    OwnEntry,
    VisibleAgent,
    VisibleEntry,
    VisibleSubmission,
)
from services.agents.uploads import EnteredSeason, Submitted
from services.agents.validation_steps import read_validation_steps
from services.http import permissions
from services.http.app_state import AppState, Db
from services.http.auth import Anyone, Host, Known, Writer
from services.http.body_limits import arrival_of
from services.http.operations import Form, Operations
from services.http.paging import Page, Paging
from services.http.path_parameters import EntryKey, Filter, SeasonKey, TeamKey
from services.http.problems import ProblemError
from services.http.seat_logs import LogFormat, read_seat_log

operations = Operations("agents")
operations.router.add_api_route(
    "/agents/{agent}/submissions", uploads.upload_submission, **uploads.ROUTE
)
SUBMISSIONS = "/agents/{agent.id}#submissions"


@operations("POST", "/agents", "Create an agent", status=201, problems=(403, 404, 409, 429))
def create_agent(conn: Db, viewer: Writer, new: NewAgent) -> Agent:
    """Creates an agent of your own team."""
    team = permissions.team_to_act_for(conn, viewer, new.team)
    return agents.create_named_agent(conn, team.id, new.name, new.slug)


@operations("GET", "/agents", "List agents", problems=(404,))
def list_agents(conn: Db, viewer: Anyone, span: Paging, team: Filter = None) -> Page[Agent]:
    """Lists agents of your teams, and agents that play in leagues you may see."""
    rows = agents.list_agents(
        conn,
        viewer=viewer,
        team_id=permissions.visible_team(conn, viewer, team).id if team else None,
        after=AgentId(span.after) if span.after else None,
        limit=span.limit,
    )
    return span.page(rows, lambda row: row.id, lambda row: row)


@operations("GET", "/agents/{agent}", "Read an agent", problems=(404,))
def read_agent(agent: VisibleAgent) -> Agent:
    """Answers 404 if the agent plays only in leagues hidden from the caller."""
    return agent


@operations(
    "PATCH",
    "/agents/{agent}",
    "Change an agent",
    forms=Form(
        name="choose_machines",
        page=machines_page,
        address="/agents/{agent}/machines",
        then="/agents/{agent.id}",
        asks=MachinesForm,
    ),
)
def change_agent(conn: Db, viewer: Writer, agent: VisibleAgent, change: AgentChange) -> Agent:
    """Changes its name, or the machines that may run it."""
    own = permissions.own_agent(conn, viewer, agent.id)
    return agents.update_agent(conn, own.id, change)


@operations("DELETE", "/agents/{agent}", "Delete an agent without submissions")
def delete_agent(conn: Db, viewer: Writer, agent: OwnAgent) -> None:
    """Deletes an agent of your own team that has no submissions."""
    agents.delete_agent(conn, agent.id)


@operations(
    "POST",
    "/agents/{agent}/remotes",
    "Submit a remote agent",
    status=201,
    tag="submissions",
    repeat="The same address was submitted before",
    problems=(403, 404, 409, 429),
    forms=Form(
        page=agent_page, address="/agents/{agent}/remotes", then=SUBMISSIONS, asks=RemoteForm
    ),
)
def submit_remote(
    request: Request,
    conn: Db,
    app_state: AppState,
    viewer: Writer,
    agent: OwnAgent,
    new: NewRemote,
    season: Filter = None,
) -> Submitted:
    """Submits an address instead of a bundle, for a season that takes remote agents.

    Repeating the request gives the same submission and uses no upload. With `season` the submission
    also enters that season and uses one of the team's uploads of the day. An address rejected there
    before is validated again.
    """
    into = None
    if season is not None:
        entered = permissions.season_to_enter(conn, viewer, season, agent.team_id)
        refuse_unsupported_game(entered, GAMES.get(entered.game))
        into = SeasonToEnter(entered, began=arrival_of(request))
    return uploads.submit_remote(conn, app_state.blobs, viewer, agent.id, new, into)


@operations(
    "GET", "/agents/{agent}/submissions", "List an agent's submissions", tag="submissions",
    problems=(403, 404),
)  # fmt: skip
def list_submissions(
    conn: Db, viewer: Known, agent: VisibleAgent, span: Paging
) -> Page[Submission]:
    """Newest first. Owner only."""
    if not permissions.may_see_submissions(viewer, agent.team_id):
        raise ProblemError("forbidden", "Only the owner of the agent may read its submissions.")
    after = SubmissionId(span.after) if span.after else None
    rows = agents.list_submissions(conn, agent.id, after, span.limit)
    return span.page(rows, lambda row: row.id, lambda row: agents.show_submission(viewer, row))


@operations(
    "GET",
    "/submissions/{submission}",
    "Read a submission",
    tag="submissions",
    problems=(404,),
)
def read_submission(viewer: Known, submission: VisibleSubmission) -> Submission:
    """Owner only."""
    return agents.show_submission(viewer, submission)


@operations(
    "GET",
    "/submissions/{submission}/entries",
    "List a submission's entries",
    tag="submissions",
    problems=(404,),
)
def list_submission_entries(
    conn: Db, viewer: Known, submission: VisibleSubmission
) -> Page[ShownEntry]:
    """The submission's entries in all seasons. Owner only."""
    rows = entries.list_entries(conn, submission_id=submission.id, limit=1000)
    return Page(items=[entries.show_entry(conn, viewer, row) for row in rows])


@operations(
    "POST",
    "/seasons/{season}/entries",
    "Enter a submission",
    status=201,
    tag="entries",
    repeat="The submission was already entered",
    problems=(403, 404, 409, 429),
)
def create_entry(
    request: Request, conn: Db, viewer: Writer, season: SeasonKey, new: NewEntry
) -> EnteredSeason:
    """Uses one of the team's uploads of the day and starts validation."""
    submission = permissions.own_submission(conn, viewer, new.submission)
    entry, limits, is_new = entries.enter_season(
        conn,
        permissions.season_to_enter(conn, viewer, season, submission.team_id).id,
        submission.id,
        profile=new.profile,
        began=arrival_of(request),
        by=viewer.user_id,
    )
    shown = entries.show_entry(conn, viewer, entry)
    return EnteredSeason(entry=shown, limits=limits, is_new=is_new)


@operations("GET", "/entries", "List entries", tag="entries", problems=(404,))
def list_entries(
    conn: Db,
    viewer: Anyone,
    span: Paging,
    season: Filter = None,
    agent: Filter = None,
    team: Filter = None,
    state: Annotated[EntryState | None, Query()] = None,
) -> Page[ShownEntry]:
    """Lists the entries of a season, an agent or a team, newest first. Name one of them."""
    if season is None and agent is None and team is None:
        raise ProblemError("invalid", "name a season, an agent or a team.", where="query")
    rows = entries.list_entries(
        conn,
        viewer=viewer,
        season_id=permissions.visible_season(conn, viewer, season).id if season else None,
        agent_id=permissions.visible_agent(conn, viewer, agent).id if agent else None,
        team_id=permissions.visible_team(conn, viewer, team).id if team else None,
        state=state,
        after=EntryId(span.after) if span.after else None,
        limit=span.limit,
    )
    return span.page(rows, lambda row: row.id, lambda row: entries.show_entry(conn, viewer, row))


@operations("GET", "/entries/{entry}", "Read an entry", tag="entries", problems=(404,))
def read_entry(conn: Db, viewer: Anyone, app_state: AppState, entry: VisibleEntry) -> ShownEntry:
    """The state. The owner also sees the reason, the place in the queue, the wait and the step of
    the validation match."""
    shown = entries.show_entry(conn, viewer, entry)
    if shown.queue is None:
        return shown
    steps = read_validation_steps(app_state.settings.redis_url, conn, entry)
    if steps is None:
        return shown
    queue = replace(shown.queue, step=steps.played, most_steps=steps.most)
    if steps.bank_ends_at is not None:
        queue = replace(queue, eta_seconds=steps.seconds_left)
    return replace(shown, queue=queue)


@operations(
    "GET",
    "/entries/{entry}/log",
    "Read the validation log of an entry",
    tag="entries",
    problems=(403, 404),
)
def read_entry_log(
    conn: Db, viewer: Known, app_state: AppState, entry: VisibleEntry, format: LogFormat = "raw"
) -> Any:
    """Output, times and traceback of the seat that failed, else of one with a warning, else of the
    first seat. For the owner, and graders of the league to whom the team agreed."""
    if not permissions.may_read_logs(viewer, entry.team_id, entry.league_id):
        raise ProblemError("forbidden", "Only the owner of the agent may read its logs.")
    if entry.validation_match_id is None:
        raise ProblemError("not-found", "There is no validation match yet.")
    match = permissions.visible_match(conn, viewer, entry.validation_match_id)
    failed = [seat for seat in match.seats if seat.failed_step is not None]
    warned = [seat for seat in match.seats if seat.reason]
    seat = (failed or warned or list(match.seats))[0]
    return read_seat_log(app_state.blobs, match, seat.seat, format)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The rating after one match."""

    __pydantic_config__ = RECORD
    no: int
    match_id: MatchId
    mu: float
    sigma: float
    at: datetime


@operations(
    "GET", "/entries/{entry}/ratings", "Read an entry's rating curve", tag="entries",
    problems=(404,),
)  # fmt: skip
def read_rating_curve(
    conn: Db, entry: VisibleEntry, limit: Annotated[int, Query(ge=1, le=5000)] = 1000
) -> Page[CurvePoint]:
    """The rating after each of the newest ``limit`` rated matches, oldest first. Empty if a match
    has one seat."""
    points = live_ratings.rating_curve(conn, entry.id, limit) if entry.is_rated else []
    return Page(items=[part_of_record(point, CurvePoint) for point in points])


@operations("POST", "/entries/{entry}/retire", "Retire an entry", tag="entries")
def retire_entry(conn: Db, viewer: Writer, entry: OwnEntry) -> ShownEntry:
    """The entry plays no more and keeps its history. Repeating this changes nothing. Refused after
    uploads lock, and for the entry that stands for a team with other entries."""
    return entries.show_entry(conn, viewer, entries.retire_entry(conn, entry.id))


@operations(
    "POST",
    "/entries/{entry}/resume",
    "Try a paused entry now",
    tag="entries",
    problems=(403, 404, 409, 429),
    forms=Form(page=agent_page, address="/agents/{agent}/resume", then=SUBMISSIONS),
)
def resume_entry(conn: Db, viewer: Writer, entry: EntryKey) -> ShownEntry:
    """Validates a paused remote agent again at once. If it passes, it plays again."""
    own = permissions.own_entry(conn, viewer, entry)
    return entries.show_entry(conn, viewer, remote_agents.retry_paused_entry(conn, own.id))


@operations(
    "GET",
    "/seasons/{season}/teams/{team}/entry",
    "Read a team's declared entry",
    tag="seasons",
    problems=(404,),
)
def read_declared(conn: Db, viewer: Anyone, season: SeasonKey, team: TeamKey) -> DeclaredEntry:
    """The entry that the team's owner declared, if any."""
    season_id = permissions.visible_season(conn, viewer, season).id
    team_id = permissions.visible_team(conn, viewer, team).id
    entry_id = declared_entry.declared_entry_of_team(conn, season_id, team_id)
    return DeclaredEntry(season_id, team_id, entry_id)


@operations(
    "PUT",
    "/seasons/{season}/teams/{team}/entry",
    "Declare a team's entry",
    tag="seasons",
    forms=Form(page=agent_page, address="/agents/{agent}/declare", then="/agents/{agent.id}"),
)
def declare_entry(
    conn: Db, viewer: Writer, season: SeasonKey, team: TeamKey, declaration: Declaration
) -> DeclaredEntry:
    """Only members of the team may do this, until uploads lock, and only for the entry that stands
    for the team. It then stands for the team until uploads lock; after that only results decide."""
    season_id = permissions.visible_season(conn, viewer, season).id
    team_id = permissions.require_member_team(conn, viewer, team).id
    entry_id = None if declaration.entry is None else EntryId(declaration.entry)
    declared_entry.declare_entry(conn, season_id, team_id, entry_id, viewer.user_id)
    return DeclaredEntry(season_id, team_id, entry_id)


@dataclass(frozen=True, slots=True)
class AddedAnchors:
    __pydantic_config__ = RECORD
    anchors: list[ShownEntry]
    lacking: Annotated[
        str | None,
        Field(examples=["3 of 4 seats can be filled: add an agent or an anchor"]),
    ]
    """Why the season cannot play yet; null if its seats can be filled."""


@operations("POST", "/seasons/{season}/anchors", "Add reference agents", status=201, tag="seasons")
def add_anchors(
    conn: Db, app_state: AppState, viewer: Host, season: SeasonKey, new: NewAnchors
) -> AddedAnchors:
    """Hosts and administrators only, while uploads are open. When the first results of a new anchor
    count, all scores move together. Ranks stay."""
    hosted, league = permissions.hosted_season(conn, viewer, season)
    added = anchors.add_anchors(conn, app_state.blobs, hosted, new, viewer)
    return AddedAnchors(
        [entries.show_entry(conn, viewer, entry) for entry in added],
        season_health.why_no_lineup(conn, hosted, league),
    )


@dataclass(frozen=True, slots=True)
class RuntimeProfile:
    """A profile. A submission names one; every match of its entry uses it."""

    __pydantic_config__ = RECORD
    name: Annotated[str, Field(examples=["numpy"])]
    purpose: Annotated[str, Field(examples=["arrays and linear algebra"])]
    python: Annotated[str, Field(examples=["3.11"])]
    """Version in the lock and the images; a node without a container engine uses its own
    version."""
    libraries: Annotated[Mapping[str, str], Field(examples=[{"numpy": "2.4.6"}])]
    """Version by name."""
    gpu: bool
    """Whether a match has a GPU or a slice, which its seats share."""
    served: bool
    """Whether a live node serves it now; if not, its entries wait."""
    image_digests: list[str]
    """Digests of the images that live nodes use for it."""


@operations("GET", "/profiles", "List runtime profiles", tag="profiles", problems=())
def list_profiles(conn: Db) -> Page[RuntimeProfile]:
    """Lists all profiles. ``served`` shows whether a node serves a profile now."""
    live = workers.live_workers(conn)
    names = runtime_profiles.NAMES
    return Page(items=[profile_of_site(profiles.PROFILES[name], live) for name in names])


def profile_of_site(profile: profiles.Profile, live: list[Worker]) -> RuntimeProfile:
    able = [
        worker
        for worker in live
        if profile.name in worker.profiles and (worker.gpu or not profile.gpu)
    ]
    digests = {worker.image_digests.get(profile.name) for worker in able}
    return RuntimeProfile(
        name=profile.name,
        purpose=profile.purpose,
        python=profiles.PYTHON_VERSION,
        libraries=dict(profile.versions),
        gpu=profile.gpu,
        served=bool(able),
        image_digests=sorted(digest for digest in digests if digest),
    )
