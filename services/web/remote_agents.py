"""Actions for remote agents on their pages: submit an address, resume a paused entry."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from ladder.entries import remote_agents as entries_remote_agents
from ladder.entries.request_models import NewRemote
from ladder.errors import Invalid, LadderError
from services.http import auth, permissions, remote_agents
from services.http.app_state import AppState, Db
from services.http.body_limits import arrival_of
from services.http.path_parameters import AgentKey
from services.http.problems import ProblemError
from services.web import agents, form_texts, forms, remote_submission
from services.web.account import redirect
from services.web.forms import Form
from services.web.page_rendering import PageRoute
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.post("/agents/{agent}/remotes")
def submit_remote_agent(
    request: Request,
    agent: AgentKey,
    conn: Db,
    app_state: AppState,
    who: Visitor,
    given: forms.Sent,
) -> Response:
    """Submits an address and enters it, as the API does."""
    found = permissions.visible_agent(conn, who, agent)
    auth.check_scopes(who, ["agents:write"])
    form = Form.of(given, remote_submission.FIELDS)
    season = forms.parse_key(given, "season")
    try:
        if not season:
            raise Invalid("season", form_texts.CHOOSE_SEASON)
        body = NewRemote.model_validate(
            {name: form.values[name] for name in ("url", "api", "message")}
        )
        agent_id, into = remote_agents.agent_and_season(
            conn, who, found.id, season, arrival_of(request)
        )
        form.run_once(
            request,
            conn,
            who,
            lambda: remote_agents.submit_remote_agent(conn, app_state, who, body, agent_id, into),
        )
    except (ValidationError, LadderError, ProblemError) as error:
        form.add_errors(error)
        return agents.agent_page(request, conn, app_state, who, found, remote=form)
    return redirect(f"/agents/{found.id}#submissions")


@router.post("/agents/{agent}/resume")
def resume_entry(
    request: Request,
    agent: AgentKey,
    conn: Db,
    app_state: AppState,
    who: Visitor,
    given: forms.Sent,
) -> Response:
    """Tries a paused entry now, as the API does."""
    found = permissions.visible_agent(conn, who, agent)
    auth.check_scopes(who, ["agents:write"])
    try:
        with conn.transaction():
            entry = permissions.own_entry(conn, who, forms.parse_key(given, "entry"))
            entries_remote_agents.retry_paused_entry(conn, entry.id)
    except LadderError as error:
        return agents.agent_page(request, conn, app_state, who, found, unresumed=str(error))
    return redirect(f"/agents/{found.id}#submissions")
