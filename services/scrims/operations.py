"""What people do with scrims: start, ask, answer, cancel, fork a match, and set policies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, TypeVar

from fastapi import Query, Response
from fastapi.responses import JSONResponse
from pydantic import TypeAdapter

from games import GAMES
from games.episode import EpisodeError, from_bytes
from games.forks import Fork, check_fork
from games.protocol import GameError
from ladder.database.db import Connection
from ladder.entries import entries
from ladder.entries.records import EntryState
from ladder.errors import Invalid, NotFound
from ladder.field_types import KEY, RECORD
from ladder.ids import AgentId, ScrimBatchId, ScrimId, ScrimRequestId, SeasonId, TeamId
from ladder.leagues import seasons
from ladder.leagues.records import Season
from ladder.matches.records import Match
from ladder.people.records import Viewer
from ladder.scrims import batches, forks, policies, requests, scrims
from ladder.scrims.batches import Batch, BatchCell, BatchPlan, BatchResults, NewBatch
from ladder.scrims.forks import ForkPoint, NewFork, ScrimDetail
from ladder.scrims.policies import Opponent, PolicyAnswer, ScrimPolicy
from ladder.scrims.requests import Decline, NewScrimRequest, RequestState, ScrimRequest
from ladder.scrims.scrims import NewScrim, Scrim
from services.http import permissions
from services.http.app_state import AppState, Db, State
from services.http.auth import Known, Scrimmer, Writer
from services.http.operations import Form, Operations
from services.http.paging import Page, Paging
from services.http.path_parameters import AgentKey, Filter
from services.http.problems import problem_responses
from services.http.spreadsheets import ExportForm
from services.scrims.pages import (
    BatchForm,
    ForkForm,
    PolicyForm,
    ScrimForm,
    fork_page,
    new_batch_page,
    new_scrim_page,
    policy_page,
    present_policy,
    request_page,
    results_csv,
)
from services.scrims.things import (
    AskedRequest,
    ForkableMatch,
    OwnAgent,
    OwnBatch,
    OwnRequest,
    OwnScrim,
    VisibleBatch,
    VisibleRequest,
    VisibleScrim,
    VisibleSeason,
    check_agents,
    find_asker,
    ids_of_teams,
    submission_of_key,
    teams_of_filter,
)

operations = Operations("scrims")
Asked = TypeVar("Asked", Scrim, ScrimDetail, Batch, BatchResults)
CELLS: Final = TypeAdapter(list[BatchCell])
MOST_BYTES: Final = 20_000
"""Most bytes of all moves by hand, as JSON."""
AsTeam = Annotated[
    str | None, Query(alias="as", pattern=KEY, description="team id or slug; default: your team")
]
NEW: Final = (403, 404, 409, 429)


@dataclass(frozen=True, slots=True)
class AnswerOfPolicy:
    """What the policy of an agent says to a team."""

    __pydantic_config__ = RECORD
    agent_id: AgentId
    season_id: SeasonId
    as_team_id: TeamId
    answer: PolicyAnswer
    policy: ScrimPolicy | None
    """Null for people of other teams."""


def shown_to(viewer: Viewer, record: Asked) -> Asked:
    """Without the person who asked, for people of other teams."""
    if permissions.may_see_requester(viewer, record.team_id):
        return record
    return replace(record, requested_by=None)


@operations("POST", "/scrims", "Request a scrim", status=201, problems=NEW)
def create_scrim(conn: Db, viewer: Scrimmer, scrim: NewScrim) -> Scrim:
    """Allows your own submissions, your team's agents, and agents that accept scrims
    automatically. Send a request for others."""
    asker = find_asker(conn, viewer, scrim.season, scrim.team)
    lineup = [submission_of_key(conn, viewer, asker.season, key) for key in scrim.lineup]
    seeds = [bytes.fromhex(seed) for seed in scrim.seeds] if scrim.seeds else None
    return scrims.request_scrim(
        conn, asker, lineup, games=scrim.games, seeds=seeds, privacy=scrim.privacy
    )


@operations("GET", "/scrims", "List scrims", problems=(403, 404))
def list_scrims(conn: Db, viewer: Known, span: Paging, team: Filter = None) -> Page[Scrim]:
    """Lists the scrims that your teams requested, and those of others in which they play and whose
    results they see, newest first. Scrims of batches are left out."""
    after = ScrimId(span.after) if span.after else None
    teams = teams_of_filter(conn, viewer, team)
    rows = scrims.list_scrims(conn, viewer, teams, after, span.limit)
    return span.page(rows, lambda row: row.id, lambda row: shown_to(viewer, row))


@operations("GET", "/scrims/{scrim}", "Read a scrim", problems=(404,))
def read_scrim(conn: Db, viewer: Known, scrim: VisibleScrim) -> ScrimDetail:
    """The scrim with wins, win rates and intervals so far."""
    return shown_to(viewer, forks.read_detail(conn, scrim))


@operations(
    "POST",
    "/scrims/{scrim}/cancel",
    "Cancel a scrim",
    forms=Form(address="/scrims/{scrim}/cancel", then="/scrims/{scrim.id}"),
)
def cancel_scrim(conn: Db, viewer: Scrimmer, scrim: OwnScrim) -> ScrimDetail:
    """Stops unfinished games and keeps finished ones."""
    cancelled = scrims.cancel_scrim(conn, scrim.id)
    return shown_to(viewer, forks.read_detail(conn, cancelled))


@operations("GET", "/agents/{agent}/scrim-policy", "May a team play an agent?", problems=(403, 404))
def read_scrim_policy(
    conn: Db,
    viewer: Known,
    agent: AgentKey,
    as_team: AsTeam = None,
    season: Annotated[str | None, Query(pattern=KEY, description="default: its newest")] = None,
) -> AnswerOfPolicy:
    """Says yes, or why not, before anybody asks. Only the agent's own team reads the policy
    itself."""
    agent_id = permissions.visible_agent(conn, viewer, agent).id
    team = permissions.team_to_act_for(conn, viewer, as_team)
    playing = season_of_agent(conn, viewer, agent_id, season)
    (opponent,) = policies.read_opponents(conn, playing, team.id, [agent_id])
    policy = opponent.policy if opponent.team_id in viewer.team_ids else None
    return AnswerOfPolicy(agent_id, playing.id, team.id, opponent.answer, policy)


def season_of_agent(conn: Connection, viewer: Viewer, agent: AgentId, key: str | None) -> Season:
    """The named season, or the newest one in which the agent plays and that the viewer sees."""
    if key is not None:
        return permissions.visible_season(conn, viewer, key)
    for state in (EntryState.ACTIVE, EntryState.PAUSED, None):
        newest = entries.list_entries(conn, viewer=viewer, agent_id=agent, state=state, limit=1)
        if newest:
            return seasons.get_season(conn, newest[0].season_id)
    raise NotFound("this agent has entered no season")


@operations(
    "PUT",
    "/agents/{agent}/scrim-policy",
    "Say whom an agent plays in scrims",
    problems=(403, 404),
    forms=Form(
        page=policy_page,
        address="/agents/{agent}/scrim-policy",
        asks=PolicyForm,
        present=present_policy,
        then="/agents/{agent.id}",
    ),
)
def set_scrim_policy(conn: Db, viewer: Writer, agent: OwnAgent, policy: ScrimPolicy) -> ScrimPolicy:
    """Replaces the policy of an own agent. Scrims and requests that were accepted go on."""
    lists = {name: getattr(policy, name) for name in ("teams", "blocked_teams")}
    with_ids = {name: ids_of_teams(conn, viewer, name, keys) for name, keys in lists.items()}
    return policies.set_policy(conn, agent, policy.model_copy(update=with_ids))


@operations(
    "GET", "/seasons/{season}/scrim-opponents", "List agents for scrims", problems=(403, 404)
)
def list_scrim_opponents(
    conn: Db, viewer: Known, season: VisibleSeason, as_team: AsTeam = None
) -> Page[Opponent]:
    """All agents that play in the season, with the answer of each policy to your team."""
    team = permissions.team_to_act_for(conn, viewer, as_team)
    return Page(items=policies.read_opponents(conn, season, team.id))


@operations(
    "POST",
    "/scrim-requests",
    "Ask another team for a scrim",
    status=201,
    problems=NEW,
    forms=Form(
        page=new_scrim_page,
        address="/new-scrim",
        asks=ScrimForm,
        then="/scrim-requests/{answer.id}",
    ),
)
def ask_for_scrim(conn: Db, viewer: Scrimmer, scrim_request: NewScrimRequest) -> ScrimRequest:
    """The agents' policies are judged first. If all accept automatically, the scrim begins at
    once."""
    asker = find_asker(conn, viewer, scrim_request.season, scrim_request.team)
    check_agents(conn, viewer, scrim_request.lineup)
    return requests.ask_for_scrim(conn, asker, scrim_request)


@operations("GET", "/scrim-requests", "List requests for scrims", problems=(403, 404))
def list_scrim_requests(
    conn: Db,
    viewer: Known,
    span: Paging,
    box: Annotated[
        Literal["inbox", "outbox", "both"], Query(description="to your teams, or from them")
    ] = "both",
    state: Annotated[RequestState | None, Query()] = None,
    team: Filter = None,
) -> Page[ScrimRequest]:
    """Lists requests to and from your teams, newest first."""
    teams = teams_of_filter(conn, viewer, team)
    rows = requests.list_requests(
        conn,
        to_teams=[] if box == "outbox" else teams,
        from_teams=[] if box == "inbox" else teams,
        state=state,
        after=ScrimRequestId(span.after) if span.after else None,
        limit=span.limit,
    )
    return span.page(rows, lambda row: row.id, lambda row: row)


@operations("GET", "/scrim-requests/{request}", "Read a request for a scrim", problems=(404,))
def read_scrim_request(viewer: Known, scrim_request: VisibleRequest) -> ScrimRequest:
    """For both teams."""
    return scrim_request


@operations(
    "POST",
    "/scrim-requests/{request}/accept",
    "Accept a request for a scrim",
    problems=NEW,
    forms=Form(
        page=request_page,
        address="/scrim-requests/{request}/accept",
        then="/scrim-requests/{answer.id}",
    ),
)
def accept_scrim_request(conn: Db, viewer: Scrimmer, scrim_request: AskedRequest) -> ScrimRequest:
    """Pins the newest active versions and queues the games. Repeating it changes nothing."""
    return requests.accept_request(conn, scrim_request.id, viewer.user_id)


@operations(
    "POST",
    "/scrim-requests/{request}/decline",
    "Decline a request for a scrim",
    forms=Form(
        page=request_page,
        address="/scrim-requests/{request}/decline",
        then="/scrim-requests/{answer.id}",
    ),
)
def decline_scrim_request(
    conn: Db, viewer: Scrimmer, scrim_request: AskedRequest, decline: Decline
) -> ScrimRequest:
    """Repeating it changes nothing."""
    return requests.decline_request(conn, scrim_request.id, viewer.user_id, decline.words)


@operations(
    "POST",
    "/scrim-requests/{request}/withdraw",
    "Withdraw a request for a scrim",
    forms=Form(
        page=request_page,
        address="/scrim-requests/{request}/withdraw",
        then="/scrim-requests/{answer.id}",
    ),
)
def withdraw_scrim_request(conn: Db, viewer: Scrimmer, scrim_request: OwnRequest) -> ScrimRequest:
    """Repeating it changes nothing."""
    return requests.withdraw_request(conn, scrim_request.id, viewer.user_id)


@operations(
    "POST",
    "/scrim-batches/plan",
    "See what a batch would take",
    forms=Form(page=new_batch_page, address="/new-scrim-batch/plan", asks=BatchForm, repeats=True),
)
def plan_batch(conn: Db, viewer: Scrimmer, batch: NewBatch) -> BatchPlan:
    """Changes nothing: the pairings, whom policies refuse, and the games of the daily limit."""
    asker = find_asker(conn, viewer, batch.season, batch.team)
    check_agents(conn, viewer, batch.agents)
    return batches.plan_batch(conn, asker, batch)


@operations(
    "POST",
    "/scrim-batches",
    "Start a batch of scrims",
    status=201,
    problems=NEW,
    forms=Form(
        page=new_batch_page,
        address="/new-scrim-batch",
        asks=BatchForm,
        then="/scrim-batches/{answer.id}",
    ),
)
def start_batch(conn: Db, viewer: Scrimmer, batch: NewBatch) -> Batch:
    """Plays all pairings. Opponents must accept scrims automatically."""
    asker = find_asker(conn, viewer, batch.season, batch.team)
    check_agents(conn, viewer, batch.agents)
    return batches.start_batch(conn, asker, batch)


@operations("GET", "/scrim-batches", "List batches of scrims", problems=(403, 404))
def list_batches(conn: Db, viewer: Known, span: Paging, team: Filter = None) -> Page[Batch]:
    """Lists the batches of your teams, newest first."""
    after = ScrimBatchId(span.after) if span.after else None
    rows = batches.list_batches(conn, teams_of_filter(conn, viewer, team), after, span.limit)
    return span.page(rows, lambda row: row.id, lambda row: row)


@operations("GET", "/scrim-batches/{batch}", "Read a batch of scrims", problems=(404,))
def read_batch(conn: Db, viewer: Known, batch: VisibleBatch) -> BatchResults:
    """The results of each pairing so far, with intervals, and the time until the end."""
    return shown_to(viewer, batches.read_results(conn, batch))


@operations.router.get(
    "/scrim-batches/{batch}/results",
    tags=[operations.tag],
    summary="Download the results of a batch",
    responses={
        200: {"content": {"text/csv": {"schema": {"type": "string"}}}},
        **problem_responses(404),
    },
    response_model=list[BatchCell],
)
def export_batch(
    conn: Db, viewer: Known, batch: VisibleBatch, format: ExportForm = "json"
) -> Response:
    """One row for each pairing, as JSON or CSV."""
    results = batches.read_results(conn, batch)
    if format == "csv":
        return Response(results_csv(results), media_type="text/csv; charset=utf-8")
    return JSONResponse(CELLS.dump_python(list(results.cells), mode="json"))


@operations(
    "POST",
    "/scrim-batches/{batch}/cancel",
    "Cancel a batch of scrims",
    problems=(403, 404),
    forms=Form(address="/scrim-batches/{batch}/cancel", then="/scrim-batches/{batch.id}"),
)
def cancel_batch(conn: Db, viewer: Scrimmer, batch: OwnBatch) -> BatchResults:
    """Stops unfinished games. The daily limit gets back those that never ran. Finished ones
    stay."""
    cancelled = batches.cancel_batch(conn, batch.id)
    return shown_to(viewer, batches.read_results(conn, cancelled))


@operations(
    "POST",
    "/matches/{match}/forks",
    "Fork a match",
    status=201,
    problems=NEW,
    forms=Form(
        page=fork_page, address="/matches/{match}/fork", asks=ForkForm, then="/scrims/{answer.id}"
    ),
)
def create_fork(
    conn: Db, app_state: AppState, viewer: Scrimmer, match: ForkableMatch, fork: NewFork
) -> Scrim:
    """Requests a scrim whose games continue the match after a step.

    Each agent is first asked what its seat was asked in the record. Allowed are your own
    submissions, your team's agents, and agents that accept scrims automatically. Your team sees the
    games, as far as it may see the replay of the match.
    """
    asker = find_asker(conn, viewer, match.season_id, fork.team)
    check_moves(fork.moves, len(match.seats))
    moves = {int(seat): tuple(by_hand) for seat, by_hand in fork.moves.items()}
    check_point(app_state, match, fork, moves)
    recorded = forks.recorded_lineup(match, fork.episode)
    keys = fork.seats or [None] * len(recorded)
    if len(keys) != len(recorded):
        raise Invalid("seats", f"{len(keys)} given; this match has {len(recorded)} seats")
    lineup = [
        played if key is None else submission_of_key(conn, viewer, asker.season, key)
        for key, played in zip(keys, recorded, strict=True)
    ]
    point = ForkPoint(match, fork.episode, fork.step, fork.draws, moves)
    return forks.request_fork(conn, asker, point, lineup, fork.games)


def check_moves(moves: Mapping[str, Sequence[Any]], seats: int) -> None:
    """Raises Invalid for moves that no game can mean: too long, or no JSON for the database."""
    if any(int(seat) >= seats for seat in moves):
        raise Invalid("moves", f"seats are 0 to {seats - 1}")
    try:
        text = json.dumps(moves, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (ValueError, RecursionError):
        raise Invalid("moves", "numbers must be finite, and texts valid Unicode") from None
    if size > MOST_BYTES or "\\u0000" in text:
        raise Invalid("moves", f"give at most {MOST_BYTES} bytes, without the character NUL")


def check_point(
    app_state: State, match: Match, fork: NewFork, moves: Mapping[int, tuple[Any, ...]]
) -> None:
    """Raises Invalid if the step or a first move by hand is not possible."""
    game = GAMES.get(match.game)
    recorded = next((part for part in match.episodes if part.position == fork.episode), None)
    if recorded is None or game is None or not app_state.blobs.exists(recorded.replay_digest):
        raise Invalid("episode", "this match has no such replay")
    episode = from_bytes(b"".join(app_state.blobs.open(recorded.replay_digest)))
    if not fork.step < len(episode.steps):
        last = len(episode.steps) - 1
        raise Invalid("step", f"must be between 0 and {last}; it is {fork.step}")
    try:
        check_fork(game, Fork(episode, fork.step, moves=moves))
    except EpisodeError as error:
        raise Invalid("step", f"the record does not fit the rules: {error}") from None
    except GameError as error:
        raise Invalid(error.field or "moves", error.message) from None
