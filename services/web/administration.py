"""Pages of administrators: people, settings of the instance, and the audit log."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError

from ladder.database.db import Connection
from ladder.entries import blocked_accounts
from ladder.entries.blocked_accounts import AccountBlock
from ladder.errors import LadderError, NotFound
from ladder.field_types import KEY, RequestModel
from ladder.ids import SessionId, TokenId, UserId
from ladder.leagues.sign_up import SignUpMode
from ladder.people import (
    administration,
    confirmation,
    instance_settings,
    quotas,
    recovery,
    sessions,
)
from ladder.people import tokens as people_tokens
from ladder.people.instance_settings import QUOTA, SIGN_UP
from ladder.people.records import Viewer
from ladder.people.users import teams_of
from services.http import auth
from services.http.app_state import AppState, Db, State
from services.http.path_parameters import UserKey
from services.people.records import NewRecoveryLink, Quota
from services.web import form_texts, formatting, forms
from services.web.account import redirect
from services.web.forms import Form
from services.web.page_rendering import PageRoute, render
from services.web.session import Visitor
from services.web.sharing import site_address

router = APIRouter(route_class=PageRoute, include_in_schema=False)
PEOPLE_SHOWN: Final = 50
ACTS_SHOWN: Final = 50
BLOCK_FORM: Final = {"reason": ""}
DEFAULT: Final = ""


class SettingsForm(RequestModel):
    """Empty values go back to the default."""

    sign_up: SignUpMode | None
    quota: dict[str, Quota | None]


def require_admin(request: Request, who: Viewer) -> Response | None:
    """The way to the sign-in for an anonymous visitor. Raises ProblemError for other people."""
    if who.user_id is None:
        return redirect(formatting.sign_in_address(request.url.path))
    auth.check_scopes(who, ["admin"])
    return None


@router.get("/admin")
def show_people(
    request: Request,
    conn: Db,
    who: Visitor,
    q: Annotated[str, Query(max_length=60)] = "",
    after: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows the people whose name contains the text."""
    if (elsewhere := require_admin(request, who)) is not None:
        return elsewhere
    text = q.replace("\0", "")
    rows = administration.search_accounts(
        conn, text, UserId(after) if after else None, PEOPLE_SHOWN
    )
    more = rows[-1].id if len(rows) == PEOPLE_SHOWN else None
    return render(request, "admin_people.html", people=rows, q=text, more=more)


@router.get("/admin/users/{user}")
def show_person(request: Request, user: UserKey, conn: Db, who: Visitor) -> Response:
    """Shows a person's teams, sessions and tokens, and the forms to act."""
    if (elsewhere := require_admin(request, who)) is not None:
        return elsewhere
    return person_page(request, conn, who, UserId(user))


@router.post("/admin/users/{user}/{act}")
def act_on_person(
    request: Request,
    user: UserKey,
    act: Literal[
        "block", "unblock", "end-session", "end-sessions", "revoke-token", "recovery-link"
    ],
    conn: Db,
    who: Visitor,
    given: forms.Sent,
) -> Response:
    """Acts as the API does. Asks the administrator to confirm first."""
    if (elsewhere := require_admin(request, who)) is not None:
        return elsewhere
    confirmation.require_recent_confirmation(conn, who, request.state.session_id)
    person, form = UserId(user), Form.of(given, BLOCK_FORM)
    subject = forms.parse_key(given, "subject")
    secret = None
    try:
        with conn.transaction():
            if act == "block":
                block = AccountBlock.model_validate(form.values)
                blocked_accounts.block_account(conn, who, person, block.reason)
            elif act == "unblock":
                blocked_accounts.unblock_account(conn, who, person, "unblocked")
            elif act == "end-session":
                administration.end_session(conn, who, person, SessionId(subject))
            elif act == "end-sessions":
                administration.end_all_sessions(conn, who, person)
            elif act == "recovery-link":
                asked = NewRecoveryLink.model_validate(form.values)
                _, secret, _ = recovery.create_administrator_link(
                    conn, person, by=who.user_id, reason=asked.reason
                )
            else:
                administration.revoke_token_of(conn, who, person, TokenId(subject))
    except NotFound:
        raise
    except (ValidationError, LadderError) as error:
        form.add_errors(error)
        return person_page(request, conn, who, person, form, act=act)
    if secret is not None:
        return person_page(request, conn, who, person, link=f"/recover/{secret}")
    return redirect(f"/admin/users/{user}")


