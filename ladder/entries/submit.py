"""Sending an agent: its bytes become a submission, which may enter a season at once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final

from games.protocol import Game
from ladder.database.db import Connection, atomic_function
from ladder.entries import agents, entries
from ladder.entries.entries import UploadLimits
from ladder.entries.records import Entry, Submission
from ladder.errors import Conflict
from ladder.ids import AgentId, UserId
from ladder.leagues.records import Season
from ladder.leagues.season_creation import supports_remote
from ladder.people import quotas

REMOTE_FILENAME: Final = "remote.json"


@dataclass(frozen=True, slots=True)
class Upload:
    """The bytes of a submission as they are stored, and what its owner says of them."""

    digest: str
    """SHA-256."""
    size_bytes: int
    filename: str
    message: str = ""
    url: str | None = None
    """Where a remote agent answers; the bytes are its manifest then."""


@dataclass(frozen=True, slots=True)
class SeasonToEnter:
    """The season that a submission enters with its upload."""

    season: Season
    profile: str = "numpy"
    waited_seconds: float = 0.0
    """Since the request began to arrive; its deadline is compared with that moment."""


@dataclass(frozen=True, slots=True)
class SubmitResult:
    """What an upload made."""

    submission: Submission
    is_new: bool
    """Whether it made a submission or an entry; a repeat makes none."""
    entry: Entry | None = None
    limits: UploadLimits | None = None
    """The team's uploads of the day, where a season was entered."""


@atomic_function
def submit(
    conn: Connection,
    agent_id: AgentId,
    upload: Upload,
    by: UserId | None,
    into: SeasonToEnter | None,
) -> SubmitResult:
    """Makes the submission, and with ``into`` its entry.

    Raises LimitReached and what `agents.add_submission` and `entries.enter` raise.
    """
    submission, is_new = agents.add_submission(
        conn,
        agent_id,
        upload.digest,
        upload.size_bytes,
        upload.filename,
        upload.message,
        by,
        url=upload.url,
    )
    if is_new:
        quotas.check_upload_quota(conn, submission.team_id)
    if into is None:
        return SubmitResult(submission, is_new)
    entry, limits, is_entered = entries.enter_season(
        conn,
        into.season.id,
        submission.id,
        profile=into.profile,
        waited_seconds=into.waited_seconds,
    )
    return SubmitResult(submission, is_new or is_entered, entry, limits)


def remote_upload(manifest: bytes, url: str, message: str) -> Upload:
    """A remote agent as a submission; ``manifest`` is what is stored of it."""
    digest = hashlib.sha256(manifest).hexdigest()
    return Upload(digest, len(manifest), REMOTE_FILENAME, message, url)


def refuse_unsupported_game(season: Season, game: Game[Any] | None) -> None:
    """Raises Conflict where no season of the game can have remote agents; whether this one has
    them is another question."""
    if game is not None and not season.remote_agents and not supports_remote(game):
        raise Conflict(
            f"{game.title} is not played by remote agents: they are asked in Battlesnake's API, in"
            " which it cannot be told; upload a bundle"
        )
