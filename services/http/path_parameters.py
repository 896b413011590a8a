"""Keys in addresses: ids and slugs, as each route calls them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from ladder.field_types import KEY


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
RejudgementKey = Annotated[str, key("rejudgement id")]
ScrimKey = Annotated[str, key("scrim id")]
InvitationKey = Annotated[str, key("invitation id")]
Filter = Annotated[str | None, Query(pattern=KEY)]
