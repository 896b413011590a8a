"""Writes CSV for spreadsheets. No name may become a formula."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from datetime import datetime
from typing import Annotated, Final, Literal

from fastapi import Query, Response
from pydantic import BaseModel

from ladder.database.db import Connection
from ladder.ids import SeasonId
from ladder.leagues.records import League, Season
from ladder.standings import participants
from ladder.standings.participants import Participant

FORMULA: Final = ("=", "+", "-", "@", "\r")
"""First characters of a spreadsheet formula."""
SPLITS: Final = re.compile(r"([;\t])")
"""Separators of some countries' spreadsheets: a cell may begin after one, quoted or not."""


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A header and one line for each row, with escaped formulas."""
    written = io.StringIO(newline="")
    writer = csv.writer(written)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([csv_cell(value) for value in row])
    return written.getvalue()


def csv_cell(value: object) -> object:
    """The value as a cell: lists with spaces between, moments in ISO 8601, formulas escaped."""
    if isinstance(value, list):
        value = " ".join(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return "".join(map(without_formula, SPLITS.split(value))) if isinstance(value, str) else value


def without_formula(text: str) -> str:
    """The text, escaped if a spreadsheet would read a formula."""
    is_formula = unicodedata.normalize("NFKC", text).lstrip(" ").startswith(FORMULA)
    return f"'{text}" if is_formula else text


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
