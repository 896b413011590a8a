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
from ladder.scrims import agent_policies
from ladder.scrims.policies import ScrimPolicy, clock_text
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
UNITS: Final = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
TEAMS: Final = ("teams", "blocked_teams")


@router.get("/agents/{agent}/scrim-policy")
def show_policy(request: Request, agent: AgentKey, conn: Db, who: Visitor) -> Response:
    """Shows the policy to the agent's team."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address(f"/agents/{agent}/scrim-policy"))
    found = permissions.own_agent(conn, who, agent)
    policy = agent_policies.get_policy(conn, found.id)
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
            agent_policies.set_policy(conn, found, policy)
    except (ValidationError, ProblemError, LadderError) as error:
        form.add_errors(error)
        return policy_page(request, who, found, form)
    return redirect(f"/agents/{found.id}")


def values_of(conn: Connection, policy: ScrimPolicy) -> dict[str, str]:
    """The fields of the form. The cool-down has the largest unit that fits."""
    unit = next(
        name
        for name, length in reversed(UNITS.items())
        if policy.cooldown_seconds % length == 0 or length == 1
    )
    unit = unit if policy.cooldown_seconds else "hours"
    begin, end = policy.from_minute, policy.until_minute
    return {
        "whom": policy.whom,
        "teams": _slugs(conn, policy.team_ids),
        "blocked_teams": _slugs(conn, policy.blocked_team_ids),
        "rating_within": "" if policy.rating_within is None else f"{policy.rating_within:g}",
        "games_daily": "" if policy.games_daily is None else str(policy.games_daily),
        "games_per_team_daily": str(policy.games_per_team_daily),
        "cooldown_seconds": f"{policy.cooldown_seconds / UNITS[unit]:g}",
        "cooldown_unit": unit,
        "hours_from": "" if begin is None else clock_text(begin),
        "hours_until": "" if end is None else clock_text(end),
        "accepts_automatically": "true" if policy.accepts_automatically else "",
    }


def body_of_form(form: Form) -> dict[str, Any]:
    """The request of the API. Leaves wrong texts as they are, for the message of their field."""
    values: dict[str, Any] = {name: value or None for name, value in form.values.items()}
    unit = UNITS.get(values.pop("cooldown_unit") or "", 1)
    for name in TEAMS:
        values[name] = re.split(r"[\s,]+", values[name]) if values[name] else []
    text = values["cooldown_seconds"] or "0"
    if re.fullmatch(r"\d{1,9}(\.\d{1,3})?", text):
        text = str(round(float(text) * unit))
    values["cooldown_seconds"] = text
    values["accepts_automatically"] = bool(values["accepts_automatically"])
    return values


def policy_page(request: Request, who: Viewer, agent: Agent, form: Form) -> Response:
    return render(
        request,
        "scrim_policy.html",
        status=422 if form.wrong else 200,
        agent=agent,
        form=form,
        units=UNITS,
        may="agents:write" in who.scopes or who.is_admin,
    )


def _slugs(conn: Connection, team_ids: frozenset[TeamId]) -> str:
    return " ".join(sorted(users.get_team(conn, each).slug for each in team_ids))
