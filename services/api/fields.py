"""Types of values that come in: keys in addresses, names, and texts, all bounded."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Path, Query
from pydantic import StringConstraints

KEY: Final = r"^[a-z0-9][a-z0-9_-]{0,63}$"
LINE: Final = r"^[^\x00-\x1f\x7f]*$"
TEXT: Final = r"^[^\x00-\x08\x0b-\x1f\x7f]*$"

Slug = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$", min_length=1, max_length=40)
]
Name = Annotated[
    str,
    StringConstraints(
        pattern=r"^[^\x00-\x20\x7f]([^\x00-\x1f\x7f]*[^\x00-\x20\x7f])?$", max_length=60
    ),
]
Line = Annotated[str, StringConstraints(pattern=LINE, max_length=200)]
Text = Annotated[str, StringConstraints(pattern=TEXT, max_length=4000)]
Key = Annotated[str, StringConstraints(pattern=KEY)]


def key(description: str) -> object:
    """A path parameter that is an id or a slug."""
    return Path(pattern=KEY, description=description)


UserKey = Annotated[str, key("user id, or `me`")]
TeamKey = Annotated[str, key("team id or slug")]
TokenKey = Annotated[str, key("token id")]
LeagueKey = Annotated[str, key("league id or slug")]
SeasonKey = Annotated[str, key("season id, or a league's slug for its current season")]
AgentKey = Annotated[str, key("agent id")]
SubmissionKey = Annotated[str, key("submission id")]
EntryKey = Annotated[str, key("entry id")]
MatchKey = Annotated[str, key("match id")]
ScrimKey = Annotated[str, key("scrim id")]
Filter = Annotated[str | None, Query(pattern=KEY)]
