"""The page on which a team says which machines may run its agent."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, ValidationError

from ladder.entries import agents
from ladder.entries.records import Agent
from ladder.enums import AgentMachines
from ladder.people.records import Viewer
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Known, Writer
from services.http.path_parameters import AgentKey
from services.web import form_texts, forms
from services.web.account import redirect
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class MachinesForm(BaseModel):
    model_config = ConfigDict(extra="forbid")
    machines: AgentMachines


@router.get("/agents/{agent}/machines")
def show_machines(request: Request, agent: AgentKey, conn: Db, viewer: Known) -> Response:
    """Shows the choice to the agent's team."""
    own = permissions.own_agent(conn, viewer, agent)
    return machines_page(request, viewer, own, Form({"machines": own.machines}))


@router.post("/agents/{agent}/machines")
def choose_machines(
    request: Request, agent: AgentKey, conn: Db, viewer: Writer, sent: forms.Sent
) -> Response:
    """Changes the choice, as the API does."""
    own = permissions.own_agent(conn, viewer, agent)
    form = Form.of(sent, {"machines": own.machines})
    try:
        choice = MachinesForm.model_validate(form.values)
    except ValidationError as error:
        form.add_errors(error)
        return machines_page(request, viewer, own, form)
    with conn.transaction():
        agents.update_agent(conn, own.id, machines=choice.machines)
    return redirect(f"/agents/{own.id}")


def machines_page(request: Request, viewer: Viewer, agent: Agent, form: Form) -> Response:
    return render(
        request,
        "agent_machines.html",
        status=422 if form.wrong else 200,
        agent=agent,
        form=form,
        choices=[*form_texts.AGENT_MACHINES.items()],
        may="agents:write" in viewer.scopes or viewer.is_admin,
    )
