"""Scrims: unrated games of teams, the policies of agents, requests and batches."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from ladder.database.db import Connection
from ladder.enums import LogAudience, ScrimAudience
from ladder.field_types import KEY, Key
from ladder.ids import ScrimBatchId, ScrimId, ScrimRequestId, SubmissionId, TeamId, is_id
from ladder.leagues.records import Season
from ladder.people.records import Viewer
from ladder.scrims import batches, forks, policies, requests, scrims
from ladder.scrims.batches import Batch, BatchKind, BatchResults
from ladder.scrims.forks import Draws
from ladder.scrims.policies import Opponent
from ladder.scrims.request_models import (
    Decline,
    NewBatchBody,
    NewPrivacy,
    NewScrimRequestBody,
    ScrimPolicyBody,
    Seed,
    policy_body,
)
from ladder.scrims.requests import RequestState
from ladder.scrims.scrims import Scrim, newest_submission
from services.http import permissions, scrim_access
from services.http.app_state import Db
from services.http.auth import Known, Scrimmer, Writer
from services.http.batch_export import results_csv
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.participant_export import ExportForm
from services.http.path_parameters import (
    AgentKey,
    BatchKey,
    Filter,
    ScrimKey,
    ScrimRequestKey,
    SeasonKey,
)
from services.http.problems import problem_responses
from services.http.scrim_access import policy_of_body, season_of_agent

router = APIRouter(prefix="/v1", tags=["scrims"], route_class=LazyRoute)


class PrivacyOut(BaseModel):
    """Who sees what."""

    model_config = ConfigDict(from_attributes=True)
    results: ScrimAudience
    replays: ScrimAudience
    logs: LogAudience
    is_members_only: bool = Field(
        description="whether `league` means its members: it was not public when this was asked"
    )


class ForkOut(BaseModel):
    """The step of a recorded match that the games of a fork continue."""

    match_id: str
    episode: int = Field(description="position in the match")
    step: int = Field(description="recorded steps before the fork")
    draws: Draws
    moves: dict[str, list[Any]] = Field(description="moves by hand, by seat")


class SeatOutcomeOut(BaseModel):
    """How one seat of a fork ended."""

    model_config = ConfigDict(from_attributes=True)
    seat: int
    submission_id: str
    agent_name: str
    recorded_placement: int | None = Field(description="null if the match had several episodes")
    games: int
    wins: float
    mean_placement: float | None
    faults: int


class ScrimOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["scr_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    season_id: str
    league_id: str
    team_id: str
    side_team_ids: list[str] = Field(description="all teams with an agent in it")
    requested_by: str | None = Field(description="null for people of other teams")
    lineup: list[str] = Field(description="submission ids by seat, before seats rotate")
    games: int
    state: str = Field(examples=["running"])
    finished_games: int
    void_games: int
    created_at: datetime
    finished_at: datetime | None
    privacy: PrivacyOut
    batch_id: str | None
    request_id: str | None = Field(description="the request that the other side accepted")
    fork: ForkOut | None = Field(default=None, description="what the games continue, if a fork")


class ScoreOut(BaseModel):
    """How one submission of the lineup did. The interval is Wilson's, 95 %."""

    model_config = ConfigDict(from_attributes=True)
    submission_id: str
    games: int
    agent_name: str
    wins: float = Field(description="first places; a place shared by k seats counts 1/k")
    mean_placement: float | None
    win_rate: float | None
    low: float
    high: float
    faults: int


class ScrimDetail(ScrimOut):
    summary: list[ScoreOut]
    seats: list[SeatOutcomeOut] = Field(description="outcome by seat; empty if it is no fork")


class NewScrim(BaseModel):
    model_config = ConfigDict(extra="forbid")
    season: Annotated[
        Key, Field(description="season with the game, configuration and clock to use")
    ]
    lineup: Annotated[
        list[Key],
        Field(
            min_length=1,
            max_length=16,
            description="by seat: a submission id, or an agent id for its newest active entry",
        ),
    ]
    games: Annotated[int, Field(ge=1, le=100)] = 1
    seeds: Annotated[
        list[Seed] | None,
        Field(max_length=100, description="32 hex digits for each game; default: random"),
    ] = None
    team: Annotated[Key | None, Field(description="required if you are in several teams")] = None
    privacy: NewPrivacy = Field(default_factory=NewPrivacy)


