"""Who reads notices, and the new channel of a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Request, Security
from fastapi.security import SecurityScopes

from egress.address import Address
from ladder.errors import Invalid
from ladder.ids import UserId
from ladder.notices import channels
from ladder.notices.channels import NewChannel
from ladder.notices.kinds import Form
from ladder.people import users
from ladder.people.records import Viewer
from services.http.app_state import State, app_state_of, transaction
from services.http.attempt_limits import Limits
from services.http.auth import Credentials, check_scopes, require_full_token, viewer_of_request


def user_of(viewer: Viewer) -> UserId:
    """The caller's user; ``Known`` has refused strangers."""
    assert viewer.user_id is not None
    return viewer.user_id


@dataclass(frozen=True, slots=True)
class ChannelPlan:
    """Who makes a channel, and its checked address; None for mail."""

    viewer: Viewer
    address: Address | None


def plan_channel(
    body: NewChannel, request: Request, scopes: SecurityScopes, credentials: Credentials
) -> ChannelPlan:
    """Checks person and address. Waits for DNS without a connection to the database."""
    app_state = app_state_of(request)
    with transaction(app_state) as conn:
        viewer = check_scopes(viewer_of_request(request, conn, credentials), scopes.scopes)
        require_full_token(request, conn, viewer, credentials)
    return ChannelPlan(viewer, checked_address(app_state, viewer, body))


def checked_address(app_state: State, viewer: Viewer, channel: NewChannel) -> Address | None:
    """The address of a new channel, if the guard permits it; None for mail. Raises Invalid.

    Raises Forbidden for a token with few scopes: a channel outlives the token. Counts the attempt
    before DNS is asked; raises ProblemError above the limit.
    """
    with transaction(app_state) as conn:
        users.require_all_scopes(conn, viewer)
    app_state.attempts.count_of_person(user_of(viewer), Limits.CHANNEL)
    if channel.form is not Form.MAIL:
        return channels.check_address(channel.address, channels.egress_rules(app_state.settings))
    if app_state.mailer is None:
        raise Invalid("form", "choose another form: this site sends no mail")
    return None


PlannedChannel = Annotated[ChannelPlan, Security(plan_channel, scopes=["agents:write"])]
