"""Creates ids: a type prefix and 26 characters that sort by time of creation.

The characters are a 48-bit millisecond clock and 80 random bits in Crockford's base 32 (the ULID
layout), lower case. Ids sort by creation. So they serve keyset paging, and large tables can be
partitioned by ranges of their primary key.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from typing import Final, NewType

UserId = NewType("UserId", str)
TeamId = NewType("TeamId", str)
TokenId = NewType("TokenId", str)
LeagueId = NewType("LeagueId", str)
SeasonId = NewType("SeasonId", str)
AgentId = NewType("AgentId", str)
SubmissionId = NewType("SubmissionId", str)
EntryId = NewType("EntryId", str)
MatchId = NewType("MatchId", str)
EpisodeId = NewType("EpisodeId", str)
ScrimId = NewType("ScrimId", str)
RejudgementId = NewType("RejudgementId", str)
InvitationId = NewType("InvitationId", str)
SessionId = NewType("SessionId", str)
DeviceLoginId = NewType("DeviceLoginId", str)
NoticeId = NewType("NoticeId", str)
DeliveryId = NewType("DeliveryId", str)
ChannelId = NewType("ChannelId", str)
NoticeFeedId = NewType("NoticeFeedId", str)
JoinRequestId = NewType("JoinRequestId", str)
PasskeyId = NewType("PasskeyId", str)
IdentityId = NewType("IdentityId", str)
TeamInvitationId = NewType("TeamInvitationId", str)
TeamMergeId = NewType("TeamMergeId", str)
ComparisonId = NewType("ComparisonId", str)
TournamentId = NewType("TournamentId", str)
TournamentShowId = NewType("TournamentShowId", str)
ScrimRequestId = NewType("ScrimRequestId", str)
ScrimBatchId = NewType("ScrimBatchId", str)
MachineId = NewType("MachineId", str)
MachineInvitationId = NewType("MachineInvitationId", str)

ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
PREFIXES: Final = (
    "usr",
    "tea",
    "tok",
    "lea",
    "sea",
    "age",
    "sub",
    "ent",
    "mat",
    "epi",
    "scr",
    "aud",
    "rej",
    "inv",
    "ses",
    "dev",
    "not",
    "nev",
    "nch",
    "ndl",
    "nfe",
    "jrq",
    "psk",
    "idn",
    "exp",
    "tin",
    "tme",
    "tau",
    "cmp",
    "trn",
    "tsh",
    "srq",
    "sbt",
    "mch",
    "mct",
    "min",
)
_lock = threading.Lock()
_last = (0, 0)
PATTERN: Final = re.compile(rf"^({'|'.join(PREFIXES)})_[{ALPHABET}]{{26}}$")


def time_part(at_ms: int) -> str:
    """Returns the ten characters of a moment: the lower bound of all later ids."""
    return "".join(ALPHABET[(at_ms >> shift) & 31] for shift in range(45, -1, -5))


def new_id(prefix: str, *, at_ms: int | None = None) -> str:
    """Creates an id: ``new_id("mat")`` gives ``mat_`` and 26 characters.

    Ids of one process sort in order of creation, even within a millisecond.
    """
    if prefix not in PREFIXES:
        raise ValueError(f"unknown id prefix {prefix!r}")
    moment, bits = _next_time_and_random() if at_ms is None else (at_ms, secrets.randbits(80))
    return f"{prefix}_{time_part(moment)}" + "".join(
        ALPHABET[(bits >> shift) & 31] for shift in range(75, -1, -5)
    )


def _next_time_and_random() -> tuple[int, int]:
    """Returns the moment and 80 bits, greater than the last pair by a random step."""
    global _last
    with _lock:
        moment = max(time.time_ns() // 1_000_000, _last[0])
        bits = secrets.randbits(79)
        if moment == _last[0]:
            bits = _last[1] + 1 + secrets.randbits(64)
            if bits >> 80:
                moment, bits = moment + 1, secrets.randbits(79)
        _last = moment, bits
        return _last


def is_id(text: str, prefix: str) -> bool:
    """Whether ``text`` has the form of an id with this prefix."""
    match = PATTERN.match(text)
    return match is not None and match.group(1) == prefix