def lineup_of_keys(conn: Db, who: Viewer, season: Season, keys: list[str]) -> list[SubmissionId]:
    """The submissions by seat. An agent id means its newest active entry in the season."""
    return [
        SubmissionId(key)
        if is_id(key, "sub")
        else newest_submission(conn, season, permissions.visible_agent(conn, who, key))
        for key in keys
    ]


@router.post(
    "/scrims",
    status_code=201,
    summary="Request a scrim",
    response_model=ScrimOut,
    responses=problem_responses(403, 404, 409, 429),
)
def create_scrim(body: NewScrim, conn: Db, who: Scrimmer, once: Idempotent) -> Response:
    """Allows your own submissions, your team's agents, and agents that accept scrims
    automatically. Send a request for others."""
    season = permissions.visible_season(conn, who, body.season)
    team = permissions.team_to_act_for(conn, who, body.team)
    seats = lineup_of_keys(conn, who, season, body.lineup)

    def create() -> ScrimOut:
        assert who.user_id is not None
        scrim = scrims.request_scrim(
            conn,
            season=season,
            team_id=team.id,
            user_id=who.user_id,
            lineup=seats,
            games=body.games,
            seeds=[bytes.fromhex(seed) for seed in body.seeds] if body.seeds else None,
            privacy=body.privacy.to_privacy(),
        )
        return ScrimOut.model_validate(scrim)

    return once.run(create)


@router.get("/scrims", summary="List scrims", responses=problem_responses(403, 404))
def list_scrims(conn: Db, who: Known, span: Paging, team: Filter = None) -> Page[ScrimOut]:
    """Lists the scrims that your teams requested, and those of others in which they play and whose
    results they see, newest first. Scrims of batches are left out."""
    team_ids = [permissions.team_to_act_for(conn, who, team).id] if team else sorted(who.team_ids)
    rows = scrims.list_scrims(
        conn, who, team_ids, ScrimId(span.after) if span.after else None, span.limit
    )
    return span.page(rows, lambda row: row.id, lambda row: scrim_out(conn, who, row))


def scrim_out(conn: Db, who: Viewer, scrim: Scrim) -> ScrimOut:
    out, row = ScrimOut.model_validate(scrim), forks.read_fork(conn, scrim.id)
    if not permissions.may_see_requester(who, scrim.team_id):
        out.requested_by = None
    if row is not None:
        out.fork = ForkOut(
            match_id=row.match_id,
            episode=row.position,
            step=row.step,
            draws=row.draws,
            moves={seat: list(moves) for seat, moves in row.moves.items()},
        )
    return out


def scrim_detail(conn: Db, who: Viewer, scrim: Scrim) -> ScrimDetail:
    scores = [ScoreOut.model_validate(score) for score in scrims.scrim_summary(conn, scrim.id)]
    row = forks.read_fork(conn, scrim.id)
    seats = forks.seat_outcomes(conn, scrim, row) if row else []
    return ScrimDetail(
        **scrim_out(conn, who, scrim).model_dump(),
        summary=scores,
        seats=[SeatOutcomeOut.model_validate(seat) for seat in seats],
    )


@router.get("/scrims/{scrim}", summary="Read a scrim", responses=problem_responses(404))
def read_scrim(scrim: ScrimKey, conn: Db, who: Known) -> ScrimDetail:
    """The scrim with wins, win rates and intervals so far."""
    return scrim_detail(conn, who, permissions.visible_scrim(conn, who, scrim))


@router.post(
    "/scrims/{scrim}/cancel", summary="Cancel a scrim", responses=problem_responses(403, 404, 409)
)
def cancel_scrim(scrim: ScrimKey, conn: Db, who: Scrimmer) -> ScrimDetail:
    """Stops unfinished games and keeps finished ones."""
    found = permissions.own_scrim(conn, who, scrim)
    return scrim_detail(conn, who, scrims.cancel_scrim(conn, found.id))


AsTeam = Annotated[
    str | None, Query(alias="as", pattern=KEY, description="team id or slug; default: your team")
]


class PolicyAnswerOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    is_allowed: bool = Field(description="whether the team may play or ask the agent now")
    is_automatic: bool = Field(description="whether a scrim starts without an answer of its team")
    reason: str | None = Field(description="why not")
    games_left: int | None = Field(
        description="games that the policy leaves to the team today; null: it sets no limit"
    )


class ScrimPolicyOut(BaseModel):
    agent_id: str
    season_id: str
    as_team_id: str
    answer: PolicyAnswerOut
    policy: ScrimPolicyBody | None = Field(description="null for people of other teams")


