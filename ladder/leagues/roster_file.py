"""Parses a roster as CSV: one line for each expected member of a league."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Final

from ladder.enums import LeagueRole
from ladder.errors import LadderError
from ladder.field_types import check_shown
from ladder.slugs import name_key, normal_cell

COLUMNS: Final = ("name", "team", "role", "external_id")
MOST_LINES: Final = 2000
LONGEST: Final = 60
DELIMITERS: Final = {",": "comma", ";": "semicolon", "\t": "tab"}
UNREAD: Final = "\N{REPLACEMENT CHARACTER}"
ROLES: Final = (LeagueRole.COMPETITOR, LeagueRole.VIEWER)


@dataclass(frozen=True, slots=True)
class RosterFault:
    """A refused value; ``column`` is empty if the whole line is refused."""

    line: int
    column: str
    message: str

    def __str__(self) -> str:
        where = f"line {self.line}" + (f", {self.column}" if self.column else "")
        return f"{where}: {self.message}"


class RosterError(LadderError):
    """The roster has faults; no line was imported."""

    def __init__(self, faults: list[RosterFault]) -> None:
        self.faults = faults
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        super().__init__(f"roster: {faults[0]}{more}")


@dataclass(frozen=True, slots=True)
class RosterPerson:
    """A line of the roster: a person as the host knows them."""

    external_id: str
    name: str
    team: str
    """Name of the team; empty: a team of their own."""
    role: LeagueRole


def parse_roster(text: str) -> list[RosterPerson]:
    """Returns the lines of a CSV text with the columns ``name,team,role,external_id`` in any order.

    Separators are commas, semicolons or tabs, as in the header. An empty role means competitor.
    Raises RosterError with every fault, by line and column.
    """
    plain = text.removeprefix("\N{BYTE ORDER MARK}")
    header_line = plain.splitlines()[0] if plain else ""
    delimiter = max(DELIMITERS, key=header_line.count)
    rows = csv.reader(io.StringIO(plain, newline=""), delimiter=delimiter, strict=True)
    faults: list[RosterFault] = []
    found: dict[str, RosterPerson] = {}
    try:
        header = [name_key(cell) for cell in next(rows, [])]
        if sorted(header) != sorted(COLUMNS):
            wanted = ",".join(COLUMNS)
            raise RosterError([RosterFault(1, "", f"the header must be {wanted}, in any order")])
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            line = rows.line_num
            if len(row) != len(header):
                values_text = "1 value" if len(row) == 1 else f"{len(row)} values"
                message = (
                    f"it has {values_text}, but the header has {len(header)};"
                    f" put a value that contains a {DELIMITERS[delimiter]} in double quotes"
                )
                faults.append(RosterFault(line, "", message))
                continue
            values = {name: normal_cell(cell) for name, cell in zip(header, row, strict=True)}
            wrong = _line_faults(line, values)
            if values["external_id"] in found:
                wrong.append(RosterFault(line, "external_id", "an earlier line has the same id"))
            faults += wrong
            if not wrong:
                role = LeagueRole(values["role"].lower() or LeagueRole.COMPETITOR)
                found[values["external_id"]] = RosterPerson(
                    values["external_id"], values["name"], values["team"], role
                )
    except csv.Error as error:
        faults.append(RosterFault(rows.line_num, "", f"this line is not valid CSV: {error}"))
    if not faults and not found:
        faults.append(RosterFault(2, "", "add people below the header; there are none"))
    if len(found) > MOST_LINES:
        faults.append(
            RosterFault(MOST_LINES + 2, "", f"give at most {MOST_LINES} people at a time")
        )
    if faults:
        raise RosterError(faults)
    return list(found.values())


def _line_faults(line: int, values: dict[str, str]) -> list[RosterFault]:
    faults = [
        RosterFault(line, column, "it is empty")
        for column in ("name", "external_id")
        if not values[column]
    ]
    faults += [
        RosterFault(line, column, f"at most {LONGEST} characters on one line")
        for column, value in values.items()
        if len(value) > LONGEST or not value.isprintable()
    ]
    for column in ("name", "team", "external_id"):
        try:
            check_shown(values[column])
        except ValueError as error:
            faults.append(RosterFault(line, column, str(error)))
    faults += [
        RosterFault(line, column, "save the file as 'CSV UTF-8'; it is not UTF-8")
        for column, value in values.items()
        if UNREAD in value
    ]
    if values["role"] and values["role"].lower() not in ROLES:
        faults.append(
            RosterFault(line, "role", f"{values['role']!r} is no role; write {' or '.join(ROLES)}")
        )
    return faults
