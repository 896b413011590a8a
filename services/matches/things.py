"""The matches in addresses, as far as the viewer may see them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from ladder.matches.records import Match
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Anyone
from services.http.path_parameters import MatchKey


def visible_match(match: MatchKey, conn: Db, viewer: Anyone) -> Match:
    return permissions.visible_match(conn, viewer, match)


VisibleMatch = Annotated[Match, Depends(visible_match)]
"""A match, with what the viewer may see of it in ``access``."""