class OpponentOut(BaseModel):
    """An agent, and whether a team may play it."""

    agent_id: str
    agent_name: str
    team_id: str
    team_name: str
    submission_id: str | None = Field(description="its newest version that plays")
    submission_number: int | None
    is_reference: bool
    answer: PolicyAnswerOut


def opponent_out(one: Opponent) -> OpponentOut:
    return OpponentOut(
        agent_id=one.agent_id,
        agent_name=one.agent_name,
        team_id=one.team_id,
        team_name=one.team_name,
        submission_id=one.submission_id,
        submission_number=one.submission_number,
        is_reference=one.facts.is_reference,
        answer=PolicyAnswerOut.model_validate(one.answer()),
    )


@router.get(
    "/agents/{agent}/scrim-policy",
    summary="May a team play an agent?",
    responses=problem_responses(403, 404),
)
def read_scrim_policy(
    agent: AgentKey,
    conn: Db,
    who: Known,
    as_team: AsTeam = None,
    season: Annotated[str | None, Query(pattern=KEY, description="default: its newest")] = None,
) -> ScrimPolicyOut:
    """Says yes, or why not, before anybody asks. Only the agent's own team reads the policy
    itself."""
    found = permissions.visible_agent(conn, who, agent)
    team = permissions.team_to_act_for(conn, who, as_team)
    playing = season_of_agent(conn, who, found.id, season)
    (one,) = policies.read_opponents(conn, playing, team.id, [found.id])
    return policy_out(one, playing, team.id, is_own=found.team_id in who.team_ids)


@router.put(
    "/agents/{agent}/scrim-policy",
    summary="Say whom an agent plays in scrims",
    responses=problem_responses(403, 404),
)
def set_scrim_policy(
    agent: AgentKey, body: ScrimPolicyBody, conn: Db, who: Writer
) -> ScrimPolicyBody:
    """Replaces the policy of an own agent. Scrims and requests that were accepted go on."""
    found = permissions.own_agent(conn, who, agent)
    policy = policy_of_body(conn, who, body)
    return policy_body(policies.set_policy(conn, found, policy))


@router.get(
    "/seasons/{season}/scrim-opponents",
    summary="List agents for scrims",
    responses=problem_responses(403, 404),
)
def list_scrim_opponents(
    season: SeasonKey, conn: Db, who: Known, as_team: AsTeam = None
) -> Page[OpponentOut]:
    """All agents that play in the season, with the answer of each policy to your team."""
    found = permissions.visible_season(conn, who, season)
    team = permissions.team_to_act_for(conn, who, as_team)
    rows = policies.read_opponents(conn, found, team.id)
    return Page(items=[opponent_out(one) for one in rows])


def policy_out(one: Opponent, season: Season, team_id: TeamId, *, is_own: bool) -> ScrimPolicyOut:
    return ScrimPolicyOut(
        agent_id=one.agent_id,
        season_id=season.id,
        as_team_id=team_id,
        answer=PolicyAnswerOut.model_validate(one.answer()),
        policy=policy_body(one.policy) if is_own else None,
    )


class RequestSeatOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    agent_id: str
    agent_name: str
    team_id: str
    submission_id: str | None = Field(description="the pinned version; null until it is accepted")
    submission_number: int | None
    version: int | None = Field(description="place among the submissions of its agent, from 1")


class ScrimRequestOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["srq_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    season_id: str
    league_id: str
    league_slug: str
    league_title: str
    team_id: str
    team_name: str
    asked_team_id: str
    asked_team_name: str
    seats: list[RequestSeatOut]
    games: int
    has_seeds: bool = Field(description="whether the team that asks chose the seeds")
    privacy: PrivacyOut
    words: str
    state: RequestState
    created_at: datetime
    expires_at: datetime
    answered_at: datetime | None
    answer: str = Field(description="a word of the team that was asked")
    scrim_id: str | None


def without_texts(out: ScrimRequestOut) -> ScrimRequestOut:
    """The answer that is stored for a repeated request: without texts of people."""
    names = ("league_slug", "league_title", "team_name", "asked_team_name", "words", "answer")
    seats = [seat.model_copy(update={"agent_name": ""}) for seat in out.seats]
    return out.model_copy(update={**dict.fromkeys(names, ""), "seats": seats})


@router.post(
    "/scrim-requests",
    status_code=201,
    summary="Ask another team for a scrim",
    response_model=ScrimRequestOut,
    responses=problem_responses(403, 404, 409, 429),
)
def ask_for_scrim(body: NewScrimRequestBody, conn: Db, who: Scrimmer, once: Idempotent) -> Response:
    """The agents' policies are judged first. If all accept automatically, the scrim begins at
    once."""
    asked = scrim_access.new_request(conn, who, body)

    def create() -> ScrimRequestOut:
        return ScrimRequestOut.model_validate(requests.ask_for_scrim(conn, asked))

    return once.run(create, keep=without_texts)


@router.get(
    "/scrim-requests", summary="List requests for scrims", responses=problem_responses(403, 404)
)
def list_scrim_requests(
    conn: Db,
    who: Known,
    span: Paging,
    box: Annotated[
        Literal["inbox", "outbox", "both"], Query(description="to your teams, or from them")
    ] = "both",
    state: Annotated[RequestState | None, Query()] = None,
    team: Filter = None,
) -> Page[ScrimRequestOut]:
    """Lists requests to and from your teams, newest first."""
    teams = [permissions.team_to_act_for(conn, who, team).id] if team else sorted(who.team_ids)
    nobody: list[TeamId] = []
    rows = requests.list_requests(
        conn,
        to_teams=nobody if box == "outbox" else teams,
        from_teams=nobody if box == "inbox" else teams,
        state=state,
        after=ScrimRequestId(span.after) if span.after else None,
        limit=span.limit,
    )
    return span.page(rows, lambda row: row.id, ScrimRequestOut.model_validate)


@router.get(
    "/scrim-requests/{request}",
    summary="Read a request for a scrim",
    responses=problem_responses(404),
)
def read_scrim_request(request: ScrimRequestKey, conn: Db, who: Known) -> ScrimRequestOut:
    """For both teams."""
    return ScrimRequestOut.model_validate(permissions.visible_scrim_request(conn, who, request))


@router.post(
    "/scrim-requests/{request}/accept",
    summary="Accept a request for a scrim",
    responses=problem_responses(403, 404, 409, 429),
)
def accept_scrim_request(request: ScrimRequestKey, conn: Db, who: Scrimmer) -> ScrimRequestOut:
    """Pins the newest active versions and queues the games. Repeating it changes nothing."""
    found = scrim_access.asked_request(conn, who, request)
    return ScrimRequestOut.model_validate(requests.accept_request(conn, found.id, who.user_id))


@router.post(
    "/scrim-requests/{request}/decline",
    summary="Decline a request for a scrim",
    responses=problem_responses(403, 404, 409),
)
def decline_scrim_request(
    request: ScrimRequestKey, body: Decline, conn: Db, who: Scrimmer
) -> ScrimRequestOut:
    """Repeating it changes nothing."""
    found = scrim_access.asked_request(conn, who, request)
    done = requests.decline_request(conn, found.id, who.user_id, body.words)
    return ScrimRequestOut.model_validate(done)


@router.post(
    "/scrim-requests/{request}/withdraw",
    summary="Withdraw a request for a scrim",
    responses=problem_responses(403, 404, 409),
)
def withdraw_scrim_request(request: ScrimRequestKey, conn: Db, who: Scrimmer) -> ScrimRequestOut:
    """Repeating it changes nothing."""
    found = permissions.own_scrim_request(conn, who, request)
    return ScrimRequestOut.model_validate(requests.withdraw_request(conn, found.id, who.user_id))


class CompetitorOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    submission_id: str
    submission_number: int
    agent_id: str
    agent_name: str


class PlannedPairingOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    first: CompetitorOut
    second: CompetitorOut
    refusal: str | None = Field(description="why they cannot play")


class GamesTodayOut(BaseModel):
    """Scrim games of a team in a UTC day in this season."""

    model_config = ConfigDict(from_attributes=True)
    used: int
    allowed: int
    left: int
    resets_at: datetime


class BatchPlanOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    pairings: list[PlannedPairingOut]
    games: int = Field(description="games that the batch takes of the daily limit")
    today: GamesTodayOut


class BatchOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["sbt_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    season_id: str
    league_id: str
    team_id: str
    requested_by: str | None = Field(description="null for people of other teams")
    kind: BatchKind
    games_each: int
    created_at: datetime
    ended_at: datetime | None


class BatchCellOut(BaseModel):
    """A pairing and its results so far. The interval is Wilson's, 95 %."""

    model_config = ConfigDict(from_attributes=True)
    scrim_id: str
    state: str
    first_submission_id: str
    first_number: int
    first_version: int = Field(description="place among the submissions of its agent, from 1")
    first_name: str
    second_submission_id: str
    second_number: int
    second_version: int
    second_name: str
    games: int
    finished_games: int
    void_games: int
    score: float | None = Field(description="share that the first one won; a tie counts half")
    interval: tuple[float, float]
    first_faults: int
    second_faults: int


class BatchTotalOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    submission_id: str
    number: int
    name: str
    games: int
    score: float | None
    interval: tuple[float, float]


class BatchDetail(BatchOut):
    games: int
    finished_games: int
    void_games: int
    seconds_left: float | None = Field(description="until the end, at the pace of the last minutes")
    cells: list[BatchCellOut]
    totals: list[BatchTotalOut]


@router.post(
    "/scrim-batches/plan",
    summary="See what a batch would take",
    responses=problem_responses(403, 404, 409),
)
def plan_batch(body: NewBatchBody, conn: Db, who: Scrimmer) -> BatchPlanOut:
    """Changes nothing: the pairings, whom policies refuse, and the games of the daily limit."""
    asked = scrim_access.new_batch(conn, who, body)
    return BatchPlanOut.model_validate(batches.plan_batch(conn, asked))


@router.post(
    "/scrim-batches",
    status_code=201,
    summary="Start a batch of scrims",
    response_model=BatchOut,
    responses=problem_responses(403, 404, 409, 429),
)
def start_batch(body: NewBatchBody, conn: Db, who: Scrimmer, once: Idempotent) -> Response:
    """Plays all pairings. Opponents must accept scrims automatically."""
    asked = scrim_access.new_batch(conn, who, body)
    return once.run(lambda: BatchOut.model_validate(batches.start_batch(conn, asked)))


@router.get(
    "/scrim-batches", summary="List batches of scrims", responses=problem_responses(403, 404)
)
def list_batches(conn: Db, who: Known, span: Paging, team: Filter = None) -> Page[BatchOut]:
    """Lists the batches of your teams, newest first."""
    teams = [permissions.team_to_act_for(conn, who, team).id] if team else sorted(who.team_ids)
    rows = batches.list_batches(
        conn, teams, ScrimBatchId(span.after) if span.after else None, span.limit
    )
    return span.page(rows, lambda row: row.id, BatchOut.model_validate)


@router.get(
    "/scrim-batches/{batch}", summary="Read a batch of scrims", responses=problem_responses(404)
)
def read_batch(batch: BatchKey, conn: Db, who: Known) -> BatchDetail:
    """The results of each pairing so far, with intervals, and the time until the end."""
    return batch_detail(conn, who, permissions.visible_batch(conn, who, batch))


@router.get(
    "/scrim-batches/{batch}/results",
    summary="Download the results of a batch",
    responses={
        200: {"content": {"text/csv": {"schema": {"type": "string"}}}},
        **problem_responses(404),
    },
    response_model=list[BatchCellOut],
)
def export_batch(batch: BatchKey, conn: Db, who: Known, format: ExportForm = "json") -> Response:
    """One row for each pairing, as JSON or CSV."""
    found = permissions.visible_batch(conn, who, batch)
    results = batches.read_results(conn, found.id)
    if format == "csv":
        return Response(results_csv(results), media_type="text/csv; charset=utf-8")
    rows = [BatchCellOut.model_validate(cell).model_dump(mode="json") for cell in results.cells]
    return JSONResponse(rows)


@router.post(
    "/scrim-batches/{batch}/cancel",
    summary="Cancel a batch of scrims",
    responses=problem_responses(403, 404),
)
def cancel_batch(batch: BatchKey, conn: Db, who: Scrimmer) -> BatchDetail:
    """Stops unfinished games. The daily limit gets back those that never ran. Finished ones
    stay."""
    found = permissions.own_batch(conn, who, batch)
    return batch_detail(conn, who, batches.cancel_batch(conn, found.id))


def batch_detail(conn: Connection, who: Viewer, found: Batch) -> BatchDetail:
    results: BatchResults = batches.read_results(conn, found.id)
    detail = BatchDetail(
        **BatchOut.model_validate(found).model_dump(),
        games=results.games,
        finished_games=results.finished_games,
        void_games=results.void_games,
        seconds_left=results.seconds_left,
        cells=[BatchCellOut.model_validate(cell) for cell in results.cells],
        totals=[BatchTotalOut.model_validate(one) for one in results.totals()],
    )
    if not permissions.may_see_requester(who, found.team_id):
        detail.requested_by = None
    return detail
