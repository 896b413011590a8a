"""Pages of administrators: people, settings of the instance, and the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import create_model

from ladder.database.db import Connection
from ladder.errors import NotFound
from ladder.field_types import KEY, RequestModel
from ladder.ids import UserId
from ladder.leagues.sign_up import SignUpMode
from ladder.people import administration, quotas, sessions, tokens
from ladder.people.administration import AccountRow
from ladder.people.quotas import QUOTA, SIGN_UP
from ladder.people.users import teams_of
from services.http.app_state import AppState, Db
from services.http.auth import Admin
from services.http.path_parameters import UserKey
from services.people.records import InstanceSettingsChange, Quota, RecoveryLink
from services.web import form_texts
from services.web.operation_forms import NoForms
from services.web.page_rendering import PageRoute, render
from services.web.sharing import site_address

router = APIRouter(route_class=PageRoute, include_in_schema=False)
PEOPLE_SHOWN: Final = 50
ACTS_SHOWN: Final = 50
After = Annotated[str | None, Query(pattern=KEY)]


class ChangedSettings(RequestModel):
    """Changes what differs from the present values. An empty field goes back to the default."""

    sign_up: SignUpMode | None = None

    def request(self, values: Mapping[str, Any]) -> InstanceSettingsChange:
        present = chosen_settings(values["conn"])
        changed = {
            name: value for name, value in self.model_dump().items() if value != present[name]
        }
        sign_up = {name: changed.pop(name) for name in ("sign_up",) if name in changed}
        return InstanceSettingsChange(**sign_up, quotas=changed)


QUOTA_FIELDS: Final[dict[str, Any]] = {
    name: (Quota | None, None) for name in quotas.default_quotas()
}
SettingsForm = create_model("SettingsForm", __base__=ChangedSettings, **QUOTA_FIELDS)


def chosen_settings(conn: Connection) -> dict[str, Any]:
    """What administrators chose; None where the default counts."""
    chosen = quotas.read_settings(conn)
    allowed = {name: chosen.get(f"{QUOTA}{name}") for name in quotas.default_quotas()}
    return {"sign_up": chosen.get(SIGN_UP), **allowed}


def account_in_address(user: UserKey, conn: Db, viewer: Admin) -> AccountRow:
    account = administration.get_account(conn, UserId(user))
    if account is None:
        raise NotFound.of("user")
    return account


Account = Annotated[AccountRow, Depends(account_in_address)]


@router.get("/admin")
def show_people(
    request: Request,
    conn: Db,
    viewer: Admin,
    q: Annotated[str, Query(max_length=60)] = "",
    after: After = None,
) -> Response:
    """Shows the people whose name contains the text."""
    text = q.replace("\0", "")
    rows = administration.search_accounts(
        conn, text, UserId(after) if after else None, PEOPLE_SHOWN
    )
    more = rows[-1].id if len(rows) == PEOPLE_SHOWN else None
    return render(request, "people/people.html", people=rows, q=text, more=more)


@router.get("/admin/users/{user}")
def person_page(
    request: Request, conn: Db, viewer: Admin, account: Account, forms: NoForms
) -> Response:
    """Shows a person's teams, sessions and tokens, and the forms to act. Names a new link once."""
    link = forms.answer if isinstance(forms.answer, RecoveryLink) else None
    listed = tokens.list_tokens(conn, account.id)
    return render(
        request,
        "people/person.html",
        status=forms.status,
        person=account,
        teams=teams_of(conn, account.id),
        sessions=sessions.list_sessions(conn, account.id),
        tokens=[token for token in listed if not token.revoked_at],
        forms=forms,
        link=f"{site_address(request)}{link.path}" if link else None,
        is_self=account.id == viewer.user_id,
    )


@router.get("/admin/settings")
def settings_page(
    request: Request, conn: Db, app_state: AppState, viewer: Admin, forms: NoForms
) -> Response:
    """Shows who may sign up, and the quotas."""
    default = app_state.settings.sign_up
    present = chosen_settings(conn)
    form = forms["change_instance_settings"]
    if forms.refused is None:
        form.values |= {
            name: "" if value is None else str(value) for name, value in present.items()
        }
    return render(
        request,
        "people/settings.html",
        status=forms.status,
        form=form,
        modes=[
            ("", form_texts.SIGN_UP_DEFAULT.format(default)),
            *((mode.value, form_texts.SIGN_UP_MODES[mode.value]) for mode in SignUpMode),
        ],
        quotas=[
            (name, form_texts.QUOTAS.get(name, name), allowed)
            for name, allowed in quotas.default_quotas().items()
        ],
        is_local=default == "local" and not present[SIGN_UP],
    )


@router.get("/admin/audits")
def show_audits(request: Request, conn: Db, viewer: Admin, after: After = None) -> Response:
    """Shows the acts on accounts, on settings and in all leagues."""
    rows = administration.list_all_audits(conn, after=after, limit=ACTS_SHOWN)
    more = rows[-1].id if len(rows) == ACTS_SHOWN else None
    return render(request, "people/audits.html", acts=rows, more=more)
