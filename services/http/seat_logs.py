"""A seat's log: what the agent printed, what each move took, why it failed. Its owner's alone.

The public episode has charged time and bank; wall, cpu and what was waited stand in the log.
"""

from __future__ import annotations

import gzip
import json
from typing import Annotated, Any, Literal

from fastapi import Query
from fastapi.responses import Response

from games import kaggle
from ladder.database.blobs import Blobs
from ladder.matches.records import Match
from ladder.people.records import Viewer
from services.http import permissions
from services.http.problems import ProblemError

LogFormat = Annotated[
    Literal["raw", "kaggle"], Query(description="our own shape, or the one Kaggle's logs have")
]


def read_seat_log(blobs: Blobs, who: Viewer, match: Match, seat: int, log_format: str) -> Response:
    """The log of one seat of a match the viewer may see, as JSON.

    Raises ProblemError: 403 for who does not own the seat, 404 where there is no log (yet).
    """
    found = next((one for one in match.seats if one.seat == seat), None)
    if found is None:
        raise ProblemError("not-found", f"This match has {len(match.seats)} seats, from 0.")
    if not permissions.may_see_private(who, found.team_id):
        raise ProblemError("forbidden", "Logs are for the owner of the agent alone.")
    if found.log_digest is None or not blobs.exists(found.log_digest):
        raise ProblemError("not-found", f"There is no log; the match is {match.state}.")
    content = gzip.decompress(b"".join(blobs.open(found.log_digest)))
    if log_format == "kaggle":
        record: dict[str, Any] = json.loads(content)
        content = json.dumps(kaggle.log_json(record["moves"])).encode()
    return Response(content, media_type="application/json")
