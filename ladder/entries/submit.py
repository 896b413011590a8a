"""Submits an agent: stores its bytes as a submission, which may also enter a season."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, StringConstraints

from games.protocol import Game
from ladder.database.db import Connection, atomic_function
from ladder.entries import agents, entries
from ladder.entries.deadlines import UploadLimits
from ladder.entries.records import Entry, Submission
from ladder.errors import Conflict
from ladder.field_types import LINE, RequestModel
from ladder.ids import AgentId, UserId
from ladder.leagues.hosting import supports_remote
from ladder.leagues.records import Season
from ladder.people import quotas

REMOTE_FILENAME: Final = "remote.json"
MOST_NOTE_CHARACTERS: Final = 500
Note = Annotated[str, StringConstraints(pattern=LINE, max_length=MOST_NOTE_CHARACTERS)]
"""Note that a person adds to an upload. Only the team can read it."""


class NewRemote(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"url": "https://snake.example.org/k3J9"}]}
    )
    url: Annotated[str, Field(max_length=2000)]
    """Address that answers Battlesnake's requests; put a secret into the path, because anybody who
    knows the address may submit it."""
    api: Literal["1", "2017"] = "1"
    """Version of Battlesnake's API that the agent supports."""
    message: Note = ""


@dataclass(frozen=True, slots=True)
class Upload:
    """The stored bytes of a submission, and the owner's message."""

    digest: str
    """SHA-256."""
    size_bytes: int
    filename: str
    message: str = ""
    url: str | None = None
    """Address of a remote agent; the bytes are then its manifest."""


@dataclass(frozen=True, slots=True)
class SeasonToEnter:
    """The season that a submission enters with its upload."""

    season: Season
    profile: str | None = None
    """None: as `entries.enter_season` chooses."""
    began: float | None = None
    """Moment of ``time.monotonic`` at which the request arrived; None: now. It must precede the
    deadline."""


@dataclass(frozen=True, slots=True)
class SubmitResult:
    """What an upload created."""

    submission: Submission
    is_new: bool
    """Whether the upload created a submission or an entry; a repeat creates none."""
    entry: Entry | None = None
    limits: UploadLimits | None = None
    """The team's uploads of the day, if it entered a season."""


@atomic_function
def submit(
    conn: Connection,
    agent_id: AgentId,
    upload: Upload,
    by: UserId | None,
    into: SeasonToEnter | None,
) -> SubmitResult:
    """Creates the submission, and with ``into`` its entry.

    Raises LimitReached and the errors of `agents.add_submission` and `entries.enter_season`.
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
        began=into.began,
        by=by,
    )
    return SubmitResult(submission, is_new or is_entered, entry, limits)


def remote_upload(manifest: bytes, url: str, message: str) -> Upload:
    """Returns the upload of a remote agent; ``manifest`` is stored."""
    digest = hashlib.sha256(manifest).hexdigest()
    return Upload(digest, len(manifest), REMOTE_FILENAME, message, url)


def refuse_unsupported_game(season: Season, game: Game[Any] | None) -> None:
    """Raises Conflict if no season of the game can take remote agents."""
    if game is not None and not season.remote_agents and not supports_remote(game):
        raise Conflict(
            "upload a bundle: remote agents use Battlesnake's API, which cannot"
            f" express {game.title}"
        )
