"""Path parameters: the ids and slugs in addresses."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from ladder.field_types import KEY, UNSEEN


def path_key(description: str) -> object:
    """A path parameter that is an id or a slug."""
    return Path(pattern=KEY, description=description)


UserKey = Annotated[str, path_key("user id, or `me`")]
PersonKey = Annotated[
    str,
    Path(pattern=rf"^[^/\x00-\x1f{UNSEEN}]{{1,60}}$", description="id or exact name of a person"),
]
TeamKey = Annotated[str, path_key("team id or slug")]
TokenKey = Annotated[str, path_key("token id")]
LeagueKey = Annotated[str, path_key("league id or slug")]
SeasonKey = Annotated[str, path_key("season id, or a league's slug for its current season")]
AgentKey = Annotated[str, path_key("agent id")]
SubmissionKey = Annotated[str, path_key("submission id")]
EntryKey = Annotated[str, path_key("entry id")]
MatchKey = Annotated[str, path_key("match id")]
RejudgementKey = Annotated[str, path_key("rejudgement id")]
PlaceKey = Annotated[str, path_key("id of a shared place")]
ShowKey = Annotated[str, path_key("id of a show")]
TournamentKey = Annotated[str, path_key("tournament id")]
ScrimKey = Annotated[str, path_key("scrim id")]
ComparisonKey = Annotated[str, path_key("comparison id")]
ScrimRequestKey = Annotated[str, path_key("id of a request for a scrim")]
BatchKey = Annotated[str, path_key("id of a batch of scrims")]
TeamInvitationKey = Annotated[str, path_key("id of an invitation to a team")]
TeamMergeKey = Annotated[str, path_key("id of a request for a merge")]
InvitationKey = Annotated[str, path_key("invitation id")]
RequestKey = Annotated[str, path_key("id of a request to join")]
ChannelKey = Annotated[str, path_key("channel id")]
FeedKey = Annotated[str, path_key("feed id")]
SessionKey = Annotated[str, path_key("session id")]
Filter = Annotated[str | None, Query(pattern=KEY)]
PasskeyKey = Annotated[str, path_key("passkey id")]
IdentityKey = Annotated[str, path_key("identity id")]
ProviderKey = Annotated[str, path_key("key of an identity provider")]
MachineKey = Annotated[
    str,
    Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$", description="id or name of a machine"),
]
MachineInvitationKey = Annotated[str, path_key("id of an invitation of a machine")]
Digest = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$", description="SHA-256 of the bytes")]
