"""The people in addresses, as far as the viewer may act for them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from ladder.errors import Forbidden
from ladder.ids import UserId
from ladder.people import users
from ladder.people.records import User
from services.http.app_state import Db
from services.http.auth import FullAdmin, Known, is_page
from services.http.path_parameters import UserKey
from services.http.problems import ProblemError


def own_or_any_user(user: UserKey, conn: Db, viewer: Known) -> User:
    user_id = UserId(str(viewer.user_id) if user == "me" else user)
    if user_id != viewer.user_id and not viewer.is_admin:
        raise ProblemError("not-found", "No such user, or not you.")
    return users.get_user(conn, user_id)


def no_other_administrator(request: Request, user: UserKey, conn: Db, viewer: FullAdmin) -> User:
    """By a token, nobody takes over another administrator's account."""
    person = users.get_user(conn, UserId(user))
    if person.is_admin and person.id != viewer.user_id and not is_page(request):
        raise Forbidden(
            f"Use the page /admin/users/{person.id}: a token does not do this to an administrator."
        )
    return person


OwnOrAnyUser = Annotated[User, Depends(own_or_any_user)]
"""The viewer, or any person for an administrator."""
NoOtherAdministrator = Annotated[User, Depends(no_other_administrator)]
"""Any person but another administrator, for an administrator with a full token. On pages, where
administrators confirm who they are, any person."""
