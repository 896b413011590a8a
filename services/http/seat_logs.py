"""The log of a seat: output, time of each move, and errors. The agent's owner may read it, and a
grader to whom the team agreed.

The public episode holds charged time and bank; the log also holds wall time, CPU time and waiting
time.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Literal

from fastapi import Query
from fastapi.responses import Response

from games import kaggle_formats
from games.episode import unpack
from ladder.database.blobs import Blobs
from ladder.matches.records import Match
from services.http.problems import ProblemError

LogFormat = Annotated[
    Literal["raw", "kaggle"],
    Query(description="raw: our format; kaggle: the format of Kaggle's logs"),
]


MOST_BYTES: Final = 64 << 20
"""Most bytes of a log or a replay, unpacked."""


def unpack_stored(blobs: Blobs, digest: str) -> bytes:
    """The bytes in this blob. Raises ProblemError if the machine that played stored what is not
    gzip, or is larger than 64 MiB unpacked."""
    try:
        return unpack(b"".join(blobs.open(digest)), MOST_BYTES)
    except ValueError as error:
        raise ProblemError("not-found", f"The file cannot be read: {error}.") from None


def read_seat_log(blobs: Blobs, match: Match, seat: int, log_format: str) -> Response:
    """The log of one seat as JSON. The caller checks that the viewer may see the match.

    Raises ProblemError: 403 if the viewer does not own the seat, 404 if there is no log yet.
    """
    found = next((one for one in match.seats if one.seat == seat), None)
    if found is None:
        raise ProblemError(
            "not-found",
            f"Choose a seat from 0 to {len(match.seats) - 1}: seats count from 0.",
            seats=len(match.seats),
        )
    if seat not in match.access.log_seats:
        raise ProblemError("forbidden", "Only the owner of the agent may read its logs.")
    if found.log_digest is None or not blobs.exists(found.log_digest):
        raise ProblemError("not-found", f"There is no log; the match is {match.state}.")
    content = unpack_stored(blobs, found.log_digest)
    if log_format == "kaggle":
        record: dict[str, Any] = json.loads(content)
        content = json.dumps(kaggle_formats.log_json(record["moves"])).encode()
    return Response(content, media_type="application/json")
