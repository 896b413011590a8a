"""The page on which a team says which machines may run its agent."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, ValidationError

from ladder.entries import agents
from ladder.entries.records import Agent
from ladder.enums import MachineTier
from ladder.people.records import Viewer
from services.http import auth, permissions
from services.http.app_state import Db
from services.http.path_parameters import AgentKey
from services.web import form_texts, formatting, forms
from services.web.account import redirect
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class MachinesForm(BaseModel):
    model_config = ConfigDict(extra="forbid")
    machine_tier: MachineTier


@router.get("/agents/{agent}/machines")
def show_machines(request: Request, agent: AgentKey, conn: Db, who: Visitor) -> Response:
    """Shows the choice to the agent's team."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address(f"/agents/{agent}/machines"))
    found = permissions.own_agent(conn, who, agent)
    return machines_page(request, who, found, Form({"machine_tier": found.machine_tier}))


@router.post("/agents/{agent}/machines")
def choose_machines(
    request: Request, agent: AgentKey, conn: Db, who: Visitor, given: forms.Sent
) -> Response:
    """Changes the choice, as the API does."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address(f"/agents/{agent}/machines"))
    auth.check_scopes(who, ["agents:write"])
    found = permissions.own_agent(conn, who, agent)
    form = Form.of(given, {"machine_tier": found.machine_tier})
    try:
        asked = MachinesForm.model_validate(form.values)
    except ValidationError as error:
        form.add_errors(error)
        return machines_page(request, who, found, form)
    with conn.transaction():
        agents.update_agent(conn, found.id, machine_tier=asked.machine_tier)
    return redirect(f"/agents/{found.id}")


def machines_page(request: Request, who: Viewer, agent: Agent, form: Form) -> Response:
    return render(
        request,
        "agent_machines.html",
        status=422 if form.wrong else 200,
        agent=agent,
        form=form,
        tiers=[(tier.value, form_texts.AGENT_MACHINES[tier.value]) for tier in MachineTier],
        may="agents:write" in who.scopes or who.is_admin,
    )
