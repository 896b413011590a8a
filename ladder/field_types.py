"""Types of values that people send: keys, names and texts with their bounds."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from pydantic import AfterValidator, StringConstraints

KEY: Final = r"^[a-z0-9][a-z0-9_-]{0,63}$"
SLUG: Final = r"^[a-z0-9][a-z0-9-]{0,39}$"
UNSEEN: Final = r"\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
"""For a character class: terminal controls, and characters that hide or reverse text."""
NAME: Final = rf"^[^\x00-\x20{UNSEEN}]([^\x00-\x1f{UNSEEN}]*[^\x00-\x20{UNSEEN}])?$"
LINE: Final = rf"^[^\x00-\x1f{UNSEEN}]*$"
SPEED_CLASS: Final = r"^[a-z0-9][a-z0-9.-]{0,19}$"
TEXT: Final = rf"^[^\x00-\x08\x0b-\x1f{UNSEEN}]*$"

Slug = Annotated[str, StringConstraints(pattern=SLUG, min_length=1, max_length=40)]
Name = Annotated[str, StringConstraints(pattern=NAME, max_length=60)]
Line = Annotated[str, StringConstraints(pattern=LINE, max_length=200)]
Text = Annotated[str, StringConstraints(pattern=TEXT, max_length=4000)]


def require_timezone(moment: datetime) -> datetime:
    """Checks that a time has a zone and a year that Postgres and every client can store.

    Raises ValueError with the remedy.
    """
    if moment.tzinfo is None:
        raise ValueError("add a time zone: Z for UTC or an offset, as in 2026-12-01T18:00:00+01:00")
    if not 1970 <= moment.year < 9000:
        raise ValueError("the year must be between 1970 and 8999")
    return moment


SpeedClass = Annotated[str, StringConstraints(pattern=SPEED_CLASS)]
AwareDatetime = Annotated[datetime, AfterValidator(require_timezone)]
Key = Annotated[str, StringConstraints(pattern=KEY)]
