"""Policies of agents for scrims, and the opponents that a team may play."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from ladder.field_types import KEY
from ladder.ids import TeamId
from ladder.leagues.records import Season
from ladder.scrims import policies
from ladder.scrims.policies import Opponent
from ladder.scrims.request_models import ScrimPolicyBody, policy_body
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Known, Writer
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page
from services.http.path_parameters import AgentKey, SeasonKey
from services.http.problems import problem_responses
from services.http.scrim_access import policy_of_body, season_of_agent

router = APIRouter(prefix="/v1", tags=["scrims"], route_class=LazyRoute)
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
