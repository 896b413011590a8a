"""The people whom an administrator expects: lines of a CSV file, each with a code.

In the mode ``domain`` a listed person signs up with the code, or with the listed mail address once
it is proven. So nobody needs a mail.
"""

from __future__ import annotations

import csv
import hashlib
import io
import secrets
from dataclasses import dataclass
from typing import Final

from ladder import ids
from ladder.database.db import Connection, atomic_function
from ladder.errors import Invalid, NotFound
from ladder.field_types import check_shown
from ladder.ids import ExpectedPersonId, UserId
from ladder.mail import normal_address
from ladder.people.audit_log import record_audit
from ladder.slugs import name_key, normal_cell

CODE: Final = "listed_"
COLUMNS: Final = ("name", "address")
MOST_LINES: Final = 5000
LONGEST_NAME: Final = 60
WRONG_CODE: Final = "ask the administrator for a new code; this one is mistyped or was used already"


@dataclass(frozen=True, slots=True)
class ExpectedPerson:
    """A line of the list."""

    id: ExpectedPersonId
    name: str
    """As the administrator wrote it; may be empty."""
    address: str | None
    user_id: UserId | None
    """Who signed up; None: nobody yet."""


def parse_list(text: str) -> list[tuple[str, str | None]]:
    """Returns name and address of each line of a CSV text with the header ``name,address``.

    A line needs one of the two. Raises Invalid, which names the line.
    """
    rows = csv.reader(
        io.StringIO(text.removeprefix("\N{BYTE ORDER MARK}"), newline=""), strict=True
    )
    found: list[tuple[str, str | None]] = []
    try:
        header = [name_key(cell) for cell in next(rows, [])]
        if sorted(header) != sorted(COLUMNS):
            raise Invalid("csv", "line 1: the header must be name,address")
        for row in rows:
            if any(cell.strip() for cell in row):
                found.append(_line(rows.line_num, dict(zip(header, row, strict=False))))
    except csv.Error as error:
        raise Invalid("csv", f"line {rows.line_num}: this is not valid CSV: {error}") from None
    if not 0 < len(found) <= MOST_LINES:
        raise Invalid("csv", f"give 1 to {MOST_LINES} people below the header")
    return found


def _line(number: int, values: dict[str, str]) -> tuple[str, str | None]:
    name, address = (normal_cell(values.get(column, "")) for column in COLUMNS)
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise Invalid("csv", f"line {number}: a name has at most {LONGEST_NAME} characters")
    if not name and not address:
        raise Invalid("csv", f"line {number}: give a name or an address")
    try:
        check_shown(name)
    except ValueError as error:
        raise Invalid("csv", f"line {number}, name: {error}") from None
    try:
        return name, normal_address(address) if address else None
    except Invalid as error:
        raise Invalid("csv", f"line {number}: {error.message}") from None


@atomic_function
def add_people(
    conn: Connection, text: str, *, by: UserId | None
) -> list[tuple[ExpectedPerson, str | None]]:
    """Adds the lines of a CSV text; returns each with its code, which is shown only once.

    A line with the address of an earlier one, or without an address and with its name, changes
    nothing and gets no code. Raises Invalid.
    """
    lines = parse_list(text)
    conn.execute("lock table expected_people in share row exclusive mode")
    told = [_add_line(conn, name, address, by) for name, address in lines]
    added = sum(code is not None for _, code in told)
    record_audit(
        conn, None, by=by, act="expect-people", subject="sign-up", reason=f"{added} people added"
    )
    return told


def _add_line(
    conn: Connection, name: str, address: str | None, by: UserId | None
) -> tuple[ExpectedPerson, str | None]:
    known = conn.execute(
        "select id, name, address, user_id from expected_people where lower(address) = lower(%s)"
        " or (address is null and %s::text is null and name = %s)",
        (address, address, name),
    ).fetchone()
    if known is not None:
        return ExpectedPerson(*known), None
    code = CODE + secrets.token_urlsafe(24)
    made = ExpectedPerson(ExpectedPersonId(ids.new_id("exp")), name, address, None)
    conn.execute(
        "insert into expected_people (id, name, address, hash, created_by)"
        " values (%s, %s, %s, %s, %s)",
        (made.id, name, address, _hash_code(code), by),
    )
    return made, code


def list_people(
    conn: Connection, after: ExpectedPersonId | None = None, limit: int = 50
) -> list[ExpectedPerson]:
    """Returns the lines in order of their creation, after ``after``."""
    rows = conn.execute(
        "select id, name, address, user_id from expected_people where id > %s order by id limit %s",
        (after or "", limit),
    )
    return [ExpectedPerson(*row) for row in rows]


def remove_person(conn: Connection, person_id: ExpectedPersonId) -> None:
    """Removes a line; the account of who signed up with it stays. Raises NotFound."""
    done = conn.execute("delete from expected_people where id = %s", (person_id,))
    if done.rowcount == 0:
        raise NotFound.of("person")


def lock_code(conn: Connection, code: str) -> ExpectedPersonId:
    """Locks the unused line of a code for the caller's transaction. Raises NotFound."""
    row = conn.execute(
        "select id from expected_people where hash = %s and user_id is null for update",
        (_hash_code(code.strip()),),
    ).fetchone()
    if row is None:
        raise NotFound(WRONG_CODE, field="code")
    return ExpectedPersonId(row[0])


def line_of_address(conn: Connection, address: str) -> ExpectedPersonId | None:
    """Returns the unused line with this address, locked; None without one."""
    row = conn.execute(
        "select id from expected_people where lower(address) = lower(%s) and user_id is null"
        " for update",
        (address,),
    ).fetchone()
    return None if row is None else ExpectedPersonId(row[0])


def mark_signed_up(conn: Connection, person_id: ExpectedPersonId, user_id: UserId) -> None:
    """Records who signed up with this line. Its code ends."""
    conn.execute("update expected_people set user_id = %s where id = %s", (user_id, person_id))


def _hash_code(code: str) -> bytes:
    return hashlib.sha256(code.encode("utf-8", "replace")).digest()
