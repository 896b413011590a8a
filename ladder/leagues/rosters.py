"""Imports the roster of a league: the expected members, and who has joined.

Each line has its own code, which admits one person. That person joins the team in the line. Only
hosts see external ids.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from ladder.database.db import Connection, atomic_function, fetch
from ladder.enums import LeagueRole
from ladder.errors import LadderError
from ladder.field_types import RECORD, KeptAs, RequestModel, check_shown
from ladder.ids import InvitationId, LeagueId, TeamId, UserId
from ladder.leagues import invitations
from ladder.leagues.members import PLAIN, replace_role, role_of
from ladder.people import quotas
from ladder.slugs import name_key, normal_cell

COLUMNS: Final = ("name", "team", "role", "external_id")
SAMPLE: Final = "name,team,role,external_id\nAda Lovelace,Engines,competitor,s-1815\n"
MOST_LINES: Final = 2000
LONGEST_ROSTER: Final = 250_000
"""Characters of a roster."""
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
    people: dict[str, RosterPerson] = {}
    try:
        header = [name_key(cell) for cell in next(rows, [])]
        if sorted(header) != sorted(COLUMNS):
            names = ",".join(COLUMNS)
            raise RosterError([RosterFault(1, "", f"the header must be {names}, in any order")])
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
            if values["external_id"] in people:
                wrong.append(RosterFault(line, "external_id", "an earlier line has the same id"))
            faults += wrong
            if not wrong:
                role = LeagueRole(values["role"].lower() or LeagueRole.COMPETITOR)
                people[values["external_id"]] = RosterPerson(
                    values["external_id"], values["name"], values["team"], role
                )
    except csv.Error as error:
        faults.append(RosterFault(rows.line_num, "", f"this line is not valid CSV: {error}"))
    if not faults and not people:
        faults.append(RosterFault(2, "", "add people below the header; there are none"))
    if len(people) > MOST_LINES:
        faults.append(
            RosterFault(MOST_LINES + 2, "", f"give at most {MOST_LINES} people at a time")
        )
    if faults:
        raise RosterError(faults)
    return list(people.values())


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


class LineChange(StrEnum):
    """Effect of an import on a line."""

    NEW = "new"
    """The line is created, with a code."""
    CHANGED = "changed"
    """Name, team or role has changed."""
    CODE = "code"
    """A new code replaces a revoked one; nothing else has changed."""
    SAME = "same"
    """Nothing has changed."""


@dataclass(frozen=True, slots=True)
class RosterLine:
    """A line of the roster."""

    __pydantic_config__ = RECORD
    external_id: str
    name: str
    team: str
    role: LeagueRole
    invitation_id: InvitationId
    is_revoked: bool
    """Whether the line's code is revoked; another import creates a new code."""
    user_id: UserId | None
    user_name: str | None
    """Name that the member chose."""
    team_id: TeamId | None


@dataclass(frozen=True, slots=True)
class ImportedLine:
    __pydantic_config__ = RECORD
    external_id: str
    name: str
    team: str
    role: LeagueRole
    change: LineChange
    code: Annotated[str | None, KeptAs(None)]
    """This person's invitation code; shown only once, when it is new."""


class NewRoster(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"csv": SAMPLE}]})
    csv: Annotated[str, Field(max_length=LONGEST_ROSTER, examples=[SAMPLE])]
    """With a header."""
    dry_run: bool = False
    """Show what would be created, create nothing."""


class RosterImport(BaseModel):
    dry_run: bool
    items: list[ImportedLine]


def list_lines(conn: Connection, league_id: LeagueId) -> list[RosterLine]:
    """Returns a league's roster by external id."""
    return fetch(
        conn,
        RosterLine,
        """
        select r.external_id, r.name, r.team, r.role, r.invitation_id,
               i.revoked_at is not null as is_revoked, r.user_id, u.name as user_name, r.team_id
        from roster r
        join invitations i on i.id = r.invitation_id
        left join users u on u.id = r.user_id
        where r.league_id = %(league)s
        order by r.external_id
        """,
        {"league": league_id},
    )


@atomic_function
def import_roster(
    conn: Connection,
    league_id: LeagueId,
    people: Sequence[RosterPerson],
    *,
    by: UserId | None,
    is_dry: bool = False,
) -> list[ImportedLine]:
    """Imports lines and returns the changes; with ``is_dry`` it changes nothing.

    Other lines stay. A changed team applies to later members, a changed role immediately,
    with an audit entry. Raises LimitReached.
    """
    # Lock the league: two imports at once would create two codes for a line.
    conn.execute("select 1 from leagues where id = %s for no key update", (league_id,))
    present = {line.external_id: line for line in list_lines(conn, league_id)}
    imported = []
    for person in people:
        line = present.get(person.external_id)
        change = _change_of_line(line, person)
        code = None
        if not is_dry and change is not LineChange.SAME:
            invitation_id, code = _invite_person(conn, league_id, person, line, by)
            conn.execute(
                """
                insert into roster (league_id, external_id, name, team, role, invitation_id)
                values (%(league)s, %(external_id)s, %(name)s, %(team)s, %(role)s, %(invitation)s)
                on conflict (league_id, external_id) do update
                set name = excluded.name,
                    team = excluded.team,
                    role = excluded.role,
                    invitation_id = excluded.invitation_id
                """,
                {"league": league_id, "invitation": invitation_id, **asdict(person)},
            )
        imported.append(ImportedLine(**asdict(person), change=change, code=code))
    quotas.check_invitation_quota(conn, league_id)
    return imported


def external_ids(conn: Connection, league_id: LeagueId) -> dict[TeamId, list[str]]:
    """Returns the external ids of each team's members, for hosts of the league."""
    rows = conn.execute(
        """
        select m.team_id, array_agg(distinct r.external_id order by r.external_id)
        from roster r
        join memberships m on m.user_id = r.user_id
                          and (r.team_id is null or r.team_id = m.team_id)
        where r.league_id = %s
        group by 1
        """,
        (league_id,),
    )
    return {TeamId(team): listed for team, listed in rows}


def _change_of_line(line: RosterLine | None, person: RosterPerson) -> LineChange:
    if line is None:
        return LineChange.NEW
    if (line.name, line.team, line.role) != (person.name, person.team, person.role):
        return LineChange.CHANGED
    return LineChange.CODE if line.is_revoked and line.user_id is None else LineChange.SAME


def _invite_person(
    conn: Connection,
    league_id: LeagueId,
    person: RosterPerson,
    line: RosterLine | None,
    by: UserId | None,
) -> tuple[InvitationId, str | None]:
    """Returns the line's invitation, and its code if it is new; gives a member the new role.

    A person without a role stays out: a host removed or blocked them.
    """
    if line is not None and line.user_id is not None:
        if role_of(conn, league_id, line.user_id) in PLAIN:
            replace_role(conn, by, league_id, line.user_id, person.role)
        return line.invitation_id, None
    if line is not None and not line.is_revoked:
        conn.execute(
            "update invitations set role = %s, label = %s where id = %s",
            (person.role, f"roster: {person.name}", line.invitation_id),
        )
        return line.invitation_id, None
    invitation, code = invitations.create_roster_invitation(
        conn, league_id, role=person.role, created_by=by, label=f"roster: {person.name}", max_uses=1
    )
    return invitation.id, code
