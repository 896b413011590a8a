"""The page of machines that joined, for administrators."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from ladder.enums import MachineTier
from ladder.machines import machines
from services.http.app_state import AppState, Db
from services.http.auth import Admin
from services.web import form_texts
from services.web.operation_forms import NoForms, OperationForm
from services.web.page_rendering import PageRoute, render

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/admin/machines")
def machines_page(
    request: Request, conn: Db, app_state: AppState, viewer: Admin, forms: NoForms
) -> Response:
    """Shows the machines that joined, and the forms to act on them."""
    settings = app_state.settings
    rows = machines.list_machines(conn)
    refused = request.path_params.get("machine")
    trust_forms = {}
    for machine in rows:
        form = OperationForm.named("trust_machine")
        form.values = {"tier": machine.tier, "owner": machine.owner_name or ""}
        if forms.refused is forms["trust_machine"] and refused in (machine.id, machine.name):
            form = forms["trust_machine"]
        form.choices["tier"] = [
            (tier.value, form_texts.MACHINE_TIERS[tier.value]) for tier in MachineTier
        ]
        trust_forms[machine.id] = form
    return render(
        request,
        "machines/machines.html",
        status=forms.status,
        machines=rows,
        forms=forms,
        trust_forms=trust_forms,
        slots=sum(machine.slots for machine in rows),
        running=sum(machine.running for machine in rows),
        is_set_up=bool(settings.machine_database_url and settings.machine_redis_url),
    )
