"""Which kinds of notices a person gets, and by which forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ladder.database.db import Connection, atomic_function
from ladder.errors import Invalid
from ladder.ids import UserId
from ladder.notices.kinds import Form, NoticeKind


@dataclass(frozen=True, slots=True)
class PreferenceRow:
    """One kind of notices and the forms by which the person gets it."""

    kind: NoticeKind
    forms: Mapping[Form, bool]


def list_preferences(conn: Connection, user_id: UserId) -> list[PreferenceRow]:
    """Returns all kinds in their order, with the person's choices or the defaults.

    Leaves out kinds that another one gathers.
    """
    rows = conn.execute(
        "select k.kind, f.form, coalesce(p.is_on, f.form = any (k.default_forms))"
        " from notice_kinds k cross join unnest(%s::text[]) f(form)"
        " left join notice_preferences p"
        "   on p.user_id = %s and p.kind = k.kind and p.form = f.form"
        " where k.gathers_in is null",
        ([form.value for form in Form], user_id),
    ).fetchall()
    found = {(kind, form): is_on for kind, form, is_on in rows}
    return [
        PreferenceRow(kind, {form: found[kind, form] for form in Form})
        for kind in NoticeKind
        if (kind, Form.PAGE) in found
    ]


@atomic_function
def set_preferences(
    conn: Connection, user_id: UserId, chosen: Mapping[tuple[NoticeKind, Form], bool]
) -> None:
    """Stores choices; other kinds and forms stay. Raises Invalid for a kind that is gathered."""
    known = {row.kind for row in list_preferences(conn, user_id)}
    for (kind, form), is_on in chosen.items():
        if kind not in known:
            raise Invalid(kind, f"choose {NoticeKind.HOST_DIGEST}, which gathers this kind")
        conn.execute(
            "insert into notice_preferences (user_id, kind, form, is_on) values (%s, %s, %s, %s)"
            " on conflict (user_id, kind, form) do update set is_on = excluded.is_on",
            (user_id, kind.value, form.value, is_on),
        )
