"""The participants of a season as a file: CSV for spreadsheets, or JSON. API and pages send it."""

from __future__ import annotations

from dataclasses import astuple, fields
from typing import Annotated, Literal

from fastapi import Query, Response
from pydantic import BaseModel

from ladder.database.db import Connection
from ladder.ids import SeasonId
from ladder.leagues.records import League, Season
from ladder.standings import participants
from ladder.standings.participants import Participant
from services.http.spreadsheets import csv_text

ExportForm = Annotated[Literal["json", "csv"], Query()]


class ParticipantsOut(BaseModel):
    """The people of a season, each with validation and place."""

    season_id: SeasonId
    state: str
    items: list[Participant]


def participants_file(conn: Connection, league: League, season: Season, form: str) -> Response:
    """The file. The caller checks that the viewer manages the league."""
    rows = participants.list_participants(conn, league.id, season.id)
    name = f"{league.slug}-{season.number}-participants.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    if form == "csv":
        columns = [field.name for field in fields(Participant)]
        text = csv_text(columns, (astuple(row) for row in rows))
        return Response(text, headers=headers, media_type="text/csv")
    out = ParticipantsOut(season_id=season.id, state=season.state, items=rows)
    return Response(out.model_dump_json(), headers=headers, media_type="application/json")
