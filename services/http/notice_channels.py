"""Making a channel, for API and page. Asks the guard about the address outside transactions."""

from __future__ import annotations

from egress.address import Address
from ladder.database.db import Connection
from ladder.errors import Invalid
from ladder.ids import UserId
from ladder.notices import channels
from ladder.notices.channels import Channel
from ladder.notices.kinds import Form
from ladder.notices.webhook_address import check_address, rules_of
from ladder.people import users
from ladder.people.records import Viewer
from services.http.app_state import State, transaction
from services.http.attempt_limits import Limits


def check_channel(app_state: State, who: Viewer, form: Form, url: str) -> Address | None:
    """The address, if the guard permits it; None for mail. Raises Invalid.

    Raises Forbidden for a token with few scopes: a channel outlives the token. Counts the attempt
    before DNS is asked; raises ProblemError above the limit.
    """
    assert who.user_id is not None
    with transaction(app_state) as conn:
        users.require_all_scopes(conn, who)
    app_state.attempts.count_of_person(who.user_id, Limits.CHANNEL)
    if form is Form.MAIL:
        if app_state.mailer is None:
            raise Invalid("form", "choose another form: this site sends no mail")
        return None
    return check_address(url, rules_of(app_state.settings))


def make_channel(
    conn: Connection, user_id: UserId, form: Form, address: Address | None, mail_minutes: int
) -> tuple[Channel, str]:
    """Makes the channel and sends a test to it; returns it with its secret, if it has one."""
    secret = ""
    if address is None:
        made = channels.create_mail_channel(conn, user_id, mail_minutes)
    else:
        made, secret = channels.create_channel(conn, user_id, form, address)
    channels.send_test(conn, user_id, made.id)
    return channels.get_channel(conn, user_id, made.id), secret