def person_page(
    request: Request,
    conn: Connection,
    who: Viewer,
    user_id: UserId,
    form: Form | None = None,
    *,
    act: str = "",
    link: str | None = None,
) -> Response:
    """The page of one person, with the errors of the refused form of an act, or a new link."""
    found = administration.get_account(conn, user_id)
    if found is None:
        raise NotFound.of("user")
    return render(
        request,
        "admin_person.html",
        status=422 if form and form.wrong else 200,
        person=found,
        teams=teams_of(conn, user_id),
        sessions=sessions.list_sessions(conn, user_id),
        tokens=[one for one in people_tokens.list_tokens(conn, user_id) if not one.revoked_at],
        form=form if form and act == "block" else Form(dict(BLOCK_FORM)),
        link_form=form if form and act == "recovery-link" else Form({"why": ""}),
        link=f"{site_address(request)}{link}" if link else None,
        is_self=user_id == who.user_id,
    )


@router.get("/admin/settings")
def show_settings(request: Request, conn: Db, app_state: AppState, who: Visitor) -> Response:
    """Shows who may sign up, and the quotas."""
    if (elsewhere := require_admin(request, who)) is not None:
        return elsewhere
    return settings_page(request, conn, app_state)


@router.post("/admin/settings")
def change_settings(
    request: Request, conn: Db, app_state: AppState, who: Visitor, given: forms.Sent
) -> Response:
    """Changes what differs from the present values. Asks the administrator to confirm first."""
    if (elsewhere := require_admin(request, who)) is not None:
        return elsewhere
    confirmation.require_recent_confirmation(conn, who, request.state.session_id)
    present = settings_values(conn)
    form = Form.of(given, present)
    try:
        asked = SettingsForm.model_validate(
            forms.nest_names({name: value or None for name, value in form.values.items()})
        )
        wished: dict[str, Any] = {SIGN_UP: asked.sign_up}
        wished |= {f"{QUOTA}{name}": allowed for name, allowed in asked.quota.items()}
        with conn.transaction():
            for name, value in wished.items():
                if form.values[name] != present[name]:
                    instance_settings.change_setting(conn, who, name, value)
    except (ValidationError, LadderError) as error:
        form.add_errors(error)
        return settings_page(request, conn, app_state, form)
    return redirect("/admin/settings")


def settings_values(conn: Connection) -> dict[str, str]:
    """The form's values: what administrators chose, empty where the default counts."""
    chosen = instance_settings.read_settings(conn)
    names = [SIGN_UP, *(f"{QUOTA}{name}" for name in quotas.default_quotas())]
    return {name: str(chosen.get(name, DEFAULT)) for name in names}


def settings_page(
    request: Request, conn: Connection, app_state: State, form: Form | None = None
) -> Response:
    """The page, with the errors of a refused form."""
    default = app_state.settings.sign_up
    return render(
        request,
        "admin_settings.html",
        status=422 if form and form.wrong else 200,
        form=form or Form(settings_values(conn)),
        modes=[
            (DEFAULT, form_texts.SIGN_UP_DEFAULT.format(default)),
            *((mode.value, form_texts.SIGN_UP_MODES[mode.value]) for mode in SignUpMode),
        ],
        quotas=[
            (f"{QUOTA}{name}", form_texts.QUOTAS.get(name, name), allowed)
            for name, allowed in quotas.default_quotas().items()
        ],
        is_local=default == "local" and not settings_values(conn)[SIGN_UP],
    )


@router.get("/admin/audits")
def show_audits(
    request: Request,
    conn: Db,
    who: Visitor,
    after: Annotated[str | None, Query(pattern=KEY)] = None,
) -> Response:
    """Shows the acts on accounts, on settings and in all leagues."""
    if (elsewhere := require_admin(request, who)) is not None:
        return elsewhere
    rows = administration.list_all_audits(conn, after=after, limit=ACTS_SHOWN)
    more = rows[-1].id if len(rows) == ACTS_SHOWN else None
    return render(request, "admin_audits.html", acts=rows, more=more)
