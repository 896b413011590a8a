"""The names and limits of the steps of a running match in Redis.

Each attempt at a match has one Redis stream. Its entries hold JSON in the field ``d``: the start of
an episode, steps, or the end of the match. A worker writes them (`workers.live_publishing`), the
site reads them (`services.http.live_matches`). Redis may lose all of it; the replay is the truth.
"""

from __future__ import annotations

from typing import Final

from ladder.ids import MatchId

FIELD: Final = b"d"
MOST_BYTES: Final = 4 << 20
"""Most bytes of one attempt. Further steps are not streamed; the replay has them."""
KEPT_SECONDS: Final = 900
"""How long Redis keeps a stream that does not grow."""
KEPT_AFTER_SECONDS: Final = 60
"""How long Redis keeps the stream of a match that is over."""


def stream_key(match_id: MatchId, attempt: int) -> str:
    """The key of the Redis stream of an attempt."""
    return f"peck:live:{match_id}:{attempt}"
