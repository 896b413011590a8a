"""The page on which a team says whom its agent plays in scrims."""

from __future__ import annotations

import re
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from ladder.database.db import Connection
from ladder.entries.records import Agent
from ladder.errors import LadderError
from ladder.ids import TeamId
from ladder.people import users
from ladder.people.records import Viewer
from ladder.scrims import policies
from ladder.scrims.policies import ScrimPolicy
from ladder.scrims.request_models import ScrimPolicyBody
from services.http import auth, permissions, scrim_access
from services.http.app_state import Db
from services.http.path_parameters import AgentKey
from services.http.problems import ProblemError
from services.web import formatting, forms
from services.web.account import redirect
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
TEAMS: Final = ("teams", "blocked_teams")


@router.get("/agents/{agent}/scrim-policy")
def show_policy(request: Request, agent: AgentKey, conn: Db, who: Visitor) -> Response:
    """Shows the policy to the agent's team."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address(f"/agents/{agent}/scrim-policy"))
    found = permissions.own_agent(conn, who, agent)
    policy = policies.get_policy(conn, found.id)
    return policy_page(request, who, found, Form(values_of(conn, policy)))


@router.post("/agents/{agent}/scrim-policy")
def set_policy(
    request: Request, agent: AgentKey, conn: Db, who: Visitor, given: forms.Sent
) -> Response:
    """Replaces the policy, as the API does."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address(f"/agents/{agent}/scrim-policy"))
    auth.check_scopes(who, ["agents:write"])
    found = permissions.own_agent(conn, who, agent)
    form = Form.of(given, values_of(conn, ScrimPolicy()))
    try:
        body = ScrimPolicyBody.model_validate(body_of_form(form))
        policy = scrim_access.policy_of_body(conn, who, body)
        with conn.transaction():
            policies.set_policy(conn, found, policy)
    except (ValidationError, ProblemError, LadderError) as error:
        form.add_errors(error)
        return policy_page(request, who, found, form)
    return redirect(f"/agents/{found.id}")


def values_of(conn: Connection, policy: ScrimPolicy) -> dict[str, str]:
    """The fields of the form."""
    return {
        "whom": policy.whom,
        "teams": _slugs(conn, policy.team_ids),
        "blocked_teams": _slugs(conn, policy.blocked_team_ids),
        "games_daily": "" if policy.games_daily is None else str(policy.games_daily),
        "accepts_automatically": "true" if policy.accepts_automatically else "",
    }


def body_of_form(form: Form) -> dict[str, Any]:
    """The request of the API. Leaves wrong texts as they are, for the message of their field."""
    values: dict[str, Any] = {name: value or None for name, value in form.values.items()}
    for name in TEAMS:
        values[name] = re.split(r"[\s,]+", values[name]) if values[name] else []
    values["accepts_automatically"] = bool(values["accepts_automatically"])
    return values


def policy_page(request: Request, who: Viewer, agent: Agent, form: Form) -> Response:
    return render(
        request,
        "scrim_policy.html",
        status=422 if form.wrong else 200,
        agent=agent,
        form=form,
        may="agents:write" in who.scopes or who.is_admin,
    )


def _slugs(conn: Connection, team_ids: frozenset[TeamId]) -> str:
    return " ".join(sorted(users.get_team(conn, team_id).slug for team_id in team_ids))
