"""The leagues in addresses that the viewer may ask to join."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from ladder.leagues import join_requests
from ladder.leagues.records import League
from services.http.app_state import Db
from services.http.auth import Anyone
from services.http.path_parameters import LeagueKey


def league_to_ask(league: LeagueKey, conn: Db, viewer: Anyone) -> League:
    return join_requests.league_to_ask(conn, viewer, league)


LeagueToAsk = Annotated[League, Depends(league_to_ask)]
"""A league that the viewer sees, or that takes requests."""
