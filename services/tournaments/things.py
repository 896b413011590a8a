"""The tournaments in addresses, as far as the viewer may see or host them. The types say which."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from ladder.tournaments.records import Tournament
from ladder.tournaments.views import TournamentView, view_tournament
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Anyone, Host
from services.http.path_parameters import TournamentKey


def visible_tournament(tournament: TournamentKey, conn: Db, viewer: Anyone) -> Tournament:
    return permissions.visible_tournament(conn, viewer, tournament)


VisibleTournament = Annotated[Tournament, Depends(visible_tournament)]


def hosted_tournament(tournament: TournamentKey, conn: Db, viewer: Host) -> Tournament:
    return permissions.hosted_tournament(conn, viewer, tournament)


HostedTournament = Annotated[Tournament, Depends(hosted_tournament)]


def view_of_tournament(tournament: VisibleTournament, conn: Db, viewer: Anyone) -> TournamentView:
    return view_tournament(conn, viewer, tournament)


ViewOfTournament = Annotated[TournamentView, Depends(view_of_tournament)]
