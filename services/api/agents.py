"""Agents: named competitors of a team."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.entries import agents
from ladder.entries.request_models import NewAgent
from ladder.enums import AgentMachines
from ladder.field_types import Name
from ladder.ids import AgentId
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Anyone, Writer
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.path_parameters import AgentKey, Filter
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["agents"], route_class=LazyRoute)


class AgentOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["age_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    team_id: str
    team_name: str
    slug: str = Field(examples=["flood"])
    name: str = Field(examples=["Flood"])
    machines: AgentMachines = Field(description="which may run it; shown to everybody")
    created_at: datetime


class AgentChange(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: Name | None = None
    machines: AgentMachines | None = None


@router.post(
    "/agents",
    status_code=201,
    summary="Create an agent",
    response_model=AgentOut,
    responses=problem_responses(403, 404, 409, 429),
)
def create_agent(body: NewAgent, conn: Db, who: Writer, once: Idempotent) -> Response:
    """Creates an agent of your own team."""
    team = permissions.team_to_act_for(conn, who, body.team)

    def create() -> AgentOut:
        return AgentOut.model_validate(
            agents.create_named_agent(conn, team.id, body.name, body.slug)
        )

    return once.run(create)


@router.get("/agents", summary="List agents", responses=problem_responses(404))
def list_agents(conn: Db, who: Anyone, span: Paging, team: Filter = None) -> Page[AgentOut]:
    """Lists agents of your teams, and agents that play in leagues you may see."""
    rows = agents.list_agents(
        conn,
        viewer=who,
        team_id=permissions.visible_team(conn, who, team).id if team else None,
        after=AgentId(span.after) if span.after else None,
        limit=span.limit,
    )
    return span.page(rows, lambda row: row.id, AgentOut.model_validate)


@router.get("/agents/{agent}", summary="Read an agent", responses=problem_responses(404))
def read_agent(agent: AgentKey, conn: Db, who: Anyone) -> AgentOut:
    """Answers 404 if the agent plays only in leagues hidden from the caller."""
    return AgentOut.model_validate(permissions.visible_agent(conn, who, agent))


@router.patch(
    "/agents/{agent}", summary="Change an agent", responses=problem_responses(403, 404, 409)
)
def change_agent(agent: AgentKey, body: AgentChange, conn: Db, who: Writer) -> AgentOut:
    """Changes its name, or the machines that may run it."""
    agent_id = permissions.own_agent(conn, who, agent).id
    changed = agents.update_agent(conn, agent_id, **body.model_dump(exclude_none=True))
    return AgentOut.model_validate(changed)


@router.delete(
    "/agents/{agent}",
    status_code=204,
    summary="Delete an agent without submissions",
    responses=problem_responses(403, 404, 409),
)
def delete_agent(agent: AgentKey, conn: Db, who: Writer) -> None:
    """Deletes an agent of your own team that has no submissions."""
    agents.delete_agent(conn, permissions.own_agent(conn, who, agent).id)
