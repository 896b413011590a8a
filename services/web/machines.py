"""The page of machines that joined, for administrators."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ladder.database.db import Connection
from ladder.enums import MachineTier
from ladder.errors import LadderError, NotFound
from ladder.field_types import Line
from ladder.machines import machines
from ladder.people import confirmation, users
from ladder.people.records import Viewer
from services.http.app_state import AppState, Db, State
from services.http.machines import change_redis_user, delete_redis_user
from services.http.path_parameters import MachineKey
from services.web import form_texts, forms
from services.web.account import redirect
from services.web.administration import require_admin
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor

router = APIRouter(route_class=PageRoute, include_in_schema=False)
TRUST_FORM: Final = {"tier": "", "owner": ""}


class TrustForm(BaseModel):
    """Without an owner a trusted machine is the site's own."""

    model_config = ConfigDict(extra="forbid")
    tier: MachineTier
    owner: Annotated[Line, Field(min_length=1)] | None


@router.get("/admin/machines")
def show_machines(request: Request, conn: Db, app_state: AppState, who: Visitor) -> Response:
    """Shows the machines that joined."""
    if (elsewhere := require_admin(request, who)) is not None:
        return elsewhere
    return machines_page(request, conn, app_state)


@router.post("/admin/machines/{machine}/{act}")
def act_on_machine(
    request: Request,
    machine: MachineKey,
    act: Literal["drain", "resume", "revoke", "trust"],
    conn: Db,
    app_state: AppState,
    who: Visitor,
    given: forms.Sent,
) -> Response:
    """Acts as the API does. Asks the administrator to confirm first."""
    if (elsewhere := require_admin(request, who)) is not None:
        return elsewhere
    confirmation.require_recent_confirmation(conn, who, request.state.session_id)
    form = Form.of(given, TRUST_FORM)
    try:
        with conn.transaction():
            changed = act_as(conn, who, machine, act, form)
    except NotFound:
        raise
    except (ValidationError, LadderError) as error:
        form.add_errors(error)
        return machines_page(request, conn, app_state, form, machine)
    if act == "revoke":
        delete_redis_user(app_state.settings.redis_url, changed.login)
    elif act == "trust":
        change_redis_user(conn, app_state.settings.redis_url, changed.login)
    return redirect("/admin/machines")


def act_as(conn: Connection, who: Viewer, machine: str, act: str, form: Form) -> machines.Machine:
    """Does the act. Raises NotFound, ValidationError, LadderError."""
    if act == "revoke":
        return machines.revoke(conn, who, machine)[0]
    if act == "trust":
        asked = TrustForm.model_validate({**form.values, "owner": form.values["owner"] or None})
        return machines.trust(conn, who, machine, asked.tier, users.find_owner(conn, asked.owner))
    return machines.drain(conn, who, machine, is_drained=act == "drain")


def machines_page(
    request: Request,
    conn: Connection,
    app_state: State,
    form: Form | None = None,
    machine: str = "",
) -> Response:
    """The page, with the errors of the refused form of a machine."""
    settings = app_state.settings
    rows = machines.list_machines(conn)
    return render(
        request,
        "admin_machines.html",
        status=422 if form and form.wrong else 200,
        machines=[
            (
                one,
                form
                if form and machine in (one.id, one.name)
                else Form({"tier": one.tier, "owner": one.owner_name or ""}),
            )
            for one in rows
        ],
        slots=sum(one.slots for one in rows),
        running=sum(one.running for one in rows),
        tiers=[(tier.value, form_texts.MACHINE_TIERS[tier.value]) for tier in MachineTier],
        is_set_up=bool(settings.machine_database_url and settings.machine_redis_url),
    )
